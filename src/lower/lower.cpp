// Tensors, views and writes; refusing; axes.
#include "lower/lower.hpp"

#include <algorithm>
#include <numeric>

#include "base/kinds.hpp"
#include "stablehlo/constant.hpp"
#include "stablehlo/element.hpp"

namespace torchlift::lower {

Lower::Lower(stablehlo::Module& module, Precision precision) : hlo(module), precision_(precision) {}

TensorNode* Lower::new_node() {
  TensorNode* node = &nodes_.emplace_back();
  node->index = nodes_.size() - 1;
  return node;
}

// ---- tensors

Tensor Lower::make(Value value) {
  if (!value.has_value()) return {};
  return make(value, contiguous_strides(hlo.type(value).dims));
}

Tensor Lower::make(Value value, Dims strides) {
  if (!value.has_value()) return {};
  TensorNode* node = new_node();
  const Type& type = hlo.type(value);
  node->dtype = type.dtype;
  node->shape = type.dims;
  node->strides = std::move(strides);
  node->value = value;
  return Tensor(node);
}

Tensor Lower::make_elementwise(Value value, std::span<const Tensor> operands) {
  if (!value.has_value()) return {};
  return make(value, iterator_strides(operands, hlo.type(value).dims));
}

Tensor Lower::wrap(const Scalar& number) {
  Tensor t = make(constant(number.dtype(), number));
  if (!t.is_poison()) t.node()->number = number;
  return t;
}

Tensor Lower::device_number(Value value) {
  Tensor t = make(value);
  if (!t.is_poison()) t.node()->device_number = true;
  return t;
}

std::optional<Scalar> Lower::known(Tensor t) {
  if (t.is_poison()) return std::nullopt;
  if (t.number()) return t.number();
  if (t.numel() != Dim(1)) return std::nullopt;
  auto elements = known_elements(t);
  return elements ? std::optional(elements->front()) : std::nullopt;
}

std::optional<std::vector<Scalar>> Lower::known_elements(Tensor t) {
  if (t.is_poison() || t.node()->failed || t.numel() > Dim(stablehlo::kMaxFoldedElements)) return std::nullopt;
  if (t.is_empty()) return std::vector<Scalar>();
  Value value = read(t);
  if (!value.has_value()) return std::nullopt;
  const auto& constant = known_.find(hlo.module(), value);
  if (!constant) return std::nullopt;
  const Type& of = type(value);
  std::vector<std::byte> bytes = stablehlo::unpacked(of, *constant);
  auto width = static_cast<size_t>(info(of.dtype).bytes);
  std::vector<Scalar> out;
  for (size_t i = 0; i + width <= bytes.size(); i += width)
    out.push_back(std::visit([](auto n) { return Scalar(n); },
                             stablehlo::read_element(of.dtype, std::span(bytes).subspan(i, width))));
  return out;
}

Tensor Lower::view(Tensor base, Dims shape, Dims strides, Dim storage_offset, ViewStep step) {
  if (base.is_poison()) return {};
  TensorNode* node = new_node();
  node->dtype = base.dtype();
  node->shape = std::move(shape);
  node->strides = std::move(strides);
  node->storage_offset = std::move(storage_offset);
  node->base = base.node();
  node->step = std::move(step);
  return Tensor(node);
}

Tensor Lower::view_reshape(Tensor base, Dims shape, Dims strides) {
  if (base.is_poison()) return {};
  Dims from = base.shape();
  Dims to = shape;
  return view(base, std::move(shape), std::move(strides), base.node()->storage_offset,
              {.read = [this, to](Value v) { return hlo.reshape(v, to); },
               .write = [this, from](Value, Value update) { return hlo.reshape(update, from); }});
}

namespace {

// Whether every element is reached once, in rising order of memory with no gap: then the storage is the tensor,
// permuted.
bool covers_storage(const TensorNode& root) { return is_non_overlapping_and_dense(root.shape, root.strides); }

}  // namespace

Tensor Lower::view_strided(Tensor base, Dims shape, Dims strides, Dim storage_offset) {
  if (base.is_poison()) return {};
  TensorNode* root = base.node()->root();
  if (!covers_storage(*root)) return wrong("as_strided of a storage that is itself not dense");
  std::vector<int64_t> order = memory_order(root->shape, root->strides);
  Dim elements = product(root->shape);
  Dims root_shape = root->shape;

  // Element numbers in the flat storage, one per element of the view.
  int64_t first = storage_offset.concrete(), last = first;
  bool empty = product(shape) == Dim(0);
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i].concrete() - 1) * strides[i].concrete();
  if (!empty && (first < 0 || last >= elements.concrete()))
    return wrong("as_strided reaches element " + std::to_string(last) + " of a storage of " +
                 std::to_string(elements.concrete()));
  bool overlapping = !empty && !is_non_overlapping_and_dense(shape, strides) && [&] {
    // Sorted by stride, each must step over all that lies below it.
    std::vector<int64_t> by_stride = memory_order(shape, strides);
    int64_t reach = 0;
    for (auto it = by_stride.rbegin(); it != by_stride.rend(); ++it) {
      auto i = static_cast<size_t>(*it);
      if (shape[i] == Dim(1)) continue;
      if (strides[i].concrete() <= reach) return true;
      reach += (shape[i].concrete() - 1) * strides[i].concrete();
    }
    return false;
  }();

  auto to_flat = [this, order, elements](Value v) {
    std::vector<int64_t> permutation(order.begin(), order.end());
    return hlo.reshape(hlo.transpose(v, permutation), {elements});
  };
  auto from_flat = [this, order, root_shape](Value flat) {
    Dims permuted;
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      permuted.push_back(root_shape[static_cast<size_t>(order[i])]);
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    return hlo.transpose(hlo.reshape(flat, permuted), back);
  };
  bool dense_run = is_contiguous(shape, strides);
  Dim count = product(shape);
  auto indices = [this, shape, strides, storage_offset, count]() {
    Value index = full(shape, DType::Int64, Scalar(storage_offset));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == Dim(1)) continue;
      Value steps = hlo.iota({DType::Int64, shape}, static_cast<int64_t>(i));
      index = hlo.add(index, hlo.multiply(steps, full(shape, DType::Int64, Scalar(strides[i]))));
    }
    return hlo.reshape(index, {count, Dim(1)});
  };
  ViewStep step;
  if (dense_run) {
    step.read = [this, to_flat, shape, storage_offset, count](Value v) {
      return hlo.reshape(hlo.slice(to_flat(v), {storage_offset}, {storage_offset + count}), shape);
    };
    step.write = [this, to_flat, from_flat, storage_offset, count](Value v, Value update) {
      Value start = constant(DType::Int64, Scalar(storage_offset));
      return from_flat(hlo.dynamic_update_slice(to_flat(v), hlo.reshape(update, {count}), {start}));
    };
  } else {
    step.read = [this, to_flat, indices, shape](Value v) {
      stablehlo::Gather g{};
      g.collapsed_slice_dims = {0};
      g.start_index_map = {0};
      g.index_vector_dim = 1;
      g.slice_sizes = {Dim(1)};
      return hlo.reshape(hlo.gather(to_flat(v), indices(), g), shape);
    };
    step.write = [this, to_flat, from_flat, indices, count, overlapping](Value v, Value update) -> Value {
      if (overlapping) return wrong("a write through a view whose elements overlap in memory");
      stablehlo::Scatter s{};
      s.inserted_window_dims = {0};
      s.scatter_dims_to_operand_dims = {0};
      s.index_vector_dim = 1;
      s.unique_indices = true;
      return from_flat(hlo.scatter_replace(to_flat(v), indices(), hlo.reshape(update, {count}), s));
    };
  }
  return view(Tensor(root), std::move(shape), std::move(strides), std::move(storage_offset), std::move(step));
}

