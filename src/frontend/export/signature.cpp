#include "frontend/export/signature.hpp"

#include <algorithm>

#include "base/kinds.hpp"
#include "torch/symbolic.hpp"

namespace torchlift::frontend {

using torch::InputKind;
using torch::Operand;
using torch::OutputKind;

namespace {

struct InputRow {
  std::string_view tag;
  InputKind kind;
  std::string_view target;  // the field that says which
};
constexpr InputRow kInputs[] = {
    {"user_input", InputKind::User, ""},
    {"constant_input", InputKind::Constant, "name"},
    {"parameter", InputKind::Parameter, "parameter_name"},
    {"buffer", InputKind::Buffer, "buffer_name"},
    {"tensor_constant", InputKind::TensorConstant, "tensor_constant_name"},
    {"custom_obj", InputKind::CustomObject, "custom_obj_name"},
    {"token", InputKind::Token, ""},
};

struct OutputRow {
  std::string_view tag;
  OutputKind kind;
  std::string_view target;
};
constexpr OutputRow kOutputs[] = {
    {"user_output", OutputKind::User, ""},
    {"buffer_mutation", OutputKind::BufferMutation, "buffer_name"},
    {"parameter_mutation", OutputKind::ParameterMutation, "parameter_name"},
    {"user_input_mutation", OutputKind::UserInputMutation, "user_input_name"},
    {"loss_output", OutputKind::Loss, ""},
    {"gradient_to_parameter", OutputKind::GradientToParameter, "parameter_name"},
    {"gradient_to_user_input", OutputKind::GradientToUserInput, "user_input_name"},
    {"token", OutputKind::Token, ""},
};

class SignatureReader {
 public:
  SignatureReader(GraphReader& graph, JsonReader& json, torch::Program& program)
      : graph_(graph), json_(json), program_(program) {}
  Status input(Element element);
  Status output(Element element);
  Status check_counts() const;

 private:
  // {"name": "x"} of the entry as an operand.
  Result<Operand> named(Element element) {
    TRY(torch::ValueId id, graph_.entry_value(element));
    return Operand{id};
  }
  Status matches(const Operand& spec, const std::vector<Operand>& given, size_t index) const;

