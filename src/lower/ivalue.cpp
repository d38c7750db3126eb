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

std::string describe(const Tensor& tensor) {
  if (tensor.is_poison()) return "a tensor of unknown type";
  if (tensor.number()) return tensor.number()->text();
  return std::string(info(tensor.dtype()).short_name) + text_of(tensor.shape());
}

std::string describe(const IValue& value) {
  if (auto n = value.number()) return n->text();
  if (auto* t = value.get<Tensor>()) return describe(*t);
  if (auto* s = value.get<std::string>()) return "'" + printable(*s) + "'";
  if (auto* d = value.get<DType>()) return "torch." + std::string(info(*d).torch_name);
  if (auto* d = value.get<torch::Device>()) return printable(d->type);
  if (auto* list = value.get<IValue::List>())
    return "[" + join(*list, ", ", [](const IValue& v) { return describe(v); }) + "]";
  if (value.get<torch::BlockId>()) return "a graph";
  if (auto* o = value.get<torch::OperatorName>()) return printable(o->name);
  if (auto* o = value.get<torch::CustomObject>()) return "a custom object of " + printable(o->class_name);
  if (value.get<torch::Layout>()) return "a layout";
  if (value.get<torch::MemoryFormat>()) return "a memory format";
  return "None";
}

}  // namespace torchlift::lower
