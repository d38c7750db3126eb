// mine::soft_cap for a batch of two, with a helper.
func.func @soft_cap(%x: tensor<2x3xf32>, %cap: tensor<f64>) -> tensor<2x3xf32> {
  %0 = func.call @spread(%cap) : (tensor<f64>) -> tensor<2x3xf32>
  %1 = stablehlo.divide %x, %0 : tensor<2x3xf32>
  %2 = stablehlo.tanh %1 : tensor<2x3xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}
func.func private @spread(%arg0: tensor<f64>) -> tensor<2x3xf32> {
  %0 = stablehlo.convert %arg0 : (tensor<f64>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
