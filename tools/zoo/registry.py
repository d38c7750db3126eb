"""Registry and helpers of the model zoo: every model has random, seeded weights and small inputs.

build(name) -> (module in eval mode, args tuple, kwargs dict)

Weights are made useful for numerical comparison:
  * parameters that are constant after init (ones, zeros, 1e-6 layer scales) get N(0, 0.05) noise,
    so that no branch is multiplied by zero;
  * parameters left uninitialised (torch.empty) are refilled with N(0, 0.02);
  * batch-norm running statistics are calibrated with one forward pass of the example input,
    so that activations neither vanish nor explode through a deep network.
"""
import copy, sys, zlib
import torch
from torch import nn

REG = {}


class Entry:
    def __init__(self, name, group, fn):
        self.name, self.group, self.fn = name, group, fn
        f = sys._getframe()
        while f.f_code.co_name != "<module>":
            f = f.f_back
        self.line = f.f_lineno


def add(name, group, fn):
    assert name not in REG, name
    REG[name] = Entry(name, group, fn)


def model(name, group="misc"):
    def deco(fn):
        add(name, group, fn)
        return fn
    return deco


def seed_of(name):
    return zlib.crc32(name.encode()) & 0x7FFFFFFF


def rnd(*shape, scale=1.0):
    return torch.randn(*shape) * scale


def ids(vocab, *shape):
    return torch.randint(5, vocab, shape)


class Wrap(nn.Module):
    """Calls `fn(m, *args)`; used where a model needs keyword inputs or returns non-tensors."""

    def __init__(self, m, fn):
        super().__init__()
        self.m = m
        self.fn = fn

    def forward(self, *args):
        return self.fn(self.m, *args)


def tensors_of(out):
    """All tensors of a nested output, in pytree order."""
    import torch.utils._pytree as pt
    if hasattr(out, "to_tuple"):
        out = out.to_tuple()
    return [t for t in pt.tree_leaves(out) if isinstance(t, torch.Tensor)]


@torch.no_grad()
def _scramble(m, g):
    for p in m.parameters():
        if not p.is_floating_point() or p.numel() == 0:
            continue
        if not torch.isfinite(p).all() or p.abs().max() > 1e4:
            p.copy_(torch.randn(p.shape, generator=g) * 0.02)
        elif p.numel() > 1 and bool((p == p.flatten()[0]).all()):
            p.add_(torch.randn(p.shape, generator=g) * 0.05)


@torch.no_grad()
def _calibrate(m, args, kwargs):
    hooks = []

    def pre(mod, inp):
        x = inp[0]
        if not isinstance(x, torch.Tensor) or x.dim() < 2 or x.shape[1] != mod.running_mean.numel():
            return
        d = [i for i in range(x.dim()) if i != 1]
        n = x.numel() // x.shape[1]
        if n < 8:
            return
        v, mu = torch.var_mean(x.float(), dim=d, unbiased=False)
        mod.running_mean.copy_(mu)
        mod.running_var.copy_(v.clamp(min=1e-3))

    for mod in m.modules():
        if getattr(mod, "running_mean", None) is not None and getattr(mod, "running_var", None) is not None:
            hooks.append(mod.register_forward_pre_hook(pre))
    if not hooks:
        return
    try:
        m(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    finally:
        for h in hooks:
            h.remove()


def build(name):
    s = seed_of(name)
    torch.manual_seed(s)
    import random
    import numpy as np
    random.seed(s)
    np.random.seed(s)
    # uninitialised memory becomes NaN, so that results do not depend on what was in memory
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        r = REG[name].fn()
    finally:
        torch.use_deterministic_algorithms(False)
    m, args = r[0], r[1]
    kwargs = r[2] if len(r) > 2 else {}
    m = m.eval()
    _scramble(m, torch.Generator().manual_seed(s + 1))
    _calibrate(m, args, kwargs)
    return m, args, kwargs
