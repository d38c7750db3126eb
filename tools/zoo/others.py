"""Diffusion, detection and segmentation packages, recurrent and graph networks, and single models."""
import torch
from torch import nn

from registry import Wrap, add, ids, model, rnd, tensors_of


# --- diffusers
def _df(cls, cfg, inputs, pick, kw):
    import diffusers as Df
    m = getattr(Df, cls)(**cfg)
    inp = inputs()
    keys = list(inp)

    def call(m, *a):
        a = dict(zip(keys, a))
        if pick == "encode":
            return tensors_of(m.encode(a["x"]).latent_dist.parameters)
        if pick == "decode":
            return tensors_of(m.decode(a["x"], return_dict=False))
        return tensors_of(m(**a, **kw, return_dict=False))

    return Wrap(m, call), tuple(inp.values())


def df(name, cls, inputs, cfg, pick=None, **kw):
    add("diffusers/" + name, "diffusers", lambda: _df(cls, cfg, inputs, pick, kw))


def lat(c=4, s=16, ctx=32, n=6):
    return lambda: dict(sample=rnd(1, c, s, s), timestep=torch.tensor([17]), encoder_hidden_states=rnd(1, n, ctx))


VAE = dict(in_channels=3, out_channels=3, latent_channels=4, norm_num_groups=4, block_out_channels=[16, 32], down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2)
df("unet2d_condition_sd", "UNet2DConditionModel", lat(), dict(sample_size=16, layers_per_block=1, norm_num_groups=4, block_out_channels=(16, 32), attention_head_dim=8, cross_attention_dim=32, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")))
df("autoencoder_kl_encode", "AutoencoderKL", lambda: dict(x=rnd(1, 3, 32, 32)), VAE, "encode")
df("autoencoder_tiny_decode", "AutoencoderTiny", lambda: dict(x=rnd(1, 4, 8, 8)), dict(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)), "decode")
df("dit", "DiTTransformer2DModel", lambda: dict(hidden_states=rnd(1, 4, 8, 8), timestep=torch.tensor([17]), class_labels=torch.tensor([3])), dict(num_attention_heads=2, attention_head_dim=16, num_layers=2, sample_size=8, patch_size=2, out_channels=8, num_embeds_ada_norm=10, norm_num_groups=4))
df("pixart", "PixArtTransformer2DModel", lambda: dict(hidden_states=rnd(1, 4, 8, 8), encoder_hidden_states=rnd(1, 6, 32), timestep=torch.tensor([17])), dict(num_attention_heads=2, attention_head_dim=16, num_layers=2, sample_size=8, patch_size=2, out_channels=8, cross_attention_dim=32, caption_channels=32, use_additional_conditions=False))
df("sd3_transformer", "SD3Transformer2DModel", lambda: dict(hidden_states=rnd(1, 4, 8, 8), encoder_hidden_states=rnd(1, 6, 32), pooled_projections=rnd(1, 64), timestep=torch.tensor([17])), dict(sample_size=8, patch_size=1, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=4, caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=64, out_channels=4))
df("flux_transformer", "FluxTransformer2DModel", lambda: dict(hidden_states=rnd(1, 16, 4), encoder_hidden_states=rnd(1, 6, 32), pooled_projections=rnd(1, 32), timestep=torch.tensor([0.3]), img_ids=rnd(16, 3).round(), txt_ids=torch.zeros(6, 3)), dict(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8)))


# --- YOLO, from the configuration files in the package
def _yolo(cfg, size):
    from ultralytics.nn.tasks import yaml_model_load, DetectionModel, SegmentationModel, ClassificationModel, PoseModel
    K = SegmentationModel if "-seg" in cfg else ClassificationModel if "-cls" in cfg else PoseModel if "-pose" in cfg else DetectionModel
    m = K(yaml_model_load(cfg), ch=3, verbose=False)

    def call(m, x):
        return tensors_of(m(x))

    return Wrap(m, call), (torch.rand(1, 3, size, size),)


def yolo(cfg, size=64):
    add("yolo/" + cfg[:-5], "yolo", lambda: _yolo(cfg, size))


yolo("yolov8n.yaml")
yolo("yolov8n-seg.yaml")
yolo("yolov9t.yaml")
yolo("yolov10n.yaml")
yolo("yolo11n.yaml")


# --- segmentation_models_pytorch
def _smp(arch, enc, size, kw):
    import segmentation_models_pytorch as smp
    return getattr(smp, arch)(encoder_name=enc, encoder_weights=None, classes=3, **kw), (rnd(1, 3, size, size),)


