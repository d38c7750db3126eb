// Attention: scaled_dot_product_attention in all its forms.
#include <cmath>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/linear_algebra.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

struct AttentionOptions {
  Optional<Tensor> mask;
  bool is_causal = false;
  Optional<double> scale;
  bool enable_gqa = false;
};

struct Attention {
  Value output;     // [..., L, Ev], in the wide dtype
  Value weights;    // [..., L, S]
  Value logsumexp;  // [..., L]
};

Dims batch_of(Tensor t) { return Dims(t.shape().begin(), t.shape().end() - 2); }

Dims with(Dims dims, std::initializer_list<Dim> more) {
  dims.insert(dims.end(), more);
  return dims;
}

// a[..., m, i] and b[..., n, i] summed over i, or b[..., i, n], with equal batches.
Value batched_product(Lower& l, Value a, Value b, bool b_is_transposed) {
  if (!a.has_value() || !b.has_value()) return {};
  auto rank = static_cast<int64_t>(l.type(a).rank());
  stablehlo::DotGeneral d{};
  for (int64_t i = 0; i < rank - 2; ++i) d.lhs_batching_dimensions.push_back(i);
  d.rhs_batching_dimensions = d.lhs_batching_dimensions;
  d.lhs_contracting_dimensions = {rank - 1};
  d.rhs_contracting_dimensions = {b_is_transposed ? rank - 1 : rank - 2};
  return contract(l, a, b, std::move(d));
}

// True where a key may be seen: its number is at most the query's, counted from the top left also in rectangles.
Value causal_mask(Lower& l, const Dims& scores) {
  auto rank = static_cast<int64_t>(scores.size());
  Value query = l.hlo.iota({DType::Int64, scores}, rank - 2);
  Value key = l.hlo.iota({DType::Int64, scores}, rank - 1);
  return l.hlo.compare(query, key, ComparisonDirection::Ge);
}

Value masked(Lower& l, Value scores, const AttentionOptions& options) {
  const Dims shape = l.type(scores).dims;
  Value hidden = l.full_like(scores, -INFINITY);
  if (options.is_causal) scores = l.hlo.select(causal_mask(l, shape), scores, hidden);
  if (!options.mask) return scores;
  if (is_bool(options.mask->dtype())) return l.hlo.select(l.read(*options.mask, DType::Bool, shape), scores, hidden);
  return l.hlo.add(scores, l.read(*options.mask, l.type(scores).dtype, shape));
}

// Softmax over the last axis; a row of nothing but -inf becomes zeros.
void softmax_rows(Lower& l, Value scores, Attention& out) {
  const Dims shape = l.type(scores).dims;
  auto last = static_cast<int64_t>(shape.size()) - 1;
  Ints kept;
  for (int64_t i = 0; i < last; ++i) kept.push_back(i);
  auto spread = [&](Value row) { return l.hlo.broadcast_in_dim(row, shape, kept); };
  Value top = l.hlo.reduce(scores, {last}, Reducer::Maximum);
  Value blind = l.hlo.compare(top, l.full_like(top, -INFINITY), ComparisonDirection::Eq);
  Value shift = l.hlo.select(blind, l.full_like(top, 0), top);
  Value powers = l.hlo.exponential(l.hlo.subtract(scores, spread(shift)));
  Value sum = l.hlo.reduce(powers, {last}, Reducer::Add);
  Value divisor = l.hlo.select(blind, l.full_like(sum, 1), sum);
  out.weights = l.hlo.divide(powers, spread(divisor));
  out.logsumexp = l.hlo.add(l.hlo.log(sum), shift);
}

// Query heads that share a key head lie side by side: they are rows of one product.
Value fold_heads(Lower& l, Value v, const Dim& heads) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  size_t rank = shape.size();
  if (shape[rank - 3] == heads) return v;
  shape[rank - 2] = floordiv(shape[rank - 3], heads) * shape[rank - 2];
  shape[rank - 3] = heads;
  return l.hlo.reshape(v, shape);
}

