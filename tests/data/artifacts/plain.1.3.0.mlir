module @plain {
  func.func public @main(%arg0: tensor<4x3xf32> {jax.buffer_donor = true}, %arg1: tensor<3x5xf32>, %arg2: tensor<i32>) -> (tensor<4x5xf32> {jax.result_info = "[0]"}, tensor<4xf32>, tensor<i32>) {
    %3 = "func.call"(%arg0) {callee = @twice} : (tensor<4x3xf32>) -> (tensor<4x3xf32>)
    %4 = "stablehlo.dot_general"(%3, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<4x3xf32>, tensor<3x5xf32>) -> (tensor<4x5xf32>)
    %5 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<f32>} : () -> (tensor<f32>)
    %6 = "stablehlo.reduce"(%4, %5) ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %12 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      "stablehlo.return"(%12) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<4x5xf32>, tensor<f32>) -> (tensor<4xf32>)
    %7 = "stablehlo.constant"() {value = dense<10> : tensor<i32>} : () -> (tensor<i32>)
    %8 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
    %9 = "stablehlo.while"(%arg2) ({
    ^bb0(%arg13: tensor<i32>):
      %14 = "stablehlo.compare"(%arg13, %7) {compare_type = #stablehlo<comparison_type NOTYPE>, comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
      "stablehlo.return"(%14) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg15: tensor<i32>):
      %16 = "stablehlo.add"(%arg15, %8) : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
      "stablehlo.return"(%16) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> (tensor<i32>)
    "func.return"(%4, %6, %9) : (tensor<4x5xf32>, tensor<4xf32>, tensor<i32>) -> ()
  }
  func.func private @twice(%arg17: tensor<4x3xf32>) -> (tensor<4x3xf32>) {
    %18 = "stablehlo.add"(%arg17, %arg17) : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>)
    "func.return"(%18) : (tensor<4x3xf32>) -> ()
  }
}
