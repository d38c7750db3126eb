// A tensor while lowering: storage and view chain. A root holds its current StableHLO value; a view says how it is read
// from its base and how a write to it changes the base. Reading replays the chain forward, writing folds it back, so
// that in-place operators need no code of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/dim.hpp"
#include "base/dtype.hpp"
#include "lower/scalar.hpp"
#include "stablehlo/builder.hpp"

namespace torchlift::lower {

using stablehlo::Value;

struct ViewStep {
  std::function<Value(Value base)> read;
  std::function<Value(Value base, Value update)> write;  // the base, with this view's elements replaced by `update`
};

// Owned by Lower, at a stable address; a Tensor points to one. Lowerings use Tensor's accessors and Lower's functions.
struct TensorNode {
  size_t index = 0;  // in the order of making
  DType dtype{};
  Dims shape;
  Dims strides;                // PyTorch's, in elements: they decide what aliases
  Dim storage_offset;          // in elements, from the root's first
  TensorNode* base = nullptr;  // set: a view of base
  ViewStep step;
  Value value;           // root: the current contents
  uint64_t version = 0;  // root: counts writes
  Value cached;          // view: the last read
  uint64_t cached_version = 0;
  bool failed = false;           // stands for the result of a node that could not be lowered
  std::optional<Scalar> number;  // a Python scalar in a tensor's place: takes part in promotion as a wrapped number
  // A Python number that is known only on the device (what `item()` gives): rank 0, of bool, int64, float64 or
  // complex128; takes part in promotion as a wrapped number.
  bool device_number = false;
  // Root: a branch or loop of the device may have given this tensor itself or another: a write in place would have to
  // show in both.
  bool maybe_shared = false;

  TensorNode* root() {
    TensorNode* n = this;
    while (n->base) n = n->base;
    return n;
  }
};

// A handle: copying it is aliasing. A default Tensor is poison: it stands for a failed result, has no type, and passes
// through all builders in silence.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorNode* node) : node_(node) {}

  bool is_poison() const { return node_ == nullptr; }
  DType dtype() const { return node_ ? node_->dtype : DType::Float32; }
  const Dims& shape() const { return node_ ? node_->shape : none(); }
  const Dims& strides() const { return node_ ? node_->strides : none(); }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  // The size of one axis; negative counts from the end. An axis that is not there has size 1 (the builder refuses
  // later).
  Dim dim(int64_t axis) const {
    if (axis < 0) axis += rank();
    return axis >= 0 && axis < rank() ? shape()[static_cast<size_t>(axis)] : Dim(1);
  }
  Dim numel() const { return product(shape()); }
  bool is_empty() const { return numel() == Dim(0); }
  bool is_wrapped_number() const { return node_ && (node_->number || node_->device_number); }
  bool is_device_number() const { return node_ && node_->device_number; }
  const std::optional<Scalar>& number() const {
    static const std::optional<Scalar> nothing;
    return node_ ? node_->number : nothing;
  }
  bool shares_storage_with(const Tensor& other) const {
    return node_ && other.node_ && node_->root() == other.node_->root();
  }
  bool is_view() const { return node_ && node_->base; }
  TensorNode* node() const { return node_; }
  bool operator==(const Tensor&) const = default;

 private:
  static const Dims& none() {
    static const Dims dims;
    return dims;
  }
  TensorNode* node_ = nullptr;
};

// A tensor, or a Python number in its place (already made a wrapped 0-dim tensor): serves overloads that differ only by
// that.
struct Operand : Tensor {
  using Tensor::Tensor;
  Operand(Tensor t) : Tensor(t) {}  // NOLINT
};

}  // namespace torchlift::lower
