// Operators that TorchScript alone has and that ask or make tensors.
#include <algorithm>

#include "aten/creation.hpp"
#include "aten/families.hpp"
#include "aten/script_calls.hpp"
#include "aten/shaping.hpp"
#include "base/kinds.hpp"
#include "lower/numbers.hpp"

namespace torchlift::aten {
namespace {

using lower::ListRef;
using lower::NumberKind;
using lower::ScriptList;
using lower::ScriptResults;
using lower::ScriptRow;
using lower::TupleRef;

using Arguments = std::span<const NamedValue>;

IValue list_of(std::string_view element_type, std::vector<IValue> items) {
  auto list = std::make_shared<ScriptList>();
  list->element_type = std::string(element_type);
  list->items = std::move(items);
  return ListRef(std::move(list));
}

IValue ints(const Dims& dims) { return list_of("int", {dims.begin(), dims.end()}); }

// ---- what is asked of a tensor

using Question = IValue (*)(Lower&, Tensor);

// Of the first argument; numbers and lists are not asked.
template <Question kAnswer>
ScriptResults ask(Lower& l, Arguments arguments) {
  const Tensor* self = ScriptArguments(arguments).tensor(0, "self");
  if (!self) self = ScriptArguments(arguments).tensor(0, "a");
  if (!self) return std::nullopt;
  return IValues{kAnswer(l, *self)};
}

IValue sizes(Lower&, Tensor t) { return ints(t.shape()); }
IValue dim(Lower&, Tensor t) { return Dim(t.rank()); }
IValue numel(Lower&, Tensor t) { return t.numel(); }
IValue element_size(Lower&, Tensor t) { return Dim(info(t.dtype()).bytes); }
IValue nbytes(Lower&, Tensor t) { return t.numel() * Dim(info(t.dtype()).bytes); }
IValue storage_offset(Lower&, Tensor t) { return t.node()->storage_offset; }
IValue dtype(Lower&, Tensor t) { return dtype_number(t.dtype()); }
IValue is_floating_point(Lower&, Tensor t) { return torchlift::is_float(t.dtype()); }
IValue is_complex(Lower&, Tensor t) { return torchlift::is_complex(t.dtype()); }
IValue is_signed(Lower&, Tensor t) { return !is_unsigned(t.dtype()) && !is_bool(t.dtype()); }
IValue transposed(Lower& l, Tensor t) { return call_for_tensor(l, "aten::numpy_T", {{"self", t}}); }

// All tensors are dense, lie on the CPU as far as the model can see, and need no gradient.
IValue yes(Lower&, Tensor) { return true; }
IValue no(Lower&, Tensor) { return false; }
IValue none(Lower&, Tensor) { return {}; }
IValue strided(Lower&, Tensor) { return Dim(0); }
IValue cpu(Lower&, Tensor) { return torch::Device{"cpu", -1}; }
IValue cpu_index(Lower&, Tensor) { return Dim(-1); }
IValue same(Lower&, Tensor t) { return t; }

// One axis of a list of sizes or strides, or all of them.
ScriptResults one_or_all(Lower& l, Arguments arguments, const Dims& (Tensor::*of)() const) {
  ScriptArguments given(arguments);
  const Tensor* self = given.tensor(0, "self");
  if (!self) return std::nullopt;
  const Dims& all = (self->*of)();
  const IValue& which = given.at(1, "dim");
  if (which.is_none()) return IValues{ints(all)};
  auto* number = which.get<Dim>();
  if (!number) return std::nullopt;
  auto axis = l.axis(l.pin(*number), self->rank());
  if (!axis) return IValues{};
  if (self->rank() == 0) {
    l.wrong("dim " + number->text() + " of a tensor without dimensions");
    return IValues{};
  }
  return IValues{all[static_cast<size_t>(*axis)]};
}
ScriptResults size(Lower& l, Arguments arguments) { return one_or_all(l, arguments, &Tensor::shape); }
ScriptResults stride(Lower& l, Arguments arguments) { return one_or_all(l, arguments, &Tensor::strides); }

ScriptResults is_contiguous(Lower&, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* self = given.tensor(0, "self");
  if (!self) return std::nullopt;
  const IValue& format = given.at(1, "memory_format");
  auto* number = format.get<Dim>();
  auto* decoded = format.get<torch::MemoryFormat>();
  auto wanted = decoded  ? std::optional(*decoded)
                : number ? torch::memory_format_from_c10(number->concrete())
                         : std::optional(torch::MemoryFormat::Contiguous);
  if (!wanted) return std::nullopt;
  if (*wanted == torch::MemoryFormat::Contiguous || *wanted == torch::MemoryFormat::Preserve)
    return IValues{lower::is_contiguous(self->shape(), self->strides())};
  size_t rank = *wanted == torch::MemoryFormat::ChannelsLast ? 4 : 5;
  if (self->shape().size() != rank) return IValues{false};
  Dims expected = lower::strides_for(self->shape(), *wanted);
  bool like = self->is_empty();
  if (!like) {
    like = true;
    for (size_t i = 0; i < rank; ++i) like = like && (self->shape()[i] == Dim(1) || self->strides()[i] == expected[i]);
  }
  return IValues{like};
}

// ---- tensors as numbers

ScriptResults item(Lower& l, Arguments arguments) {
  const Tensor* self = ScriptArguments(arguments).tensor(0, "self");
  if (!self) return std::nullopt;
  auto number = lower::number_of(l, *self);
  return number ? IValues{std::move(*number)} : IValues{};
}

template <NumberKind kKind>
ScriptResults implicit(Lower& l, Arguments arguments) {
  const Tensor* a = ScriptArguments(arguments).tensor(0, "a");
  if (!a) return std::nullopt;
  auto number = lower::implicit_number_of(l, *a, kKind);
  return number ? IValues{std::move(*number)} : IValues{};
}

ScriptResults is_nonzero(Lower& l, Arguments arguments) {
  const Tensor* self = ScriptArguments(arguments).tensor(0, "self");
  if (!self) return std::nullopt;
  auto number = lower::number_of(l, *self, NumberKind::Bool);
  return number ? IValues{std::move(*number)} : IValues{};
}

// Whether all elements of a tensor of bools are true, as a number.
IValues all_true(Lower& l, Tensor t) {
  if (t.is_poison()) return {};
  auto number = lower::number_of(l, call_for_tensor(l, "aten::all", {{"self", t}}), NumberKind::Bool);
  return number ? IValues{std::move(*number)} : IValues{};
}

ScriptResults equal(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor *self = given.tensor(0, "self"), *other = given.tensor(1, "other");
  if (!self || !other) return std::nullopt;
  if (self->dtype() != other->dtype()) {
    l.wrong("expected equal dtypes, got " + lower::describe(*self) + " and " + lower::describe(*other));
    return IValues{};
  }
  if (self->shape() != other->shape()) return IValues{false};
  return all_true(l, call_for_tensor(l, "aten::eq.Tensor", {{"self", *self}, {"other", *other}}));
}

ScriptResults allclose(Lower& l, Arguments arguments) {
  if (!ScriptArguments(arguments).tensor(0, "self")) return std::nullopt;
  IValues close = call_overloaded(l, "aten::isclose", {arguments.begin(), arguments.end()});
  auto* t = close.empty() ? nullptr : close[0].get<Tensor>();
  return t ? all_true(l, *t) : IValues{};
}

// A number as a tensor without dimensions: int64, float64, bool. It is no Python number any more.
ScriptResults num_to_tensor(Lower& l, Arguments arguments) {
  const IValue& a = ScriptArguments(arguments).at(0, "a");
  if (auto* t = a.get<Tensor>()) return IValues{t->is_device_number() ? l.make(l.read(*t)) : *t};
  auto number = a.number();
  if (!number) return std::nullopt;
  if (number->is_bool()) return IValues{l.make(l.constant(DType::Bool, *number))};
  if (number->is_int()) return IValues{l.make(l.constant(DType::Int64, Scalar(l.pin(number->to_dim()))))};
  return IValues{l.make(l.constant(number->is_float() ? DType::Float64 : DType::Complex128, *number))};
}

// ---- lists from tensors and tensors from lists

constexpr size_t kMaxListedElements = 4096;
constexpr int64_t kMaxDeviceElements = 64;
constexpr int kMaxNesting = 16;

// The items of one level, and those of the levels below them.
IValue nested(const std::vector<IValue>& elements, const Dims& shape, size_t axis, size_t& next,
              const std::string& leaf) {
  if (axis == shape.size()) return elements[next++];
  std::string type = leaf;
  for (size_t i = axis + 1; i < shape.size(); ++i) type = "List[" + type + "]";
  std::vector<IValue> items;
  for (int64_t i = 0; i < shape[axis].concrete(); ++i) items.push_back(nested(elements, shape, axis + 1, next, leaf));
  return list_of(type, std::move(items));
}

std::string_view leaf_type(DType dtype) {
  if (is_bool(dtype)) return "bool";
  if (torchlift::is_complex(dtype)) return "complex";
  return torchlift::is_float(dtype) ? "float" : "int";
}

ScriptResults tolist(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* t = given.tensor(1, "self");
  if (!t) return std::nullopt;
  for (const Dim& d : t->shape()) l.pin(d);
  std::vector<IValue> elements;
  if (auto known = l.known_elements(*t)) {
    for (Scalar& s : *known) elements.emplace_back(std::move(s));
  } else if (t->numel() <= Dim(kMaxDeviceElements) && t->rank() <= kMaxNesting) {
    Value flat = l.hlo.reshape(l.read(*t), {t->numel()});
    for (int64_t i = 0; i < t->numel().concrete(); ++i) {
      auto number = lower::number_of(l, l.make(l.hlo.slice(flat, {Dim(i)}, {Dim(i + 1)})));
      if (!number) return IValues{};
      elements.push_back(std::move(*number));
    }
  } else {
    l.refuse(Kind::DataDependent, {{"what", "a list of the elements of " + lower::describe(*t)},
                                   {"advice", "keep them in a tensor: index it instead of the list"}});
    return IValues{};
  }
  size_t next = 0;
  return IValues{nested(elements, t->shape(), 0, next, std::string(leaf_type(t->dtype())))};
}

// Nested lists, flat: the numbers in order, and the sizes.
struct Flat {
  std::vector<IValue> numbers;
  Dims shape;
  std::string leaf;  // the declared type of an empty list's elements
};

const std::vector<IValue>* items_of(const IValue& v) {
  if (auto* list = v.get<ListRef>()) return &(*list)->items;
  if (auto* tuple = v.get<TupleRef>()) return &(*tuple)->items;
  return v.get<IValue::List>();
}

bool is_a_number(const IValue& v) {
  auto* t = v.get<Tensor>();
  return v.is_number() || (t && t->is_device_number());
}

bool flatten_into(Lower& l, const IValue& v, size_t depth, Flat& flat) {
  const std::vector<IValue>* items = items_of(v);
  if (!items) {
    if (depth != flat.shape.size() || !is_a_number(v) || flat.numbers.size() >= kMaxListedElements) {
      l.wrong("expected nested lists of equal lengths with at most " + std::to_string(kMaxListedElements) +
              " numbers, got " + lower::describe(v));
      return false;
    }
    flat.numbers.push_back(v);
    return true;
  }
  if (depth >= flat.shape.size() || Dim(static_cast<int64_t>(items->size())) != flat.shape[depth]) {
    l.wrong("expected nested lists of equal lengths");
    return false;
  }
  return std::all_of(items->begin(), items->end(),
                     [&](const IValue& item) { return flatten_into(l, item, depth + 1, flat); });
}

std::optional<Flat> flatten_lists(Lower& l, const IValue& data) {
  Flat flat;
  const IValue* inner = &data;
  for (int depth = 0; depth < kMaxNesting; ++depth) {
    const std::vector<IValue>* items = items_of(*inner);
    if (!items) break;
    flat.shape.emplace_back(static_cast<int64_t>(items->size()));
    if (auto* list = inner->get<ListRef>()) flat.leaf = (*list)->element_type;
    if (items->empty()) break;
    inner = &items->front();
  }
  // The levels below an empty list are of its declared type: `List[List[int]]` of no lists is of shape [0].
  while (flat.leaf.starts_with("List[")) flat.leaf = flat.leaf.substr(5, flat.leaf.size() - 6);
  return flatten_into(l, data, 0, flat) ? std::optional(std::move(flat)) : std::nullopt;
}

// torch.tensor's: of the numbers' category, floats of PyTorch's default dtype.
DType inferred_dtype(const Flat& flat) {
  if (flat.numbers.empty()) {
    if (flat.leaf == "int") return DType::Int64;
    if (flat.leaf == "bool") return DType::Bool;
    return flat.leaf == "complex" ? DType::Complex64 : DType::Float32;
  }
  const IValue& first = flat.numbers.front();
  if (auto number = first.number()) return number->dtype();
  DType dtype = first.get<Tensor>()->dtype();
  if (torchlift::is_complex(dtype)) return DType::Complex64;
  return torchlift::is_float(dtype) ? DType::Float32 : dtype;
}

Tensor tensor_of(Lower& l, const Flat& flat, DType dtype) {
  bool known = std::all_of(flat.numbers.begin(), flat.numbers.end(), [](const IValue& v) { return v.is_number(); });
  if (!known) {
    Values parts;
    for (const IValue& v : flat.numbers) {
      Tensor t = lower::unbox_tensor(l, v);
      parts.push_back(l.hlo.reshape(l.read(t, dtype), {Dim(1)}));
    }
    return l.make(l.hlo.reshape(l.hlo.concatenate(parts, 0), flat.shape));
  }
  std::vector<std::byte> bytes;
  for (const IValue& v : flat.numbers) {
    Scalar n = *v.number();
    if (n.is_int()) n = Scalar(l.pin(n.to_dim()));
    if (is_integer(dtype) && !n.is_integral()) n = Scalar(n.to_int());
    if (is_bool(dtype)) n = Scalar(n.to_bool());
    if (n.is_bool()) stablehlo::append_element(bytes, dtype, n.to_bool());
    else if (n.is_int()) stablehlo::append_element(bytes, dtype, n.to_int());
    else if (n.is_float()) stablehlo::append_element(bytes, dtype, n.to_double());
    else stablehlo::append_element(bytes, dtype, n.to_complex());
  }
  if (bytes.empty()) return l.make(l.full(flat.shape, dtype, Scalar(0)));
  return l.make(l.hlo.constant({dtype, flat.shape}, std::move(bytes)));
}

// torch.tensor of a number or nested lists of numbers.
ScriptResults tensor(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const IValue& data = given.at(0, given.at(0, "data").is_none() ? "t" : "data");
  if (!items_of(data) && !is_a_number(data)) return std::nullopt;
  auto flat = flatten_lists(l, data);
  if (!flat) return IValues{};
  DType dtype = inferred_dtype(*flat);
  return IValues{tensor_of(l, *flat, dtype_of(l, given.at(1, "dtype"), dtype).value_or(dtype))};
}

// A tensor of the dtype already is taken as it is.
ScriptResults as_tensor(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* data = given.tensor(0, "data");
  if (!data) return tensor(l, arguments);
  return IValues{l.to(*data, dtype_of(l, given.at(1, "dtype"), data->dtype()).value_or(data->dtype()))};
}

ScriptResults tensor_to_list(Lower& l, Arguments arguments) {
  const IValue& self = ScriptArguments(arguments).at(0, "self");
  return tolist(l, std::vector<NamedValue>{{"", std::string()}, {"", self}});
}

// ---- dtypes as numbers

// The operators of ATen give a DType; TorchScript computes with its number.
template <typename Fn>
ScriptResults of_two_dtypes(Lower& l, Arguments arguments, std::string_view a, std::string_view b, Fn&& fn) {
  ScriptArguments given(arguments);
  auto first = dtype_of(l, given.at(0, a), DType::Float32), second = dtype_of(l, given.at(1, b), DType::Float32);
  if (!first || !second) return std::nullopt;
  return IValues{fn(*first, *second)};
}
ScriptResults promote_types(Lower& l, Arguments arguments) {
  return of_two_dtypes(l, arguments, "type1", "type2", [&](DType a, DType b) -> IValue {
    if (!lower::can_promote(a, b)) return l.wrong("there is no promotion of these dtypes");
    return dtype_number(lower::promote_types(a, b));
  });
}
ScriptResults can_cast(Lower& l, Arguments arguments) {
  return of_two_dtypes(l, arguments, "from_", "to", [&](DType a, DType b) { return IValue(lower::can_cast(a, b)); });
}
ScriptResults result_type(Lower& l, Arguments arguments) {
  std::vector<Tensor> operands;
  for (const NamedValue& v : arguments) {
    if (!v.value.is_tensor() && !v.value.is_number()) return std::nullopt;
    operands.push_back(lower::unbox_tensor(l, v.value));
  }
  return IValues{dtype_number(lower::result_type(operands))};
}

// ---- devices

ScriptResults device(Lower&, Arguments arguments) {
  ScriptArguments given(arguments);
  auto* text = given.at(0, given.at(0, "a").is_none() ? "type" : "a").get<std::string>();
  if (!text) return std::nullopt;
  torch::Device out = lower::device_from(*text);
  if (auto* index = given.at(1, "index").get<Dim>()) out.index = index->concrete();
  return IValues{std::move(out)};
}
ScriptResults device_type(Lower&, Arguments arguments) {
  auto* device = ScriptArguments(arguments).at(0, "self").get<torch::Device>();
  return device ? ScriptResults(IValues{device->type}) : std::nullopt;
}
ScriptResults device_index(Lower&, Arguments arguments) {
  auto* device = ScriptArguments(arguments).at(0, "self").get<torch::Device>();
  if (!device) return std::nullopt;
  return IValues{device->index < 0 ? IValue() : IValue(Dim(device->index))};
}

// ---- autocast's flags, gradients

ScriptResults is_autocast_enabled(Lower& l, Arguments) { return IValues{l.autocast.enabled}; }
ScriptResults autocast_dtype(Lower& l, Arguments) { return IValues{dtype_number(l.autocast.dtype)}; }
ScriptResults gradients(Lower& l, Arguments) {
  l.refuse(Kind::CannotLower, {{"operator", std::string("torch.autograd")},
                               {"problem", std::string("gradients are not computed: the model runs for inference")}});
  return IValues{};
}
ScriptResults nothing(Lower&, Arguments) { return IValues{}; }

// ---- torch.nn.functional's resizing, before PyTorch 1.5

struct Resizing {
  size_t spatial;
  Dims sizes;
  std::vector<Optional<double>> scales;  // only where the caller keeps them
};

// Numbers of one axis or of each, as floats.
std::optional<std::vector<double>> factors_of(const IValue& v, size_t count) {
  std::vector<double> out;
  if (auto number = v.number()) return std::vector<double>(count, number->to_double());
  const std::vector<IValue>* items = items_of(v);
  if (!items || items->size() != count) return std::nullopt;
  for (const IValue& item : *items) {
    if (!item.is_number()) return std::nullopt;
    out.push_back(item.number()->to_double());
  }
  return out;
}

// A size is given, or is the floor of the input's size times a factor.
std::optional<Resizing> resizing_of(Lower& l, Tensor input, const IValue& size, const IValue& scale_factor,
                                    bool keep_scales) {
  if (!l.expect_rank(input, 3, 5, "input")) return std::nullopt;
  Resizing out{static_cast<size_t>(input.rank() - 2), {}, {}};
  out.scales.resize(out.spatial);
  auto refused = [&] {
    l.wrong("expected one size or scale factor, or one for each of " + std::to_string(out.spatial) +
            " axes, got size=" + lower::describe(size) + ", scale_factor=" + lower::describe(scale_factor));
    return std::nullopt;
  };
  if (size.is_none() == scale_factor.is_none()) return refused();
  if (auto* one = size.get<Dim>()) out.sizes.assign(out.spatial, *one);
  if (auto* items = items_of(size))
    for (const IValue& item : *items) out.sizes.push_back(lower::unbox_dim(item));
  if (!scale_factor.is_none()) {
    auto factors = factors_of(scale_factor, out.spatial);
    if (!factors) return refused();
    for (size_t i = 0; i < out.spatial; ++i) {
      double length = static_cast<double>(l.pin(input.dim(static_cast<int64_t>(i) + 2))) * (*factors)[i];
      if (!(length >= 0 && length < 1e15)) return refused();
      out.sizes.emplace_back(static_cast<int64_t>(length));
      if (keep_scales) out.scales[i] = (*factors)[i];
    }
  }
  return out.sizes.size() == out.spatial ? std::optional(std::move(out)) : refused();
}

Tensor resized(Lower& l, Tensor input, const Resizing& to, std::string_view mode, bool align_corners, bool antialias) {
  std::string digits = std::to_string(to.spatial);
  IValue sizes = IValue::List(to.sizes.begin(), to.sizes.end());
  if (mode == "area")
    return call_for_tensor(l, "aten::adaptive_avg_pool" + digits + "d", {{"self", input}, {"output_size", sizes}});
  constexpr std::string_view kLinear[] = {"", "linear", "bilinear", "trilinear"};
  bool nearest = mode == "nearest", exact = mode == "nearest-exact", cubic = mode == "bicubic" && to.spatial == 2;
  if (!nearest && !exact && !cubic && mode != kLinear[to.spatial])
    return l.unsupported("mode", std::string(mode), "for " + digits + " axes PyTorch has no such resizing");
  std::string name = exact ? "_upsample_nearest_exact" : antialias ? "_upsample_" : "upsample_";
  if (!exact) name += mode;
  name = "aten::" + name + digits + "d" + (antialias ? "_aa" : "");
  std::vector<NamedValue> arguments{{"", input}, {"", sizes}};
  if (!nearest && !exact) arguments.push_back({"", align_corners});
  for (const auto& scale : to.scales) arguments.push_back({"", scale ? IValue(*scale) : IValue()});
  return call_for_tensor(l, name, std::move(arguments));
}

ScriptResults interpolate(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* input = given.tensor(0, "input");
  if (!input) return std::nullopt;
  const IValue& align = given.at(4, "align_corners");
  const IValue& recompute = given.at(5, "recompute_scale_factor");
  auto* mode = given.at(3, "mode").get<std::string>();
  auto is_true = [](const IValue& v) { return v.get<bool>() && *v.get<bool>(); };
  // Factors count beside the size that follows from them only where the caller says so.
  bool keep_scales = recompute.get<bool>() && !is_true(recompute);
  auto to = resizing_of(l, *input, given.at(1, "size"), given.at(2, "scale_factor"), keep_scales);
  if (!to) return IValues{};
  std::string_view how = mode ? std::string_view(*mode) : "nearest";
  if ((how == "nearest" || how == "area") && !align.is_none()) {
    l.wrong("align_corners goes with the linear and cubic modes only");
    return IValues{};
  }
  return IValues{resized(l, *input, *to, how, is_true(align), is_true(given.at(6, "antialias")))};
}

// __upsample has __interpolate's arguments as far as it goes; the others fix the mode.
ScriptResults upsample_nearest(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* input = given.tensor(0, "input");
  if (!input) return std::nullopt;
  auto to = resizing_of(l, *input, given.at(1, "size"), given.at(2, "scale_factor"), false);
  return to ? IValues{resized(l, *input, *to, "nearest", false, false)} : IValues{};
}
ScriptResults upsample_bilinear(Lower& l, Arguments arguments) {
  ScriptArguments given(arguments);
  const Tensor* input = given.tensor(0, "input");
  if (!input) return std::nullopt;
  auto to = resizing_of(l, *input, given.at(1, "size"), given.at(2, "scale_factor"), false);
  return to ? IValues{resized(l, *input, *to, "bilinear", true, false)} : IValues{};
}

// ---- torch.nn.init

// Writes what the functional form gives into the first argument.
ScriptResults written(Lower& l, Arguments arguments, std::string_view first, std::string_view functional,
                      std::initializer_list<std::string_view> names) {
  ScriptArguments given(arguments);
  const Tensor* tensor = given.tensor(0, first);
  if (!tensor) return std::nullopt;
  std::vector<NamedValue> values{{"", *tensor}};
  size_t place = 1;
  for (std::string_view name : names) values.push_back({"", given.at(place++, name)});
  l.write_cast(*tensor, call_for_tensor(l, functional, std::move(values)));
  return IValues{*tensor};
}
ScriptResults no_grad_fill(Lower& l, Arguments arguments) {
  return written(l, arguments, "tensor", "aten::fill.Scalar", {"val"});
}
ScriptResults no_grad_zero(Lower& l, Arguments arguments) { return written(l, arguments, "tensor", "aten::zero", {}); }
ScriptResults no_grad_uniform(Lower& l, Arguments arguments) {
  return written(l, arguments, "tensor", "aten::uniform", {"a", "b"});
}
ScriptResults no_grad_normal(Lower& l, Arguments arguments) {
  return written(l, arguments, "tensor", "aten::normal_functional", {"mean", "std"});
}
ScriptResults no_grad_embedding_renorm(Lower& l, Arguments arguments) {
  return written(l, arguments, "weight", "aten::embedding_renorm", {"input", "max_norm", "norm_type"});
}

// ---- overloads that ATen does not have, beside others that it has

Tensor to_number(Lower& l, Tensor self, Optional<int64_t> dtype, bool copy) {
  if (self.is_poison()) return self;
  IValue number = dtype ? IValue(Dim(*dtype)) : IValue();
  DType wanted = dtype_of(l, number, self.dtype()).value_or(self.dtype());
  if (wanted == self.dtype()) return copy ? clone(l, self, torch::MemoryFormat::Preserve) : self;
  return l.to(self, wanted);
}
Tensor to_prim_dtype(Lower& l, Tensor self, Optional<int64_t> dtype, bool, bool copy) {
  return to_number(l, self, dtype, copy);
}
Tensor to_prim_device(Lower& l, Tensor self, Ignored, Optional<int64_t> dtype, bool, bool copy) {
  return to_number(l, self, dtype, copy);
}
Tensor to_prim_other(Lower& l, Tensor self, bool, bool copy) { return to_number(l, self, {}, copy); }

Dim len(Lower& l, Tensor t) {
  if (t.rank() == 0) return l.wrong("len() of a tensor without dimensions");
  return t.dim(0);
}

template <NumberKind kKind>
IValue as_number(Lower& l, Tensor a) {
  return lower::number_of(l, a, kKind).value_or(IValue(Tensor()));
}

// The same values in the first one's dtype and shape: written into it.
Tensor copy_value(Lower& l, Tensor self, IValue other) {
  Tensor source = lower::unbox_tensor(l, other);
  if (self.is_poison() || source.is_poison()) return {};
  return l.make(l.read(source, self.dtype(), self.shape()));
}

}  // namespace

std::span<const Row> script_overload_ops() {
  static constexpr Row rows[] = {
      op<as_number<NumberKind::Bool>>("Bool.Tensor"),
      op<as_number<NumberKind::Float>>("Float.Tensor"),
      op<as_number<NumberKind::Int>>("Int.Tensor"),
      op<copy_value>("copy_.Tensor"),
      op<copy_value>("copy_.float"),
      op<copy_value>("copy_.int"),
      op<len>("len.Tensor"),
      op<split_with_sizes>("split"),
      op<to_prim_device>("to.prim_Device"),
      op<to_prim_dtype>("to.prim_dtype"),
      op<to_prim_other>("to.prim_other"),
  };
  return rows;
}

std::span<const ScriptRow> script_tensor_ops() {
  static constexpr ScriptRow rows[] = {
      {"aten::ComplexImplicit", implicit<NumberKind::Complex>},
      {"aten::FloatImplicit", implicit<NumberKind::Float>},
      {"aten::IntImplicit", implicit<NumberKind::Int>},
      {"aten::ScalarImplicit", implicit<NumberKind::AsTensor>},
      {"aten::__interpolate", interpolate},
      {"aten::__upsample", interpolate},
      {"aten::__upsample_bilinear", upsample_bilinear},
      {"aten::__upsample_nearest", upsample_nearest},
      {"aten::_list_to_tensor", tensor},
      {"aten::_no_grad_embedding_renorm_", no_grad_embedding_renorm},
      {"aten::_no_grad_fill_", no_grad_fill},
      {"aten::_no_grad_normal_", no_grad_normal},
      {"aten::_no_grad_uniform_", no_grad_uniform},
      {"aten::_no_grad_zero_", no_grad_zero},
      {"aten::_tensor_to_list", tensor_to_list},
      {"aten::allclose", allclose},
      {"aten::as_tensor", as_tensor},
      {"aten::backward", gradients},
      {"aten::can_cast", can_cast},
      {"aten::cpu", ask<same>},
      {"aten::cuda", ask<same>},
      {"aten::device", device},
      {"aten::dim", ask<dim>},
      {"aten::element_size", ask<element_size>},
      {"aten::equal", equal},
      {"aten::get_autocast_cpu_dtype", autocast_dtype},
      {"aten::get_autocast_dtype", autocast_dtype},
      {"aten::get_autocast_gpu_dtype", autocast_dtype},
      {"aten::get_device", ask<cpu_index>},
      {"aten::grad", gradients},
      {"aten::is_autocast_cpu_enabled", is_autocast_enabled},
      {"aten::is_autocast_enabled", is_autocast_enabled},
      {"aten::is_complex", ask<is_complex>},
      {"aten::is_contiguous", is_contiguous},
      {"aten::is_floating_point", ask<is_floating_point>},
      {"aten::is_inference", ask<no>},
      {"aten::is_leaf", ask<yes>},
      {"aten::is_nonzero", is_nonzero},
      {"aten::is_pinned", ask<no>},
      {"aten::is_signed", ask<is_signed>},
      {"aten::item", item},
      {"aten::numel", ask<numel>},
      {"aten::output_nr", ask<strided>},
      {"aten::promote_types", promote_types},
      {"aten::requires_grad_", ask<same>},
      {"aten::result_type", result_type},
      {"aten::retain_grad", nothing},
      {"aten::size", size},
      {"aten::storage_offset", ask<storage_offset>},
      {"aten::stride", stride},
      {"aten::tensor", tensor},
      {"prim::NumToTensor", num_to_tensor},
      {"prim::T", ask<transposed>},
      {"prim::data", ask<same>},
      {"prim::device", ask<cpu>},
      {"prim::dtype", ask<dtype>},
      {"prim::index", device_index},
      {"prim::is_cpu", ask<yes>},
      {"prim::is_cuda", ask<no>},
      {"prim::is_ipu", ask<no>},
      {"prim::is_maia", ask<no>},
      {"prim::is_meta", ask<no>},
      {"prim::is_mkldnn", ask<no>},
      {"prim::is_mps", ask<no>},
      {"prim::is_mtia", ask<no>},
      {"prim::is_nested", ask<no>},
      {"prim::is_quantized", ask<no>},
      {"prim::is_sparse", ask<no>},
      {"prim::is_sparse_csr", ask<no>},
      {"prim::is_vulkan", ask<no>},
      {"prim::is_xla", ask<no>},
      {"prim::is_xpu", ask<no>},
      {"prim::itemsize", ask<element_size>},
      {"prim::layout", ask<strided>},
      {"prim::name", ask<none>},
      {"prim::nbytes", ask<nbytes>},
      {"prim::ndim", ask<dim>},
      {"prim::requires_grad", ask<no>},
      {"prim::shape", ask<sizes>},
      {"prim::tolist", tolist},
      {"prim::type", device_type},
  };
  return rows;
}

}  // namespace torchlift::aten
