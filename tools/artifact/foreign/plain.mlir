// What our own modules can hold, too. versions: 1.0.0 1.3.0 1.17.0
module @plain {
  func.func public @main(%x: tensor<4x3xf32> {jax.buffer_donor = true}, %w: tensor<3x5xf32>, %n: tensor<i32>) -> (tensor<4x5xf32> {jax.result_info = "[0]"}, tensor<4xf32>, tensor<i32>) {
    %0 = call @twice(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0], precision = [HIGH, HIGH] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %limit = stablehlo.constant dense<10> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.while(%k = %n) : tensor<i32> cond {
      %c = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %s = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }
    return %1, %2, %3 : tensor<4x5xf32>, tensor<4xf32>, tensor<i32>
  }
  func.func private @twice(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.add %x, %x : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
