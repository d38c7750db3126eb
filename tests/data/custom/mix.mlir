// mine::mix of two tensors without a bias. Every argument is named, since `bias` is left out.
func.func @mix(%xs_0: tensor<2x3xf32>, %xs_1: tensor<2x3xf32>, %weights: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.convert %weights : (tensor<2xi64>) -> tensor<2xf32>
  %w0 = stablehlo.slice %w [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %w1 = stablehlo.slice %w [1:2] : (tensor<2xf32>) -> tensor<1xf32>
  %b0 = stablehlo.broadcast_in_dim %w0, dims = [1] : (tensor<1xf32>) -> tensor<2x3xf32>
  %b1 = stablehlo.broadcast_in_dim %w1, dims = [1] : (tensor<1xf32>) -> tensor<2x3xf32>
  %x0 = stablehlo.multiply %xs_0, %b0 : tensor<2x3xf32>
  %x1 = stablehlo.multiply %xs_1, %b1 : tensor<2x3xf32>
  %total = stablehlo.add %x0, %x1 : tensor<2x3xf32>
  %sum = stablehlo.reduce(%total init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %total, %sum : tensor<2x3xf32>, tensor<3xf32>
}
