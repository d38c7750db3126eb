"""Traced programs: shape arithmetic in tensors, calls of scripted functions, arguments and results in containers."""
import math
from typing import Dict, List, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from case import Built, case, rnd


def traced(name, **options):
    return case(name, how="trace", **options)


@traced("traced_shape_views")
def _():
    class M(nn.Module):
        def forward(self, x):
            b, t, c = x.shape
            h = x.view(b, -1)
            k = x.reshape(b, t, 2, c // 2).permute(0, 2, 1, 3).contiguous().view(b * 2, t, -1)
            return h, k, x.flatten(0, 1).unflatten(0, (b, t)), x.reshape(-1, x.size(-1)) / math.sqrt(x.size(-1)), x.view(x.size(0), x.size(1) * x.size(2))
    return Built(M(), (rnd(2, 3, 4),), alts=[(rnd(5, 2, 4),), (rnd(1, 7, 6),)])


@traced("traced_sizes_as_values")
def _():
    class M(nn.Module):
        def forward(self, x):
            b, t = x.size()
            pos = torch.arange(t, device=x.device)
            z = torch.zeros(b, t + 1, dtype=x.dtype, device=x.device)
            f = torch.full((t,), float("-inf"))
            m = torch.triu(torch.ones(t, t), diagonal=1).bool()
            return x + pos, z, f, m, torch.linspace(0, 1, t), x.new_zeros(t // 2), pos * b, x.sum() / (b * t), torch.tensor(t) * 2, x.numel() + x.sum()
    return Built(M(), (rnd(2, 4),), alts=[(rnd(3, 7),)])


@traced("traced_expand_and_slices")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.table = nn.Parameter(rnd(1, 1, 4)), nn.Parameter(rnd(1, 16, 4))

        def forward(self, x):
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
            x = x + self.table[:, :x.size(1)]
            half = x.shape[1] // 2
            y = x[:, half:]
            y = torch.cat([y, x[:, :x.shape[1] - half]], 1)
            return y, x[:, ::2], x[-1, -2:], x[:, None].expand(-1, 3, -1, -1).reshape(x.shape[0] * 3, *x.shape[1:]), x.split(x.shape[-1] // 2, -1)[1]
    return Built(M(), (rnd(2, 3, 4),), alts=[(rnd(1, 6, 4),)])


@traced("traced_pad_to_multiple")
def _():
    class M(nn.Module):
        def forward(self, x):
            h, w = x.shape[-2:]
            p = (4 - h % 4) % 4
            q = -w % 4
            y = F.pad(x, (0, q, 0, p))
            b, c, h2, w2 = y.shape
            y = y.view(b, c, h2 // 4, 4, w2 // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)
            z = F.interpolate(x, size=(h * 2, w + 1), mode="bilinear")
            return y, z, F.adaptive_avg_pool2d(x, (h // 2, 1)), F.interpolate(x, scale_factor=2)
    return Built(M(), (rnd(1, 2, 5, 6),))


@traced("traced_unrolled_loop")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(3, 4)

        def forward(self, x):
            h = x.new_zeros(x.shape[1], 4)
            c = torch.zeros_like(h)
            out = []
            for i in range(x.shape[0]):
                h, c = self.cell(x[i], (h, c))
                out.append(h)
            return torch.stack(out, 1), (h, c)
    return Built(M(), (rnd(3, 2, 3),), alts=[(rnd(3, 5, 3),)])


@torch.jit.script
def trim(x: torch.Tensor, lengths: List[int], fill: float = 0.5) -> torch.Tensor:
    y = x.clone()
    for i in range(len(lengths)):
        if lengths[i] < x.size(1):
            y[i, lengths[i]:] = fill
    return y


@torch.jit.script
def grow(x: torch.Tensor) -> torch.Tensor:
    while bool(x.sum() < 10):
        x = x * 2 + 1
    return x


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(rnd(4))
        self.steps = 2

    def forward(self, x: torch.Tensor, flip: bool = False) -> torch.Tensor:
        for i in range(self.steps):
            if x.size(0) > i:
                x = torch.sigmoid(x) * self.w
            if flip:
                x = -x
        return x


@traced("traced_with_scripted_parts", features=("data_dependent",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = torch.jit.script(Gate())
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            return grow(self.gate(self.l(trim(x, [1, 4], 0.25))).abs())
    return Built(M(), (rnd(2, 4),), alts=[(rnd(3, 4),)])


@case("scripted_with_traced_parts")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), rnd(2, 3))
            self.f = torch.jit.trace(lambda a, b: a * b + a.size(0), (rnd(2, 3), rnd(2, 3)))

        def forward(self, x, n: int):
            for _ in range(n):
                x = self.t(x)
            return x + self.f(x, x)
    return Built(M(), (rnd(4, 3), 3))


class Boxes(NamedTuple):
    xyxy: torch.Tensor
    scores: torch.Tensor


@traced("traced_containers")
def _():
    class M(nn.Module):
        def forward(self, d: Dict[str, torch.Tensor], pair, xs):
            a = d["a"] + d["b"]
            return {"sum": a, "other": xs[0]}, [xs[0], pair[0]], (pair[1], (a, xs[1] * 2)), Boxes(a, xs[0])
    return Built(M(), ({"b": rnd(2), "a": rnd(2)}, (rnd(2), rnd(3)), [rnd(2), rnd(2)]))


@traced("traced_dict_result")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 4)

        def forward(self, x):
            y = self.l(x)
            return {"z": y, "a": y.softmax(-1), "m": y.max()}
    return Built(M(), (rnd(2, 3),))


@traced("traced_keyword_arguments")
def _():
    class M(nn.Module):
        def forward(self, x, scale, bias=None):
            return x * scale if bias is None else x * scale + bias
    x = {"x": rnd(2), "scale": rnd(2), "bias": rnd(2)}
    return Built(M(), (), x, example=x)


@case("traced_methods", how="done", method="encode")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(2, 3)

        def forward(self, x):
            return self.b(self.a(x))

        def encode(self, x):
            return self.a(x)

        def decode(self, z):
            return self.b(z)
    return Built(torch.jit.trace_module(M().eval(), {"forward": rnd(2, 3), "encode": rnd(2, 3), "decode": rnd(2, 2)}), (rnd(4, 3),))


@case("traced_function", how="done")
def _():
    return Built(torch.jit.trace(lambda x, y: (torch.lerp(x, y, 0.3), x.size(0) * y), (rnd(3), rnd(3))), (rnd(5), rnd(5)))


@traced("traced_in_place")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.register_buffer("last", torch.zeros(2, 3))

        def forward(self, x):
            self.total += x.sum(0)
            self.last.copy_(x)
            y = x.clone()
            y[:, 1] = 5
            y[y > 1] = 0
            y[0, :2] += self.total[:2]
            x.mul_(2)
            v = y.view(-1)
            v[1:3] = x[0, :2]
            return y, v
    return Built(M(), (rnd(2, 3),), steps=[(rnd(2, 3),)])


@traced("traced_numbers_in_tensors")
def _():
    class M(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            a = x * n + n / 2 - n // 2 + n % 2 + n ** 2 + math.sqrt(4)
            m = max(n, 2)
            s = torch.tensor(x.shape)
            t = torch.as_tensor([n, 3], dtype=torch.float32)
            return a, x[:m - 1], s * 2, t / n, torch.full((n,), n), x.repeat(n, 1), (x.size(1) + 1) / n * x
    return Built(M(), (rnd(3, 2),), alts=[(rnd(4, 2),)])


@traced("traced_weight_norm")
def _():
    m = nn.Sequential(torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), torch.nn.utils.weight_norm(nn.Linear(4, 4)),
                      torch.nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)))
    return Built(m, (rnd(2, 3),))


@traced("traced_old_convolution_arguments")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.t = nn.Conv2d(2, 4, 3, padding="same", groups=2), nn.ConvTranspose2d(4, 2, 2, stride=2, bias=False)
            self.r = nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")

        def forward(self, x):
            return self.t(self.r(self.c(x))), F.max_pool2d(x, 2), F.dropout(x, 0.3, self.training)
    return Built(M(), (rnd(1, 2, 4, 4),))


@traced("traced_autocast_and_dtypes")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4).to(torch.bfloat16), nn.Linear(4, 2, dtype=torch.float64)

        def forward(self, x, i):
            y = self.a(x.to(torch.bfloat16)).float()
            return self.b(y.double()), y.to(torch.float16), i.to(torch.float32) * x, (x > 0).to(i.dtype), x.type(torch.int32), y.type_as(i)
    return Built(M(), (rnd(2, 4), torch.tensor([1, 2, 3, 4])))


@traced("traced_index_forms")
def _():
    class M(nn.Module):
        def forward(self, x, i):
            return x[i], x[:, i], x[i, 0], x[i[:, None], i], x[..., None, :2], x[[1, 0]], x[i.long(), :][:, 1:], torch.where(x > 0)[0].dtype == torch.int64 and x.sum(), x.index_put((i,), x[0])
    return Built(M(), (rnd(3, 4), torch.tensor([2, 0])))


@case("frozen_traced", how="done")
def _():
    m = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2)).eval()
    return Built(torch.jit.freeze(torch.jit.trace(m, rnd(1, 2, 4, 4))), (rnd(3, 2, 4, 4),))


