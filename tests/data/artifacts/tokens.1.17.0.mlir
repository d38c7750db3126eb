module @tokens {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<3xi32>, !stablehlo.token) {
    %1 = "stablehlo.create_token"() : () -> (!stablehlo.token)
    %2:2 = "stablehlo.infeed"(%1) {infeed_config = "in", layout = [[0 : i64]]} : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    %4 = "stablehlo.outfeed"(%arg0, %2#1) {outfeed_config = "out"} : (tensor<2xf32>, !stablehlo.token) -> (!stablehlo.token)
    %5 = "stablehlo.send"(%arg0, %4) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> (!stablehlo.token)
    %6:2 = "stablehlo.recv"(%5) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    %8 = "stablehlo.after_all"(%6#1, %4) : (!stablehlo.token, !stablehlo.token) -> (!stablehlo.token)
    %9 = "stablehlo.tuple"(%arg0, %6#0) : (tensor<2xf32>, tensor<3xi32>) -> (tuple<tensor<2xf32>, tensor<3xi32>>)
    %10 = "stablehlo.get_tuple_element"(%9) {index = 1 : i32} : (tuple<tensor<2xf32>, tensor<3xi32>>) -> (tensor<3xi32>)
    "func.return"(%10, %8) : (tensor<3xi32>, !stablehlo.token) -> ()
  }
}
