module @quantized {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2x!quant.uniform<i8<-128:127>:f32:1, {0.1:-30,0.5:-20}>>) -> (tensor<2x3xf32>) {
    %2 = "stablehlo.uniform_quantize"(%arg0) : (tensor<2x3xf32>) -> (tensor<2x3x!quant.uniform<i8<-127:127>:f32, 34.0:16>>)
    %3 = "stablehlo.uniform_quantize"(%arg0) : (tensor<2x3xf32>) -> (tensor<2x3x!quant.uniform<u8<0:255>:f32, 0.5:0>>)
    %4 = "stablehlo.uniform_dequantize"(%2) : (tensor<2x3x!quant.uniform<i8<-127:127>:f32, 34.0:16>>) -> (tensor<2x3xf32>)
    "func.return"(%4) : (tensor<2x3xf32>) -> ()
  }
}
