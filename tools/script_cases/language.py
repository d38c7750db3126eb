"""The language: control flow, numbers, strings, arguments and results. All scripted."""
import math
from typing import Final, List, Optional, Tuple

import torch
from torch import nn

from case import Built, case, rnd


# ---------------------------------------------------------------- control flow
@case("if_on_int_argument")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            if n == 0:
                y = x
            elif n < 0:
                y = -x * n
            elif n % 2 == 0:
                y = x + n
            else:
                y = x * n
            return y
    return Built(M(), (rnd(3), 4), alts=[(rnd(3), 0), (rnd(3), -3), (rnd(3), 7)])


@case("early_returns")
def _():
    class M(nn.Module):
        def pick(self, x: torch.Tensor, n: int) -> Tuple[torch.Tensor, int]:
            for i in range(n):
                if i * i > n:
                    return x + i, i
                if i == 5:
                    return x - 1, -1
            return x, 0

        def forward(self, x, n: int):
            if x.dim() == 3:
                return x, 100
            y, k = self.pick(x, n)
            if k < 0:
                return y * 2, k
            return y, k
    return Built(M(), (rnd(2, 2), 9), alts=[(rnd(2, 2), 1), (rnd(2, 2), 40), (rnd(1, 2, 2), 3)])


@case("break_and_continue")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            total = 0
            for i in range(n):
                if i % 3 == 1:
                    continue
                j = 0
                while True:
                    j += 1
                    if j == 2:
                        continue
                    if j > i:
                        break
                    x = x + j
                    total += i * j
                else_seen = j > 3
                if else_seen and total > 60:
                    break
            return x, total
    return Built(M(), (rnd(2), 9), alts=[(rnd(2), 0), (rnd(2), 3)])


@case("while_on_ints")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            steps = 0
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
                x = x * 0.9 + steps
            return x, steps
    return Built(M(), (rnd(3), 6), alts=[(rnd(3), 1)])


@case("while_on_tensor", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x):
            n = torch.zeros((), dtype=torch.int64)
            while bool(x.abs().sum() < 100):
                x = x * 1.5 + 0.1
                n = n + 1
            return x, n
    return Built(M(), (rnd(3),), alts=[(rnd(3) * 1000,)])


@case("while_on_tensor_with_counter", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x, limit: int):
            i = 0
            while bool((x > 0.01).any()) and i < limit:
                x = x / 2
                i += 1
            return x, torch.tensor(i)
    return Built(M(), (torch.rand(4), 100), alts=[(torch.rand(4), 2)])


