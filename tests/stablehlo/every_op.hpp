// One module that holds every operation.
#pragma once

#include <cmath>
#include <set>
#include <string>

#include "stablehlo/builder.hpp"
#include "stablehlo/print.hpp"

namespace torchlift::stablehlo {

// No device has the custom call's target.
enum class CustomCalls { No, Yes };

class EveryOp {
 public:
  explicit EveryOp(CustomCalls custom_calls = CustomCalls::Yes) : custom_calls_(custom_calls), b_(module_) {
    b_.set_location({"model.py", 87, "encoder.0"});
    b_.set_location({"model.py", 88, ""});
    elementwise();
    b_.set_location({"", 0, "node \"7\""});
    shapes();
    reductions();
    contractions();
    control();
    constants();
    b_.set_results(results_, {"out[0]"});
  }

  CustomCalls custom_calls_;
  Module module_;
  Builder b_;

 private:
  Value arg(DType dtype, Dims dims) {
    return b_.argument({dtype, std::move(dims)},
                       {.name = "x" + std::to_string(arguments_++), .aliasing_output = {}, .buffer_donor = false});
  }
  void keep(Value v) { results_.push_back(v); }
  void keep(const Values& values) { results_.insert(results_.end(), values.begin(), values.end()); }

  static DType dtype_for(Opcode opcode) {
    const std::string_view elements = info(opcode).elements;
    if (elements.find('f') != std::string_view::npos) return DType::Float32;
    return elements.find('s') != std::string_view::npos ? DType::Int32 : DType::Bool;
  }

  void elementwise() {
    for (size_t i = 0; i < opcode_count(); ++i) {
      const auto opcode = static_cast<Opcode>(i);
      if (info(opcode).elements.empty()) continue;
      const Value x = arg(dtype_for(opcode), {8, 3});
      keep(b_.elementwise(opcode, opcode >= Opcode::Add ? Values{x, x} : Values{x}));
    }
    const Value c = arg(DType::Complex64, {3});
    keep({b_.abs(c), b_.real(c), b_.imag(c), b_.exponential(c)});
    const Value f = arg(DType::Float32, {4, 3});
    const Value one = b_.splat_float(scalar(DType::Float32), 1);
    keep(b_.clamp(one, f, one));
    keep(b_.clamp(f, f, f));
    const Value less = b_.compare(f, f, ComparisonDirection::Lt);
    keep({less, b_.compare(f, f, ComparisonDirection::Ge, ComparisonType::TotalOrder)});
    keep(b_.compare(arg(DType::UInt8, {2}), arg(DType::UInt8, {2}), ComparisonDirection::Ne, ComparisonType::Unsigned));
    keep({b_.select(less, f, f), b_.select(b_.splat_bool(scalar(DType::Bool), true), f, f)});
    for (size_t d = 0; d <= static_cast<size_t>(DType::Float64); ++d) keep(b_.convert(f, static_cast<DType>(d)));
    keep(b_.convert(f, DType::Complex64));
    keep({b_.bitcast_convert(f, DType::Int32), b_.bitcast_convert(f, DType::UInt8),
          b_.bitcast_convert(arg(DType::UInt16, {5, 2}), DType::Float32)});
    keep(b_.reduce_precision(f, 5, 10));
  }