Value Lower::read_node(TensorNode* node) {
  if (!node->base) return node->value;
  uint64_t version = node->root()->version;
  if (node->cached.has_value() && node->cached_version == version) return node->cached;
  node->cached = node->step.read(read_node(node->base));
  node->cached_version = version;
  cached_.push_back(node);
  return node->cached;
}

void Lower::write_node(TensorNode* node, Value value) {
  if (node->base) {
    write_node(node->base, node->step.write(read_node(node->base), value));
    return;
  }
  if (node->maybe_shared) {
    wrong("a write in place to a tensor that a branch or loop, which depends on values of tensors, gives or was given");
    return;
  }
  if (write_log_) write_log_->push_back({node, node->value});
  node->value = value;
  ++node->version;
}

Value Lower::read(Tensor t) { return t.is_poison() ? Value() : read_node(t.node()); }

Value Lower::read(Tensor t, DType dtype) {
  // A Python number is converted from itself: float64 stays exact.
  if (t.number()) return constant(dtype, *t.number());
  return convert(read(t), dtype);
}

Value Lower::read(Tensor t, DType dtype, const Dims& shape) {
  if (t.number()) return full(shape, dtype, *t.number());
  return broadcast_to(read(t, dtype), shape);
}

void Lower::write(Tensor destination, Value value) {
  if (destination.is_poison()) return;
  write_node(destination.node(), value);
}

