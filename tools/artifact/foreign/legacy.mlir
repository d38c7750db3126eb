// Operations that the specification has dropped, and calls of other kinds. versions: 1.0.0 1.17.0
module @legacy {
  func.func private @later(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = call @helper(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %i: tensor<2xi32>, %z: tensor<2xcomplex<f32>>) -> (tensor<2x2xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = "stablehlo.einsum"(%x, %y) {einsum_config = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %2 = "stablehlo.broadcast"(%0) {broadcast_sizes = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4x2x2xf32>
    %3 = "stablehlo.map"(%x, %x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %4 = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    %lo = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %hi = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %5 = "stablehlo.rng"(%lo, %hi, %shape) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
    %6 = stablehlo.custom_call @kernel(%x, %y) {api_version = 2 : i32, backend_config = "text", called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
    %mask = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
    %big = stablehlo.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F2021222324252627"> : tensor<40xi8>
    %small = stablehlo.constant dense<[1, -2, 7]> : tensor<3xi4>
    %cplx = stablehlo.constant dense<(1.000000e+00, -2.500000e+00)> : tensor<2xcomplex<f32>>
    %7 = stablehlo.select %mask, %5, %6 : tensor<2x3xi1>, tensor<2x3xf32>
    %8 = call @later(%7) {note = "kept"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %9 = "stablehlo.unary_einsum"(%8) {einsum_config = "ij->ji"} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %lo1 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
    %g:3 = "stablehlo.batch_norm_training"(%x, %lo1, %lo1) {epsilon = 1.000000e-03 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %n:3 = "stablehlo.batch_norm_grad"(%x, %lo1, %lo1, %lo1, %x) {epsilon = 1.000000e-03 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %0, %8 : tensor<2x2xf32>, tensor<2x3xf32>
  }
  func.func private @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    return %x : tensor<2x3xf32>
  }
}