  void shapes() {
    const Value x = arg(DType::Float32, {4, 3});
    const Value zero = b_.splat_float(scalar(DType::Float32), 0);
    const Value i = arg(DType::Int32, {});
    keep({b_.broadcast_in_dim(x, {2, 4, 3}, {1, 2}), b_.concatenate({x, x}, 1), b_.iota({DType::Int64, {2, 3}}, 1)});
    keep({b_.pad(x, zero, {1, -1}, {0, 2}, {2, 0}), b_.reshape(x, {2, 6}), b_.reverse(x, {0})});
    keep({b_.slice(x, {1, 0}, {4, 3}, {2, 1}), b_.transpose(x, {1, 0})});
    keep({b_.dynamic_slice(x, {i, i}, {2, 2}), b_.dynamic_update_slice(x, b_.slice(x, {0, 0}, {1, 1}), {i, i})});
    keep(b_.transpose(arg(DType::Float32, {4, 4}), {1, 0}));
    const Value indices = arg(DType::Int64, {5, 1});
    Gather gather{.offset_dims = {1},
                  .collapsed_slice_dims = {0},
                  .operand_batching_dims = {},
                  .start_indices_batching_dims = {},
                  .start_index_map = {0},
                  .index_vector_dim = 1,
                  .slice_sizes = {1, 3}};
    keep(b_.gather(x, indices, gather));
    const Value batched = arg(DType::Int32, {4, 2, 1});
    keep(b_.gather(x, batched,
                   {.offset_dims = {},
                    .collapsed_slice_dims = {1},
                    .operand_batching_dims = {0},
                    .start_indices_batching_dims = {0},
                    .start_index_map = {1},
                    .index_vector_dim = 2,
                    .slice_sizes = {1, 1}}));
    Scatter scatter{.update_window_dims = {1},
                    .inserted_window_dims = {0},
                    .input_batching_dims = {},
                    .scatter_indices_batching_dims = {},
                    .scatter_dims_to_operand_dims = {0},
                    .index_vector_dim = 1};
    const Value updates = arg(DType::Float32, {5, 3});
    keep({b_.scatter(x, indices, updates, scatter, Reducer::Add), b_.scatter_replace(x, indices, updates, scatter)});
    keep(b_.sort({x, arg(DType::Int32, {4, 3})}, 0, true,
                 [&](std::span<const Value> a) { return b_.compare(a[0], a[1], ComparisonDirection::Lt); }));
  }

  void reductions() {
    const Value x = arg(DType::Float32, {4, 3});
    keep({b_.reduce(x, {1}, Reducer::Add), b_.reduce(x, {0, 1}, Reducer::Maximum)});
    const Value n = b_.iota({DType::Int32, {4, 3}}, 1);
    keep(b_.reduce({x, n}, {b_.identity(Reducer::Maximum, DType::Float32), b_.identity(Reducer::Minimum, DType::Int32)},
                   {1}, [&](std::span<const Value> a) {
                     const Value first = b_.compare(a[0], a[2], ComparisonDirection::Gt);
                     return Values{b_.select(first, a[0], a[2]), b_.select(first, a[1], a[3])};
                   }));
    const Value image = arg(DType::Float32, {1, 2, 9, 7});
    keep(b_.reduce_window(image,
                          {.window_dimensions = {1, 1, 3, 2},
                           .window_strides = {1, 1, 2, 2},
                           .base_dilations = {},
                           .window_dilations = {},
                           .padding_low = {0, 0, 1, 1},
                           .padding_high = {0, 0, 1, 0}},
                          Reducer::Maximum));
    const Value source = arg(DType::Float32, {1, 2, 4, 3});
    keep(b_.select_and_scatter(
        image, source, b_.splat_float(scalar(DType::Float32), 0),
        {.window_dimensions = {1, 1, 2, 2}, .window_strides = {1, 1, 2, 2}, .padding_low = {}, .padding_high = {}},
        [&](std::span<const Value> a) { return b_.compare(a[0], a[1], ComparisonDirection::Ge); },
        [&](std::span<const Value> a) { return Values{b_.add(a[0], a[1])}; }));
    const Value feature = arg(DType::Float32, {2});
    keep(b_.batch_norm_inference(image, feature, feature, feature, feature, 1e-5f, 1));
  }

  void contractions() {
    const Value x = arg(DType::Float32, {2, 4, 3});
    const Value y = arg(DType::Float32, {2, 3, 5});
    const DotGeneral dot{.lhs_batching_dimensions = {0},
                         .rhs_batching_dimensions = {0},
                         .lhs_contracting_dimensions = {2},
                         .rhs_contracting_dimensions = {1},
                         .precision = Precision::Highest};
    keep(b_.dot_general(x, y, dot));
    const Value half = arg(DType::BFloat16, {4, 3});
    keep(b_.dot_general(half, half,
                        {.lhs_batching_dimensions = {},
                         .rhs_batching_dimensions = {},
                         .lhs_contracting_dimensions = {1},
                         .rhs_contracting_dimensions = {1}},
                        DType::Float32));
    const Value image = arg(DType::Float32, {1, 4, 9, 7});
    const Value kernel = arg(DType::Float32, {6, 2, 3, 3});
    Convolution conv;
    conv.window_strides = {2, 1};
    conv.padding_low = {1, 1};
    conv.padding_high = {1, -1};
    conv.rhs_dilation = {1, 2};
    conv.feature_group_count = 2;
    conv.precision = Precision::High;
    keep(b_.convolution(image, kernel, conv));
    keep(b_.convolution(arg(DType::Float32, {2, 3}), arg(DType::Float32, {5, 3}), {}));
    const Value square = arg(DType::Float32, {2, 3, 3});
    keep({b_.cholesky(square, true), b_.triangular_solve(square, square, {.transpose_a = TransposeA::Adjoint})});
    const Value signal = arg(DType::Float32, {2, 8});
    const Value spectrum = b_.fft(signal, FftType::Rfft, {8});
    keep({spectrum, b_.fft(spectrum, FftType::Irfft, {8}), b_.fft(spectrum, FftType::Fft, {5}),
          b_.fft(spectrum, FftType::Ifft, {5})});
  }

