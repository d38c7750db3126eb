#include "stablehlo/verify.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "stablehlo/function_text.hpp"
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

constexpr size_t kMaxDepth = 256;

class Verifier {
 public:
  explicit Verifier(const Module& module)
      : module_(module),
        depth_of_(module.values.size(), kUndefined),
        inst_seen_(module.insts.size(), false),
        region_seen_(module.regions.size(), false) {}

  std::vector<VerifyError> run() {
    if (module_.functions.empty() || module_.functions[0].name != "main") fail("the module has no function `main`");
    std::set<std::string> names;
    for (const Function& f : module_.functions) {
      if (!names.insert(f.name).second) fail("two functions are called `" + f.name + "`");
      if (!has_body(f)) fail("function `" + f.name + "` has no body");
    }
    if (!errors_.empty()) return std::move(errors_);
    for (function_ = 0; function_ < module_.functions.size(); ++function_) function(module_.functions[function_]);
    return std::move(errors_);
  }

 private:
  static constexpr int64_t kUndefined = -1;

  void fail(std::string message) {
    if (errors_.size() >= kMaxVerifyErrors) return;
    errors_.push_back({std::move(message), location_});
  }

  // Calls look at the signatures of functions that are not yet verified.
  bool has_body(const Function& function) const {
    if (!in_range(function.body)) return false;
    const Values& arguments = module_.at(function.body).arguments;
    return std::all_of(arguments.begin(), arguments.end(), [this](Value v) { return module_.contains(v); });
  }

  // Of what is only declared there are types alone.
  void declaration(const Function& function) {
    const Region& body = module_.at(function.body);
    for (const Values* values : {&body.arguments, &body.results})
      for (Value v : *values)
        if (std::string problem = problem_of(module_.type(v)); !problem.empty()) fail(problem);
  }

  void function(const Function& function) {
    if (function_ > 0 && is_declaration(module_, function)) return declaration(function);
    region(function.body, Walls::Yes);
    const Region& body = module_.at(function.body);
    if (function.arguments.size() != body.arguments.size())
      fail("function `" + function.name + "` names " + say(function.arguments.size()) + " arguments of " +
           say(body.arguments.size()));
    if (function.result_names.size() != body.results.size() && !function.result_names.empty())
      fail("function `" + function.name + "` names " + say(function.result_names.size()) + " results of " +
           say(body.results.size()));
    for (const Argument& a : function.arguments)
      if (a.aliasing_output &&
          (*a.aliasing_output < 0 || static_cast<size_t>(*a.aliasing_output) >= body.results.size()))
        fail("argument `" + a.name + "` aliases result " + say(*a.aliasing_output) + " of " + say(body.results.size()));
  }

  bool in_range(RegionId id) const { return id.has_value() && id.at() < module_.regions.size(); }
  bool in_range(InstId id) const { return id.has_value() && id.at() < module_.insts.size(); }
  bool in_range(AttributesId id) const { return id.has_value() && id.at() < module_.attributes.size(); }
  bool in_range(LocId id) const { return id.has_value() && id.at() < module_.locations.size(); }

  // A value is visible if it was defined on the way down to here, and not outside a wall: the floor is the depth of the
  // innermost wall, and a value remembers the depth at which it was defined.
  enum class Walls { No, Yes };

  bool is_visible(Value v) const { return module_.contains(v) && depth_of_[v.at()] >= floor_; }

  void define(Value v) {
    if (!module_.contains(v)) return fail("a value without id is defined");
    if (depth_of_[v.at()] != kUndefined) return fail("a value is defined twice");
    depth_of_[v.at()] = depth_;
    if (std::string problem = problem_of(module_.type(v)); !problem.empty()) fail(problem);
  }