void Lower::write_cast(Tensor destination, Tensor source) {
  if (destination.is_poison() || source.is_poison()) return;
  if (!can_cast(source.dtype(), destination.dtype())) {
    wrong("result type " + std::string(info(source.dtype()).torch_name) +
          " cannot be cast to the desired output type " + std::string(info(destination.dtype()).torch_name));
    return;
  }
  Value value = broadcast_to(read(source, destination.dtype()), destination.shape());
  write(destination, value);
}

void Lower::forbid_writes(Tensor t) {
  if (t.is_poison() || t.node()->root()->maybe_shared) return;
  t.node()->root()->maybe_shared = true;
  maybe_shared_.push_back(t.node()->root());
}

// ---- regions

Lower::Region::Region(Lower& l)
    : l_(l),
      cached_begin_(l.cached_.size()),
      nodes_begin_(l.region_nodes_begin_),
      shared_begin_(l.maybe_shared_.size()),
      outer_log_(l.write_log_) {
  l_.write_log_ = &log_;
  l_.region_nodes_begin_ = l_.nodes_.size();
  ++l_.region_depth_;
}

std::vector<std::pair<TensorNode*, Value>> Lower::Region::written() const {
  std::vector<std::pair<TensorNode*, Value>> out;
  for (auto& [node, before] : log_) {
    bool outer = node->index < l_.region_nodes_begin_;
    bool known = std::any_of(out.begin(), out.end(), [n = node](auto& o) { return o.first == n; });
    if (outer && !known) out.push_back({node, node->value});
  }
  return out;
}

Lower::Region::~Region() {
  for (auto it = log_.rbegin(); it != log_.rend(); ++it) {
    it->first->value = it->second;
    ++it->first->version;
  }
  for (size_t i = cached_begin_; i < l_.cached_.size(); ++i) l_.cached_[i]->cached = Value();
  l_.cached_.resize(cached_begin_);
  for (size_t i = shared_begin_; i < l_.maybe_shared_.size(); ++i) l_.maybe_shared_[i]->maybe_shared = false;
  l_.maybe_shared_.resize(shared_begin_);
  l_.region_nodes_begin_ = nodes_begin_;
  l_.write_log_ = outer_log_;
  --l_.region_depth_;
}

// ---- axes and sizes

std::optional<int64_t> Lower::axis(int64_t axis, int64_t rank) {
  int64_t bound = std::max<int64_t>(rank, 1);
  if (axis < -bound || axis >= bound) {
    wrong("dim " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) + " dimensions");
    return std::nullopt;
  }
  return axis < 0 ? axis + bound : axis;
}

std::optional<std::vector<int64_t>> Lower::axes(std::span<const int64_t> list, int64_t rank, bool empty_means_all) {
  std::vector<int64_t> out;
  if (list.empty() && empty_means_all) {
    out.resize(static_cast<size_t>(rank));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  for (int64_t a : list) {
    auto checked = axis(a, rank);
    if (!checked) return std::nullopt;
    if (rank > 0) out.push_back(*checked);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

int64_t Lower::pin(const Dim& dim) {
  if (dim.is_symbolic()) pins_.push_back({current_node, dim.expr().text()});
  return dim.concrete();
}

std::vector<int64_t> Lower::pin(std::span<const Dim> dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) out.push_back(pin(d));
  return out;
}

// ---- refusing

Refused Lower::refuse(Kind kind, Arguments arguments) {
  refusals_.push_back({kind, std::move(arguments)});
  return {};
}

Refused Lower::unsupported(std::string argument, std::string value, std::string advice) {
  return refuse(Kind::UnsupportedMode,
                {{"argument", std::move(argument)}, {"value", std::move(value)}, {"advice", std::move(advice)}});
}

Refused Lower::wrong(std::string message) { return refuse(Kind::WrongArgument, {{"message", std::move(message)}}); }

bool Lower::expect_rank(Tensor t, int64_t low, int64_t high, std::string_view what) {
  if (t.rank() >= low && t.rank() <= high) return true;
  std::string want =
      low == high ? std::to_string(low) + "-D" : std::to_string(low) + "-D to " + std::to_string(high) + "-D";
  wrong("expected " + want + " " + std::string(what) + ", got " + describe(t));
  return false;
}

}  // namespace torchlift::lower
