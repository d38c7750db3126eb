"""The functions of bench/ops_bench.py: each once for PyTorch, and once as a user of JAX would write it.

CASES: name -> Case(torch function, JAX function, example tensors). All arguments are tensors, float32 unless said.
"""
import math
from dataclasses import dataclass
from typing import Callable

import jax
import jax.numpy as jnp
import torch
import torch.nn.functional as F
from jax import lax


@dataclass(frozen=True)
class Case:
    torch: Callable
    jax: Callable
    inputs: Callable  # () -> tuple of tensors


CASES = {}


def case(name, inputs, by_torch, by_jax):
    CASES[name] = Case(by_torch, by_jax, inputs)


def normal(*shapes):
    return lambda: tuple(torch.randn(*shape) for shape in shapes)


# ---- products
case("matmul", normal((512, 512), (512, 512)), torch.matmul, jnp.matmul)
case("bmm", normal((16, 128, 256), (16, 256, 128)), torch.bmm, jnp.matmul)
case("linear", normal((256, 1024), (1024, 1024), (1024,)), F.linear, lambda x, w, b: x @ w.T + b)
case("einsum", normal((8, 64, 4, 32), (8, 64, 4, 32)), lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k),
     lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k))


# ---- convolutions
def convolution(stride=1, padding=0, dilation=1, groups=1):
    def by_jax(x, w, b):
        spatial = x.ndim - 2
        y = lax.conv_general_dilated(x, w, (stride,) * spatial, [(padding, padding)] * spatial,
                                     rhs_dilation=(dilation,) * spatial, feature_group_count=groups)
        return y + b.reshape((1, -1) + (1,) * spatial)

    def by_torch(x, w, b):
        form = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
        return form(x, w, b, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return by_torch, by_jax


def transposed(x, w, b):
    flipped = jnp.flip(w, (2, 3)).swapaxes(0, 1)
    y = lax.conv_general_dilated(x, flipped, (1, 1), [(2, 2), (2, 2)], lhs_dilation=(2, 2))
    return y + b.reshape(1, -1, 1, 1)


case("conv2d 3x3", normal((1, 64, 56, 56), (64, 64, 3, 3), (64,)), *convolution(padding=1))
case("conv2d 7x7 stride 2", normal((1, 3, 224, 224), (64, 3, 7, 7), (64,)), *convolution(stride=2, padding=3))
case("conv2d 1x1", normal((1, 256, 28, 28), (256, 256, 1, 1), (256,)), *convolution())
case("conv2d depthwise", normal((1, 128, 56, 56), (128, 1, 3, 3), (128,)), *convolution(padding=1, groups=128))
case("conv2d groups", normal((1, 128, 28, 28), (128, 4, 3, 3), (128,)), *convolution(padding=1, groups=32))
case("conv2d dilated", normal((1, 64, 56, 56), (64, 64, 3, 3), (64,)), *convolution(padding=2, dilation=2))
case("conv1d", normal((4, 128, 512), (128, 128, 5), (128,)), *convolution(padding=2))
case("conv3d", normal((1, 16, 16, 32, 32), (16, 16, 3, 3, 3), (16,)), *convolution(padding=1))
case("conv_transpose2d", normal((1, 64, 28, 28), (64, 32, 4, 4), (32,)),
     lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1), transposed)

# ---- attention
ATTENTION = normal((1, 8, 256, 64), (1, 8, 256, 64), (1, 8, 256, 64))


def attention(causal):
    def by_jax(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)

    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), by_jax


case("scaled_dot_product_attention", ATTENTION, *attention(False))
case("scaled_dot_product_attention causal", ATTENTION, *attention(True))


