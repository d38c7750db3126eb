#include "lower/ivalue.hpp"

#include "base/text.hpp"

namespace torchlift::lower {

IValue::IValue(Scalar s) {
  if (s.is_bool()) data = s.to_bool();
  else if (s.is_int()) data = s.to_dim();
  else if (s.is_float()) data = s.to_double();
  else data = s.to_complex();
}

bool IValue::is_number() const { return get<bool>() || get<Dim>() || get<double>() || get<std::complex<double>>(); }

std::optional<Scalar> IValue::number() const {
  if (auto* b = get<bool>()) return Scalar(*b);
  if (auto* i = get<Dim>()) return Scalar(*i);
  if (auto* f = get<double>()) return Scalar(*f);
  if (auto* c = get<std::complex<double>>()) return Scalar(*c);
  return std::nullopt;
}

IValue* ScriptObject::find(std::string_view name) {
  for (auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

namespace {
constexpr std::string_view kUninitialized = "uninitialized";
}

IValue uninitialized_value() { return torch::CustomObject{"", std::string(kUninitialized)}; }

bool is_uninitialized(const IValue& value) {
  auto* object = value.get<torch::CustomObject>();
  return object && object->name.empty() && object->class_name == kUninitialized;
}

std::string describe(const Tensor& tensor) {
  if (tensor.is_poison()) return "a tensor of unknown type";
  if (tensor.is_device_number()) return std::string(info(tensor.dtype()).torch_name) + " that depends on tensors";
  if (tensor.number()) return tensor.number()->text();
  return std::string(info(tensor.dtype()).short_name) + text_of(tensor.shape());
}

namespace {

constexpr int kMaxDescribedDepth = 8;

std::string describe_at(const IValue& value, int depth);

std::string items_text(const std::vector<IValue>& items, int depth) {
  return join(items, ", ", [depth](const IValue& v) { return describe_at(v, depth + 1); });
}

std::string describe_at(const IValue& value, int depth) {
  if (depth > kMaxDescribedDepth) return "...";
  if (auto n = value.number()) return n->text();
  if (auto* t = value.get<Tensor>()) return describe(*t);
  if (auto* s = value.get<std::string>()) return "'" + printable(*s) + "'";
  if (auto* d = value.get<DType>()) return "torch." + std::string(info(*d).torch_name);
  if (auto* d = value.get<torch::Device>()) return printable(d->type);
  if (auto* list = value.get<IValue::List>()) return "[" + items_text(*list, depth) + "]";
  if (auto* list = value.get<ListRef>()) return "[" + items_text((*list)->items, depth) + "]";
  if (auto* tuple = value.get<TupleRef>()) return "(" + items_text((*tuple)->items, depth) + ")";
  if (auto* dict = value.get<DictRef>())
    return "{" +
           join((*dict)->items, ", ",
                [depth](const auto& item) {
                  return describe_at(item.first, depth + 1) + ": " + describe_at(item.second, depth + 1);
                }) +
           "}";
  if (auto* object = value.get<ObjectRef>()) return "an object of " + printable((*object)->type);
  if (value.get<torch::BlockId>()) return "a graph";
  if (auto* o = value.get<torch::OperatorName>()) return printable(o->name);
  if (auto* o = value.get<torch::CustomObject>()) return "a custom object of " + printable(o->class_name);
  if (value.get<torch::Layout>()) return "a layout";
  if (value.get<torch::MemoryFormat>()) return "a memory format";
  return "None";
}

}  // namespace

std::string describe(const IValue& value) { return describe_at(value, 0); }

}  // namespace torchlift::lower