std::optional<Attention> attend_heads(Lower& l, Value q, Value k, Value v, const Dims& score_shape,
                                      const Dims& output_shape, double scale, const AttentionOptions& options) {
  if (!q.has_value() || !k.has_value() || !v.has_value()) return std::nullopt;
  Value scores = batched_product(l, q, k, true);
  if (!scores.has_value()) return std::nullopt;
  scores = l.hlo.reshape(scores, score_shape);
  scores = masked(l, l.hlo.multiply(scores, l.full_like(scores, scale)), options);
  if (!scores.has_value()) return std::nullopt;
  Attention out;
  softmax_rows(l, scores, out);
  Value folded = out.weights;
  Dims q_rows = l.type(q).dims;
  q_rows.back() = score_shape.back();
  folded = l.hlo.reshape(folded, q_rows);
  out.output = l.hlo.reshape(batched_product(l, folded, l.convert(v, l.type(folded).dtype), false), output_shape);
  if (!out.output.has_value()) return std::nullopt;
  return out;
}

bool attention_fits(Lower& l, Tensor query, Tensor key, Tensor value, const AttentionOptions& options) {
  if (query.is_poison() || key.is_poison() || value.is_poison() || (options.mask && options.mask->is_poison()))
    return false;
  int64_t least = options.enable_gqa ? 3 : 2;
  for (Tensor t : {query, key, value}) {
    if (!is_float(t.dtype()) || t.dtype() != query.dtype()) {
      l.wrong("expected query, key and value of one floating-point dtype, got " + describe(query) + ", " +
              describe(key) + " and " + describe(value));
      return false;
    }
    if (!l.expect_rank(t, least, static_cast<int64_t>(stablehlo::kMaxRank), "query, key and value")) return false;
  }
  if (options.is_causal && options.mask) {
    l.wrong("expected no attn_mask beside is_causal=True");
    return false;
  }
  return true;
}

// softmax(scale * query @ key^T + mask) @ value, in float32 for float16 and bfloat16.
std::optional<Attention> attend(Lower& l, Tensor query, Tensor key, Tensor value, const AttentionOptions& options) {
  if (!attention_fits(l, query, key, value, options)) return std::nullopt;
  double scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(l.pin(query.dim(-1))));
  if (options.enable_gqa && query.dim(-3) != key.dim(-3)) {
    Dim heads = key.dim(-3);
    if (heads < Dim(1) || heads != value.dim(-3) || mod(query.dim(-3), heads) != Dim(0)) {
      l.wrong("query heads are no multiple of key heads: " + describe(query) + ", " + describe(key) + ", " +
              describe(value));
      return std::nullopt;
    }
    Dims outer = batch_of(query);
    Dims kv_batch = outer;
    kv_batch.back() = heads;
    Value k = l.broadcast_to(l.read(key), with(kv_batch, {key.dim(-2), key.dim(-1)}));
    Value v = l.broadcast_to(l.read(value), with(kv_batch, {value.dim(-2), value.dim(-1)}));
    return attend_heads(l, fold_heads(l, l.read(query), heads), k, v, with(outer, {query.dim(-2), key.dim(-2)}),
                        with(outer, {query.dim(-2), value.dim(-1)}), scale, options);
  }
  std::vector<Dims> batches{batch_of(query), batch_of(key), batch_of(value)};
  if (options.mask && options.mask->rank() > 2) batches.push_back(batch_of(*options.mask));
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return std::nullopt;
  auto read = [&](Tensor t) { return l.broadcast_to(l.read(t), with(*batch, {t.dim(-2), t.dim(-1)})); };
  return attend_heads(l, read(query), read(key), read(value), with(*batch, {query.dim(-2), key.dim(-2)}),
                      with(*batch, {query.dim(-2), value.dim(-1)}), scale, options);
}

bool no_dropout(Lower& l, double dropout_p) {
  if (dropout_p == 0 || l.allow_train_dropout) return true;
  l.refuse(Kind::TrainDropout);
  return false;
}

// PyTorch's fused CPU kernel, which takes four axes and equal head sizes, writes its result in the query's memory
// order.
Dims output_strides(Tensor query, Tensor key, Tensor value, const Dims& shape) {
  bool fused = query.rank() == 4 && key.rank() == 4 && value.rank() == 4 && query.dim(-1) == value.dim(-1) &&
               shape == query.shape();
  return fused ? lower::dense_strides_like(shape, query.strides()) : contiguous_strides(shape);
}