def smp(arch, enc="resnet18", size=64, **kw):
    add("smp/" + arch.lower(), "smp", lambda: _smp(arch, enc, size, kw))


smp("MAnet")
smp("FPN")
smp("PSPNet")
smp("PAN", "mobilenet_v2", 128)
smp("DeepLabV3Plus", "mobilenet_v2")


# --- MONAI (3-D medical imaging)
def _monai(cls, shape, kw):
    import importlib
    nets = importlib.import_module("monai.networks.nets")
    return Wrap(getattr(nets, cls)(**kw), lambda m, x: tensors_of(m(x))), (rnd(*shape),)


def monai(name, cls, shape, **kw):
    add("monai/" + name, "monai", lambda: _monai(cls, shape, kw))


monai("unet3d", "UNet", (1, 1, 16, 16, 16), spatial_dims=3, in_channels=1, out_channels=2, channels=(8, 16, 32), strides=(2, 2), num_res_units=1)
monai("segresnet3d", "SegResNet", (1, 1, 16, 16, 16), spatial_dims=3, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 1), blocks_up=(1,))
monai("attention_unet", "AttentionUnet", (1, 1, 32, 32), spatial_dims=2, in_channels=1, out_channels=2, channels=(8, 16, 32), strides=(2, 2))
monai("highresnet", "HighResNet", (1, 1, 16, 16, 16), spatial_dims=3, in_channels=1, out_channels=2)


# --- lucidrains and other small packages
def lucid(name, mod, cls, inputs, group="lucid", **kw):
    def fn():
        import importlib
        m = getattr(importlib.import_module(mod), cls)(**kw)
        return Wrap(m, lambda m, *a: tensors_of(m(*a))), tuple(inputs())
    add("lucid/" + name, group, fn)


IM = lambda: [rnd(2, 3, 32, 32)]
VT = dict(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64)
lucid("deepvit", "vit_pytorch.deepvit", "DeepViT", IM, **VT)
lucid("normalized_vit", "vit_pytorch.normalized_vit", "nViT", IM, image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64)
lucid("vit_1d", "vit_pytorch.vit_1d", "ViT", lambda: [rnd(2, 3, 64)], seq_len=64, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64)


def xt(name, dec=True, **kw):
    def fn():
        from x_transformers import TransformerWrapper, Decoder, Encoder
        m = TransformerWrapper(num_tokens=128, max_seq_len=64, attn_layers=(Decoder if dec else Encoder)(dim=32, depth=2, heads=4, attn_dim_head=16, **kw))
        return Wrap(m, lambda m, x: tensors_of(m(x))), (ids(120, 2, 16),)
    add("x_transformers/" + name, "lucid", fn)


xt("rotary_glu", rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True)
xt("alibi", alibi_pos_bias=True)
xt("t5_bias_encoder", False, rel_pos_bias=True)
xt("qk_norm_gates", attn_qk_norm=True, gate_residual=True)
xt("talking_heads", attn_pre_talking_heads=True)
lucid("nystromformer", "nystrom_attention", "Nystromformer", lambda: [rnd(1, 32, 32)], dim=32, dim_head=16, heads=2, depth=1, num_landmarks=8)
lucid("conformer", "conformer", "Conformer", lambda: [rnd(1, 24, 32)], dim=32, depth=2, dim_head=16, heads=2, ff_mult=2)
lucid("egnn", "egnn_pytorch", "EGNN_Network", lambda: [ids(20, 1, 12), rnd(1, 12, 3)], num_tokens=21, num_positions=16, dim=16, depth=2, num_nearest_neighbors=4)
lucid("tcn", "pytorch_tcn", "TCN", lambda: [rnd(2, 8, 32)], num_inputs=8, num_channels=[16, 16])
lucid("ft_transformer", "rtdl_revisiting_models", "FTTransformer", lambda: [rnd(4, 5), torch.randint(0, 3, (4, 2))], n_cont_features=5, cat_cardinalities=[3, 4], d_out=2, n_blocks=2, d_block=32, attention_n_heads=2, attention_dropout=0., ffn_d_hidden_multiplier=2., ffn_dropout=0., residual_dropout=0.)


@model("lucid/mamba_ssm", "hf-ssm")
def _mambapy():
    from mambapy.mamba import Mamba, MambaConfig
    return Mamba(MambaConfig(d_model=32, n_layers=2)), (rnd(1, 16, 32),)


