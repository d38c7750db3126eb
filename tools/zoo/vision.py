"""Models of timm and torchvision."""
import torch

from registry import Wrap, add, rnd


def _timm(name, size, group, kw):
    import timm as T
    m = T.create_model(name, pretrained=False, num_classes=kw.pop("num_classes", 10), **kw)
    return m, (rnd(2 if size <= 128 else 1, 3, size, size),)


def timm(name, size=64, group="timm-cnn", **kw):
    add("timm/" + name, group, lambda: _timm(name, size, group, dict(kw)))


# --- convolutional families
timm("resnet18")
timm("resnet26d")
timm("ecaresnet26t")
timm("legacy_seresnet18")
timm("skresnet18")
timm("resnetv2_18")
timm("resnetv2_50d_evos")
timm("nf_resnet26")
timm("eca_nfnet_l0")
timm("densenet121")
timm("dpn48b")
timm("hrnet_w18_small")
timm("legacy_xception")
timm("xception41")
timm("ese_vovnet19b_slim_dw")
timm("vgg11", 32)
timm("cspnext_tiny")
timm("regnetx_002")
timm("regnetz_b16")
timm("rexnet_100")
timm("tinynet_e")
timm("mnasnet_small")
timm("mixnet_s")
timm("fbnetv3_b")
timm("hardcorenas_a")
timm("lcnet_035")
timm("lcnetv2_small")
timm("mobilenetv2_050")
timm("mobilenetv3_small_050")
timm("ghostnetv2_100")
timm("ghostnetv3_050")
timm("repghostnet_050")
timm("convnext_atto")
timm("convmixer_768_32")
timm("inception_next_atto")
timm("mambaout_femto")
timm("rdnet_tiny")
timm("starnet_s1")
# --- hybrid conv/attention families
timm("botnet26t_256", 256, "timm-hybrid")
timm("eca_halonext26ts", 256, "timm-hybrid")
timm("lambda_resnet26t", 256, "timm-hybrid")
timm("bat_resnext26ts", 256, "timm-hybrid")
timm("coatnet_pico_rw_224", 224, "timm-hybrid")
timm("maxvit_pico_rw_256", 256, "timm-hybrid")
timm("poolformer_s12", 64, "timm-hybrid")
timm("efficientformer_l1", 224, "timm-hybrid")
timm("efficientformerv2_s0", 224, "timm-hybrid")
timm("efficientvim_m1", 64, "timm-hybrid")
timm("efficientvit_b0", 64, "timm-hybrid")
timm("efficientvit_m0", 224, "timm-hybrid")
timm("iformer_t", 64, "timm-hybrid")
timm("levit_conv_128s", 224, "timm-hybrid")
timm("mobilevitv2_050", 64, "timm-hybrid")
timm("tiny_vit_5m_224", 224, "timm-hybrid")
timm("visformer_tiny", 224, "timm-hybrid")
timm("vit_tiny_r_s16_p8_224", 64, "timm-hybrid", img_size=64)
timm("vitamin_small_224", 64, "timm-hybrid", img_size=64)
timm("sequencer2d_s", 64, "timm-hybrid", img_size=64)
# --- vision transformers and MLPs
timm("deit_tiny_distilled_patch16_224", 64, "timm-vit", img_size=64)
timm("deit3_small_patch16_224", 64, "timm-vit", img_size=64, depth=4)
timm("beit_base_patch16_224", 64, "timm-vit", img_size=64, depth=3)
timm("vit_relpos_small_patch16_224", 64, "timm-vit", img_size=64, depth=4)
timm("samvit_base_patch16", 128, "timm-vit", img_size=128, depth=3, global_attn_indexes=(1, 2))
timm("aimv2_large_patch14_224", 56, "timm-vit", img_size=56, depth=2)
timm("naflexvit_base_patch16_gap", 64, "timm-vit", depth=2)
timm("cait_xxs24_224", 64, "timm-vit", img_size=64)
timm("convit_tiny", 64, "timm-vit", img_size=64)
timm("crossvit_tiny_240", 240, "timm-vit")
timm("focalnet_tiny_srf", 64, "timm-vit")
timm("gcvit_xxtiny", 224, "timm-vit")
timm("nest_tiny", 224, "timm-vit")
timm("pit_ti_224", 224, "timm-vit")
timm("pvt_v2_b0", 64, "timm-vit")
timm("twins_svt_small", 64, "timm-vit", img_size=64)
timm("twins_pcpvt_small", 64, "timm-vit", img_size=64)
timm("volo_d1_224", 64, "timm-vit", img_size=64)
timm("xcit_nano_12_p16_224", 64, "timm-vit", img_size=64)
timm("mixer_s32_224", 64, "timm-vit", img_size=64)
timm("gmixer_12_224", 64, "timm-vit", img_size=64)
timm("gmlp_ti16_224", 64, "timm-vit", img_size=64)
timm("resmlp_12_224", 64, "timm-vit", img_size=64)
def _tv(name, size, kw):
    import torchvision as tv
    kw.setdefault("num_classes", 10)
    m = tv.models.get_model(name, weights=None, **kw)
    return m, (rnd(2 if size <= 128 else 1, 3, size, size),)


def tv(name, size=64, **kw):
    add("torchvision/" + name, "tv-classification", lambda: _tv(name, size, dict(kw)))


tv("alexnet", 64)
tv("resnet18")
tv("vgg11_bn", 32)
tv("googlenet", 96, init_weights=False, aux_logits=False)
tv("mobilenet_v2")
tv("mobilenet_v3_small")
tv("mnasnet0_5")
tv("efficientnet_v2_s", 32)
tv("convnext_tiny")
tv("vit_b_32", 64, image_size=64)
tv("swin_t", 64)
tv("swin_v2_t", 64)
tv("maxvit_t", 224)


def _tvseg(name, kw):
    import torchvision as tv
    kw = dict(kw)
    m = tv.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **kw)
    return m, (rnd(1, 3, 64, 64),)


def tvseg(name, **kw):
    add("torchvision/" + name, "tv-segmentation", lambda: _tvseg(name, kw))


tvseg("deeplabv3_mobilenet_v3_large")
tvseg("lraspp_mobilenet_v3_large")


def _tvvid(name, frames, size):
    import torchvision as tv
    m = tv.models.get_model(name, weights=None, num_classes=10)
    return m, (rnd(1, 3, frames, size, size),)


def tvvid(name, frames=8, size=32):
    add("torchvision/" + name, "tv-video", lambda: _tvvid(name, frames, size))


tvvid("r3d_18")
tvvid("mc3_18")
tvvid("r2plus1d_18")
tvvid("mvit_v2_s", 16, 224)


def _tvdet(name, size, kw):
    import torchvision as tv
    m = tv.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **kw)

    def call(m, x):
        return [list(d.values()) for d in m([x])]

    return Wrap(m, call), (torch.rand(3, size, size),)


def tvdet(name, size=160, **kw):
    add("torchvision/" + name, "tv-detection", lambda: _tvdet(name, size, kw))


tvdet("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=160, max_size=160)
tvdet("fasterrcnn_resnet50_fpn", min_size=96, max_size=96)
tvdet("maskrcnn_resnet50_fpn", min_size=96, max_size=96)
tvdet("retinanet_resnet50_fpn", min_size=96, max_size=96)
tvdet("ssd300_vgg16")
