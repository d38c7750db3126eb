module @devices attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> (tensor<8x4xf32> {jax.result_info = "out"}, tensor<8x4xf32>) {
    %1 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %12 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      "stablehlo.return"(%12) : (tensor<f32>) -> ()
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<8x4xf32>) -> (tensor<8x4xf32>)
    %2 = "stablehlo.all_gather"(%1) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x4xf32>) -> (tensor<16x4xf32>)
    %3 = "stablehlo.reduce_scatter"(%2) ({
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %15 = "stablehlo.maximum"(%arg13, %arg14) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      "stablehlo.return"(%15) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64} : (tensor<16x4xf32>) -> (tensor<8x4xf32>)
    %4 = "stablehlo.all_to_all"(%3) {concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64} : (tensor<8x4xf32>) -> (tensor<4x8xf32>)
    %5 = "stablehlo.collective_permute"(%1) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>)
    %6 = "stablehlo.collective_broadcast"(%5) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>)
    %7 = "stablehlo.partition_id"() : () -> (tensor<ui32>)
    %8 = "stablehlo.replica_id"() : () -> (tensor<ui32>)
    %9 = "stablehlo.custom_call"(%6) {api_version = 1 : i32, call_target_name = "Sharding", called_computations = [], has_side_effect = false, output_operand_aliases = [], mhlo.sharding = "{replicated}"} : (tensor<8x4xf32>) -> (tensor<8x4xf32>)
    "func.return"(%9, %6) : (tensor<8x4xf32>, tensor<8x4xf32>) -> ()
  }
}