  GraphReader& graph_;
  JsonReader& json_;
  torch::Program& program_;
};

// The specs stand beside the graph's own inputs and outputs, and name the same values.
Status SignatureReader::matches(const Operand& spec, const std::vector<Operand>& given, size_t index) const {
  if (index < given.size() && spec.get<torch::ValueId>() && spec != given[index])
    return json_.error(Kind::SignatureDiffers, {{"problem", "names another value than the graph does in that place"}});
  return Unit{};
}

Status SignatureReader::input(Element element) {
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  auto row =
      std::find_if(std::begin(kInputs), std::end(kInputs), [&](const InputRow& r) { return r.tag == tagged.first; });
  if (row == std::end(kInputs)) return json_.unknown_tag(tagged.first);
  TRY(Object object, json_.object(tagged.second));
  torch::InputSpec spec;
  spec.kind = row->kind;
  if (!row->target.empty()) {
    TRY(spec.target, json_.text_field(object, row->target));
  }
  bool argument = row->kind == InputKind::User || row->kind == InputKind::Constant;
  TRY(spec.argument, json_.field(object, row->kind == InputKind::Constant ? "value" : "arg",
                                 [&](Element e) { return argument ? graph_.entry_argument(e) : named(e); }));
  TRY(spec.persistent, json_.boolean_field(object, "persistent", true));
  if (const auto* id = spec.argument.get<torch::ValueId>()) {
    torch::Value& value = program_.values[id->at()];
    if (row->kind == InputKind::Token) value.kind = torch::ValueKind::Token;
    if (row->kind == InputKind::CustomObject) value.kind = torch::ValueKind::CustomObject;
  }
  TRY_OK(matches(spec.argument, graph_.entry_inputs(), program_.inputs.size()));
  program_.inputs.push_back(std::move(spec));
  return Unit{};
}

Status SignatureReader::output(Element element) {
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  auto row =
      std::find_if(std::begin(kOutputs), std::end(kOutputs), [&](const OutputRow& r) { return r.tag == tagged.first; });
  if (row == std::end(kOutputs)) return json_.unknown_tag(tagged.first);
  TRY(Object object, json_.object(tagged.second));
  torch::OutputSpec spec;
  spec.kind = row->kind;
  if (!row->target.empty()) {
    TRY(spec.target, json_.text_field(object, row->target));
  }
  bool argument = row->kind == OutputKind::User;
  TRY(spec.argument,
      json_.field(object, "arg", [&](Element e) { return argument ? graph_.entry_argument(e) : named(e); }));
  TRY_OK(matches(spec.argument, program_.entry().outputs, program_.outputs.size()));
  program_.outputs.push_back(std::move(spec));
  return Unit{};
}

Status SignatureReader::check_counts() const {
  auto differ = [&](std::string_view what, size_t specs, size_t given) -> Status {
    if (specs == given) return Unit{};
    return json_.error(Kind::SignatureDiffers, {{"problem", "has " + std::to_string(specs) + " " + std::string(what) +
                                                                " specs, the graph has " + std::to_string(given)}});
  };
  TRY_OK(differ("input", program_.inputs.size(), graph_.entry_inputs().size()));
  return differ("output", program_.outputs.size(), program_.entry().outputs.size());
}

}  // namespace

Status read_signature(Element signature, GraphReader& graph, JsonReader& json, torch::Program& program) {
  SignatureReader reader(graph, json, program);
  TRY(Object object, json.object(signature));
  TRY_OK(json.field(object, "input_specs",
                    [&](Element specs) { return json.each(specs, [&](Element spec) { return reader.input(spec); }); }));
  TRY_OK(json.field(object, "output_specs", [&](Element specs) {
    return json.each(specs, [&](Element spec) { return reader.output(spec); });
  }));
  return reader.check_counts();
}

Status read_ranges(Element ranges, JsonReader& json, torch::Program& program) {
  // Unbounded: null, an infinity, and the largest integers, which stood for it in some versions.
  auto bound = [&](Object object, std::string_view key, std::optional<int64_t>& out) {
    return json.optional_field(object, key, [&](Element element) -> Status {
      constexpr int64_t kLargest = INT64_MAX - 1;
      if (!element.is_int64()) {
        TRY_OK(json.number(element));
        return Unit{};
      }
      TRY(int64_t value, json.integer(element));
      if (value < kLargest && value > -kLargest) out = value;
      return Unit{};
    });
  };
  return json.each_member(ranges, [&](std::string_view key, Element element) -> Status {
    Result<torch::SymExpr> expr = torch::parse_infix(key);
    if (!expr) return json.error(Kind::SymbolicSyntax, expr.error().arguments);
    torch::Range range{.expr = std::move(expr).value(), .min = {}, .max = {}};
    TRY(Object object, json.object(element));
    TRY_OK(bound(object, "min_val", range.min));
    TRY_OK(bound(object, "max_val", range.max));
    program.ranges.push_back(std::move(range));
    return Unit{};
  });
}

std::vector<std::pair<std::string, int64_t>> solve_hints(const std::vector<Hint>& hints) {
  torch::Bindings bindings;
  for (const auto& [expr, size] : hints)
    if (expr.kind == torch::SymExpr::Kind::Symbol) bindings.try_emplace(expr.head, Dim(size));
  for (bool found = true; found;) {
    found = false;
    for (const auto& [expr, size] : hints) {
      std::vector<std::string> symbols = torch::symbols_of(expr);
      std::erase_if(symbols, [&](const std::string& symbol) { return bindings.contains(symbol); });
      if (symbols.size() != 1) continue;
      if (auto solved = torch::solve_linear(expr, size, symbols.front(), bindings))
        found = bindings.try_emplace(symbols.front(), Dim(*solved)).second;
    }
  }
  std::vector<std::pair<std::string, int64_t>> out;
  for (const auto& [symbol, size] : bindings) out.emplace_back(symbol, size.concrete());
  return out;
}

}  // namespace torchlift::frontend
