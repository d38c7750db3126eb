class M(Module):
  __parameters__ = []
  __buffers__ = ["buf", ]
  buf : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  mode : __torch__.Mode
  c : complex
  d : Dict[str, List[int]]
  lin : __torch__.torch.nn.modules.linear.Linear
  seq : __torch__.torch.nn.modules.container.Sequential
  mods : __torch__.torch.nn.modules.container.ModuleList
  K : Final[int] = 4
  def forward(self: __torch__.M,
    x: Tensor) -> Tuple[Tensor, Dict[str, List[int]], str, float, Tensor, complex]:
    _0 = __torch__.torch.nn.modules.linear.Linear.prehook
    _1 = __torch__.torch.nn.modules.linear.Linear.hook
    acc = __torch__.Acc.__new__(__torch__.Acc)
    _2 = (acc).__init__(3, )
    _3 = (acc).add(4, )
    def __forked_function():
      return __torch__.work(x, )
    f = fork(__forked_function)
    _4 = __torch__.torch.autograd.grad_mode.no_grad.__new__(__torch__.torch.autograd.grad_mode.no_grad)
    _5 = (_4).__init__()
    with _4:
      lin = self.lin
      _6 = _0(lin, (x,), )
      _7, = _6
      x0 = _1(lin, _6, (lin).forward(_7, ), )
    mode = self.mode
    if torch.eq(mode, __torch__.Mode.MUL):
      x1 = torch.mul(x0, 2)
    else:
      x1 = x0
    z = torch.wait(f)
    x2 = x1
    _8 = 0
    _9 = True
    while _9:
      if torch.eq(_8, 2):
        _10, _11 = False, x2
      else:
        _10, _11 = True, torch.add(x2, _8)
      _12 = torch.add(_8, 1)
      _13 = torch.__and__(torch.lt(_12, 3), _10)
      _9, x2, _8 = _13, _11, _12
    x3 = x2
    _14 = bool(torch.gt(torch.sum(x2), 3))
    while _14:
      x4 = torch.sub(x3, 1)
      if bool(torch.gt(torch.sum(x4), 5)):
        _17 = bool(torch.gt(torch.sum(x4), 3))
        _15, _16 = _17, x4
      else:
        x5 = torch.sub(x4, 2)
        _18 = bool(torch.gt(torch.sum(x5), 3))
        _15, _16 = _18, x5
      _14, x3 = _15, _16
    mods = self.mods
    m : __torch__.Iface = mods[0]
    x6 = (m).forward(x3, )
    c = self.c
    c0 = torch.add(torch.mul(c, inf), 0.+1.j)
    l = annotate(List[int], [])
    for i in range(4):
      _19 = torch.append(l, torch.mul(i, 2))
    d = {"a": 1, "b": 2}
    a, b = torch.max(x6, 0)
    _20 = torch.view_as_complex(torch.ones([3, 2]))
    s = torch.mul(_20, -1.-2.j)
    _21 = [1.5]
    print(CONSTANTS.c0, x6)
    o = annotate(List[int], [])
    _22 = torch.append(o, 3)
    if torch.gt(torch.len(o), 0):
      pass
    else:
      ops.prim.RaiseException("AssertionError: bad")
    if torch.gt(torch.len(o), 3):
      e : Optional[Tensor] = x6
    else:
      e = None
    if torch.__isnot__(e, None):
      e0 = unchecked_cast(Tensor, e)
      x7 = torch.add(x6, e0)
    else:
      x7 = x6
    if torch.gt(torch.size(x7, 0), 3):
      k = -5
    else:
      _23 = torch.select(torch.select(x7, 0, 0), 0, 0)
      k = int(_23)
    st = torch.percentFormat("%d %s", (3, "q"))
    seq = self.seq
    _24 = torch.add((seq).forward(x7, ), __torch__.free(x7, 2, ))
    _25 = torch.add(torch.add(torch.add(_24, x0), z), 3)
    n = acc.n
    _26 = torch.add(torch.add(torch.add(_25, n), l[1]), d["b"])
    _27 = torch.add(torch.add(_26, torch.sum(a)), torch.sum(b))
    _28 = torch.add(torch.add(_27, _21[0]), 3)
    _29 = torch.add(_28, k)
    d0 = self.d
    mode0 = self.mode
    _30 = (_29, d0, torch.add((mode0).name, st), __torch__.nan(), s, c0)
    return _30
  def other(self: __torch__.M,
    x: Tensor,
    y: Optional[int]=None,
    t: Tuple[int, float]=(1, 2.5),
    dev: Device=torch.device("cpu"),
    s: str=CONSTANTS.c1) -> Tensor:
    if torch.__is__(y, None):
      y0 = 3
    else:
      y0 = unchecked_cast(int, y)
    return torch.add(x, y0)
class Imp(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Imp,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
class Mode(Enum):
  ADD = 1
  MUL = 2
def free(x: Tensor,
    k: int=2) -> Tensor:
  if torch.gt(k, 3):
    _31 = x
  else:
    _31 = torch.mul(x, k)
  return _31
def nan() -> float:
  return nan
class Acc:
  n : int
  def __init__(self: __torch__.Acc,
    n: int) -> NoneType:
    self.n = n
    return None
  def add(self: __torch__.Acc,
    k: int) -> NoneType:
    n = self.n
    self.n = torch.add(n, k)
    return None
def work(x: Tensor) -> Tensor:
  return torch.add(x, 1)
class Iface(Interface):
  def forward(self, x: Tensor) -> Tensor:
    pass
