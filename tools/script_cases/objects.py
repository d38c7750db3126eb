"""Containers, Optional and Union, classes, modules and their state. All scripted."""
import enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import nn

from case import Built, case, rnd


# ---------------------------------------------------------------- containers
@case("list_methods")
def _():
    class M(nn.Module):
        def forward(self, x):
            a = [5, 3, 8]
            b = a
            b.append(1)
            a.extend([9, 3])
            a.insert(1, 7)
            p = a.pop()
            q = a.pop(0)
            a.reverse()
            c = a[1:3] + a[::2] + [a[-1]] * 2
            a.sort()
            d = sorted(c)
            e = a.copy()
            e.sort(reverse=True)
            e.remove(7)
            del a[0]
            c[0] = 100
            c[1] = 55
            f = [i * i for i in a]
            n = [len(a), p, q, a.index(8), c.count(100), int(3 in a), int(4 not in a), sum(f), min(f), max(f)]
            s = [[1, 2], [3]]
            s[0].append(4)
            t = list(s[0])
            t.clear()
            return x + sum(n), a, c, d, e, n, s, a == [3, 7, 8], t, any([False, True]), all([True, False])
    return Built(M(), (rnd(2),))


@case("list_of_tensors")
def _():
    class M(nn.Module):
        def forward(self, xs: List[torch.Tensor], n: int):
            out: List[torch.Tensor] = []
            for x in xs:
                out.append(x * n)
            out.insert(0, xs[-1])
            last = out.pop()
            alias = out
            alias[0] = alias[0] + 1
            out += [last, last - 1]
            h: List[Optional[torch.Tensor]] = [None, out[0]]
            k = h[1]
            if k is not None:
                out.append(k)
            return torch.cat(out), torch.stack(xs), out[1:], len(out)
    return Built(M(), ([rnd(3), rnd(3), rnd(3)], 2))


@case("dict_methods")
def _():
    class M(nn.Module):
        def forward(self, x):
            d = {"b": 2, "a": 1}
            d["c"] = 3
            e = d.copy()
            e.update({"z": 26, "a": -1})
            p = e.pop("b")
            g = d.get("q", 7)
            h = d.get("a")
            s = d.setdefault("n", 12)
            del d["c"]
            names = ""
            total = 0
            for k, v in d.items():
                names += k
                total = total * 10 + v
            for k in e:
                total += len(k)
            for k in e.keys():
                names = names + k.upper()
            vals = list(d.values())
            f = {k: v * 2 for k, v in e.items()}
            i = {1: x, 2: x * 2}
            i[3] = i[1] + i[2]
            fl = {1.5: "one", 2.5: "two"}
            return i, f, vals, names, total, p, g, h is None, s, "a" in d, 5 in i, len(d), fl[2.5], list(fl.keys())
    return Built(M(), (rnd(2),))


@case("dict_of_tensors_argument")
def _():
    class M(nn.Module):
        def forward(self, d: Dict[str, torch.Tensor], pair: Tuple[torch.Tensor, List[int]]):
            out = {"sum": d["x"] + d["y"]}
            for k, v in d.items():
                out[k + "2"] = v * pair[1][0]
            x, sizes = pair
            return out, x.view(sizes)
    return Built(M(), ({"x": rnd(2, 3), "y": rnd(3)}, (rnd(6), [3, 2])))


@case("tuples")
def _():
    class M(nn.Module):
        def split(self, x: torch.Tensor) -> Tuple[Tuple[torch.Tensor, torch.Tensor], int]:
            return (x[:1], x[1:]), x.size(0)

        def forward(self, x, t: Tuple[int, float, str]):
            (a, b), n = self.split(x)
            i, f, s = t
            u = (1, 2.0, x, "s")
            v = u[1:3]
            w = (n, i) != (n, i + 1)
            a, b = b, a
            first, second = [b, a]
            return (a + f, (b * i, [s, u[3]])), v, w, (), (x,), (1, 2) == (1, 2), first, len(u)
    return Built(M(), (rnd(3, 2), (4, 0.5, "mid")))


