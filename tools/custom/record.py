#!/usr/bin/env python3
"""Writes the archives of tests/data/custom: programs that call operators which are none of PyTorch's.

    tools/corpus/neutral python tools/custom/record.py tests/data/custom       torch 2.13 (CPU)

The StableHLO functions beside them (*.mlir) are written by hand. NAME.safetensors has the inputs and what PyTorch
gives; NAME.alt0.safetensors the same for another batch size.
"""
import os
import sys
from typing import List, Optional, Tuple

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402

OUT = sys.argv[1]


@torch.library.custom_op("mine::soft_cap", mutates_args=())
def soft_cap(x: torch.Tensor, cap: float) -> torch.Tensor:
    return cap * torch.tanh(x / cap)


@soft_cap.register_fake
def _(x, cap):
    return torch.empty_like(x)


# A list of tensors, an optional one that is left out, a list of integers, and two results.
@torch.library.custom_op("mine::mix", mutates_args=())
def mix(xs: List[torch.Tensor], bias: Optional[torch.Tensor], weights: List[int]) -> Tuple[torch.Tensor, torch.Tensor]:
    total = sum(x * w for x, w in zip(xs, weights))
    if bias is not None:
        total = total + bias
    return total, total.sum(0)


@mix.register_fake
def _(xs, bias, weights):
    return torch.empty_like(xs[0]), torch.empty_like(xs[0][0])


# What a custom call gets as attributes.
@torch.library.custom_op("mine::tagged", mutates_args=())
def tagged(x: torch.Tensor, mode: str, times: int, exact: bool, dtype: torch.dtype) -> torch.Tensor:
    return x.clone()


@tagged.register_fake
def _(x, mode, times, exact, dtype):
    return torch.empty_like(x)


@torch.library.custom_op("mine::scale", mutates_args=())
def scale(x: torch.Tensor, factors: List[float]) -> torch.Tensor:
    return x * torch.tensor(factors)


@scale.register_fake
def _(x, factors):
    return torch.empty_like(x)


@torch.library.custom_op("mine::parts", mutates_args=())
def parts(x: torch.Tensor) -> List[torch.Tensor]:
    return [x + 1, x * 2]


@parts.register_fake
def _(x):
    return [torch.empty_like(x), torch.empty_like(x)]


@torch.library.custom_op("mine::push", mutates_args=("x",))
def push(x: torch.Tensor) -> None:
    x.add_(1)


@push.register_fake
def _(x):
    pass


class SoftCap(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.soft_cap(x, 2.5) + torch.ops.mine.soft_cap(x * 3, 2.5)


class Mix(torch.nn.Module):
    def forward(self, x, y):
        return torch.ops.mine.mix([x, y], None, [2, -3])


class Tagged(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.tagged(x, "fast", 3, True, torch.bfloat16)


class Scale(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.scale(x, [0.5, 2.0, -1.5])


class Parts(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.mine.parts(x)
        return a - b


class Push(torch.nn.Module):
    def forward(self, x):
        y = x + 0
        torch.ops.mine.push(y)
        return y


class Gelu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)


def write(name, module, args, dynamic=None, alt=None):
    with torch.no_grad():
        program = torch.export.export(module, args, dynamic_shapes=dynamic)
    torch.export.save(program, os.path.join(OUT, name + ".pt2"))
    for suffix, call in (("", args), (".alt0", alt)):
        if call is not None:
            casefile.write(os.path.join(OUT, name + suffix + ".safetensors"), casetorch.record(module, call, {}))


torch.manual_seed(0)
x = torch.randn(2, 3)
batch = torch.export.Dim("batch", min=2, max=64)
write("soft_cap", SoftCap(), (x,), {"x": {0: batch}}, (torch.randn(4, 3),))
write("mix", Mix(), (x, torch.randn(2, 3)))
write("tagged", Tagged(), (x,))
write("scale", Scale(), (x,))
write("parts", Parts(), (x,))
write("push", Push(), (x,))
write("gelu", Gelu(), (x,))
