"""Architectures of transformers with small configurations; decoding steps with caches."""
import torch

from registry import Wrap, add, ids, rnd, tensors_of


# --- transformers: real architectures with small configurations
def _hf(cls, cfg, inputs, sub, kw):
    import transformers as T
    K = getattr(T, cls)
    c = K.config_class(**cfg)
    for k in ("use_cache",):
        if hasattr(c, k):
            setattr(c, k, False)
    m = K(c)
    if sub:
        m = m.get_submodule(sub)
    inp = inputs()
    keys = list(inp)

    def call(m, *a):
        return tensors_of(m(**dict(zip(keys, a)), **kw))

    return Wrap(m, call), tuple(inp.values())


def hf(name, cls, inputs, cfg, group="hf-encoder", sub=None, **kw):
    add("hf/" + name, group, lambda: _hf(cls, cfg, inputs, sub, kw))


def amask(b, s):
    m = torch.ones(b, s, dtype=torch.long)
    m[-1, -s // 4:] = 0
    return m


def tx(b=2, s=16, vocab=120):
    return lambda: dict(input_ids=ids(vocab, b, s), attention_mask=amask(b, s))


def tx0(b=2, s=16, vocab=120):
    return lambda: dict(input_ids=ids(vocab, b, s))


def s2s(b=2, s=16, t=8, vocab=120):
    return lambda: dict(input_ids=ids(vocab, b, s), attention_mask=amask(b, s), decoder_input_ids=ids(vocab, b, t))


def px(size=32, b=2, c=3):
    return lambda: dict(pixel_values=rnd(b, c, size, size))


def wav(n=4000, b=2):
    return lambda: dict(input_values=rnd(b, n, scale=0.3))


V, H, L, A, F = 128, 64, 2, 4, 128
S = dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F, max_position_embeddings=80)
D = dict(S, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
B = dict(vocab_size=V, d_model=H, encoder_layers=L, decoder_layers=L, encoder_attention_heads=A, decoder_attention_heads=A, encoder_ffn_dim=F, decoder_ffn_dim=F, max_position_embeddings=80, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
T5 = dict(vocab_size=V, d_model=H, d_kv=16, d_ff=F, num_layers=L, num_heads=A, decoder_start_token_id=0)
I = dict(hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F, image_size=32, patch_size=8)
W = dict(hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F, conv_dim=(32, 32, 32), conv_kernel=(10, 3, 2), conv_stride=(5, 2, 2), num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, vocab_size=32)

# encoders
hf("bert", "BertForMaskedLM", tx(), S)
hf("roberta", "RobertaForSequenceClassification", tx(), S)
hf("electra", "ElectraForPreTraining", tx(), dict(S, embedding_size=32))
hf("deberta", "DebertaModel", tx(), dict(S, relative_attention=True, pos_att_type=["c2p", "p2c"]))
hf("deberta_v2", "DebertaV2Model", tx(), dict(S, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=16))
hf("xlnet", "XLNetModel", tx(), dict(vocab_size=V, d_model=H, n_head=A, d_inner=F, n_layer=L))
hf("convbert", "ConvBertModel", tx(), dict(S, embedding_size=H))
hf("funnel", "FunnelModel", tx(), dict(vocab_size=V, d_model=H, n_head=A, d_head=16, d_inner=F, block_sizes=[1, 1], num_decoder_layers=1))
hf("fnet", "FNetModel", tx0(), S)
hf("nystromformer", "NystromformerModel", tx0(2, 32), dict(S, num_landmarks=8, segment_means_seq_len=32))
hf("big_bird_full", "BigBirdModel", tx(), dict(S, attention_type="original_full"))
hf("big_bird_sparse", "BigBirdModel", tx(1, 64), dict(S, attention_type="block_sparse", block_size=4, num_random_blocks=2))
hf("longformer", "LongformerModel", tx(1, 32), dict(S, attention_window=[8, 8]))
hf("roformer", "RoFormerModel", tx(), dict(S, embedding_size=H))
hf("rembert", "RemBertModel", tx(), dict(S, input_embedding_size=32))
hf("esm", "EsmModel", tx(), dict(S, vocab_size=V, pad_token_id=1, mask_token_id=3, position_embedding_type="rotary"))
hf("lilt", "LiltModel", lambda: dict(input_ids=ids(120, 2, 16), bbox=(torch.tensor([1, 2, 9, 7]) + torch.arange(16)[:, None]).expand(2, 16, 4).contiguous(), attention_mask=amask(2, 16)), dict(S, hidden_size=96, max_2d_position_embeddings=80, channel_shrink_ratio=4))
hf("data2vec_text", "Data2VecTextModel", tx(), S)
hf("xmod", "XmodModel", tx(), dict(S, languages=["en"], default_language="en"))
hf("yoso", "YosoModel", tx(2, 16), dict(S, use_expectation=True))
hf("perceiver", "PerceiverForMaskedLM", tx(1, 32), dict(num_latents=8, d_latents=32, d_model=H, num_blocks=1, num_self_attends_per_block=2, num_self_attention_heads=2, num_cross_attention_heads=2, vocab_size=V, max_position_embeddings=32))
hf("tapas", "TapasModel", lambda: dict(input_ids=ids(120, 2, 16), attention_mask=amask(2, 16), token_type_ids=torch.randint(0, 2, (2, 16, 7))), dict(S, type_vocab_sizes=[3, 16, 16, 2, 16, 10, 10]))

# decoders
G = "hf-decoder"
hf("gpt2", "GPT2LMHeadModel", tx(), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, n_positions=80), G)
hf("gpt_neox", "GPTNeoXForCausalLM", tx(), S, G)
hf("gptj", "GPTJForCausalLM", tx(), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, rotary_dim=8, n_positions=80), G)
hf("gpt_bigcode", "GPTBigCodeForCausalLM", tx(), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, n_positions=80), G)
hf("openai_gpt", "OpenAIGPTModel", tx(), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, n_positions=80), G)
hf("opt", "OPTForCausalLM", tx(), dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A, ffn_dim=F, max_position_embeddings=80, word_embed_proj_dim=H), G)
hf("bloom", "BloomForCausalLM", tx(), dict(vocab_size=V, hidden_size=H, n_layer=L, n_head=A), G)
hf("codegen", "CodeGenForCausalLM", tx(), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, rotary_dim=8, n_positions=80), G)
hf("falcon", "FalconForCausalLM", tx(), dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A), G)
hf("llama", "LlamaForCausalLM", tx(), D, G)
hf("mixtral", "MixtralForCausalLM", tx(), dict(D, num_local_experts=4, num_experts_per_tok=2), "hf-moe")
hf("qwen2_moe", "Qwen2MoeForCausalLM", tx(), dict(D, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32), "hf-moe")
hf("qwen3", "Qwen3ForCausalLM", tx(), dict(D, head_dim=16), G)
hf("qwen3_moe", "Qwen3MoeForCausalLM", tx(), dict(D, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32), "hf-moe")
hf("qwen3_next", "Qwen3NextForCausalLM", tx(), dict(D, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=16, linear_value_head_dim=16, num_hidden_layers=4), "hf-moe")
hf("gemma2", "Gemma2ForCausalLM", tx(), dict(D, head_dim=16, sliding_window=8), G)
hf("gemma3_text", "Gemma3ForCausalLM", tx(), dict(D, head_dim=16, sliding_window=8), G)
hf("phi", "PhiForCausalLM", tx(), D, G)
hf("phi3", "Phi3ForCausalLM", tx(), D, G)
hf("phimoe", "PhimoeForCausalLM", tx(), dict(D, num_local_experts=4, num_experts_per_tok=2), "hf-moe")
hf("stablelm", "StableLmForCausalLM", tx(), D, G)
hf("olmo2", "Olmo2ForCausalLM", tx(), D, G)
hf("cohere", "CohereForCausalLM", tx(), D, G)
hf("granitemoe", "GraniteMoeForCausalLM", tx(), dict(D, num_local_experts=4, num_experts_per_tok=2), "hf-moe")
hf("dbrx", "DbrxForCausalLM", tx(), dict(vocab_size=V, d_model=H, n_heads=A, n_layers=L, max_seq_len=80, attn_config=dict(kv_n_heads=2, clip_qkv=8, rope_theta=10000.0), ffn_config=dict(ffn_hidden_size=F, hidden_size=H, moe_num_experts=4, moe_top_k=2)), "hf-moe")
hf("nemotron", "NemotronForCausalLM", tx(), D, G)
hf("persimmon", "PersimmonForCausalLM", tx(), S, G)
hf("smollm3", "SmolLM3ForCausalLM", tx(), D, G)
hf("bitnet", "BitNetForCausalLM", tx(), D, G)
hf("nanochat", "NanoChatForCausalLM", tx(), D, G)
hf("mamba2", "Mamba2ForCausalLM", tx0(2, 12), dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, state_size=16, num_heads=8, head_dim=16, n_groups=2, chunk_size=8), "hf-ssm")
hf("jamba", "JambaForCausalLM", tx(2, 12), dict(D, num_experts=4, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=8, use_mamba_kernels=False), "hf-ssm")
hf("bamba", "BambaForCausalLM", tx(2, 12), dict(D, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_chunk_size=8, attn_layer_indices=[1]), "hf-ssm")
hf("lfm2", "Lfm2ForCausalLM", tx(2, 12), dict(D, layer_types=["conv", "full_attention"]), "hf-ssm")

