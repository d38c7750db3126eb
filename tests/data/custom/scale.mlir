// mine::scale: a list of floats is a tensor of float64.
func.func @scale(%x: tensor<2x3xf32>, %factors: tensor<3xf64>) -> tensor<2x3xf32> {
  %0 = stablehlo.convert %factors : (tensor<3xf64>) -> tensor<3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}