@traced("traced_constants_of_rank_zero")
def _():
    class M(nn.Module):
        def forward(self, i, x):
            c = torch.tensor(2.5, dtype=torch.float64)
            return i * 2.5, i + c, i / 2, 3 - i, (i > 0) * 3, i.half() * 2.5, i + c * 2, x + c, torch.where(i > 0, c, x)
    return Built(M(), (torch.tensor([-3, 0, 5]), rnd(3)), alts=[(torch.tensor([3, 0, 255], dtype=torch.uint8), rnd(3))])


@traced("traced_grouped_products")
def _():
    class M(nn.Module):
        def forward(self, a, b, c, d):
            ends = torch.tensor([3, 3, 8], dtype=torch.int32)
            thirds = torch.arange(1, 4, dtype=torch.int32) * 8
            return (torch._grouped_mm(a, c, offs=ends), torch._grouped_mm(c.mT, d.mT, offs=thirds), torch._grouped_mm(a.mT, b, offs=ends),
                    torch._grouped_mm(c.mT, c), torch._grouped_mm(a.bfloat16(), c.bfloat16(), offs=ends))
    return Built(M(), (rnd(8, 16), rnd(8, 24), rnd(3, 16, 24), rnd(24, 16)))


@traced("traced_sizes_in_tensors")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("stride", torch.tensor(2), persistent=False)
            self.register_buffer("extra", torch.tensor(3, dtype=torch.int32))

        def forward(self, x, y):
            rows, columns = (torch.as_tensor(n) for n in x.shape)
            shape = torch._shape_as_tensor(x)
            longest = torch.max(torch.stack([rows, torch.as_tensor(y.shape[0])]).to(torch.float32)).to(torch.int64)
            widest = torch.stack([shape, torch._shape_as_tensor(y)]).max(0)[0][1]
            up = (torch.ceil(longest.to(torch.float32) / 4) * 4).to(torch.int64)
            frames = (rows - self.stride + self.extra) / self.stride + 1
            total = (torch.ceil(frames).to(torch.int64) - 1) * self.stride
            return (x.repeat_interleave(rows // 2, 0), x.repeat_interleave(torch.arange(4) + rows - rows, 0), torch.repeat_interleave(torch.arange(3)),
                    F.pad(x, (0, up - columns)), F.pad(x, (total, widest)), shape, x.new_zeros(torch.min(shape), torch.argmax(shape) + 2))
    return Built(M(), (rnd(4, 6), rnd(5, 3)), alts=[(rnd(4, 3), rnd(7, 9))])
