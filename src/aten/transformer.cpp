// The fused operators that nn.MultiheadAttention and nn.TransformerEncoderLayer call in eval mode.
#include <array>
#include <cmath>

#include "aten/activation.hpp"
#include "aten/attention.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/normalization.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/shaping.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

// What mask_type says of a mask of two axes over scores [batch, head, query, key]; one of the scores' shape needs none.
enum MaskType : int64_t { kOfQueries = 0, kOfPadding = 1 };

// The mask, as it broadcasts to `scores`.
std::optional<Dims> mask_shape(Lower& l, const Dims& scores, Tensor mask, const Optional<int64_t>& mask_type) {
  if (mask.shape() == scores) return scores;
  if (scores.size() == 4 && mask.rank() == 2 && scores[2] == scores[3]) {
    if (mask_type == kOfQueries && mask.dim(0) == scores[2] && mask.dim(1) == scores[3]) return mask.shape();
    if (mask_type == kOfPadding && mask.dim(0) == scores[0] && mask.dim(1) == scores[3])
      return Dims{scores[0], Dim(1), Dim(1), scores[3]};
  }
  l.wrong("a mask " + describe(mask) + " of mask_type " + (mask_type ? std::to_string(*mask_type) : "None") +
          " does not fit scores of " + text_of(scores));
  return std::nullopt;
}

// softmax over what the mask leaves visible, which is where it is false; NaN where it leaves nothing.
Tensor masked_softmax(Lower& l, Tensor self, Tensor mask, Optional<int64_t> dim, Optional<int64_t> mask_type) {
  if (self.is_poison() || mask.is_poison()) return {};
  if (!is_bool(mask.dtype())) return l.wrong("expected a bool mask, got " + describe(mask));
  if (!computes_in(l, self.dtype(), takes::kRealFloats)) return {};
  auto shape = mask_shape(l, self.shape(), mask, mask_type);
  if (!shape) return {};
  Formula scores(l, l.read(self));
  Formula hidden(l, l.broadcast_to(l.hlo.reshape(l.read(mask), *shape), self.shape()));
  return softmax(l, l.make(select(hidden, scores.like(-INFINITY), scores)), dim.value_or(-1), {});
}

// ---- attention of several heads

struct Projection {
  int64_t embed_dim = 0;
  int64_t heads = 0;
  Tensor weight, bias;  // of query, key and value, one under another
  Tensor out_weight, out_bias;
};

bool attention_fits(Lower& l, const std::array<Tensor, 3>& inputs, const Projection& p) {
  for (Tensor t : {inputs[0], inputs[1], inputs[2], p.weight, p.bias, p.out_weight, p.out_bias}) {
    if (t.is_poison()) return false;
    if (t.dtype() == inputs[0].dtype() && is_float(t.dtype())) continue;
    l.wrong("expected inputs and weights of one floating-point dtype, got " + describe(inputs[0]) + " and " +
            describe(t));
    return false;
  }
  if (p.embed_dim < 1 || p.heads < 1 || p.embed_dim % p.heads != 0) {
    l.wrong("expected an embed_dim of as many numbers for each head, got " + std::to_string(p.embed_dim) + " for " +
            std::to_string(p.heads) + " heads");
    return false;
  }
  Dim width(p.embed_dim);
  for (Tensor t : inputs) {
    if (t.rank() == 3 && t.dim(2) == width && t.shape() == inputs[0].shape()) continue;
    l.wrong("expected query, key and value of one shape [batch, length, " + width.text() + "], got " +
            describe(inputs[0]) + ", " + describe(inputs[1]) + " and " + describe(inputs[2]));
    return false;
  }
  if (p.weight.shape() == Dims{Dim(3) * width, width} && p.bias.shape() == Dims{Dim(3) * width}) return true;
  l.wrong("expected a weight and a bias for query, key and value of width " + width.text() + ", got " +
          describe(p.weight) + " and " + describe(p.bias));
  return false;
}

// [batch, length, embed_dim] to [batch, head, length, embed_dim / heads].
Tensor split_heads(Lower& l, Tensor t, int64_t heads) {
  Dims shape{t.dim(0), t.dim(1), Dim(heads), floordiv(t.dim(2), Dim(heads))};
  return transpose(l, reshape(l, t, shape), 1, 2);
}