@case("if_on_tensor", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(3, 4)

        def forward(self, x):
            if x.sum() > 0:
                y = self.a(x)
                s = y.sum()
            else:
                y = self.b(x) - 1
                s = y.prod()
            return y, s
    return Built(M(), (torch.ones(2, 3),), alts=[(-torch.ones(2, 3),)])


@case("if_on_tensor_nested", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x, y, n: int):
            if bool(x.mean() > y.mean()):
                if n > 2:
                    if bool(x.max() > 1.0):
                        z = x + y
                    else:
                        z = x - y
                else:
                    z = x * y
            elif bool(y[0] > 0):
                z = y
            else:
                z = -y
            return z
    x, y = torch.tensor([2.0, 3.0]), torch.tensor([0.5, -1.0])
    return Built(M(), (x, y, 3), alts=[(x, y, 1), (y, x, 3), (y, -x, 3), (x / 4, y, 3)])


@case("if_on_tensor_changes_in_place", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x, flag):
            y = x.clone()
            if bool(flag):
                y.add_(1)
                y[0] = 7
            else:
                y.mul_(3)
            return y + x
    return Built(M(), (rnd(3, 2), torch.tensor(True)), alts=[(rnd(3, 2), torch.tensor(False))])


@case("if_on_tensor_early_return", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x):
            if bool(x[0] > 0):
                return x + 1
            x = x * 2
            if bool(x[1] > 0):
                return x - 1
            return x.abs()
    return Built(M(), (torch.tensor([1.0, 2.0]),), alts=[(torch.tensor([-1.0, 2.0]),), (torch.tensor([-1.0, -2.0]),)])


@case("for_over_tensor_range", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x, n):
            for i in range(int(n)):
                x = torch.sin(x) + i
            return x
    return Built(M(), (rnd(3), torch.tensor(5)), alts=[(rnd(3), torch.tensor(0))])


@case("beam_step_with_break", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.out = nn.Embedding(7, 4), nn.Linear(4, 7)

        def forward(self, token):
            tokens = torch.zeros(6, dtype=torch.int64)
            for i in range(6):
                token = self.out(self.emb(token)).argmax(-1)
                tokens[i] = token
                if bool(token == 3):
                    break
            return tokens
    return Built(M(), (torch.tensor(1),), alts=[(torch.tensor(5),)])


@case("ranges")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            out: List[int] = []
            for i in range(n, 0, -2):
                out.append(i)
            for i in range(2, n):
                out.append(i * 10)
            for i in range(n, 2):
                out.append(-1)
            for i, j in zip(range(3), range(10, 20, 4)):
                out.append(i * j)
            for i, (a, b) in enumerate(zip([1.5, 2.5], [x, x + 1])):
                x = x + i * a * b
            for row in [r * r for r in range(4)]:
                out.append(row)
            return x, out
    return Built(M(), (rnd(2), 5))


@case("iterate_over_a_tensor")
def _():
    class M(nn.Module):
        def forward(self, x):
            y = torch.zeros_like(x[0])
            for row in x:
                y = torch.tanh(y + row)
            rows = [r.sum() for r in x]
            return y, torch.stack(rows), len(x)
    return Built(M(), (rnd(4, 3),))


@case("conditional_expressions")
def _():
    class M(nn.Module):
        def forward(self, x, n: int, flag: bool):
            a = x if n > 2 else -x
            b = 1.0 if flag else (2.0 if n == 1 else 3.0)
            c = n if not flag else n * 2
            ok = 0 < n < 10 and (flag or n == 4) and not (n == 5)
            return a * b + c, ok, min(n, 3), max(2.5, b)
    return Built(M(), (rnd(2), 4, False), alts=[(rnd(2), 1, True), (rnd(2), 12, True)])


@case("exceptions_not_reached")
def _():
    class M(nn.Module):
        def forward(self, x, mode: str = "sum"):
            if x.dim() != 2:
                raise ValueError(f"expected 2 dimensions, got {x.dim()}")
            assert x.size(1) == 3, "three columns"
            if mode == "sum":
                y = x.sum(1)
            elif mode == "mean":
                y = x.mean(1)
            else:
                raise NotImplementedError("mode " + mode)
            return y
    return Built(M(), (rnd(2, 3),), alts=[(rnd(2, 3), "mean")])


@case("assert_on_tensor", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x):
            assert bool((x < 100).all()), "too large"
            if bool(torch.isnan(x).any()):
                raise ValueError("nan")
            return x * 2
    return Built(M(), (rnd(3),))


@case("fork_and_wait")
def _():
    @torch.jit.script
    def work(x: torch.Tensor, n: int) -> torch.Tensor:
        for i in range(n):
            x = x.cos() + i
        return x

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            futures = [torch.jit.fork(work, x, i) for i in range(3)]
            f = torch.jit.fork(self.l, x)
            y = torch.jit.wait(f)
            for g in futures:
                y = y + torch.jit.wait(g)
            return y
    return Built(M(), (rnd(2, 3),))


@case("with_no_grad")
def _():
    class M(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x * 2
            with torch.no_grad():
                z = y.detach() + 1
            return z, torch.is_grad_enabled()
    return Built(M(), (rnd(3),))


# ---------------------------------------------------------------- numbers
@case("integer_arithmetic")
def _():
    class M(nn.Module):
        def forward(self, x, a: int, b: int):
            out = [a // b, a % b, -a // b, -a % b, a // -b, a % -b, a << 2, a >> 1, a & b, a | b, a ^ b, abs(-a),
                   int(a / b), int(-a / b), int(-2.7), int(round(2.5)), int(round(3.5)), min(a, b), max(a, b), a * b - 1, divmod(a, b)[0]]
            return x + float(a ** b), out, 9223372036854775807, -9223372036854775807 - 1
    return Built(M(), (rnd(2), 17, 5), alts=[(rnd(2), -3, 7)])


@case("float_arithmetic")
def _():
    class M(nn.Module):
        def forward(self, x, a: float, n: int):
            out = [a / 2, a // 2, a % 3, -a % 3, a ** 2, a ** -0.5, n / 2, 2 ** n * 1.0, float(n), math.sqrt(a), math.exp(a),
                   math.log(a), math.floor(a) * 1.0, math.ceil(a) * 1.0, math.pi, math.sin(a), math.atan2(a, 2.0), math.pow(a, 3.0),
                   math.fmod(-a, 2.0), float("1.5"), math.copysign(a, -0.0), math.degrees(a), math.lgamma(a)]
            flags = [a > n, a == 2.75, math.isinf(a), math.isnan(a), n <= a, bool(n), bool(0.0), math.isfinite(a)]
            return x * out[0], out, flags, float("inf"), -float("inf"), math.gcd(12, 18), math.factorial(5)
    return Built(M(), (rnd(2), 2.75, 3))


@case("numbers_from_a_tensor", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, x, n):
            s = x.sum().item()
            k = int(n)
            f = float(x[0])
            y = x * s + k - f ** 2
            z = y + (k // 3) * (k % 3) + int(f) + abs(k - 10)
            m = max(f, 0.25) + min(float(k), 2.0) + math.sqrt(abs(f)) + math.floor(f)
            return z * m, k * 2, f / 4, torch.full([2], f), torch.tensor([f, 1.0]), f > 0 and k > 1
    return Built(M(), (torch.tensor([0.75, -2.0, 1.0]), torch.tensor(7)), alts=[(torch.tensor([-1.5, 2.0, 1.0]), torch.tensor(-7))])


@case("tensors_and_numbers")
def _():
    class M(nn.Module):
        def forward(self, x, i):
            y = [1 - x, 2 / x, 2.0 ** x, x // 2, -x, x % 3, x ** 2, abs(x), 3 * x - 1, x + True, x - 0.5]
            b = [1 < x, x >= 0, x == 1, 2.0 != x, x < 1]
            k = [i // 2, i % 3, i << 1, i & 6, i | 1, ~i, i ^ 5, i / 2, 1 - i, i * 2.5, i ** 2, -i]
            m = [b[0] & b[1], b[0] | b[2], ~b[3], b[0] ^ b[4], b[1] + 1]
            return y, b, k, m
    return Built(M(), (torch.tensor([0.5, -1.25, 3.0]), torch.tensor([3, -7, 4])))


@case("complex_numbers")
def _():
    class M(nn.Module):
        def forward(self, x, theta):
            z = torch.view_as_complex(x) * (1.5 - 0.5j)
            r = torch.polar(torch.ones_like(theta), theta)
            w = z * r + complex(1.0, 2.0)
            return w, w.real, w.imag.clone(), torch.view_as_real(w.conj().resolve_conj()), w.abs(), torch.angle(w)
    return Built(M(), (rnd(3, 2), rnd(3)))


# ---------------------------------------------------------------- strings
@case("strings")
def _():
    class M(nn.Module):
        def forward(self, x, name: str, n: int):
            s = "{}-{}:{}".format(name, n, 2.5)
            t = f"{name}={n}"
            u = "%s has %d and %s" % (name, n, True)
            parts = "a,b,,c".split(",")
            j = "+".join(parts)
            k = [len(s), ord(name[0]), t.find("="), name.count("o"), int("42"), int(name == "bob"), int("b" in name)]
            w = [name.upper(), "  pad ".strip(), name.replace("b", "BB"), name[1:], name[-1], s + t, chr(65), str(n),
                 name.capitalize(), "x y".title(), "Ab".swapcase(), "z".rjust(3, "."), "ab".ljust(4) + "|", "7".zfill(3), "é✓ \"q\"\n\t\\"]
            b = [name.startswith("b"), name.endswith("x"), name < "c", "12".isdigit(), "Ab".isalpha(), name != "bob", bool(""), "a" "b" == "ab"]
            y = x
            for c in "abc":
                if c != "b":
                    y = y + ord(c)
            return y, s, t, u, parts, j, k, w, b
    return Built(M(), (rnd(2), "bob", 7))


@case("strings_steer")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.plan = "relu,neg,scale:3"

        def forward(self, x):
            for step in self.plan.split(","):
                if step.startswith("scale:"):
                    x = x * int(step[6:])
                elif step == "relu":
                    x = torch.relu(x)
                else:
                    x = -x
            print("done", x.size(0), self.plan)
            return x
    return Built(M(), (rnd(4),))


# ---------------------------------------------------------------- arguments and results
@case("default_arguments")
def _():
    class M(nn.Module):
        def forward(self, x, scale: float = 2.5, n: int = 3, flag: bool = True, name: str = "abc", sizes: Tuple[int, int] = (1, 2),
                    other: Optional[torch.Tensor] = None, pair: Tuple[int, float] = (1, 0.5)):
            y = x * scale + n + len(name) + sizes[1] + pair[1]
            if flag and other is None:
                y = -y
            return y
    return Built(M(), (rnd(3),), alts=[(rnd(3), 1.0, 0, False)])


@case("keyword_arguments")
def _():
    class M(nn.Module):
        def forward(self, x, y, n: int, scale: float = 2.0, mode: str = "down"):
            return (x - y) * n * scale if mode == "up" else y
    return Built(M(), (rnd(2),), {"y": rnd(2), "n": 3, "scale": 0.5, "mode": "up"})


@case("dtype_and_device_arguments")
def _():
    class M(nn.Module):
        def forward(self, x, dtype: torch.dtype, device: torch.device):
            y = x.to(dtype)
            z = torch.zeros([2], dtype=dtype, device=device)
            same = x.dtype == torch.float32 and x.device == device
            return y, z, torch.ones([2], dtype=torch.int32, device=x.device), torch.arange(3, dtype=dtype), same
    return Built(M(), (rnd(2), torch.float64, torch.device("cpu")))


@case("results_of_every_kind")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            e: List[torch.Tensor] = []
            return x, x, n, 2.5, True, "text", None, e, {"a": x + 1}, [1, 2], (x.sum(), ()), float("nan"), 1e300
    return Built(M(), (rnd(2), 3))


@case("none_result")
def _():
    class M(nn.Module):
        def forward(self, x) -> None:
            x.add_(1)
    return Built(M(), (rnd(2),))


@case("function_as_root", how="done")
def _():
    def helper(x: torch.Tensor, k: int) -> torch.Tensor:
        return x * k

    @torch.jit.script
    def f(x: torch.Tensor, y: torch.Tensor, n: int = 2) -> Tuple[torch.Tensor, int]:
        return torch.matmul(x, y) + n, x.size(0)
    return Built(f, (rnd(2, 3), rnd(3, 2), 2))


@case("constants_of_a_class")
def _():
    class M(nn.Module):
        sizes: Final[List[int]]
        scale: Final[float]
        __constants__ = ["depth", "big", "names", "pair"]

        def __init__(self):
            super().__init__()
            self.sizes = [2, 3]
            self.scale = 1e-5
            self.depth = 3
            self.big = 9223372036854775807
            self.names = ["é", "ok"]
            self.pair = (True, 2.5)

        def forward(self, x):
            for _ in range(self.depth):
                x = x + self.scale
            return x.view(self.sizes), self.big, self.names[0] + self.names[1], self.pair[1], -float("inf"), 1e-45, 123456789.123456789
    return Built(M(), (rnd(6),))


@case("tensor_constants")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            b = torch.tensor(n)
            c = torch.tensor([1, 2], dtype=torch.float64)
            d = torch.tensor([True, False])
            e = torch.tensor(2.5) * torch.tensor([n, n + 1])
            f = torch.as_tensor([0.5, float(n)])
            g = torch.tensor([[n], [2 * n]], dtype=torch.int32)
            h: List[int] = []
            return a @ x, b, c, d, e, f, g, torch.tensor(h)
    return Built(M(), (rnd(2), 4))


@case("tolist_and_item", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sizes", torch.tensor([2, 3]))
            self.register_buffer("eps", torch.tensor(0.5))

        def forward(self, x):
            sizes: List[int] = self.sizes.tolist()
            values: List[float] = x.tolist()
            n = int(self.sizes.sum().item())
            return x.view(sizes), torch.zeros([n]), values[1] * 2, self.eps.item() + 1, [v + 1 for v in values]
    return Built(M(), (rnd(6),))


@case("numbers_of_truth_and_nan", features=("data_dependent",))
def _():
    class M(nn.Module):
        def forward(self, b, x):
            n = float(x.mean().item())
            return b.float() * n, b.to(torch.float64) * x.double(), b.half() * float("inf"), b * x, (x > 0).float() * -x
    return Built(M(), (torch.tensor([True, False, True]), torch.tensor([float("nan"), float("-inf"), 2.0])))
