// The union `Argument`: what stands in an argument place. One row for each tag.
#include "frontend/export/graph.hpp"

namespace torchlift::frontend {

using torch::Operand;
using torch::ValueKind;

Result<Operand> GraphReader::argument(Element element) {
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  return tagged_argument(tagged.first, tagged.second);
}

Result<Operand> GraphReader::tagged_argument(std::string_view tag, Element payload) {
  struct Row {
    std::string_view tag;
    ReadItem read;
    int levels = 0;  // of lists around the item
    ValueKind number = ValueKind::SymInt;
  };
  using G = GraphReader;
  static constexpr Row kRows[] = {
      {"as_none", &G::none},
      {"as_tensor", &G::tensor},
      {"as_tensors", &G::tensor, 1},
      {"as_optional_tensor", &G::optional_tensor},
      {"as_optional_tensors", &G::optional_tensor, 1},
      {"as_nested_tensors", &G::tensor, 2},
      {"as_int", &G::integer},
      {"as_ints", &G::integer, 1},
      {"as_int_lists", &G::integer, 2},
      {"as_float", &G::real},
      {"as_floats", &G::real, 1},
      {"as_float_lists", &G::real, 2},
      {"as_bool", &G::boolean},
      {"as_bools", &G::boolean, 1},
      {"as_string", &G::string},
      {"as_strings", &G::string, 1},
      {"as_complex", &G::complex},
      {"as_sym_int", &G::sym_number},
      {"as_sym_ints", &G::sym_number, 1},
      {"as_sym_float", &G::sym_number, 0, ValueKind::SymFloat},
      {"as_sym_floats", &G::sym_number, 1, ValueKind::SymFloat},
      {"as_sym_bool", &G::sym_number, 0, ValueKind::SymBool},
      {"as_sym_bools", &G::sym_number, 1, ValueKind::SymBool},
      {"as_scalar_type", &G::dtype},
      {"as_memory_format", &G::memory_format},
      {"as_layout", &G::layout},
      {"as_device", &G::device},
      {"as_graph", &G::nested_graph},
      {"as_custom_obj", &G::custom_object},
      {"as_operator", &G::operator_name},
      {"as_string_to_argument", &G::dictionary},
  };
  for (const Row& row : kRows) {
    if (row.tag != tag) continue;
    number_kind_ = row.number;
    return list(payload, row.levels, row.read);
  }
  return json_.unknown_tag(tag);
}

Result<Operand> GraphReader::list(Element element, int levels, ReadItem item_reader) {
  if (levels == 0) return (this->*item_reader)(element);
  Operand::List out;
  TRY_OK(json_.each(element, [&](Element item) -> Status {
    TRY(out.emplace_back(), list(item, levels - 1, item_reader));
    return Unit{};
  }));
  return Operand{std::move(out)};
}

Result<Operand> GraphReader::tensor(Element element) {
  TRY(Object object, json_.object(element));
  TRY(std::string_view name, json_.text_field(object, "name"));
  return value_named(name, ValueKind::Tensor);
}

Result<Operand> GraphReader::optional_tensor(Element element) {
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  if (tagged.first == "as_none") return Operand{torch::None{}};
  if (tagged.first == "as_tensor" && tagged.second.is_string()) {  // schemas up to 6: the name alone
    TRY(std::string_view name, json_.text(tagged.second));
    return value_named(name, ValueKind::Tensor);
  }
  if (tagged.first == "as_tensor") return tensor(tagged.second);
  return json_.unknown_tag(tagged.first);
}

Result<Operand> GraphReader::integer(Element element) {
  TRY(int64_t value, json_.integer(element));
  return Operand{value};
}

Result<Operand> GraphReader::real(Element element) {
  TRY(double value, json_.number(element));
  return Operand{value};
}

Result<Operand> GraphReader::boolean(Element element) {
  TRY(bool value, json_.boolean(element));
  return Operand{value};
}

Result<Operand> GraphReader::string(Element element) {
  TRY(std::string_view value, json_.text(element));
  return Operand{std::string(value)};
}

Result<Operand> GraphReader::complex(Element element) {
  TRY(Object object, json_.object(element));
  auto part = [&](Element e) { return json_.number(e); };
  TRY(double real, json_.field(object, "real", part));
  TRY(double imaginary, json_.field(object, "imag", part));
  return Operand{std::complex<double>(real, imaginary)};
}

// {"as_name": "mul"}, {"as_int": 3}, {"as_float": 0.5}, {"as_bool": true}
Result<Operand> GraphReader::sym_number(Element element) {
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  if (tagged.first == "as_name") {
    TRY(std::string_view name, json_.text(tagged.second));
    return value_named(name, number_kind_);
  }
  if (tagged.first == "as_int") return integer(tagged.second);
  if (tagged.first == "as_float") return real(tagged.second);
  if (tagged.first == "as_bool") return boolean(tagged.second);
  return json_.unknown_tag(tagged.first);
}

Result<Operand> GraphReader::dtype(Element element) {
  TRY(DType value, values_.dtype(element));
  return Operand{value};
}

Result<Operand> GraphReader::memory_format(Element element) {
  TRY(torch::MemoryFormat value, values_.memory_format(element));
  return Operand{value};
}

Result<Operand> GraphReader::layout(Element element) {
  TRY(torch::Layout value, values_.layout(element));
  return Operand{value};
}

Result<Operand> GraphReader::device(Element element) {
  TRY(torch::Device value, values_.device(element));
  return Operand{std::move(value)};
}

// Read later, when this graph is finished.
Result<Operand> GraphReader::nested_graph(Element element) {
  TRY(Object object, json_.object(element));
  TRY(std::string_view name, json_.text_field(object, "name"));
  if (defining_) return json_.wrong("a graph", "a value");
  if (depth_ + 1 >= kMaxGraphDepth)
    return json_.wrong("a graph nested " + std::to_string(depth_ + 1) + " deep",
                       "at most " + std::to_string(kMaxGraphDepth - 1) + " levels");
  torch::BlockId id(program_.blocks.size());
  TRY_OK(json_.field(object, "graph", [&](Element graph) -> Status {
    pending_.push_back({id, graph, name, depth_ + 1});
    return Unit{};
  }));
  program_.blocks.emplace_back().name = name;
  return Operand{id};
}

// An input of the graph, or an object of the archive's constants.
Result<Operand> GraphReader::custom_object(Element element) {
  TRY(Object object, json_.object(element));
  TRY(std::string_view name, json_.text_field(object, "name"));
  if (defining_) return define(name, ValueKind::CustomObject);
  if (auto found = names_.find(name); found != names_.end()) return Operand{found->second};
  torch::CustomObject out{.name = std::string(name), .class_name = {}};
  TRY_OK(json_.optional_field(object, "class_fqn", [&](Element e) -> Status {
    TRY(out.class_name, json_.text(e));
    return Unit{};
  }));
  return Operand{std::move(out)};
}

Result<Operand> GraphReader::operator_name(Element element) {
  TRY(std::string_view name, json_.text(element));
  return Operand{torch::OperatorName{target_name(name)}};
}

// A list of (key, value) lists.
Result<Operand> GraphReader::dictionary(Element element) {
  Operand::List out;
  TRY_OK(json_.each_member(element, [&](std::string_view key, Element item) -> Status {
    TRY(Operand value, argument(item));
    out.push_back(Operand{Operand::List{Operand{std::string(key)}, std::move(value)}});
    return Unit{};
  }));
  return Operand{std::move(out)};
}

}  // namespace torchlift::frontend
