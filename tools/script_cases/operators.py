"""Functional calls, layers, indices, views and tensor methods in scripted code."""
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

from case import Built, case, rnd


# ---------------------------------------------------------------- indices, views, attributes of tensors
@case("slices")
def _():
    class M(nn.Module):
        def forward(self, x, k: int):
            a = [x[::2], x[1:, None, ..., ::3], x[-2:, 1], x[..., -1], x[:, :k], x[k - 1:k + 1, :-1], x[0, 0, 0], x[None], x[[0, 2]],
                 x[:, [True, False, True]], x[:, :, None, 0], x[torch.tensor([1, 0])], x[:, torch.tensor(1)], x[100:], x[1, :, 1:100]]
            i = torch.tensor([[0], [2]])
            return a, x[i, torch.tensor([0, 1])], x[:, i[0]], x[-1][-1]
    return Built(M(), (rnd(3, 3, 4), 2))


@case("slice_assignments")
def _():
    class M(nn.Module):
        def forward(self, x, y):
            z = x.clone()
            z[0] = 1
            z[:, 1] = y
            z[1, ::2] += 10.0
            z[-1, -1] = y[0]
            z[torch.tensor([0, 2]), 2] = torch.tensor([5.0, 6.0])
            z[z > 2] = 0.25
            z[..., 0] *= 2
            w = z.view(-1)
            w[3] = 99.0
            r = z[1]
            r.add_(y)
            r -= 1
            return z, w, r, z.t()
    return Built(M(), (rnd(3, 3), rnd(3)))


@case("masks")
def _():
    class M(nn.Module):
        def forward(self, x, lengths):
            mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
            a = x.masked_fill(~mask, float("-inf")).softmax(-1)
            b = torch.where(mask, x, 0.0)
            x = x.clone()
            x[~mask] = -1
            x[mask & (x > 0)] *= 3
            return a, b, x, mask.sum(1)
    return Built(M(), (rnd(2, 4), torch.tensor([2, 3])))


@case("views_and_in_place")
def _():
    class M(nn.Module):
        def forward(self, x):
            y = x * 1
            v = y.view(2, -1)
            v[0].zero_()
            t = y.transpose(0, 1)
            t += 1
            u = y.unsqueeze(0).expand(2, -1, -1)
            a, b = y.chunk(2, dim=1)
            a.mul_(3)
            c = torch.empty_like(b).copy_(b)
            torch.add(b, 1, out=c)
            p = y.permute(1, 0).reshape(-1)
            p.clamp_(min=0)
            y.squeeze_().unsqueeze_(0)
            x[0, 0] = 42.0
            return y, u, c, p, y.is_contiguous(), t.stride(0)
    return Built(M(), (rnd(4, 4),))


@case("attributes_of_tensors")
def _():
    class M(nn.Module):
        def forward(self, x, i):
            n = [x.size(0), x.size(-1), x.shape[1], x.dim(), x.ndim, x.numel(), len(x), len(x.shape), i.element_size()]
            b = [x.is_floating_point(), i.is_complex(), x.dtype == torch.float32, x.is_cuda, x.requires_grad, x.shape == [2, 3],
                 i.dtype == torch.int32, x.device.type == "cpu", x.is_sparse, x.is_quantized]
            s = [2, 3] == x.shape
            k = torch.zeros(x.shape, dtype=i.dtype) + i.sum()
            m = [x.T, x.mT, x.data, x.detach(), x.new_zeros([2]), x.new_full([2], 7), i.type_as(x), x.to(i), i.float(), x.long(), x.half().double(),
                 x.to("cpu"), x.to(torch.device("cpu"), torch.float64), x.to(torch.int32, copy=True), i.to(torch.bool), x.cpu(), x.contiguous()]
            a, c = x.shape
            return n, b, s, k, m, a * c, x.size()
    return Built(M(), (rnd(2, 3) * 5, torch.tensor([3, 0])))


@case("creation")
def _():
    class M(nn.Module):
        def forward(self, x, n: int):
            d = torch.device("cpu")
            return [torch.zeros(n), torch.zeros([n, 2]), torch.ones(n, 2, dtype=torch.int64), torch.full([2], 3), torch.full([2], 2.5, dtype=torch.float64),
                    torch.full([2], True), torch.arange(n), torch.arange(1, n), torch.arange(0.5, 3.0, 0.5), torch.arange(n, 0, -2, dtype=torch.float32),
                    torch.linspace(0, 1, n), torch.eye(n), torch.eye(2, n), torch.zeros_like(x, dtype=torch.int32), torch.full_like(x, 4),
                    torch.tril(torch.ones(n, n)), torch.logspace(0, 2, 3), torch.empty(n).fill_(2), torch.arange(n, device=d) + 0, torch.hann_window(n),
                    torch.zeros((), dtype=torch.bool), x.new_ones(2, n), torch.scalar_tensor(n), torch.range(0, 3)]
    return Built(M(), (rnd(2), 4))