Tensor make_output(Lower& l, Value output, Tensor query, Tensor key, Tensor value) {
  Value v = l.convert(output, query.dtype());
  if (!v.has_value()) return {};
  return l.make(v, output_strides(query, key, value, l.type(v).dims));
}

Tensor scaled_dot_product_attention(Lower& l, Tensor query, Tensor key, Tensor value, Optional<Tensor> attn_mask,
                                    double dropout_p, bool is_causal, Optional<double> scale, bool enable_gqa) {
  if (!no_dropout(l, dropout_p)) return {};
  auto a = attend(l, query, key, value, {attn_mask, is_causal, scale, enable_gqa});
  if (!a) return {};
  return make_output(l, a->output, query, key, value);
}

// Also the weights.
std::tuple<Tensor, Tensor> attention_math(Lower& l, Tensor query, Tensor key, Tensor value, Optional<Tensor> attn_mask,
                                          double dropout_p, bool is_causal, Optional<Tensor> dropout_mask,
                                          Optional<double> scale, bool enable_gqa) {
  if (dropout_mask) return l.unsupported("dropout_mask", "a tensor", "export the model in eval mode");
  if (!no_dropout(l, dropout_p)) return {};
  auto a = attend(l, query, key, value, {attn_mask, is_causal, scale, enable_gqa});
  if (!a) return {};
  return {l.make(l.convert(a->output, query.dtype())), l.make(l.convert(a->weights, query.dtype()))};
}

// Stored as [batch, query, head], seen as [batch, head, query].
Tensor make_logsumexp(Lower& l, Value v) {
  if (!v.has_value()) return {};
  const Dims& s = l.type(v).dims;
  if (s.size() != 3) return l.make(v);
  return l.make(v, {s[1] * s[2], Dim(1), s[1]});
}

bool grouped(Tensor query, Tensor key) { return query.rank() == 4 && key.rank() == 4 && query.dim(1) != key.dim(1); }

// Also the logarithm of each row's sum.
std::tuple<Tensor, Tensor> flash_attention_for_cpu(Lower& l, Tensor query, Tensor key, Tensor value, double dropout_p,
                                                   bool is_causal, Optional<Tensor> attn_mask, Optional<double> scale) {
  if (!no_dropout(l, dropout_p)) return {};
  auto a = attend(l, query, key, value, {attn_mask, is_causal, scale, grouped(query, key)});
  if (!a) return {};
  return {make_output(l, a->output, query, key, value), make_logsumexp(l, a->logsumexp)};
}

// The kernels of other devices give the state of their random numbers beside, which nothing here uses: zeros.
Tensor no_state(Lower& l) { return l.make(l.constant(DType::Int64, 0)); }

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_attention(Lower& l, Tensor query, Tensor key, Tensor value,
                                                               Optional<Tensor> attn_bias, bool compute_log_sumexp,
                                                               double dropout_p, bool is_causal,
                                                               Optional<double> scale) {
  if (compute_log_sumexp) return l.unsupported("compute_log_sumexp", "True", "export the model for inference");
  if (!no_dropout(l, dropout_p)) return {};
  auto a = attend(l, query, key, value, {attn_bias, is_causal, scale, grouped(query, key)});
  if (!a) return {};
  Dims none{query.dim(0), query.dim(1), Dim(0)};
  return {make_output(l, a->output, query, key, value), l.make(l.full(none, DType::Float32, 0)), no_state(l),
          no_state(l)};
}

}  // namespace

std::span<const Row> attention_ops() {
  static constexpr auto kLower = lower::AutocastRule::Lower;
  static constexpr Row rows[] = {
      op<attention_math>("_scaled_dot_product_attention_math"),
      op<efficient_attention>("_scaled_dot_product_efficient_attention"),
      op<flash_attention_for_cpu>("_scaled_dot_product_flash_attention_for_cpu"),
      op<scaled_dot_product_attention>("scaled_dot_product_attention", kLower),
  };
  return rows;
}

}  // namespace torchlift::aten
