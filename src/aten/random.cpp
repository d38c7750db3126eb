// Dropout, which is the identity in evaluation, and random numbers, which are refused: PyTorch's stream cannot be
// repeated on another device.
#include <utility>

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {

// self itself in evaluation. In training mode too if the import allows it: the expected value of what PyTorch computes.
Tensor dropout(Lower& l, Tensor input, double p, bool train) {
  if (p < 0 || p > 1) return l.wrong("expected a dropout probability between 0 and 1, got " + Scalar(p).text());
  if (!train || p == 0 || l.allow_train_dropout) return input;
  return l.refuse(Kind::TrainDropout);
}

// (a copy, a mask of ones) in evaluation.
std::tuple<Tensor, Tensor> native_dropout(Lower& l, Tensor input, double p, Optional<bool> train) {
  if (train.value_or(true) && p > 0 && !l.allow_train_dropout) return l.refuse(Kind::TrainDropout);
  return {map(l, input, {}, [](Formula x) { return x; }), l.make(l.full(input.shape(), DType::Bool, true))};
}

// grad where the mask kept the element, scaled.
Tensor native_dropout_backward(Lower& l, Tensor grad_output, Tensor mask, double scale) {
  DType dtype = lower::float_type(grad_output.dtype());
  return zip_all(l, std::array{grad_output, mask}, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return v[0] * v[1] * scale; });
}

namespace {

template <size_t>
using Argument = Ignored;

// Refuses an operator of so many arguments, whatever they are.
template <typename>
struct Refusal;
template <size_t... kArgument>
struct Refusal<std::index_sequence<kArgument...>> {
  static Tensor draw(Lower& l, Argument<kArgument>...) { return l.refuse(Kind::RandomNumbers); }
};
template <size_t kArguments>
using Random = Refusal<std::make_index_sequence<kArguments>>;

}  // namespace

std::span<const Row> random_ops() {
  static constexpr Row rows[] = {
      op<dropout>("alpha_dropout", aliases("input")),
      op<&Random<2>::draw>("bernoulli"),
      op<&Random<3>::draw>("bernoulli.Tensor"),
      op<&Random<3>::draw>("bernoulli.p"),
      op<&Random<3>::draw>("bernoulli_.Tensor"),
      op<&Random<3>::draw>("bernoulli_.float"),
      op<&Random<3>::draw>("binomial"),
      op<&Random<4>::draw>("cauchy"),
      op<dropout>("dropout", aliases("input")),
      op<&Random<3>::draw>("exponential"),
      op<dropout>("feature_alpha_dropout", aliases("input")),
      op<dropout>("feature_dropout", aliases("input")),
      op<&Random<3>::draw>("geometric"),
      op<&Random<4>::draw>("log_normal"),
      op<&Random<4>::draw>("multinomial"),
      op<native_dropout>("native_dropout"),
      op<native_dropout_backward>("native_dropout_backward"),
      op<&Random<3>::draw>("normal.Tensor_Tensor"),
      op<&Random<3>::draw>("normal.Tensor_float"),
      op<&Random<3>::draw>("normal.float_Tensor"),
      op<&Random<4>::draw>("normal_"),
      op<&Random<4>::draw>("normal_functional"),
      op<&Random<2>::draw>("poisson"),
      op<&Random<5>::draw>("rand"),
      op<&Random<6>::draw>("rand.generator"),
      op<&Random<6>::draw>("rand_like"),
      op<&Random<6>::draw>("randint"),
      op<&Random<7>::draw>("randint.low"),
      op<&Random<7>::draw>("randint_like"),
      op<&Random<8>::draw>("randint_like.low_dtype"),
      op<&Random<5>::draw>("randn"),
      op<&Random<6>::draw>("randn.generator"),
      op<&Random<6>::draw>("randn_like"),
      op<&Random<2>::draw>("random"),
      op<&Random<4>::draw>("random.from"),
      op<&Random<3>::draw>("random.to"),
      op<&Random<5>::draw>("randperm"),
      op<&Random<4>::draw>("uniform"),
  };
  return rows;
}

}  // namespace torchlift::aten
