module @main {
  func.func public @main(%arg0: tensor<2x8xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16xf32>, %arg4: tensor<16xf32>, %arg5: tensor<4x16xf32>, %arg6: tensor<4xf32>, %arg7: tensor<16xf32>, %arg8: tensor<16xf32>, %arg9: tensor<i64>) -> (tensor<2x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x8xf32>, tensor<16x8xf32>) -> tensor<2x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x16xf32>
    %3 = stablehlo.constant dense<1.0e-05> : tensor<16xf32>
    %4 = stablehlo.add %arg8, %3 : tensor<16xf32>
    %5 = stablehlo.rsqrt %4 : tensor<16xf32>
    %6 = stablehlo.multiply %5, %arg3 : tensor<16xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %8 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %9 = stablehlo.subtract %2, %8 : tensor<2x16xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<2x16xf32>
    %11 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %12 = stablehlo.add %10, %11 : tensor<2x16xf32>
    %13 = stablehlo.constant dense<0.0> : tensor<2x16xf32>
    %14 = stablehlo.maximum %12, %13 : tensor<2x16xf32>
    %15 = stablehlo.dot_general %14, %arg5, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x16xf32>, tensor<4x16