@case("einsum_and_products")
def _():
    class M(nn.Module):
        def forward(self, a, b, c):
            return [torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,kj->bik", [a, c]), torch.einsum("...ij->...ji", a), torch.matmul(a, b), a @ c.t(),
                    torch.bmm(a, b), torch.baddbmm(torch.zeros(1), a, b, beta=0.5, alpha=2), torch.tensordot(a, c, dims=[[2], [1]]), F.linear(a, c), F.bilinear(a, a, rnd_like(c)),
                    torch.addmm(c[:, :1], c, c.t()), torch.outer(c[0], c[1]), torch.cross(c[:3, :3], c[:3, :3] + 1, dim=-1)]
    return Built(M(), (rnd(2, 3, 4), rnd(2, 4, 5), rnd(5, 4)))


@torch.jit.script
def rnd_like(c: torch.Tensor) -> torch.Tensor:
    return torch.sin(torch.arange(2 * 4 * 4, dtype=c.dtype)).view(2, 4, 4)


@case("reductions")
def _():
    class M(nn.Module):
        def forward(self, x):
            v, i = x.max(1)
            m = torch.min(x, dim=0, keepdim=True)
            s, o = torch.sort(x, descending=True)
            t, k = torch.topk(x, 2)
            var, mean = torch.var_mean(x, 1)
            return [x.sum(), x.sum(1), x.sum([0, 1], keepdim=True), x.mean(-1), v, m[0], s, t, x.std(0), x.var(unbiased=False), x.norm(), x.norm(1, 1),
                    torch.norm(x, dim=0), x.prod(1), x.logsumexp(1), x.cumsum(0), x.amax((0, 1)), torch.max(x), torch.maximum(x, -x), torch.max(x, x + 1), var, mean,
                    x.median(1)[0], x.abs().argmax(), (x > 0).all(1), (x > 0).any(), torch.linalg.vector_norm(x, 2.0, [1])], [i, o, k, m[1]]
    return Built(M(), (rnd(3, 4),))


@case("joins_and_splits")
def _():
    class M(nn.Module):
        def forward(self, x):
            a, b = x.split(2, dim=1)
            c = torch.split(x, [1, 3], 1)
            d = x.unbind(0)
            e = torch.chunk(x, 3, -1)
            f = torch.tensor_split(x, 2, dim=1)
            g = torch.meshgrid(x[0], x[:, 0], indexing="ij")
            h = torch.broadcast_tensors(x[:, :1], x[:1])
            return [torch.cat([a, b], 0), torch.stack(d, 1), torch.cat(c, dim=1), torch.hstack([a, b]), torch.vstack(d), e[1], f[1], g[0], h[0] + h[1], x.roll(1, 0),
                    x.flip([0, 1]), x.repeat(2, 1), x.tile([1, 2]), x.repeat_interleave(2, dim=1), x.gather(1, torch.zeros(3, 2, dtype=torch.int64)),
                    x.scatter(1, torch.tensor([[0], [1], [2]]), 5.0), x.index_select(1, torch.tensor([3, 0])), x.narrow(1, 1, 2), x.flatten(), x.unflatten(1, [2, 2]), x.unfold(1, 2, 1),
                    x.movedim(0, 1), x.diagonal(), torch.block_diag([a, b]), torch.atleast_3d(x)], torch.rot90(x), torch.take_along_dim(x, x.argsort(1), 1)
    return Built(M(), (rnd(3, 4),))


# ---------------------------------------------------------------- functional calls
@case("interpolate_forms")
def _():
    class M(nn.Module):
        def forward(self, x, s):
            return [F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=[5, 7], mode="bilinear", align_corners=True), F.interpolate(x, scale_factor=[2.0, 1.5], mode="bicubic", align_corners=False),
                    F.interpolate(x, size=3, mode="area"), F.interpolate(s, scale_factor=2.0, mode="linear"), F.interpolate(x, size=(2, 3), mode="nearest-exact"),
                    F.interpolate(x, scale_factor=0.5, mode="bilinear", recompute_scale_factor=True, antialias=True), F.upsample(x, scale_factor=2.0)]
    return Built(M(), (rnd(1, 2, 4, 6), rnd(1, 2, 5)))


