// What a lowering works with: the StableHLO builder, PyTorch's rules for reading, promoting, broadcasting and writing
// tensors, arithmetic on tensors, and the way to refuse. One Lower per walk of a program.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/diagnostic.hpp"
#include "lower/ivalue.hpp"
#include "lower/promotion.hpp"
#include "lower/script.hpp"
#include "lower/strides.hpp"
#include "lower/tensor.hpp"
#include "stablehlo/builder.hpp"
#include "stablehlo/passes.hpp"

namespace torchlift::lower {

using stablehlo::Ints;
using stablehlo::Precision;
using stablehlo::Type;
using stablehlo::Values;

// What a refusing lowering returns: poison of whatever type the lowering has.
struct Refused {
  operator Tensor() const { return {}; }  // NOLINT
  operator Value() const { return {}; }   // NOLINT
  template <typename... T>
  operator std::tuple<T...>() const {
    return {};
  }  // NOLINT
  template <typename T>
  operator std::vector<T>() const {
    return {};
  }                                             // NOLINT
  operator IValue() const { return Tensor(); }  // NOLINT
  operator Dim() const { return Dim(1); }       // NOLINT
};

using stablehlo::ComparisonDirection;

class Lower {
 public:
  Lower(stablehlo::Module& module, Precision precision);
  Lower(const Lower&) = delete;
  Lower& operator=(const Lower&) = delete;

  stablehlo::Builder hlo;  // the typed builder; operands must already have equal types

  // ---- tensors (tensor.cpp)
  // A fresh tensor with this value: its own storage, dense row-major unless strides are given. Poison stays poison.
  Tensor make(Value value);
  Tensor make(Value value, Dims strides);
  // A fresh result of an elementwise operator: strides by TensorIterator's rule over its operands.
  Tensor make_elementwise(Value value, std::span<const Tensor> operands);
  // A Python number as a tensor: a wrapped 0-dim tensor of the number's own dtype.
  Tensor wrap(const Scalar& number);
  // A view of base. `strides` and `storage_offset` as PyTorch has them.
  Tensor view(Tensor base, Dims shape, Dims strides, Dim storage_offset, ViewStep step);
  // A view that only changes the type's shape by position: read and written back by reshape.
  Tensor view_reshape(Tensor base, Dims shape, Dims strides);
  // Any strided view of the storage under `base` (as_strided); also how views of one stored record are made.
  Tensor view_strided(Tensor base, Dims shape, Dims strides, Dim storage_offset);

  Value read(Tensor t);                                  // current contents
  Value read(Tensor t, DType dtype);                     // converted
  Value read(Tensor t, DType dtype, const Dims& shape);  // converted and broadcast
  // Replaces the contents of `destination` (all elements), through its views. The value must have its dtype and shape.
  void write(Tensor destination, Value value);
  // The same with PyTorch's rules for in-place results: cast to the destination's dtype, broadcast to its shape.
  void write_cast(Tensor destination, Tensor source);

  // ---- values (arithmetic.cpp)
  // Stays valid while the program grows; of poison: Builder::type.
  const Type& type(Value v) const { return hlo.type(v); }
  Value convert(Value v, DType dtype);                // PyTorch's conversion (float to narrow integers wraps)
  Value broadcast_to(Value v, const Dims& shape);     // aligned at the last axis
  Value constant(DType dtype, const Scalar& number);  // rank 0
  Value full(const Dims& shape, DType dtype, const Scalar& number);
  Value full_like(Value v, const Scalar& number);  // same type as v
  Value is_nan(Value v);
  // -inf or the smallest integer, +inf or the largest.
  Scalar lowest(DType dtype) const;
  Scalar highest(DType dtype) const;

  // ---- arithmetic on tensors, with promotion and broadcasting (arithmetic.cpp)
  using Unary = Value (stablehlo::Builder::*)(Value);
  using Binary = Value (stablehlo::Builder::*)(Value, Value);
  Tensor unary(Tensor a, Unary op);              // dtype kept
  Tensor unary_float(Tensor a, Unary op);        // integers become float32
  Tensor binary(Tensor a, Tensor b, Binary op);  // in result_type
  Tensor add(Tensor a, Tensor b) { return binary(a, b, &stablehlo::Builder::add); }
  Tensor sub(Tensor a, Tensor b) { return binary(a, b, &stablehlo::Builder::subtract); }
  Tensor mul(Tensor a, Tensor b) { return binary(a, b, &stablehlo::Builder::multiply); }
  Tensor div(Tensor a, Tensor b);  // true division: integers become float32
  Tensor add(Tensor a, const Scalar& b) { return b.is_zero() && !b.is_complex() ? keep(a, b) : add(a, wrap(b)); }
  Tensor sub(Tensor a, const Scalar& b) { return sub(a, wrap(b)); }
  Tensor mul(Tensor a, const Scalar& b) { return b.is_one() ? keep(a, b) : mul(a, wrap(b)); }
  Tensor div(Tensor a, const Scalar& b) { return div(a, wrap(b)); }
  Tensor neg(Tensor a) { return unary(a, &stablehlo::Builder::negate); }
  Tensor exp(Tensor a) { return unary_float(a, &stablehlo::Builder::exponential); }
  Tensor log(Tensor a) { return unary_float(a, &stablehlo::Builder::log); }
  Tensor sqrt(Tensor a) { return unary_float(a, &stablehlo::Builder::sqrt); }
  Tensor rsqrt(Tensor a) { return unary_float(a, &stablehlo::Builder::rsqrt); }
  Tensor tanh(Tensor a) { return unary_float(a, &stablehlo::Builder::tanh); }
  Tensor sigmoid(Tensor a) { return unary_float(a, &stablehlo::Builder::logistic); }
  Tensor maximum(Tensor a, Tensor b) { return binary(a, b, &stablehlo::Builder::maximum_nan); }
  Tensor minimum(Tensor a, Tensor b) { return binary(a, b, &stablehlo::Builder::minimum_nan); }
  Tensor compare(Tensor a, Tensor b, ComparisonDirection direction);
  Tensor where(Tensor condition, Tensor on_true, Tensor on_false);
  Tensor to(Tensor a, DType dtype);  // a itself if it has the dtype, else a converted copy

