// Dropout: the identity in evaluation; in training mode refused unless the import allows it.
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {

// self itself in evaluation. In training mode too if the import allows it: the expected value of what PyTorch computes.
// With a probability of one all elements are dropped.
Tensor dropout(Lower& l, Tensor input, double p, bool train) {
  if (p < 0 || p > 1) return l.wrong("expected a dropout probability between 0 and 1, got " + Scalar(p).text());
  if (!train || p == 0 || input.is_empty()) return input;
  if (p == 1) return map(l, input, {}, [](Formula x) { return x * 0.0; });  // nothing is left to chance
  if (l.allow_train_dropout) return input;
  return l.refuse(Kind::TrainDropout);
}

// (a copy, a mask of ones) in evaluation.
std::tuple<Tensor, Tensor> native_dropout(Lower& l, Tensor input, double p, Optional<bool> train) {
  bool chance = train.value_or(true) && p > 0 && !input.is_empty(), all = chance && p == 1;
  if (chance && !all && !l.allow_train_dropout) return l.refuse(Kind::TrainDropout);
  return {map(l, input, {}, [&](Formula x) { return all ? x * 0.0 : x; }),
          l.make(l.full(input.shape(), DType::Bool, !all))};
}

// grad where the mask kept the element, scaled.
Tensor native_dropout_backward(Lower& l, Tensor grad_output, Tensor mask, double scale) {
  DType dtype = lower::float_type(grad_output.dtype());
  return zip_all(l, std::array{grad_output, mask}, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return v[0] * v[1] * scale; });
}

std::span<const Row> dropout_ops() {
  static constexpr Row rows[] = {
      op<dropout>("alpha_dropout", aliases("input")),
      op<dropout>("dropout", aliases("input")),
      op<dropout>("feature_alpha_dropout", aliases("input")),
      op<dropout>("feature_dropout", aliases("input")),
      op<native_dropout>("native_dropout"),
      op<native_dropout_backward>("native_dropout_backward"),
  };
  return rows;
}

}  // namespace torchlift::aten