// Query, key and value by head. The bias is added to the rounded product, as PyTorch does.
TensorList project(Lower& l, const std::array<Tensor, 3>& inputs, const Projection& p) {
  TensorList parts;
  if (inputs[0] == inputs[1] && inputs[1] == inputs[2]) {
    parts = chunk(l, linear(l, inputs[0], p.weight, {}), 3, 2);
  } else {
    TensorList weights = chunk(l, p.weight, 3, 0);
    for (size_t i = 0; i < weights.size() && i < inputs.size(); ++i)
      parts.push_back(linear(l, inputs[i], weights[i], {}));
  }
  TensorList biases = chunk(l, p.bias, 3, 0);
  for (size_t i = 0; i < parts.size() && i < biases.size(); ++i)
    parts[i] = split_heads(l, l.add(parts[i], biases[i]), p.heads);
  return parts;
}

struct HeadsResult {
  Tensor output;   // [batch, length, embed_dim]
  Tensor weights;  // [batch, head, length, length]
};

std::optional<HeadsResult> attend(Lower& l, const std::array<Tensor, 3>& inputs, const Projection& p,
                                  const Optional<Tensor>& mask, const Optional<int64_t>& mask_type) {
  if (!attention_fits(l, inputs, p)) return std::nullopt;
  TensorList parts = project(l, inputs, p);
  if (parts.size() != 3) return std::nullopt;
  double scale = 1 / std::sqrt(static_cast<double>(p.embed_dim / p.heads));
  Tensor scores = matmul(l, l.mul(parts[0], Scalar(scale)), transpose(l, parts[1], 2, 3));
  HeadsResult out;
  // A mask of numbers hides where it is not zero.
  out.weights = mask ? masked_softmax(l, scores, l.to(*mask, DType::Bool), {}, mask_type) : softmax(l, scores, -1, {});
  Tensor context = transpose(l, matmul(l, out.weights, parts[2]), 1, 2);
  out.output = linear(l, reshape(l, context, inputs[0].shape()), p.out_weight, p.out_bias);
  if (out.output.is_poison()) return std::nullopt;
  return out;
}

// Also the weights, by head or averaged over the heads.
std::tuple<Tensor, IValue> native_multi_head_attention(Lower& l, Tensor query, Tensor key, Tensor value,
                                                       int64_t embed_dim, int64_t num_head, Tensor qkv_weight,
                                                       Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias,
                                                       Optional<Tensor> mask, bool need_weights,
                                                       bool average_attn_weights, Optional<int64_t> mask_type) {
  auto a = attend(l, {query, key, value}, {embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias}, mask,
                  mask_type);
  if (!a) return {Tensor(), IValue(Tensor())};
  if (!need_weights || query.is_empty()) {
    // PyTorch gives an undefined tensor: None for a caller, an empty one in what an exported program declares.
    IValue undefined = l.script ? IValue() : IValue(l.make(l.full({Dim(0)}, query.dtype(), 0)));
    return {a->output, undefined};
  }
  return {a->output,
          IValue(average_attn_weights ? mean(l, a->weights, std::vector<int64_t>{1}, false, {}) : a->weights)};
}

// ---- a layer of an encoder

Tensor transformer_encoder_layer(Lower& l, Tensor src, int64_t embed_dim, int64_t num_heads, Tensor qkv_weight,
                                 Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first,
                                 double eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2,
                                 Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2,
                                 Tensor ffn_bias_2, Optional<Tensor> mask, Optional<int64_t> mask_type) {
  if (src.is_poison()) return {};
  if (src.is_empty()) return clone(l, src, {});
  auto norm = [&](Tensor x, Tensor weight, Tensor bias) {
    return layer_norm(l, x, {Dim(embed_dim)}, weight, bias, eps, true);
  };
  Tensor x = norm_first ? norm(src, norm_weight_1, norm_bias_1) : src;
  auto a = attend(l, {x, x, x}, {embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias}, mask, mask_type);
  if (!a) return {};
  x = l.add(a->output, src);
  if (!norm_first) x = norm(x, norm_weight_1, norm_bias_1);
  Tensor before = x;
  if (norm_first) x = norm(x, norm_weight_2, norm_bias_2);
  x = linear(l, x, ffn_weight_1, ffn_bias_1);
  x = use_gelu ? gelu(l, x, "none") : relu(l, x);
  x = l.add(linear(l, x, ffn_weight_2, ffn_bias_2), before);
  return norm_first ? x : norm(x, norm_weight_2, norm_bias_2);
}

}  // namespace

std::span<const Row> transformer_ops() {
  static constexpr Row rows[] = {
      op<masked_softmax>("_masked_softmax"),
      op<native_multi_head_attention>("_native_multi_head_attention"),
      op<transformer_encoder_layer>("_transformer_encoder_layer_fwd"),
  };
  return rows;
}

}  // namespace torchlift::aten