class Result(NamedTuple):
    value: torch.Tensor
    parts: List[torch.Tensor]
    count: int = 3
    label: Optional[str] = None


@case("named_tuples")
def _():
    class M(nn.Module):
        def make(self, x: torch.Tensor) -> Result:
            return Result(x, [x + 1, x + 2], label="made")

        def forward(self, r: Tuple[torch.Tensor, int], x):
            m = self.make(x)
            n = Result(value=m.value * m.count, parts=m.parts + [r[0]])
            v, parts, count, label = n
            return n, m.label, count == r[1], label is None, v, m[0]
    return Built(M(), ((rnd(2), 3), rnd(2)))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Word(enum.Enum):
    UP = "up"
    DOWN = "down"


@case("enums")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.color = Color.GREEN
            self.word: Word = Word.DOWN

        def sign(self, w: Word) -> int:
            if w == Word.UP:
                return 1
            return -1

        def forward(self, x):
            k = 0
            for c in [Color.RED, Color.GREEN, Color.RED]:
                k = k * 10 + c.value
            if self.color is Color.RED or self.color != Color.GREEN:
                k = 0
            d = {Color.RED.value: "r", Color.GREEN.value: "g"}
            return x * self.sign(self.word), k, self.word.value, self.color.name, d[self.color.value]
    return Built(M(), (rnd(2),))


@case("aliases_of_containers")
def _():
    class M(nn.Module):
        def grow(self, a: List[int], d: Dict[str, List[int]]) -> None:
            a.append(len(a))
            d["a"] = a

        def forward(self, x):
            a = [10]
            d: Dict[str, List[int]] = {}
            self.grow(a, d)
            d["a"].append(50)
            self.grow(d["a"], d)
            b = d["a"]
            b[0] = 11
            nested = [a, b, [1]]
            nested[2].append(2)
            return x + a[0], a, len(d), nested, a is b
    return Built(M(), (rnd(2),))


# ---------------------------------------------------------------- Optional, Union, Any
@case("optional_refinement")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias: Optional[torch.Tensor] = None
            self.scale: Optional[float] = 2.0

        def forward(self, x, mask: Optional[torch.Tensor] = None, n: Optional[int] = None):
            if mask is not None and mask.dim() == 1:
                x = x * mask
            elif mask is not None:
                x = x + mask.sum()
            k = 1 if n is None else n + 1
            b = self.bias
            if b is not None:
                x = x + b
            s = self.scale
            assert s is not None
            return x * s, k, torch.jit.annotate(Optional[int], None), n
    return Built(M(), (rnd(3), None, 5), alts=[(rnd(3), rnd(3)), (rnd(3), rnd(2, 3), None), (rnd(3),)])


@case("union_and_any")
def _():
    class M(nn.Module):
        def size_of(self, v: Union[int, List[int]]) -> int:
            if isinstance(v, int):
                return v
            else:
                return v[0] + len(v)

        def kind(self, v: Any) -> str:
            if isinstance(v, int):
                return "int"
            if isinstance(v, (str, float)):
                return "text or float"
            if isinstance(v, torch.Tensor):
                return "tensor"
            if isinstance(v, List[int]):
                return "list"
            return "other"

        def forward(self, x):
            k = self.size_of(4) + self.size_of([2, 3])
            return x + k, self.kind(3) + self.kind("a") + self.kind(x) + self.kind([1]) + self.kind(None)
    return Built(M(), (rnd(2),))


# ---------------------------------------------------------------- classes
@torch.jit.script
class Window:
    def __init__(self, size: int, label: str = "w"):
        self.size = size
        self.items: List[torch.Tensor] = []
        self.label = label

    def push(self, x: torch.Tensor) -> int:
        self.items.append(x)
        if len(self.items) > self.size:
            self.items.pop(0)
        return len(self.items)

    def mean(self) -> torch.Tensor:
        return torch.stack(self.items).mean(0)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.items[i]

    def __contains__(self, label: str) -> bool:
        return self.label == label

    def __add__(self, other: int) -> int:
        return self.size + other


