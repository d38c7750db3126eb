class Linear(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  __forward_pre_hooks__ = ["prehook", ]
  __forward_hooks__ = ["hook", ]
  weight : Tensor
  bias : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  in_features : Final[int] = 2
  out_features : Final[int] = 2
  def forward(self: __torch__.torch.nn.modules.linear.Linear,
    input: Tensor) -> Tensor:
    weight = self.weight
    bias = self.bias
    return torch.linear(input, weight, bias)
  def hook(self: __torch__.torch.nn.modules.linear.Linear,
    i: Tuple[Tensor],
    o: Tensor) -> Tensor:
    return torch.add(o, 1)
  def prehook(self: __torch__.torch.nn.modules.linear.Linear,
    i: Tuple[Tensor]) -> Tuple[Tensor]:
    return (torch.add((i)[0], 1),)
