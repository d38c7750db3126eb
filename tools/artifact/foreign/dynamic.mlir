// Sizes that are known at run time only. versions: 1.0.0 1.17.0
module @dynamic {
  func.func public @main(%x: tensor<?x4xf32>, %shape: tensor<2xi64>, %i: tensor<?x1xi32>, %b: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x?xf32> {
    %n = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?x4xf32>) -> tensor<i32>
    %iota = "stablehlo.dynamic_iota"(%shape) {iota_dimension = 0 : i64} : (tensor<2xi64>) -> tensor<?x?xf32>
    %r = stablehlo.dynamic_reshape %x, %shape : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %c = "stablehlo.dynamic_broadcast_in_dim"(%r, %shape) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %sizes = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
    %g = "stablehlo.dynamic_gather"(%x, %i, %sizes) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<?x4xf32>, tensor<?x1xi32>, tensor<2xi32>) -> tensor<?x4xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %lo = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %p = stablehlo.dynamic_pad %r, %zero, %lo, %lo, %lo : (tensor<?x?xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %s = stablehlo.add %c, %p : tensor<?x?xf32>
    return %s : tensor<?x?xf32>
  }
  func.func private @conv(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x16xf32>, %pad: tensor<2x2xi64>) -> tensor<1x?x?x16xf32> {
    %0 = "stablehlo.dynamic_conv"(%x, %k, %pad) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi64>) -> tensor<1x?x?x16xf32>
    return %0 : tensor<1x?x?x16xf32>
  }
}