  // Shapes broadcast together, as in PyTorch; refuses (and returns nothing) where they do not fit.
  std::optional<Dims> broadcast_shapes(std::span<const Tensor> tensors);
  std::optional<Dims> broadcast_shapes(std::span<const Dims> shapes);

  // ---- axes and sizes
  // 0 <= result < rank; refuses an axis that is not there. Rank 0 counts as rank 1.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  // The listed axes, sorted, once each; all of them if the list is empty.
  std::optional<std::vector<int64_t>> axes(std::span<const int64_t> list, int64_t rank, bool empty_means_all = true);
  // The bare number of a size: the program is then fixed to it, which `inspect` reports with this node.
  int64_t pin(const Dim& dim);
  std::vector<int64_t> pin(std::span<const Dim> dims);

  // ---- refusing. Each records a diagnostic with the node and the model's own line.
  Refused refuse(Kind kind, Arguments arguments = {});
  // "mode=2 (bicubic)": a value of an argument that has no lowering.
  Refused unsupported(std::string argument, std::string value, std::string advice = "");
  // "expected ..., got ...": what the operator itself does not take.
  Refused wrong(std::string message);
  bool expect_rank(Tensor t, int64_t low, int64_t high, std::string_view what);

  // ---- options and state of the walk
  Precision precision() const { return precision_; }
  // Walks a nested graph here, in the current region (higher-order operators).
  std::function<std::vector<IValue>(torch::BlockId, std::vector<IValue>)> call_graph;
  // What the program declares, where it is one of TorchScript; else nullptr.
  Script* script = nullptr;
  // The value of a tensor of one element, if it follows from constants alone.
  std::optional<Scalar> known(Tensor t);
  // The same for every element of a small tensor, in row-major order.
  std::optional<std::vector<Scalar>> known_elements(Tensor t);
  // A Python number that only the device knows, from a value of rank 0 (of bool, int64, float64 or complex128).
  Tensor device_number(Value value);
  // torch.autocast, as the walk is inside it.
  struct Autocast {
    bool enabled = false;
    DType dtype = DType::BFloat16;
  };
  Autocast autocast;
  bool allow_train_dropout = false;
  uint64_t seed = 0;   // of random numbers
  uint64_t draws = 0;  // operators that drew some, up to here
  // From here on, in this region, no write in place to the tensor's storage: see TensorNode::maybe_shared.
  void forbid_writes(Tensor t);
  bool in_region() const { return write_log_ != nullptr; }
  size_t region_depth() const { return region_depth_; }  // how many regions the walk is in

  // A StableHLO region: what is read inside stays inside. Writes to tensors made outside are undone at its end and
  // handed back, so that the region can return them.
  class Region {
   public:
    explicit Region(Lower& l);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
    // Roots from outside that were written inside, in order of the first write, with their values at this point.
    std::vector<std::pair<TensorNode*, Value>> written() const;

   private:
    Lower& l_;
    size_t cached_begin_;
    size_t nodes_begin_;
    size_t shared_begin_;
    std::vector<std::pair<TensorNode*, Value>>* outer_log_;
    std::vector<std::pair<TensorNode*, Value>> log_;  // root, value before
    friend class Lower;
  };

  // ---- for the evaluator
  struct Refusal {
    Kind kind;
    Arguments arguments;
  };
  std::vector<Refusal> take_refusals() { return std::exchange(refusals_, {}); }
  struct Pin {
    int64_t node;  // set by the evaluator
    std::string expr;
  };
  int64_t current_node = -1;
  const std::vector<Pin>& pins() const { return pins_; }
  TensorNode* new_node();

 private:
  Value to_signed_integer(Value v, DType dtype);  // a float to int32 or int64
  Tensor keep(Tensor a, const Scalar& b);  // a in result_type(a, b): what adding zero or multiplying by one gives
  Value read_node(TensorNode* node);
  void write_node(TensorNode* node, Value value);

  Precision precision_;
  std::deque<TensorNode> nodes_;
  std::vector<TensorNode*> cached_;  // views with a cached read, newest last
  std::vector<std::pair<TensorNode*, Value>>* write_log_ = nullptr;
  std::vector<TensorNode*> maybe_shared_;  // marked ones, newest last
  size_t region_nodes_begin_ = 0;
  size_t region_depth_ = 0;
  std::vector<Refusal> refusals_;
  stablehlo::KnownConstants known_;
  std::vector<Pin> pins_;
};

}  // namespace torchlift::lower