  void control() {
    const Value x = arg(DType::Float32, {3});
    const Value limit = arg(DType::Int32, {});
    const Value zero = b_.splat_int(scalar(DType::Int32), 0);
    keep(b_.while_(
        {zero, x}, [&](std::span<const Value> a) { return b_.compare(a[0], limit, ComparisonDirection::Lt); },
        [&](std::span<const Value> a) {
          return Values{b_.add(a[0], b_.splat_int(scalar(DType::Int32), 1)), b_.multiply(a[1], x)};
        }));
    keep(b_.case_(
        limit, {[&] { return Values{b_.negate(x)}; }, [&] { return Values{x}; }, [&] { return Values{b_.abs(x)}; }}));
    keep(b_.if_(
        arg(DType::Bool, {}),
        [&] {
          return Values{x, limit};
        },
        [&] {
          return Values{b_.negate(x), zero};
        }));
    keep(b_.optimization_barrier({x, limit}));
    const FunctionId square =
        b_.function("square", {b_.type(x)}, [&](std::span<const Value> a) { return Values{b_.multiply(a[0], a[0])}; });
    keep(b_.call(square, {x}));
    keep(b_.composite(
        {x},
        {.name = "torch.square",
         .attributes =
             {{"eps", 1e-5}, {"axis", int64_t{1}}, {"on", true}, {"kind", std::string("a\"b")}, {"list", Ints{1, 2}}},
         .decomposition = square,
         .version = 1}));
    if (custom_calls_ == CustomCalls::Yes)
      keep(b_.custom_call({x}, {b_.type(x), b_.type(limit)},
                          {.call_target_name = "a.b", .has_side_effect = true, .backend_config = {{"k", int64_t{3}}}}));
    const Value state = arg(DType::UInt64, {2});
    keep(b_.rng_bit_generator(state, RngAlgorithm::ThreeFry, {DType::UInt32, {3}}));
    keep(b_.rng_bit_generator(state, RngAlgorithm::Philox, {DType::UInt64, {3}}));
  }

  void constants() {
    const double values[] = {0.1, -0.0, 1e-5, 3e38, INFINITY, -INFINITY, NAN, 1e-40, 65504, 1.0 / 3};
    for (size_t d = 0; d <= static_cast<size_t>(DType::Complex128); ++d) {
      const auto dtype = static_cast<DType>(d);
      if (dtype == DType::Complex32) continue;  // StableHLO has no complex<f16>
      std::vector<std::byte> bytes;
      for (double v : values) append_element(bytes, dtype, v);
      keep(b_.constant({dtype, {5, 2}}, bytes));
      keep(b_.splat(Type{dtype, {2}}, 0.1));
      keep(b_.splat(Type{dtype, {0, 3}}, 0.0));
      std::vector<std::byte> many;
      for (int i = 0; i < 50; ++i) append_element(many, dtype, int64_t{i % 7});
      keep(b_.constant({dtype, {50}}, many));
    }
    keep(b_.splat(scalar(DType::Complex64), std::complex<double>(1, -NAN)));
    keep(b_.constant_ints(DType::Int64, {INT64_MAX, INT64_MIN}));
    keep(b_.constant_ints(DType::UInt64, {-1, 5}));
  }

  Values results_;
  int arguments_ = 0;
};

}  // namespace torchlift::stablehlo