@model("misc/istft_vocoder", "hf-tts")
def _istft():
    class Head(nn.Module):
        """ConvNeXt block and inverse STFT head, as in Vocos."""
        def __init__(self, d=32, n=64, hop=16):
            super().__init__()
            self.n, self.hop = n, hop
            self.dw, self.ln, self.p1, self.p2 = nn.Conv1d(d, d, 7, padding=3, groups=d), nn.LayerNorm(d), nn.Linear(d, 64), nn.Linear(64, d)
            self.o = nn.Linear(d, n + 2)
            self.register_buffer("w", torch.hann_window(n))

        def forward(self, x):
            x = x + self.p2(torch.nn.functional.gelu(self.p1(self.ln(self.dw(x).transpose(1, 2))))).transpose(1, 2)
            m, p = self.o(x.transpose(1, 2)).transpose(1, 2).chunk(2, 1)
            s = torch.clip(m.exp(), max=1e2) * (torch.cos(p) + 1j * torch.sin(p))
            return torch.istft(s, self.n, self.hop, self.n, self.w, center=True)
    return Head(), (rnd(1, 32, 20),)


@model("misc/stft_melspec_cnn", "hf-audio")
def _mel():
    class Mel(nn.Module):
        """STFT, mel filter bank, log and a small convolutional classifier."""
        def __init__(self, n=128, mels=20):
            super().__init__()
            self.n = n
            self.register_buffer("w", torch.hann_window(n))
            self.register_buffer("fb", torch.rand(n // 2 + 1, mels))
            self.c = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d((4, 3)), nn.Flatten(), nn.Linear(96, 5))

        def forward(self, x):
            s = torch.stft(x, self.n, self.n // 4, window=self.w, return_complex=True).abs() ** 2
            return self.c(torch.log(s.transpose(1, 2) @ self.fb + 1e-5)[:, None])
    return Mel(), (rnd(2, 1600, scale=0.3),)


# --- models with real weights inside their Python package
@model("weights/lpips_alex_lin", "weights")
def _lpips():
    import lpips
    return lpips.LPIPS(net="squeeze", pretrained=True, pnet_rand=True, verbose=False), (rnd(1, 3, 64, 64), rnd(1, 3, 64, 64))


# --- recurrent networks
def rnn(name, cls, **kw):
    def fn():
        m = getattr(nn, cls)(8, 16, **kw)
        x = rnd(2, 10, 8) if kw.get("batch_first") else rnd(10, 2, 8)
        return m, (x,)
    add("rnn/" + name, "rnn", fn)


rnn("lstm_proj", "LSTM", proj_size=6, batch_first=True)
rnn("gru", "GRU", num_layers=2, batch_first=True)
rnn("gru_bidir", "GRU", bidirectional=True, num_layers=2)
rnn("rnn_relu_bidir", "RNN", nonlinearity="relu", bidirectional=True, batch_first=True)


@model("rnn/seq2seq_attention", "rnn")
def _s2s():
    class S2S(nn.Module):
        """GRU encoder, attention decoder unrolled in Python, greedy feedback."""
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(40, 16)
            self.enc = nn.GRU(16, 16, batch_first=True, bidirectional=True)
            self.cell = nn.GRUCell(16 + 32, 32)
            self.q = nn.Linear(32, 32)
            self.o = nn.Linear(64, 40)

        def forward(self, x):
            h, _ = self.enc(self.e(x))
            s = h.mean(1)
            t = torch.full((x.shape[0],), 1, dtype=torch.long)
            outs = []
            for _ in range(5):
                a = torch.softmax(torch.einsum("bth,bh->bt", h, self.q(s)), -1)
                c = torch.einsum("bt,bth->bh", a, h)
                s = self.cell(torch.cat([self.e(t), c], -1), s)
                y = self.o(torch.cat([s, c], -1))
                outs.append(y)
                t = y.argmax(-1)
            return torch.stack(outs, 1)
    return S2S(), (ids(40, 2, 9),)


@model("rnn/crnn_ocr", "rnn")
def _crnn():
    class CRNN(nn.Module):
        def __init__(self):
            super().__init__()
            c = []
            for i, (a, b, p) in enumerate([(1, 16, (2, 2)), (16, 32, (2, 2)), (32, 32, (2, 1)), (32, 48, (4, 1))]):
                c += [nn.Conv2d(a, b, 3, 1, 1), nn.BatchNorm2d(b), nn.ReLU(True), nn.MaxPool2d(p)]
            self.c = nn.Sequential(*c)
            self.r = nn.LSTM(48, 32, 2, bidirectional=True)
            self.o = nn.Linear(64, 37)

        def forward(self, x):
            y = self.c(x).squeeze(2).permute(2, 0, 1)
            return self.o(self.r(y)[0]).log_softmax(2)
    return CRNN(), (rnd(2, 1, 32, 64),)


# --- recommendation


@model("rec/wide_deep_bag_mean", "rec")
def _wd():
    class WD(nn.Module):
        def __init__(self):
            super().__init__()
            self.b = nn.EmbeddingBag(60, 12, mode="mean", padding_idx=0)
            self.m = nn.EmbeddingBag(60, 12, mode="max")
            self.o = nn.Linear(24, 2)

        def forward(self, x):
            return self.o(torch.cat([self.b(x), self.m(x)], 1))
    return WD(), (torch.randint(0, 60, (4, 7)),)


@model("rec/din_attention", "rec")
def _din():
    class DIN(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(80, 16, padding_idx=0)
            self.a = nn.Sequential(nn.Linear(64, 16), nn.PReLU(), nn.Linear(16, 1))
            self.o = nn.Sequential(nn.Linear(32, 16), nn.PReLU(), nn.Linear(16, 1))

        def forward(self, hist, item):
            h, t = self.e(hist), self.e(item)[:, None].expand(-1, hist.shape[1], -1)
            w = self.a(torch.cat([h, t, h - t, h * t], -1)).squeeze(-1)
            w = w.masked_fill(hist == 0, float("-inf")).softmax(-1)
            return self.o(torch.cat([(w[..., None] * h).sum(1), t[:, 0]], -1)).sigmoid()
    return DIN(), (torch.cat([ids(80, 4, 6), torch.zeros(4, 2, dtype=torch.long)], 1), ids(80, 4))


# --- graph networks (torch_geometric layers on a fixed edge list)
def gnn(name, make, edge_attr=False):
    def fn():
        import torch_geometric.nn as G
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = make(G, 8, 16), make(G, 16, 4)

            def forward(self, x, ei):
                return self.b(self.a(x, ei).relu(), ei).log_softmax(-1)
        return Net(), (rnd(12, 8), torch.randint(0, 12, (2, 30)))
    add("gnn/" + name, "gnn", fn)


gnn("gcn", lambda G, i, o: G.GCNConv(i, o))
gnn("sage", lambda G, i, o: G.SAGEConv(i, o))
gnn("transformer_conv", lambda G, i, o: G.TransformerConv(i, o, heads=2, concat=False))
gnn("cheb", lambda G, i, o: G.ChebConv(i, o, K=3))
gnn("edge", lambda G, i, o: G.EdgeConv(nn.Sequential(nn.Linear(2 * i, o), nn.ReLU())))


# --- forecasting, tabular, physics, generative
@model("misc/nbeats", "misc")
def _nbeats():
    class Block(nn.Module):
        def __init__(self, b=24, f=8):
            super().__init__()
            self.m = nn.Sequential(nn.Linear(b, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
            self.b, self.f = nn.Linear(32, b), nn.Linear(32, f)

        def forward(self, x):
            h = self.m(x)
            return self.b(h), self.f(h)

    class NBeats(nn.Module):
        def __init__(self):
            super().__init__()
            self.bl = nn.ModuleList(Block() for _ in range(4))

        def forward(self, x):
            y = 0
            for b in self.bl:
                r, f = b(x)
                x = x - r
                y = y + f
            return y
    return NBeats(), (rnd(4, 24),)


@model("misc/neural_ode_rk4", "misc")
def _node():
    class ODE(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, x):
            from torchdiffeq import odeint
            return odeint(lambda t, y: self.f(y), x, torch.linspace(0, 1, 5), method="rk4")
    return ODE(), (rnd(3, 4),)


@model("misc/kan", "misc")
def _kan():
    class KAN(nn.Module):
        """Kolmogorov-Arnold layer with B-splines by the Cox-de Boor recursion."""
        def __init__(self, i=4, o=3, g=5, k=3):
            super().__init__()
            self.k = k
            h = 2 / g
            self.register_buffer("grid", (torch.arange(-k, g + k + 1) * h - 1).expand(i, -1).contiguous())
            self.b = nn.Parameter(torch.randn(o, i) * 0.3)
            self.s = nn.Parameter(torch.randn(o, i, g + k) * 0.3)

        def forward(self, x):
            g = self.grid
            z = x[..., None]
            B = ((z >= g[:, :-1]) & (z < g[:, 1:])).to(x.dtype)
            for k in range(1, self.k + 1):
                B = (z - g[:, :-k - 1]) / (g[:, k:-1] - g[:, :-k - 1]) * B[..., :-1] + (g[:, k + 1:] - z) / (g[:, k + 1:] - g[:, 1:-k]) * B[..., 1:]
            return torch.nn.functional.linear(torch.nn.functional.silu(x), self.b) + torch.einsum("bik,oik->bo", B, self.s)
    return nn.Sequential(KAN(), KAN(3, 2)), (torch.rand(6, 4) * 1.6 - 0.8,)


@model("misc/nerf", "misc")
def _nerf():
    class Nerf(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Linear(39, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.s, self.c = nn.Linear(64, 1), nn.Sequential(nn.Linear(64, 3), nn.Sigmoid())

        def forward(self, o, d):
            t = torch.linspace(1, 4, 16)
            p = o[:, None] + d[:, None] * t[:, None]
            e = [p] + [f(p * 2 ** k) for k in range(6) for f in (torch.sin, torch.cos)]
            h = self.a(torch.cat(e, -1))
            al = 1 - torch.exp(-torch.nn.functional.softplus(self.s(h)[..., 0]) * 0.2)
            w = al * torch.cumprod(torch.cat([torch.ones_like(al[:, :1]), 1 - al + 1e-10], 1), 1)[:, :-1]
            return (w[..., None] * self.c(h)).sum(1), (w * t).sum(1)
    return Nerf(), (rnd(8, 3), rnd(8, 3))


@model("misc/vae_conv", "misc")
def _vae():
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.GELU(), nn.Conv2d(16, 32, 4, 2, 1), nn.GELU(), nn.Flatten(), nn.Linear(32 * 49, 16))
            self.d = nn.Sequential(nn.Linear(8, 32 * 49), nn.Unflatten(1, (32, 7, 7)), nn.ConvTranspose2d(32, 16, 3, 2, 1, 1), nn.ELU(), nn.ConvTranspose2d(16, 1, 3, 2, 1, 1), nn.Sigmoid())

        def forward(self, x, eps):
            mu, lv = self.e(x).chunk(2, 1)
            return self.d(mu + eps * (0.5 * lv).exp()), mu, lv
    return VAE(), (torch.rand(2, 1, 28, 28), rnd(2, 8))


@model("misc/wavenet", "misc")
def _wavenet():
    class WN(nn.Module):
        def __init__(self, c=16):
            super().__init__()
            self.i = nn.Conv1d(1, c, 1)
            self.d = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=2 ** k) for k in range(5))
            self.r = nn.ModuleList(nn.Conv1d(c, c, 1) for _ in range(5))
            self.o = nn.Conv1d(c, 32, 1)

        def forward(self, x):
            x = self.i(x)
            s = 0
            for k, (d, r) in enumerate(zip(self.d, self.r)):
                a, b = d(torch.nn.functional.pad(x, (2 ** k, 0))).chunk(2, 1)
                h = r(torch.tanh(a) * torch.sigmoid(b))
                x, s = x + h, s + h
            return self.o(torch.relu(s))
    return WN(), (rnd(1, 1, 64),)


@model("misc/esrgan_pixelshuffle", "misc")
def _sr():
    class SR(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = nn.Conv2d(3, 16, 3, 1, 1)
            self.b = nn.ModuleList(nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1), nn.PReLU(16), nn.Conv2d(16, 16, 3, 1, 1)) for _ in range(3))
            self.u = nn.Sequential(nn.Conv2d(16, 64, 3, 1, 1), nn.PixelShuffle(2), nn.PReLU(), nn.Conv2d(16, 3, 3, 1, 1))

        def forward(self, x):
            h = self.h(x)
            for b in self.b:
                h = h + 0.2 * b(h)
            return self.u(h) + torch.nn.functional.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
    return SR(), (torch.rand(1, 3, 16, 16),)


@model("misc/bf16_mlp_mixed", "misc")
def _bf16():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(16, 32).to(torch.bfloat16)
            self.n = nn.LayerNorm(32)
            self.b = nn.Linear(32, 4, dtype=torch.float64)

        def forward(self, x):
            return self.b(self.n(torch.nn.functional.gelu(self.a(x.to(torch.bfloat16))).float()).double())
    return M(), (rnd(4, 16),)