@case("pad_forms")
def _():
    class M(nn.Module):
        def forward(self, x):
            return [F.pad(x, [1, 2]), F.pad(x, (1, 0, 2, 1), value=3.0), F.pad(x, [-1, 1], "constant", 0.5), F.pad(x, [1, 1, 2, 2], mode="reflect"), F.pad(x, (1, 2), mode="replicate"),
                    F.pad(x, [2, 1, 1, 0], mode="circular"), F.pad(x, [0, 0, 0, 0, 1, 1]), nn.functional.pad(x.long(), [1, 1], value=7.0)]
    return Built(M(), (rnd(1, 3, 4),))


@case("convolutions")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.ModuleList([nn.Conv2d(4, 4, 3, padding=2, padding_mode=m, groups=2) for m in ("zeros", "reflect", "replicate", "circular")])
            self.same = nn.Conv2d(4, 2, (3, 2), padding="same", dilation=2)
            self.valid = nn.Conv2d(4, 2, 2, stride=(2, 1), padding="valid", bias=False)
            self.one = nn.Conv1d(4, 3, 3, padding=1, padding_mode="circular")
            self.up = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)
            self.up1 = nn.ConvTranspose1d(4, 2, 4, stride=3, output_padding=2, groups=2)
            self.three = nn.Conv3d(1, 2, 2)

        def forward(self, x):
            y = x
            for c in self.c:
                y = c(y)
            return y, self.same(x), self.valid(x), self.one(x[0].transpose(0, 1)), self.up(x), self.up(x, output_size=[12, 11]), self.up1(x[:, :, 0]), self.three(x[:, None]), \
                F.conv2d(x, self.valid.weight, None, 2), F.conv1d(x[0].transpose(0, 1), self.one.weight, padding=1)
    return Built(M(), (rnd(1, 4, 6, 6)[..., :6].repeat(1, 1, 1, 1),))


@case("pooling")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
            self.i = nn.MaxPool2d(2, return_indices=True)

        def forward(self, x):
            a, b = self.i(x)
            c, d = F.max_pool2d(x, 2, return_indices=True)
            return [self.m(x), a, c, F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False, padding=1), F.adaptive_avg_pool2d(x, (2, 3)),
                    F.adaptive_max_pool2d(x, 2), F.max_pool1d(x[0], 2), F.avg_pool1d(x[0], 3, 1), F.lp_pool2d(x, 2.0, 2), F.adaptive_avg_pool1d(x[0], 1), F.max_unpool2d(a, b, 2)], b, d
    return Built(M(), (rnd(1, 2, 6, 6),))


@case("norms")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn, self.bn0 = nn.BatchNorm2d(4), nn.BatchNorm2d(4, affine=False, track_running_stats=False)
            self.bn.running_mean.normal_()
            self.gn, self.ln, self.inorm = nn.GroupNorm(2, 4), nn.LayerNorm([3, 3]), nn.InstanceNorm2d(4, affine=True)
            self.rms, self.lrn = nn.RMSNorm(3), nn.LocalResponseNorm(3)

        def forward(self, x):
            return self.bn(x), self.bn0(x), self.gn(x), self.ln(x), self.inorm(x), self.rms(x), self.lrn(x), F.normalize(x, dim=1), F.layer_norm(x, [3]), \
                F.batch_norm(x, self.bn.running_mean, self.bn.running_var, training=False), F.instance_norm(x)
    return Built(M(), (rnd(2, 4, 3, 3),))


@case("activations")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Sequential(nn.PReLU(), nn.GELU("tanh"), nn.Hardswish(), nn.ELU(inplace=True), nn.Softplus(2.0), nn.Mish(), nn.SiLU(inplace=True), nn.Hardtanh(-2.0, 2.0), nn.CELU(), nn.SELU(), nn.LogSigmoid())

        def forward(self, x):
            return [self.s(x), F.gelu(x), F.leaky_relu(x, 0.2), F.softmax(x, dim=1), F.log_softmax(x, -1, dtype=torch.float64), F.relu6(x), F.hardsigmoid(x), F.glu(x, 1), F.tanhshrink(x), F.softsign(x), F.hardshrink(x),
                    F.softshrink(x, 0.3), F.threshold(x, 0.1, -1.0), F.dropout(x, 0.5, self.training), F.alpha_dropout(x), F.rrelu(x), F.logsigmoid(x), torch.sigmoid(x), x.tanh(), F.softmin(x, 1), F.gumbel_softmax(x, tau=1.0) * 0]
    return Built(M(), (rnd(2, 4),))


