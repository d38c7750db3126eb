// Quantized types. versions: 1.0.0 1.17.0
module @quantized {
  func.func public @main(%x: tensor<2x3xf32>, %w: tensor<3x2x!quant.uniform<i8:f32:1, {1.000000e-01:-30,5.000000e-01:-20}>>) -> tensor<2x3xf32> {
    %0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8<-127:127>:f32, 3.400000e+01:16>>
    %1 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<u8:f32, 5.000000e-01:0>>
    %2 = stablehlo.uniform_dequantize %0 : (tensor<2x3x!quant.uniform<i8<-127:127>:f32, 3.400000e+01:16>>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
}
