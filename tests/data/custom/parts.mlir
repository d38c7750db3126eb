func.func @parts(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<2x3xf32>
  %0 = stablehlo.add %x, %one : tensor<2x3xf32>
  %1 = stablehlo.add %x, %x : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
