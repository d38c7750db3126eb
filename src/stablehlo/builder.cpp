// The builder's core: how an operation is checked and added, functions, and regions. Operations are in builder_*.cpp.
#include "stablehlo/builder.hpp"

#include <algorithm>

#include "stablehlo/builder_draft.hpp"
#include "stablehlo/constant.hpp"
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

constexpr size_t kMaxRegionDepth = 128;  // printers and parsers recurse
constexpr size_t kMaxGotTypes = 8;       // operands named in a failure

Value append_value(Module& module, ValueInfo value) {
  module.values.push_back(std::move(value));
  return Value(module.values.size() - 1);
}

RegionId append_region(Module& module) {
  module.regions.emplace_back();
  return RegionId(module.regions.size() - 1);
}

void append_argument(Module& module, RegionId region, Type type) {
  const size_t number = module.at(region).arguments.size();
  const Value v = append_value(module, {.type = std::move(type), .inst = {}, .region = region, .number = number});
  module.at(region).arguments.push_back(v);
}

}  // namespace

Builder::Builder(Module& module) : module_(module) {
  if (module_.functions.empty()) {
    const RegionId body = append_region(module_);
    module_.functions.push_back({.name = "main", .arguments = {}, .result_names = {}, .body = body});
  }
  current_ = module_.functions[0].body;
}

const Type& Builder::type(Value v) const {
  // A caller that asks for the sizes of an axis, as of the value that should have been, finds some.
  static const Type kPoison{DType::Float32, Dims(kMaxRank, Dim(1))};
  return module_.contains(v) ? module_.type(v) : kPoison;
}

std::optional<Number> Builder::splat_value(Value v) const {
  const Constant* constant = module_.constant(v);
  if (!constant) return std::nullopt;
  if (!is_splat(module_.type(v), *constant)) return std::nullopt;
  return read_element(module_.type(v).dtype, constant->bytes);
}

void Builder::set_location(const Location& location) {
  auto [at, is_new] = locations_.try_emplace(location, LocId(module_.locations.size()));
  if (is_new) module_.locations.push_back(location);
  location_ = at->second;
}

Value Builder::fail(Opcode opcode, std::string message, const Values& operands) {
  record({.opcode = opcode, .operands = operands}, std::move(message));
  return {};
}

void Builder::record(const Draft& draft, std::string problem) {
  std::string got;
  for (size_t i = 0; i < std::min(draft.operands.size(), kMaxGotTypes); ++i) {
    if (i > 0) got += ", ";
    got += module_.contains(draft.operands[i]) ? to_text(module_.type(draft.operands[i])) : "nothing";
  }
  if (draft.operands.size() > kMaxGotTypes) got += ", ...";
  const Location location = location_.has_value() ? module_.locations[location_.at()] : Location{};
  failures_.push_back({draft.opcode, std::move(problem), std::move(got), location});
}

bool Builder::poisoned(const Values& operands) const {
  return std::any_of(operands.begin(), operands.end(), [this](Value v) { return !module_.contains(v); });
}

InstId Builder::append(Draft draft, std::vector<Type> types) {
  const InstId id(module_.insts.size());
  Inst inst;
  inst.opcode = draft.opcode;
  inst.operands = std::move(draft.operands);
  inst.regions = std::move(draft.regions);
  inst.location = location_;
  if (!std::holds_alternative<NoAttributes>(draft.attributes)) {
    inst.attributes = AttributesId(module_.attributes.size());
    module_.attributes.push_back(std::move(draft.attributes));
  }
  for (size_t i = 0; i < types.size(); ++i)
    inst.results.push_back(append_value(module_, {.type = std::move(types[i]), .inst = id, .region = {}, .number = i}));
  module_.insts.push_back(std::move(inst));
  module_.at(current_).insts.push_back(id);
  return id;
}

std::optional<std::vector<Type>> Builder::check(const Draft& draft) {
  const bool empty_region =
      std::any_of(draft.regions.begin(), draft.regions.end(), [](RegionId r) { return !r.has_value(); });
  if (poisoned(draft.operands) || empty_region) return std::nullopt;
  Inference inference = infer({module_, draft.opcode, draft.operands, draft.attributes, draft.regions, draft.claimed});
  if (inference.ok()) return std::move(inference.types);
  record(draft, std::move(inference.problem));
  return std::nullopt;
}

Values Builder::many(Draft draft, size_t results) {
  if (operations_++ == fail_at_) record(draft, "fails for a test");
  else if (auto types = check(draft)) return module_.at(append(std::move(draft), std::move(*types))).results;
  return Values(results);
}

Value Builder::one(Draft draft) {
  const Values results = many(std::move(draft), 1);
  return results.size() == 1 ? results[0] : Value{};
}

Value Builder::unchanged(Value v, const Dims& dims) {
  Type& type = module_.values[v.at()].type;
  type.dims = richer(type.dims, dims);
  return v;
}

// ---- functions and regions

Value Builder::argument(Type type, Argument argument) {
  if (std::string problem = problem_of(type); !problem.empty())
    return fail(Opcode::Call, "argument " + argument.name + ": " + problem);
  Function& main = module_.functions[0];
  append_argument(module_, main.body, std::move(type));
  main.arguments.push_back(std::move(argument));
  return module_.at(main.body).arguments.back();
}

void Builder::set_results(Values results, std::vector<std::string> names) {
  Function& main = module_.functions[0];
  names.resize(results.size());
  main.result_names = std::move(names);
  module_.at(main.body).results = std::move(results);
}

RegionId Builder::region(const std::vector<Type>& arguments, const Body& body) {
  if (depth_ >= kMaxRegionDepth) {
    record({.opcode = Opcode::Call, .operands = {}}, "regions nest deeper than " + std::to_string(kMaxRegionDepth));
    return {};
  }
  const RegionId id = append_region(module_);
  for (const Type& type : arguments) append_argument(module_, id, type);
  const Values values = module_.at(id).arguments;  // a copy: the body adds regions
  const RegionId outer = std::exchange(current_, id);
  ++depth_;
  Values results = body(values);
  --depth_;
  current_ = outer;
  if (poisoned(results)) return {};
  module_.at(id).results = std::move(results);
  return id;
}

FunctionId Builder::function(std::string name, const std::vector<Type>& arguments, const Body& body) {
  const RegionId id = region(arguments, body);
  if (!id.has_value()) return {};
  auto taken = [this](const std::string& candidate) {
    return std::any_of(module_.functions.begin(), module_.functions.end(),
                       [&](const Function& f) { return f.name == candidate; });
  };
  std::string unique = name;
  for (size_t i = 1; taken(unique); ++i) unique = name + "_" + std::to_string(i);
  std::vector<std::string> result_names(module_.at(id).results.size());
  module_.functions.push_back({.name = std::move(unique),
                               .arguments = std::vector<Argument>(arguments.size()),
                               .result_names = std::move(result_names),
                               .body = id});
  return FunctionId(module_.functions.size() - 1);
}

std::vector<Type> Builder::elements_of(const Values& values) const {
  std::vector<Type> out;
  for (Value v : values) out.push_back(scalar(type(v).dtype));
  return out;
}

}  // namespace torchlift::stablehlo