@case("embeddings")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.p = nn.Embedding(9, 4, padding_idx=0), nn.Embedding(5, 4, max_norm=1.0)
            self.bag = nn.EmbeddingBag(9, 4, mode="mean")

        def forward(self, i, offsets: Optional[torch.Tensor] = None):
            return self.e(i), F.embedding(i, self.e.weight), self.bag(i), self.bag(i[0], torch.tensor([0, 2])), F.one_hot(i, 9), F.embedding_bag(i, self.e.weight, mode="sum")
    return Built(M(), (torch.tensor([[1, 0, 8], [2, 2, 5]]),))


@case("losses")
def _():
    class M(nn.Module):
        def forward(self, x, y, t):
            return [F.cross_entropy(x, t), F.cross_entropy(x, t, ignore_index=1, reduction="sum", label_smoothing=0.1), F.mse_loss(x, y), F.l1_loss(x, y, reduction="none"), F.smooth_l1_loss(x, y, beta=0.5),
                    F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.nll_loss(x.log_softmax(1), t), F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.huber_loss(x, y),
                    F.cosine_similarity(x, y), F.pairwise_distance(x, y), F.hinge_embedding_loss(x, torch.sign(y)), F.triplet_margin_loss(x, y, x + 1), F.poisson_nll_loss(x, y.abs())]
    return Built(M(), (rnd(3, 4), rnd(3, 4), torch.tensor([0, 3, 1])))


@case("image_operators")
def _():
    class M(nn.Module):
        def forward(self, x, theta):
            g = F.affine_grid(theta, [1, 2, 4, 4], align_corners=False)
            return [F.grid_sample(x, g, align_corners=False), F.grid_sample(x, g * 1.5, mode="nearest", padding_mode="border", align_corners=True), F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2), F.pixel_unshuffle(x, 2),
                    F.unfold(x, 2, stride=2), F.fold(F.unfold(x, 2), [4, 4], 2), F.channel_shuffle(x, 2)]
    return Built(M(), (rnd(1, 2, 4, 4), torch.tensor([[[0.8, 0.1, 0.0], [-0.2, 1.1, 0.1]]])))


@case("fft_and_linalg")
def _():
    class M(nn.Module):
        def forward(self, x, a):
            f = torch.fft.rfft(x, dim=-1)
            s = torch.stft(x[0], 8, hop_length=4, window=torch.hann_window(8), return_complex=True)
            b = a @ a.t() + 3 * torch.eye(3)
            return f.abs(), torch.fft.irfft(f, 16), s.abs(), torch.linalg.inv(b), torch.linalg.solve(b, a), torch.linalg.cholesky(b), torch.det(b), torch.istft(s, 8, 4, window=torch.hann_window(8), length=16)
    return Built(M(), (rnd(2, 16), rnd(3, 3)))


@case("attention_functional")
def _():
    class M(nn.Module):
        def forward(self, q, k, v, mask: Optional[torch.Tensor] = None):
            return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3), F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return Built(M(), (rnd(1, 2, 4, 3), rnd(1, 2, 4, 3), rnd(1, 2, 4, 3), torch.rand(4, 4) > 0.3), alts=[(rnd(1, 2, 4, 3), rnd(1, 2, 4, 3), rnd(1, 2, 4, 3), None)])


# ---------------------------------------------------------------- recurrent and attention layers, scripted and traced
def both(name, build, **options):
    """A layer that is scripted, frozen, and traced: the three forms differ much."""
    for how in ("script", "trace"):
        case(f"{name}_{how}d".replace("scriptd", "scripted"), how=how, **options)(build)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a = kind(3, 4, num_layers=2, batch_first=True)
        self.b = kind(4, 3, bidirectional=True, bias=False)

    def forward(self, x):
        y, h = self.a(x)
        z, k = self.b(y)
        return z, y, h, k


both("lstm_layers", lambda: Built(Recurrent(nn.LSTM), (rnd(2, 4, 3),)))
both("gru_layers", lambda: Built(Recurrent(nn.GRU), (rnd(2, 4, 3),)))
both("rnn_layers", lambda: Built(Recurrent(nn.RNN), (rnd(2, 4, 3),)))


