// Tokens, tuples and talk with the host. versions: 1.0.0 1.12.0 1.17.0
module @tokens {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<3xi32>, !stablehlo.token) {
    %t = stablehlo.create_token : !stablehlo.token
    %i:2 = "stablehlo.infeed"(%t) {infeed_config = "in", layout = [[0]]} : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    %o = "stablehlo.outfeed"(%x, %i#1) {outfeed_config = "out"} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %s = "stablehlo.send"(%x, %o) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %r:2 = "stablehlo.recv"(%s) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    %a = "stablehlo.after_all"(%r#1, %o) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %u = stablehlo.tuple %x, %r#0 : tuple<tensor<2xf32>, tensor<3xi32>>
    %g = stablehlo.get_tuple_element %u[1] : (tuple<tensor<2xf32>, tensor<3xi32>>) -> tensor<3xi32>
    return %g, %a : tensor<3xi32>, !stablehlo.token
  }
}