  void region(RegionId id, Walls walls) {
    if (region_seen_[id.at()]) return fail("a region is used twice");
    region_seen_[id.at()] = true;
    if (depth_ >= static_cast<int64_t>(kMaxDepth)) return fail("regions nest deeper than " + say(kMaxDepth));
    ++depth_;
    const int64_t outer = floor_;
    if (walls == Walls::Yes) floor_ = depth_;
    const Region& region = module_.at(id);
    for (Value v : region.arguments) define(v);
    for (InstId inst_id : region.insts) {
      if (!in_range(inst_id)) fail("an instruction without id");
      else inst(inst_id);
    }
    location_ = {};
    for (size_t i = 0; i < region.results.size(); ++i)
      if (!is_visible(region.results[i])) fail("result " + say(i) + " of a region is not defined there");
    for (Value v : region.arguments) forget(v);
    for (InstId inst_id : region.insts)
      if (in_range(inst_id))
        for (Value v : module_.at(inst_id).results) forget(v);
    floor_ = outer;
    --depth_;
  }

  void forget(Value v) {
    if (module_.contains(v)) depth_of_[v.at()] = kUndefined;
  }

  void inst(InstId id) {
    const Inst& inst = module_.at(id);
    location_ = in_range(inst.location) ? module_.locations[inst.location.at()] : Location{};
    const std::string name(info(inst.opcode).name);
    if (inst_seen_[id.at()]) return fail(name + ": the instruction is used twice");
    inst_seen_[id.at()] = true;
    bool sound = true;
    auto require = [&](bool condition, const std::string& message) {
      if (!condition) fail(name + ": " + message);
      sound &= condition;
    };
    require(inst.opcode != Opcode::Undefined, "a placeholder for what could not be built");
    require(!inst.attributes.has_value() || in_range(inst.attributes), "attributes out of range");
    for (size_t i = 0; i < inst.operands.size(); ++i)
      require(is_visible(inst.operands[i]), "operand " + say(i) + " is not defined here");
    for (RegionId r : inst.regions) require(in_range(r), "a region is out of range");
    if (sound) {
      const Walls walls = has_isolated_regions(inst.opcode) ? Walls::Yes : Walls::No;
      for (RegionId r : inst.regions) region(r, walls);
      location_ = in_range(inst.location) ? module_.locations[inst.location.at()] : Location{};
      types(inst, name);
    }
    for (Value v : inst.results) define(v);
  }

  // So there is no recursion, which XLA does not have.
  bool calls_an_earlier_function(const Attributes& attributes) const {
    const auto* call = std::get_if<Call>(&attributes);
    const auto* composite = std::get_if<Composite>(&attributes);
    if (!call && !composite) return true;
    const FunctionId callee = call ? call->callee : composite->decomposition;
    return callee != FunctionId(0) && (function_ == 0 || callee < FunctionId(function_));
  }

  void types(const Inst& inst, const std::string& name) {
    static const Attributes kNone;
    const Attributes& attributes = inst.attributes.has_value() ? module_.attributes[inst.attributes.at()] : kNone;
    std::vector<Type> claimed;
    for (Value v : inst.results) {
      if (!module_.contains(v)) return fail(name + ": a result without id");
      claimed.push_back(module_.type(v));
    }
    if (!calls_an_earlier_function(attributes)) return fail(name + ": a helper calls main, itself or a later helper");
    const Inference inference = infer({module_, inst.opcode, inst.operands, attributes, inst.regions, claimed});
    if (!inference.ok()) return fail(name + ": " + inference.problem);
    if (inference.types.size() != claimed.size())
      return fail(name + ": " + say(claimed.size()) + " results, " + say(inference.types.size()) + " are inferred");
    for (size_t i = 0; i < claimed.size(); ++i)
      if (inference.types[i] != claimed[i])
        fail(name + ": result " + say(i) + " is " + to_text(claimed[i]) + ", " + to_text(inference.types[i]) +
             " is inferred");
  }

  const Module& module_;
  std::vector<int64_t> depth_of_;  // of a visible value, the depth of its definition
  std::vector<bool> inst_seen_;
  std::vector<bool> region_seen_;
  std::vector<VerifyError> errors_;
  Location location_;
  size_t function_ = 0;
  int64_t depth_ = 0;
  int64_t floor_ = 0;
};

}  // namespace

std::vector<VerifyError> verify(const Module& module) { return Verifier(module).run(); }

}  // namespace torchlift::stablehlo