# sequence to sequence
G = "hf-seq2seq"
hf("umt5", "UMT5ForConditionalGeneration", s2s(), T5, G)
hf("longt5", "LongT5ForConditionalGeneration", s2s(), dict(T5, local_radius=4), G)
hf("switch_transformers", "SwitchTransformersModel", s2s(), dict(T5, num_experts=4, expert_capacity=8), "hf-moe")
hf("mbart", "MBartModel", s2s(), B, G)
hf("pegasus", "PegasusModel", s2s(), B, G)
hf("blenderbot", "BlenderbotModel", s2s(), B, G)
hf("marian", "MarianMTModel", s2s(), B, G)
hf("prophetnet", "ProphetNetModel", s2s(), dict(vocab_size=V, hidden_size=H, encoder_ffn_dim=F, decoder_ffn_dim=F, num_encoder_layers=L, num_decoder_layers=L, num_encoder_attention_heads=A, num_decoder_attention_heads=A, max_position_embeddings=80), G)

# vision
G = "hf-vision"
hf("beit", "BeitModel", px(), dict(I, use_relative_position_bias=True), G)
hf("dinov2_with_registers", "Dinov2WithRegistersModel", px(), dict(I, num_register_tokens=2), G)
hf("dinov3_vit", "DINOv3ViTModel", px(), I, G)
hf("swin", "SwinModel", px(32), dict(image_size=32, patch_size=2, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4), G)
hf("convnextv2", "ConvNextV2Model", px(), dict(hidden_sizes=[16, 32], depths=[1, 1], num_stages=2), G)
hf("segformer", "SegformerForSemanticSegmentation", px(64), dict(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32), G)
hf("mobilevit", "MobileViTModel", px(64), dict(hidden_sizes=[32, 48, 64], neck_hidden_sizes=[8, 16, 24, 32, 48, 64, 96]), G)
hf("mobilenet_v1", "MobileNetV1Model", px(64), dict(depth_multiplier=0.25), G)
hf("mobilenet_v2", "MobileNetV2Model", px(64), dict(depth_multiplier=0.35), G)
hf("pvt", "PvtModel", px(64), dict(image_size=64, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]), G)
hf("glpn", "GLPNForDepthEstimation", px(64), dict(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32), G)
hf("focalnet", "FocalNetModel", px(64), dict(image_size=64, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2], focal_windows=[3, 3]), G)
hf("bit", "BitModel", px(64), dict(embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], num_groups=4), G)
hf("imagegpt", "ImageGPTModel", tx0(2, 16), dict(vocab_size=V, n_embd=H, n_layer=L, n_head=A, n_positions=80), G)
hf("swin2sr", "Swin2SRForImageSuperResolution", px(16, 1), dict(image_size=16, patch_size=1, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4, upscale=2), G)
RN = dict(model_type="resnet", embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"])
RN3 = dict(RN, out_features=["stage2", "stage3", "stage4"])
DT = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=8, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
hf("conditional_detr", "ConditionalDetrForObjectDetection", px(64, 1), dict(DT, backbone_config=RN), "hf-detection")
hf("deformable_detr", "DeformableDetrForObjectDetection", px(64, 1), dict(DT, decoder_layers=2, backbone_config=RN3, num_feature_levels=3, encoder_n_points=2, decoder_n_points=2), "hf-detection")
hf("dab_detr", "DabDetrForObjectDetection", px(64, 1), dict({k: v for k, v in DT.items() if k != "d_model"}, hidden_size=32, backbone_config=RN), "hf-detection")
RT = dict(backbone_config=dict(model_type="rt_detr_resnet", embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"]), encoder_hidden_dim=32, encoder_in_channels=[32, 48, 64], encoder_layers=1, encoder_ffn_dim=64, encoder_attention_heads=2, d_model=32, num_queries=8, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=64, decoder_layers=2, decoder_attention_heads=2, num_denoising=0, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
hf("rt_detr", "RTDetrForObjectDetection", px(64, 1), RT, "hf-detection")
hf("rt_detr_v2", "RTDetrV2ForObjectDetection", px(64, 1), RT, "hf-detection")
hf("mask2former", "Mask2FormerForUniversalSegmentation", px(64, 1), dict(backbone_config=dict(model_type="swin", image_size=64, patch_size=2, embed_dim=16, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2], window_size=4, out_features=["stage1", "stage2", "stage3", "stage4"]), feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=64, encoder_layers=1, decoder_layers=2, num_attention_heads=2, dim_feedforward=64, num_queries=8, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None), "hf-detection")
hf("videomae", "VideoMAEModel", lambda: dict(pixel_values=rnd(1, 4, 3, 32, 32)), dict(I, num_frames=4), "hf-video")
hf("timesformer", "TimesformerModel", lambda: dict(pixel_values=rnd(1, 4, 3, 32, 32)), dict(I, num_frames=4), "hf-video")

# vision and language
G = "hf-multimodal"
CT = dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F, max_position_embeddings=24, eos_token_id=2)
TI = lambda: dict(input_ids=ids(120, 2, 16), pixel_values=rnd(2, 3, 32, 32), attention_mask=amask(2, 16))
hf("clip", "CLIPModel", TI, dict(text_config=CT, vision_config=I, projection_dim=32), G)
hf("clipseg", "CLIPSegForImageSegmentation", TI, dict(text_config=CT, vision_config=dict(I, num_hidden_layers=3), projection_dim=32, reduce_dim=16, extract_layers=[1, 2], decoder_num_attention_heads=2, decoder_intermediate_size=32), G)
hf("blip", "BlipForImageTextRetrieval", TI, dict(text_config=dict(CT, encoder_hidden_size=H), vision_config=I), G)
hf("vilt", "ViltModel", TI, dict(S, image_size=32, patch_size=8), G)
hf("flava", "FlavaModel", TI, dict(text_config=S, image_config=I, multimodal_config=dict(hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F), hidden_size=H, projection_dim=H), G)
hf("lxmert", "LxmertModel", lambda: dict(input_ids=ids(120, 2, 12), visual_feats=rnd(2, 6, 32), visual_pos=torch.rand(2, 6, 4)), dict(vocab_size=V, hidden_size=H, num_attention_heads=A, intermediate_size=F, l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=32), G)

# audio and speech
G = "hf-audio"
hf("wavlm", "WavLMModel", wav(), W, G)
hf("unispeech_sat", "UniSpeechSatModel", wav(), W, G)
hf("wav2vec2_conformer", "Wav2Vec2ConformerModel", wav(), dict(W, position_embeddings_type="relative"), G)
hf("ast", "ASTModel", lambda: dict(input_values=rnd(2, 64, 32)), dict(hidden_size=H, num_hidden_layers=L, num_attention_heads=A, intermediate_size=F, patch_size=16, max_length=64, num_mel_bins=32), G)
hf("whisper", "WhisperForConditionalGeneration", lambda: dict(input_features=rnd(1, 16, 64), decoder_input_ids=ids(120, 1, 8)), dict({k: v for k, v in B.items() if k != "max_position_embeddings"}, num_mel_bins=16, max_source_positions=32, max_target_positions=32, suppress_tokens=None, begin_suppress_tokens=None), G)
hf("moonshine", "MoonshineModel", lambda: dict(input_values=rnd(1, 4000, scale=0.3), decoder_input_ids=ids(120, 1, 8)), dict(vocab_size=V, hidden_size=H, intermediate_size=F, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1, encoder_num_attention_heads=A, decoder_num_attention_heads=A, max_position_embeddings=80, pad_token_id=0), G)
hf("encodec", "EncodecModel", lambda: dict(input_values=rnd(1, 1, 640, scale=0.3)), dict(hidden_size=16, num_filters=8, upsampling_ratios=[4, 2], codebook_size=32, codebook_dim=16, num_lstm_layers=1, target_bandwidths=[24.0], sampling_rate=24000), G)
hf("dac", "DacModel", lambda: dict(input_values=rnd(1, 1, 512, scale=0.3)), dict(encoder_hidden_size=16, downsampling_ratios=[2, 4], decoder_hidden_size=64, n_codebooks=2, codebook_size=32, codebook_dim=8), G)
hf("speecht5_hifigan", "SpeechT5HifiGan", lambda: dict(spectrogram=rnd(1, 12, 16)), dict(model_in_dim=16, upsample_initial_channel=32, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8]), "hf-tts")
hf("univnet", "UnivNetModel", lambda: dict(input_features=rnd(1, 8, 16), noise_sequence=rnd(1, 8, 8)), dict(model_in_channels=8, model_hidden_channels=8, num_mel_bins=16, resblock_stride_sizes=[4, 2], resblock_kernel_sizes=[3, 3], resblock_dilation_sizes=[[1, 3], [1, 3]], kernel_predictor_hidden_channels=8), "hf-tts")

