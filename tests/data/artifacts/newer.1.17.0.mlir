module @newer {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x2x1xi32>) -> (tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x2xf32>) {
    %2 = "stablehlo.dot_general"(%arg0, %arg0) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x4xf32>)
    %3 = "stablehlo.exponential"(%arg0) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4x3xf32>) -> (tensor<4x3xf32>)
    %4 = "stablehlo.tan"(%3) : (tensor<4x3xf32>) -> (tensor<4x3xf32>)
    %5 = "stablehlo.tanh"(%4) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4x3xf32>) -> (tensor<4x3xf32>)
    %6 = "stablehlo.gather"(%5, %arg1) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>} : (tensor<4x3xf32>, tensor<4x2x1xi32>) -> (tensor<4x2xf32>)
    %7 = "stablehlo.convert"(%6) : (tensor<4x2xf32>) -> (tensor<4x2xf8E4M3>)
    %8 = "stablehlo.convert"(%7) : (tensor<4x2xf8E4M3>) -> (tensor<4x2xf4E2M1FN>)
    %9 = "stablehlo.convert"(%8) : (tensor<4x2xf4E2M1FN>) -> (tensor<4x2xi2>)
    "func.return"(%2, %5, %6) : (tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x2xf32>) -> ()
  }
}
