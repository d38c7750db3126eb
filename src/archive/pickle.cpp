// Reading values of a pickle; how they are made: unpickler.cpp.
#include "archive/pickle.hpp"

#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr size_t kMaxText = size_t{1} << 16;

// Python-like text, bounded in depth and length: values may contain themselves.
class Printer {
 public:
  Printer(const Pickle& pickle, std::string& out) : pickle_(pickle), out_(out) {}

  void print(PickleId id, int depth) {
    if (!id.has_value()) return put("-");
    if (depth < 0 || out_.size() > kMaxText) return put("...");
    std::visit([&](const auto& value) { print_value(value, depth); }, pickle_[id]);
  }

 private:
  void put(std::string_view text) { out_ += text; }
  void print_items(const std::vector<PickleId>& items, int depth) {
    for (size_t i = 0; i < items.size() && out_.size() <= kMaxText; ++i) {
      if (i > 0) put(", ");
      print(items[i], depth - 1);
    }
  }
  void print_pairs(const std::vector<std::pair<PickleId, PickleId>>& items, int depth) {
    for (size_t i = 0; i < items.size() && out_.size() <= kMaxText; ++i) {
      if (i > 0) put(", ");
      print(items[i].first, depth - 1);
      put(": ");
      print(items[i].second, depth - 1);
    }
  }
  void print_type(PickleId type, int depth) {
    if (!type.has_value()) return;
    put(" as ");
    print(type, depth);
  }

  void print_value(PickleNone, int) { put("None"); }
  void print_value(bool value, int) { put(value ? "True" : "False"); }
  void print_value(int64_t value, int) { put(std::to_string(value)); }
  void print_value(double value, int) { put(shortest(value)); }
  void print_value(std::complex<double> value, int) {
    put("complex(" + shortest(value.real()) + ", " + shortest(value.imag()) + ")");
  }
  void print_value(const std::string& value, int) { put(quoted(value)); }
  void print_value(const PickleBytes& value, int) { put("b" + quoted(value.bytes)); }
  void print_value(const PickleList& value, int depth) {
    put("[");
    print_items(value.items, depth);
    put("]");
    print_type(value.type, depth - 1);
  }
  void print_value(const PickleTuple& value, int depth) {
    put("(");
    print_items(value.items, depth);
    put(value.items.size() == 1 ? ",)" : ")");
  }
  void print_value(const PickleDict& value, int depth) {
    put("{");
    print_pairs(value.items, depth);
    put("}");
    print_type(value.type, depth - 1);
  }
  void print_value(const PickleGlobal& value, int) { put(printable(value.qualified())); }
  void print_value(const PickleObject& value, int depth) {
    print(value.type, depth - 1);
    put("(");
    if (value.arguments.has_value()) print(value.arguments, depth - 1);
    put(")");
    if (!value.items.empty()) {
      put("{");
      print_pairs(value.items, depth);
      put("}");
    }
    if (value.state.has_value()) {
      put(".");
      print(value.state, depth - 1);
    }
  }
  void print_value(const PickleStorage& value, int) {
    put("storage(" + quoted(value.key) + ", " + value.storage_class + ", " + std::to_string(value.elements) + ")");
  }
  void print_value(const PickleTensor& value, int depth) {
    auto number = [](int64_t n) { return std::to_string(n); };
    put(value.is_parameter ? "parameter(" : "tensor(");
    put(std::string(info(value.dtype).short_name) + "[" + join(value.sizes, ",", number) + "]");
    put(" strides " + join(value.strides, ",", number) + " at " + number(value.offset) + " of ");
    print(value.storage, depth - 1);
    put(value.requires_grad ? ", requires_grad)" : ")");
  }
  void print_value(const PickleQuantized& value, int depth) {
    put("quantized(");
    print(value.raw, depth - 1);
    put(", ");
    print(value.quantizer, depth - 1);
    put(")");
  }
  void print_value(const PickleDevice& value, int) { put("device(" + quoted(value.text) + ")"); }
  void print_value(DType value, int) { put("torch." + std::string(info(value).torch_name)); }

  const Pickle& pickle_;
  std::string& out_;
};

}  // namespace

PickleId Pickle::attribute(PickleId dict_or_object, std::string_view key) const {
  if (const auto* object = get_if<PickleObject>(dict_or_object)) dict_or_object = object->state;
  const auto* dict = get_if<PickleDict>(dict_or_object);
  if (dict == nullptr) return {};
  for (auto item = dict->items.rbegin(); item != dict->items.rend(); ++item) {
    const auto* name = get_if<std::string>(item->first);
    if (name != nullptr && *name == key) return item->second;
  }
  return {};
}

std::string Pickle::class_name(PickleId id) const {
  if (const auto* object = get_if<PickleObject>(id)) id = object->type;
  const auto* global = get_if<PickleGlobal>(id);
  return global == nullptr ? "" : global->qualified();
}

std::string Pickle::text(PickleId id, int depth) const {
  std::string out;
  Printer(*this, out).print(id, depth);
  return out;
}

}  // namespace torchlift::archive
