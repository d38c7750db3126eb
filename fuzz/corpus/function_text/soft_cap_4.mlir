module @soft_cap attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x3xf32> {jax.buffer_donor = true}, %cap: tensor<f64>) -> (tensor<4x3xf32> {jax.result_info = "result"}) {
    %0 = call @spread(%cap) : (tensor<f64>) -> tensor<4x3xf32>
    %1 = stablehlo.divide %x, %0 : tensor<4x3xf32>
    %2 = stablehlo.tanh %1 : tensor<4x3xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<4x3xf32>
    return %3 : tensor<4x3xf32>
  }
  func.func private @spread(%cap: tensor<f64>) -> tensor<4x3xf32> {
    %0 = stablehlo.convert %cap : (tensor<f64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
