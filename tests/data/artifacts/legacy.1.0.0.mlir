module @legacy {
  func.func private @later(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %1 = "func.call"(%arg0) {callee = @helper} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
  func.func public @main(%arg2: tensor<2x3xf32>, %arg3: tensor<3x2xf32>, %arg4: tensor<2xi32>, %arg5: tensor<2xcomplex<f32>>) -> (tensor<2x2xf32>, tensor<2x3xf32>) {
    %6 = "stablehlo.dot"(%arg2, %arg3) {precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> (tensor<2x2xf32>)
    %7 = "stablehlo.einsum"(%arg2, %arg3) {einsum_config = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<3x2xf32>) -> (tensor<2x2xf32>)
    %8 = "stablehlo.broadcast"(%6) {broadcast_sizes = array<i64: 4>} : (tensor<2x2xf32>) -> (tensor<4x2x2xf32>)
    %9 = "stablehlo.map"(%arg2, %arg2) ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %32 = "stablehlo.multiply"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
    %10 = "stablehlo.torch_index_select"(%arg2, %arg4) {batch_dims = 0 : i64, dim = 0 : i64} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<2x3xf32>)
    %11 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<f32>} : () -> (tensor<f32>)
    %12 = "stablehlo.constant"() {value = dense<0x3FC00000> : tensor<f32>} : () -> (tensor<f32>)
    %13 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> (tensor<2xi64>)
    %14 = "stablehlo.rng"(%11, %12, %13) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> (tensor<2x3xf32>)
    %15 = "stablehlo.custom_call"(%arg2, %arg3) {api_version = 2 : i32, backend_config = "text", call_target_name = "kernel", called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> (tensor<2x3xf32>)
    %16 = "stablehlo.constant"() {value = dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>} : () -> (tensor<2x3xi1>)
    %17 = "stablehlo.constant"() {value = dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F2021222324252627"> : tensor<40xi8>} : () -> (tensor<40xi8>)
    %18 = "stablehlo.constant"() {value = dense<[1, 14, 7]> : tensor<3xi4>} : () -> (tensor<3xi4>)
    %19 = "stablehlo.constant"() {value = dense<(0x3F800000, 0xC0200000)> : tensor<2xcomplex<f32>>} : () -> (tensor<2xcomplex<f32>>)
    %20 = "stablehlo.select"(%16, %14, %15) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>)
    %21 = "func.call"(%20) {callee = @later, note = "kept"} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    %22 = "stablehlo.unary_einsum"(%21) {einsum_config = "ij->ji"} : (tensor<2x3xf32>) -> (tensor<3x2xf32>)
    %23 = "stablehlo.constant"() {value = dense<[0x3F800000, 0x40000000, 0x40400000]> : tensor<3xf32>} : () -> (tensor<3xf32>)
    %24:3 = "stablehlo.batch_norm_training"(%arg2, %23, %23) {epsilon = 0x3A83126F : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %27:3 = "stablehlo.batch_norm_grad"(%arg2, %23, %23, %23, %arg2) {epsilon = 0x3A83126F : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%6, %21) : (tensor<2x2xf32>, tensor<2x3xf32>) -> ()
  }
  func.func private @helper(%arg33: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    "func.return"(%arg33) : (tensor<2x3xf32>) -> ()
  }
}
