module @dynamic {
  func.func public @main(%arg0: tensor<?x4xf32>, %arg1: tensor<2xi64>, %arg2: tensor<?x1xi32>, %arg3: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> (tensor<?x?xf32>) {
    %4 = "stablehlo.get_dimension_size"(%arg0) {dimension = 0 : i64} : (tensor<?x4xf32>) -> (tensor<i32>)
    %5 = "stablehlo.dynamic_iota"(%arg1) {iota_dimension = 0 : i64} : (tensor<2xi64>) -> (tensor<?x?xf32>)
    %6 = "stablehlo.dynamic_reshape"(%arg0, %arg1) : (tensor<?x4xf32>, tensor<2xi64>) -> (tensor<?x?xf32>)
    %7 = "stablehlo.dynamic_broadcast_in_dim"(%6, %arg1) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?x?xf32>, tensor<2xi64>) -> (tensor<?x?xf32>)
    %8 = "stablehlo.constant"() {value = dense<[1, 4]> : tensor<2xi32>} : () -> (tensor<2xi32>)
    %9 = "stablehlo.dynamic_gather"(%arg0, %arg2, %8) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<?x4xf32>, tensor<?x1xi32>, tensor<2xi32>) -> (tensor<?x4xf32>)
    %10 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<f32>} : () -> (tensor<f32>)
    %11 = "stablehlo.constant"() {value = dense<[0, 1]> : tensor<2xi64>} : () -> (tensor<2xi64>)
    %12 = "stablehlo.dynamic_pad"(%6, %10, %11, %11, %11) : (tensor<?x?xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<?x?xf32>)
    %13 = "stablehlo.add"(%7, %12) : (tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<?x?xf32>)
    "func.return"(%13) : (tensor<?x?xf32>) -> ()
  }
  func.func private @conv(%arg14: tensor<1x8x8x4xf32>, %arg15: tensor<3x3x4x16xf32>, %arg16: tensor<2x2xi64>) -> (tensor<1x?x?x16xf32>) {
    %17 = "stablehlo.dynamic_conv"(%arg14, %arg15, %arg16) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi64>) -> (tensor<1x?x?x16xf32>)
    "func.return"(%17) : (tensor<1x?x?x16xf32>) -> ()
  }
}
