class ControlFlow(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  mode : __torch__.Mode
  names : Dict[str, int]
  sizes : List[float]
  LIMIT : Final[int] = 6
  eps : Final[float] = 0.001
  def forward(self: __torch__.ControlFlow,
    x: Tensor,
    n: int,
    name: Optional[str]=None) -> Tuple[__torch__.Pair, List[Tensor], Dict[str, Tensor], int]:
    _0 = "AssertionError: n must not be negative"
    _1 = uninitialized(int)
    _2 = uninitialized(bool)
    acc = __torch__.Acc.__new__(__torch__.Acc)
    _3 = (acc).__init__(n, )
    out = annotate(List[Tensor], [])
    d = annotate(Dict[str, Tensor], {})
    i = 0
    _4 = torch.lt(0, n)
    while _4:
      i0 = torch.add(i, 1)
      if torch.eq(i0, 2):
        _5, _6, _7, _8, _9 = True, torch.lt(i0, n), i0, _2, _1
      else:
        if torch.gt(i0, 6):
          _10, _11, _12, _13, _14 = True, False, i0, _2, _1
        else:
          _15 = torch.add(x, torch.div(float(i0), 2))
          _16 = torch.append(out, _15)
          _10, _11, _12, _13, _14 = False, _2, _1, torch.lt(i0, n), i0
        _5, _6, _7, _8, _9 = _10, _11, _12, _13, _14
      if _5:
        _17, _18 = _6, _7
      else:
        _17, _18 = _8, _9
      _4, i = _17, _18
    names = self.names
    _19 = torch.items(names)
    for _20 in range(torch.len(_19)):
      k, v, = _19[_20]
      torch._set_item(d, k, torch.mul(x, v))
    for _21 in range(3):
      j = torch.__derive_index(_21, 1, 2)
      _22 = (acc).push(j, )
    sizes = self.sizes
    for _23 in range(torch.len(sizes)):
      s = sizes[_23]
      if torch.lt(s, 1000000000.):
        _24 = torch.append(out, torch.mul(x, s))
      else:
        pass
    if torch.__isnot__(name, None):
      name0 = unchecked_cast(str, name)
      msg0 = torch.format("{} got {}", name0, n)
      if torch.gt(torch.len(msg0), 40):
        ops.prim.RaiseException(torch.add("too long: ", msg0), "builtins.ValueError")
      else:
        pass
      msg = msg0
    else:
      msg = torch.format("n={}", n)
    if torch.ge(n, 0):
      pass
    else:
      ops.prim.RaiseException(_0)
    mode = self.mode
    if torch.eq(mode, __torch__.Mode.MUL):
      y0, q0, = (self).helper(x, 3, )
      y, q = y0, q0
    else:
      y, q = x, 0
    _25 = torch.add(y, 0.001)
    n0 = acc.n
    t = __torch__.Pair(_25, n0, msg)
    z = torch.item(torch.sum(x))
    if torch.gt(torch.dim(x), 1):
      _26 = torch.select(torch.slice(x, -1, 1, 3), 0, 0)
      r = _26
    else:
      _27 = torch.unsqueeze(torch.select(x, 0, -1), 0)
      r = _27
    _28 = torch.mul(r, torch.pow(float(z), 2))
    _29 = torch.add(_28, torch.floordiv(n, 2))
    _30 = torch.sub(_29, torch.remainder(n, 3))
    torch._set_item(d, "z", torch.add(_30, -4))
    h = annotate(List[int], [])
    hist = acc.hist
    for _31 in range(torch.len(hist)):
      a = hist[_31]
      _32 = torch.append(h, torch.mul(a, a))
    torch._set_item(d, "h", torch.tensor(h, dtype=4))
    return (t, out, d, q)
  def helper(self: __torch__.ControlFlow,
    x: Tensor,
    k: int=2) -> Tuple[Tensor, int]:
    return (torch.mul(x, k), torch.add(k, 1))
class Mode(Enum):
  ADD = 1
  MUL = 2
class Pair(NamedTuple):
  a : Tensor
  n : int
  s : Optional[str]
class Acc:
  n : int
  hist : List[int]
  def __init__(self: __torch__.Acc,
    n: int) -> NoneType:
    self.n = n
    self.hist = annotate(List[int], [])
    return None
  def push(self: __torch__.Acc,
    k: int) -> int:
    n = self.n
    self.n = torch.add(n, k)
    hist = self.hist
    _33 = torch.append(hist, k)
    return self.n