@case("lstm_with_state")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 4, proj_size=2)

        def forward(self, x, state: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
            y, s = self.rnn(x, state)
            y2, s = self.rnn(y.repeat(1, 1, 2)[..., :3], s)
            return y2, s
    return Built(M(), (rnd(4, 2, 3), (rnd(1, 2, 2), rnd(1, 2, 4))), alts=[(rnd(4, 2, 3),)])


@case("recurrent_cells")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru, self.rnn = nn.LSTMCell(3, 4), nn.GRUCell(4, 4), nn.RNNCell(4, 4, nonlinearity="relu")

        def forward(self, xs):
            h: Optional[Tuple[torch.Tensor, torch.Tensor]] = None
            g = torch.zeros(xs.size(1), 4)
            out: List[torch.Tensor] = []
            for i in range(xs.size(0)):
                a, c = self.lstm(xs[i], h)
                h = (a, c)
                g = self.gru(a, g)
                out.append(self.rnn(g))
            return torch.stack(out), h
    return Built(M(), (rnd(3, 2, 3),))


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2, batch_first=True)
        self.b = nn.MultiheadAttention(8, 2, kdim=4, vdim=6)

    def forward(self, x, k, v):
        mask = torch.zeros(x.shape[0], x.shape[1], dtype=torch.bool)
        mask[0, -1:] = True
        y, w = self.a(x, x, x, key_padding_mask=mask)
        z, u = self.b(x, k, v, average_attn_weights=False)
        return y, w, z, u


both("multihead_attention", lambda: Built(Attending(), (rnd(2, 3, 8), rnd(4, 3, 4), rnd(4, 3, 6))))


class Encoder(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first, activation="gelu" if norm_first else "relu")
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)

    def forward(self, x, pad):
        return self.layers(x, src_key_padding_mask=pad)


PAD = torch.tensor([[False, False, False, True], [False, False, False, False]])
both("transformer_encoder", lambda: Built(Encoder(False), (rnd(2, 4, 8), PAD)))
both("transformer_encoder_norm_first", lambda: Built(Encoder(True), (rnd(2, 4, 8), PAD)))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16)

    def forward(self, x, memory):
        mask = torch.triu(torch.full([x.shape[0], x.shape[0]], float("-inf")), diagonal=1)
        return self.layer(x, memory, tgt_mask=mask, tgt_is_causal=True)


both("transformer_decoder", lambda: Built(Decoder(), (rnd(4, 2, 8), rnd(3, 2, 8))))


# ---------------------------------------------------------------- more
@case("random", compare="shape", features=("random",))
def _():
    class M(nn.Module):
        def forward(self, x):
            return torch.rand(2, 3), torch.randn_like(x), F.dropout(x, 0.5, True), torch.bernoulli(x.sigmoid()), torch.randint(0, 5, [3]), torch.randperm(4), torch.normal(0.0, 1.0, [2]), x.new_empty(2).uniform_(0.0, 1.0)
    return Built(M(), (rnd(4),))


@case("quantized_tensors", features=("quantized",))
def _():
    class M(nn.Module):
        def forward(self, x):
            q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
            y = q.dequantize()
            return y, q.int_repr(), torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
    return Built(M(), (rnd(4),))


@case("quantized_linear", how="done", features=("quantized",))
def _():
    m = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    q = torch.ao.quantization.quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8)
    return Built(torch.jit.script(q), (rnd(2, 4),))


@case("quantized_static_conv", how="done", features=("quantized",))
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
            self.conv, self.relu, self.fc = nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Linear(8, 3)

        def forward(self, x):
            return self.dequant(self.fc(self.relu(self.conv(self.quant(x))).flatten(1)))
    m = M().eval()
    m.qconfig = torch.ao.quantization.get_default_qconfig(torch.backends.quantized.engine)
    m = torch.ao.quantization.fuse_modules(m, [["conv", "relu"]])
    torch.ao.quantization.prepare(m, inplace=True)
    m(rnd(4, 1, 4, 4))
    torch.ao.quantization.convert(m, inplace=True)
    return Built(torch.jit.script(m), (rnd(2, 1, 4, 4),))


@case("dict_of_results")
def _():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.heads = nn.Linear(3, 4), nn.ModuleDict({"cls": nn.Linear(4, 2), "box": nn.Linear(4, 3)})

        def forward(self, x) -> Dict[str, torch.Tensor]:
            h = self.trunk(x)
            out: Dict[str, torch.Tensor] = {}
            for name, head in self.heads.items():
                out[name] = head(h)
            return out
    return Built(M(), (rnd(2, 3),))
