// What later versions have added to operations. versions: 1.10.0 1.17.0
module @newer {
  func.func public @main(%x: tensor<4x3xf32>, %i: tensor<4x2x1xi32>) -> (tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x2xf32>) {
    %0 = "stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.exponential"(%x) {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.tan %1 : tensor<4x3xf32>
    %3 = "stablehlo.tanh"(%2) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %4 = "stablehlo.gather"(%3, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>} : (tensor<4x3xf32>, tensor<4x2x1xi32>) -> tensor<4x2xf32>
    %5 = stablehlo.convert %4 : (tensor<4x2xf32>) -> tensor<4x2xf8E4M3>
    %6 = stablehlo.convert %5 : (tensor<4x2xf8E4M3>) -> tensor<4x2xf4E2M1FN>
    %7 = stablehlo.convert %6 : (tensor<4x2xf4E2M1FN>) -> tensor<4x2xi2>
    return %0, %3, %4 : tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x2xf32>
  }
}