@torch.jit.script
class Scope:
    def __init__(self, log: List[int]):
        self.log = log

    def __enter__(self) -> int:
        self.log.append(1)
        return len(self.log)

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.log.append(-1)


def fill(w: Window, x: torch.Tensor, n: int) -> Window:
    for i in range(n):
        w.push(x + i)
    return w


@case("classes")
def _():
    class M(nn.Module):
        def forward(self, x):
            w = Window(2)
            v = fill(w, x, 3)
            v.size += 1
            n = w.push(x * 10)
            return w.mean(), v[0], n, len(w), "w" in v, w + 5, w.label, v.size
    return Built(M(), (rnd(2),))


@case("context_managers")
def _():
    class M(nn.Module):
        def forward(self, x):
            log: List[int] = []
            with Scope(log) as depth:
                x = x + depth
                with Scope(log) as deeper, Scope(log):
                    x = x * deeper
            return x, log
    return Built(M(), (rnd(2),))


# ---------------------------------------------------------------- modules
class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(rnd(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.by


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


@case("interfaces_by_index")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = nn.ModuleList([Twice(), Shift(), Twice()])
            self.named = nn.ModuleDict({"shift": Shift(), "twice": Twice()})

        def forward(self, x, order: List[int], name: str):
            for i in order:
                step: Step = self.steps[i]
                x = step.forward(x)
            last: Step = self.named[name]
            return last.forward(x)
    return Built(M(), (rnd(3), [1, 0, 2, 1], "shift"))


@case("nested_loops_over_modules")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.ModuleList([nn.Linear(3, 3), nn.Tanh()]), nn.ModuleList([nn.Linear(3, 3)])])
            self.by_name = nn.ModuleDict({"a": nn.Linear(3, 3), "odd-name": nn.ReLU(), "0": nn.Sigmoid()})
            self.seq = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                for j, m in enumerate(block):
                    x = m(x) + i * j
            n = 0
            for k, m in self.by_name.items():
                x = m(x)
                n += len(k)
            for m in self.by_name.values():
                x = m(x)
            if "a" in self.by_name:
                x = self.by_name["a"](x)
            for m in self.seq[:1]:
                x = m(x)
            return self.seq(x), n, len(self.blocks)
    return Built(M(), (rnd(2, 3),))


@case("parameter_containers")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.ps = nn.ParameterList([nn.Parameter(rnd(2, 3)), nn.Parameter(rnd(3, 2))])
            self.pd = nn.ParameterDict({"w": nn.Parameter(rnd(2)), "b": nn.Parameter(rnd(2))})

        def forward(self, x):
            for p in self.ps:
                x = x @ p
            return x * self.pd["w"] + self.pd["b"] + self.ps[0].sum()
    return Built(M(), (rnd(2, 2),))


@case("shared_parts")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = self.a
            self.tied = nn.Linear(3, 3, bias=False)
            self.tied.weight = self.a.weight
            base = torch.arange(12.0)
            self.register_buffer("all", base)
            self.register_buffer("part", base[3:6])
            self.sizes = [1, 2]
            self.same_sizes = self.sizes

        def forward(self, x):
            x = self.b(self.a(x)) + self.tied(x)
            self.all.add_(1)
            self.sizes.append(3)
            return x + self.part, len(self.same_sizes)
    return Built(M(), (rnd(2, 3),))


@case("same_class_other_constants")
def _():
    class Block(nn.Module):
        __constants__ = ["n"]

        def __init__(self, n: int, bias: bool):
            super().__init__()
            self.n = n
            self.l = nn.Linear(3, 3, bias=bias)
            self.norm = nn.LayerNorm(3) if n > 1 else nn.Identity()

        def forward(self, x):
            for _ in range(self.n):
                x = self.norm(self.l(x))
            return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(Block(1, True), Block(2, False), Block(3, True))

        def forward(self, x):
            return self.blocks(x)
    return Built(M(), (rnd(2, 3),))