# time series and others
G = "hf-timeseries"
hf("patchtst", "PatchTSTForPrediction", lambda: dict(past_values=rnd(2, 32, 3)), dict(num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, prediction_length=8, loss="mse"), G)
hf("patchtsmixer", "PatchTSMixerForPrediction", lambda: dict(past_values=rnd(2, 32, 3)), dict(num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_layers=2, prediction_length=8), G)
TS = dict(prediction_length=8, context_length=16, lags_sequence=[1, 2], num_time_features=2, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64)
TSI = lambda: dict(past_values=rnd(2, 18), past_time_features=rnd(2, 18, 2), past_observed_mask=torch.ones(2, 18), future_values=rnd(2, 8), future_time_features=rnd(2, 8, 2))
hf("informer", "InformerModel", TSI, TS, G)
hf("time_series_transformer", "TimeSeriesTransformerModel", TSI, TS, G)


# --- one decoding step with a key/value cache given and returned as tensors
def _kv(cls, cfg, past):
    import transformers as T
    from transformers import DynamicCache
    K = getattr(T, cls)
    c = K.config_class(**cfg)
    m = K(c)
    n = c.num_hidden_layers
    kvh = getattr(c, "num_key_value_heads", None) or c.num_attention_heads
    hd = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads

    def call(m, x, mask, *kv):
        cache = DynamicCache()
        for i in range(n):
            cache.update(kv[2 * i], kv[2 * i + 1], i)
        o = m(input_ids=x, attention_mask=mask, past_key_values=cache, use_cache=True)
        out = [o.logits]
        for layer in o.past_key_values.layers:
            out += [layer.keys, layer.values]
        return out

    kv = [rnd(2, kvh, past, hd) for _ in range(2 * n)]
    return Wrap(m, call), (ids(120, 2, 1), torch.ones(2, past + 1, dtype=torch.long), *kv)


