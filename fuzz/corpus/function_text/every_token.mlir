func.func @f(%x: tensor<2xcomplex<f32>>) -> (tensor<i1>, tensor<0xf32>) {
  %0:2 = call @"g h"(%x) {s = "} @f \" \\", d = #stablehlo.dot<[0]>} : () -> ()
  return %0#0, %0#1 // }
}
func.func private @"g h"(%arg0: tensor<2xcomplex<f32>>) { return }