# ---- norms
def normalised(x, axes, epsilon=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def group_norm(x, w, b):
    grouped = normalised(x.reshape(x.shape[0], 32, -1), (2,)).reshape(x.shape)
    return grouped * w.reshape(1, -1, 1, 1) + b.reshape(1, -1, 1, 1)


def batch_norm(x, mean, var, w, b):
    def channel(t):
        return t.reshape(1, -1, 1, 1)
    return (x - channel(mean)) * channel(lax.rsqrt(var + 1e-5) * w) + channel(b)


case("layer_norm", normal((512, 1024), (1024,), (1024,)), lambda x, w, b: F.layer_norm(x, (1024,), w, b),
     lambda x, w, b: normalised(x, (1,)) * w + b)
case("group_norm", normal((4, 64, 56, 56), (64,), (64,)), lambda x, w, b: F.group_norm(x, 32, w, b), group_norm)
case("batch_norm", lambda: (*normal((4, 64, 56, 56), (64,))(), torch.rand(64) + 0.5, *normal((64,), (64,))()),
     F.batch_norm, batch_norm)
case("rms_norm", normal((512, 1024), (1024,)), lambda x, w: F.rms_norm(x, (1024,), w, 1e-5),
     lambda x, w: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w)

# ---- softmax, activations, losses
case("softmax", normal((512, 2048)), lambda x: F.softmax(x, -1), lambda x: jax.nn.softmax(x, -1))
case("log_softmax", normal((512, 2048)), lambda x: F.log_softmax(x, -1), lambda x: jax.nn.log_softmax(x, -1))
case("logsumexp", normal((512, 2048)), lambda x: torch.logsumexp(x, -1), lambda x: jax.nn.logsumexp(x, -1))
case("gelu", normal((1024, 1024)), F.gelu, lambda x: jax.nn.gelu(x, approximate=False))
case("silu", normal((1024, 1024)), F.silu, jax.nn.silu)
case("tanh", normal((1024, 1024)), torch.tanh, jnp.tanh)
case("cross_entropy", lambda: (torch.randn(1024, 1000), torch.randint(1000, (1024,))), F.cross_entropy,
     lambda x, t: -jnp.take_along_axis(jax.nn.log_softmax(x), t[:, None], 1).mean())

# ---- reductions
case("sum", normal((1024, 2048)), lambda x: x.sum(1), lambda x: x.sum(1))
case("var", normal((1024, 1024)), lambda x: x.var(1), lambda x: x.var(1, ddof=1))
case("argmax", normal((1024, 2048)), lambda x: x.argmax(1), lambda x: jnp.argmax(x, 1))


# ---- pooling, resizing
def window(x, initial, function, size, stride, padding):
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    return lax.reduce_window(x, initial, function, (1, 1, size, size), (1, 1, stride, stride), edges)


case("max_pool2d", normal((4, 64, 112, 112)), lambda x: F.max_pool2d(x, 3, 2, 1),
     lambda x: window(x, -jnp.inf, lax.max, 3, 2, 1))
case("avg_pool2d", normal((4, 64, 112, 112)), lambda x: F.avg_pool2d(x, 3, 2, 1),
     lambda x: window(x, 0.0, lax.add, 3, 2, 1) / 9)
case("adaptive_avg_pool2d", normal((4, 512, 14, 14)), lambda x: F.adaptive_avg_pool2d(x, 1),
     lambda x: x.mean((2, 3), keepdims=True))
case("interpolate bilinear", normal((1, 32, 64, 64)),
     lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
     lambda x: jax.image.resize(x, (1, 32, 128, 128), "bilinear"))


# ---- gather, scatter, order
def indices(high, *shape):
    return torch.randint(high, shape)


case("embedding", lambda: (indices(30000, 8, 256), torch.randn(30000, 256)), F.embedding, lambda i, w: w[i])
case("gather", lambda: (torch.randn(1024, 1024), indices(1024, 1024, 256)), lambda x, i: x.gather(1, i),
     lambda x, i: jnp.take_along_axis(x, i, 1))
case("index_select", lambda: (torch.randn(4096, 256), indices(4096, 2048)), lambda x, i: x.index_select(0, i),
     lambda x, i: jnp.take(x, i, 0))
case("scatter_add", lambda: (torch.randn(512, 256), indices(512, 512, 256), torch.randn(512, 256)),
     lambda x, i, s: x.scatter_add(0, i, s),
     lambda x, i, s: x.at[i, jnp.arange(256)[None]].add(s))
case("index_put accumulate", lambda: (torch.randn(1024, 256), indices(1024, 2048), torch.randn(2048, 256)),
     lambda x, i, s: x.index_put((i,), s, accumulate=True), lambda x, i, s: x.at[i].add(s))
case("sort", normal((64, 4096)), lambda x: torch.sort(x, -1)[0], lambda x: jnp.sort(x, -1))
case("topk", normal((64, 4096)), lambda x: torch.topk(x, 16)[0], lambda x: lax.top_k(x, 16)[0])
case("cumsum", normal((256, 4096)), lambda x: x.cumsum(1), lambda x: jnp.cumsum(x, 1))


# ---- recurrent, spectral
def lstm(x, h, c, w_ih, w_hh, b_ih, b_hh):
    def step(carry, xt):
        h, c = carry
        i, f, g, o = jnp.split(xt @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    return lax.scan(step, (h[0], c[0]), x)[1]


def torch_lstm(x, h, c, *weights):
    return torch.lstm(x, (h, c), list(weights), True, 1, 0.0, False, False, False)[0]


# Weights as a layer begins with, or rounding grows from step to step.
case("lstm", lambda: (*normal((64, 16, 128), (1, 16, 128), (1, 16, 128))(),
                      *(0.08 * w for w in normal((512, 128), (512, 128), (512,), (512,))())), torch_lstm, lstm)
case("rfft", normal((256, 4096)), torch.fft.rfft, jnp.fft.rfft)
case("fft2", normal((16, 128, 128)), torch.fft.fft2, jnp.fft.fft2)