@case("hooks_of_the_root")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.l(x)

    def before(self, inp: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
        return (inp[0] * 2,)

    def after(self, inp: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
        return out + inp[0]
    m = M()
    m.register_forward_pre_hook(before)
    m.register_forward_hook(after)
    return Built(m, (rnd(2, 3),))


@case("hooks_of_children")
def _():
    class Sub(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
            return x + y, x - y

    def before(self, inp: Tuple[torch.Tensor, torch.Tensor]) -> None:
        inp[0].add_(1)

    def after(self, inp: Tuple[torch.Tensor, torch.Tensor], out: Tuple[torch.Tensor, torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor]:
        return out[1], out[0] * inp[1]

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = Sub()
            self.sub.register_forward_pre_hook(before)
            self.sub.register_forward_hook(after)

        def forward(self, x, y):
            a, b = self.sub(x, y)
            return a, b, x
    return Built(M(), (rnd(2), rnd(2)))


# ---------------------------------------------------------------- state
@case("state_counter")
def _():
    class M(nn.Module):
        last: Optional[int]
        names: Dict[str, int]

        def __init__(self):
            super().__init__()
            self.calls = 0
            self.last = None
            self.names = {}

        def forward(self, x, n: int):
            self.calls += 1
            before = self.last
            self.last = n
            self.names[str(n)] = self.calls
            k = -1 if before is None else before
            return x * self.calls + k, self.calls, len(self.names)
    return Built(M(), (rnd(2), 5), steps=[(rnd(2), 6), (rnd(2), 5)])


@case("state_float_average")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.average = 0.0

        def forward(self, x, v: float):
            self.average = 0.9 * self.average + 0.1 * v
            return x + self.average
    return Built(M(), (rnd(2), 5.0), steps=[(rnd(2), 6.0), (rnd(2), 1.0)])


@case("state_average_of_values", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.average = 0.0

        def forward(self, x):
            self.average = 0.9 * self.average + 0.1 * float(x.mean())
            return x - self.average
    return Built(M(), (rnd(2),), steps=[(rnd(2),), (rnd(2),)])


@case("state_buffer_replaced")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", torch.zeros(2, 3))
            self.cell = nn.GRUCell(3, 3)

        def forward(self, x):
            self.h = self.cell(x, self.h)
            return self.h * 2
    return Built(M(), (rnd(2, 3),), steps=[(rnd(2, 3),), (rnd(2, 3),)])


@case("state_buffer_in_place")
def _():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sum", torch.zeros(3))
            self.register_buffer("n", torch.zeros((), dtype=torch.int64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.sum.add_(x)
            self.n += 1
            self.sum[0] = 0.5
            return self.sum / self.n

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = Mean()

        def forward(self, x):
            return x - self.mean(x)
    return Built(M(), (rnd(3),), steps=[(rnd(3),), (rnd(3),)])


@case("state_lazy_shape")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(0)
            self.rate = 0

        @torch.jit.export
        def reset(self, n: int) -> None:
            self.state = torch.zeros(n, 4)

        def forward(self, x, rate: int):
            if self.rate != rate or len(self.state) != x.size(0):
                self.reset(x.size(0))
                self.rate = rate
            self.state = torch.tanh(self.state + x)
            return self.state
    return Built(M(), (rnd(2, 4), 8), steps=[(rnd(2, 4), 8), (rnd(3, 4), 8), (rnd(3, 4), 16)])


@case("state_cache_of_tensors")
def _():
    class M(nn.Module):
        cache: List[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.cache = []

        def forward(self, x):
            self.cache.append(x)
            if len(self.cache) > 2:
                self.cache = self.cache[1:]
            return torch.cat(self.cache).sum(0), len(self.cache)
    return Built(M(), (rnd(2, 3),), steps=[(rnd(2, 3),), (rnd(2, 3),), (rnd(2, 3),)])


@case("state_dict_cache")
def _():
    class M(nn.Module):
        cache: Dict[str, Optional[torch.Tensor]]

        def __init__(self):
            super().__init__()
            self.cache = {"k": None}

        def forward(self, x):
            k = self.cache["k"]
            if k is not None:
                x = torch.cat([k, x])
            self.cache["k"] = x
            return x.sum(0), x
    return Built(M(), (rnd(1, 3),), steps=[(rnd(1, 3),), (rnd(1, 3),)])


@case("state_under_tensor_condition", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("best", torch.tensor(-1e9))
            self.register_buffer("hits", torch.zeros(2, dtype=torch.int64))

        def forward(self, x):
            m = x.max()
            if bool(m > self.best):
                self.best = m
                self.hits[0] += 1
            else:
                self.hits[1] += 1
            return self.best, self.hits.clone()
    return Built(M(), (torch.tensor([1.0, 2.0]),), steps=[(torch.tensor([0.0, 1.5]),), (torch.tensor([3.0, 1.0]),)])


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 2), nn.Linear(2, 4)

    @torch.jit.export
    def encode(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.enc(x) * scale

    @torch.jit.export
    def decode(self, z: torch.Tensor) -> Dict[str, torch.Tensor]:
        return {"x": self.dec(z), "z": z}

    @torch.jit.unused
    def debug(self, x):
        return sorted(x.shape, key=lambda n: -n)

    def forward(self, x):
        if not torch.jit.is_scripting():
            self.debug(x)
        return self.decode(self.encode(x, 2.0))["x"]


@case("methods")
def _():
    return Built(Codec(), (rnd(2, 4),))


@case("method_encode", method="encode")
def _():
    return Built(Codec(), (rnd(2, 4),), alts=[(rnd(2, 4), 0.5)])


@case("method_decode", method="decode")
def _():
    return Built(Codec(), (rnd(2, 2),))


@case("method_without_forward", method="repeat")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(rnd(3))

        @torch.jit.export
        def repeat(self, x: torch.Tensor, times: int) -> torch.Tensor:
            for _ in range(times):
                x = x * self.w
            return x
    return Built(M(), (rnd(3), 2))


@case("getstate_and_setstate")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(rnd(2, 3))
            self.scale = 2.0
            self.packed = torch.zeros(0)

        @torch.jit.export
        def __getstate__(self) -> Tuple[torch.Tensor, float, bool]:
            return self.w * 2, self.scale, self.training

        @torch.jit.export
        def __setstate__(self, state: Tuple[torch.Tensor, float, bool]) -> None:
            self.w = state[0]
            self.scale = state[1] + 1
            self.packed = torch.cat([state[0], state[0]])
            self.training = state[2]

        def forward(self, x):
            return (x * self.w * self.scale).sum() + self.packed
    return Built(M(), (rnd(2, 3),))


@case("training_mode_folds")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn, self.drop = nn.BatchNorm1d(3), nn.Dropout(0.5)
            self.bn.running_mean.normal_()

        def forward(self, x):
            if self.training:
                x = x[torch.randperm(x.size(0))]
            return self.drop(self.bn(x))
    return Built(M(), (rnd(4, 3),))


@case("frozen_with_branches", how="freeze")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3)
            self.flag = True
            self.names = ["a", "b"]

        def forward(self, x, n: int):
            x = self.bn(self.conv(x))
            if self.flag and n > len(self.names):
                x = torch.relu(x)
            return x
    return Built(M(), (rnd(1, 2, 6), 3), alts=[(rnd(1, 2, 6), 1)])


@case("frozen_keeping_state", how="done")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.register_buffer("n", torch.zeros(3))

        def forward(self, x):
            self.n += 1
            return self.l(x) + self.n
    return Built(torch.jit.freeze(torch.jit.script(M().eval()), preserved_attrs=["n"]), (rnd(2, 3),), steps=[(rnd(2, 3),)])