def kv(name, cls, cfg):
    add("hf/" + name + "_kv_step", "hf-decoder-kv", lambda: _kv(cls, cfg, 7))


kv("llama", "LlamaForCausalLM", D)
kv("gpt_neox", "GPTNeoXForCausalLM", S)
kv("phi3", "Phi3ForCausalLM", D)
kv("gemma", "GemmaForCausalLM", dict(D, head_dim=16))


# --- decoding with a static cache kept in buffers (the exported program mutates buffers)
def _static(cls, cfg):
    import transformers as T
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    K = getattr(T, cls)
    c = K.config_class(**cfg)
    c._attn_implementation = "sdpa"
    m = K(c)
    m.generation_config = T.GenerationConfig(use_cache=True, cache_implementation="static", max_length=16, cache_config={"batch_size": 1, "max_cache_len": 16, "device": "cpu"})
    w = TorchExportableModuleWithStaticCache(m, batch_size=1, max_cache_len=16, device="cpu")
    return w, (), dict(input_ids=ids(120, 1, 1), cache_position=torch.tensor([3]))


def static(name, cls, cfg):
    add("hf/" + name + "_static_cache", "hf-decoder-kv", lambda: _static(cls, cfg))


static("qwen3", "Qwen3ForCausalLM", dict(D, head_dim=16))
