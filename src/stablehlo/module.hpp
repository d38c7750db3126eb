// A StableHLO program: flat vectors indexed by typed ids. A region is one block, in SSA form; the values that it hands
// to its operation (stablehlo.return, func.return) are `results`, there is no return instruction. Removed instructions
// stay in the vectors; what counts is what the functions' regions reach.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "base/ids.hpp"
#include "stablehlo/attributes.hpp"
#include "stablehlo/opcode.hpp"
#include "stablehlo/type.hpp"

namespace torchlift::stablehlo {

using Value = Id<struct ValueTag>;  // without a value: poison, the result of what could not be built
using InstId = Id<struct InstTag>;
using RegionId = Id<struct RegionTag>;
using AttributesId = Id<struct AttributesTag>;
using LocId = Id<struct LocTag>;

using Values = std::vector<Value>;

// A line of the model's source, and the name of the node it comes from. Either may be empty.
struct Location {
  std::string file;
  int line = 0;
  std::string name;
  auto operator<=>(const Location&) const = default;
};

struct ValueInfo {
  Type type;
  InstId inst;      // that defines it, as its result `number`; else
  RegionId region;  // whose argument `number` it is
  size_t number = 0;
};

struct Inst {
  Opcode opcode{};
  Values operands;
  Values results;
  std::vector<RegionId> regions;
  AttributesId attributes;
  LocId location;
};

struct Region {
  Values arguments;
  std::vector<InstId> insts;
  Values results;
};

struct Argument {
  std::string name;                        // printed as its location; may be empty
  std::optional<int32_t> aliasing_output;  // tf.aliasing_output: result that takes over the argument's buffer
  bool buffer_donor = false;               // jax.buffer_donor: the buffer may be used for any result
};

struct Function {
  std::string name;                       // "main" for the entry, which is functions[0]
  std::vector<Argument> arguments;        // one per argument of the body
  std::vector<std::string> result_names;  // jax.result_info, one per result of the body; may be empty strings
  RegionId body;
};

class Module {
 public:
  std::string name = "main";
  std::vector<Function> functions;
  std::deque<ValueInfo> values;  // a deque: types stay where they are while the program grows
  std::vector<Inst> insts;
  std::vector<Region> regions;
  std::vector<Attributes> attributes;
  std::vector<Location> locations;

  bool contains(Value v) const { return v.has_value() && v.at() < values.size(); }
  const ValueInfo& at(Value v) const { return values[v.at()]; }
  const Type& type(Value v) const { return values[v.at()].type; }
  Inst& at(InstId id) { return insts[id.at()]; }
  const Inst& at(InstId id) const { return insts[id.at()]; }
  Region& at(RegionId id) { return regions[id.at()]; }
  const Region& at(RegionId id) const { return regions[id.at()]; }
  const Function& at(FunctionId id) const { return functions[id.at()]; }

  // The attributes of an instruction whose opcode says that they are a T.
  template <typename T>
  const T& get(const Inst& inst) const {
    CHECK(inst.attributes.has_value()) << info(inst.opcode).name << " has no attributes";
    const T* found = std::get_if<T>(&attributes[inst.attributes.at()]);
    CHECK(found != nullptr) << info(inst.opcode).name << " has other attributes";
    return *found;
  }

  // The constant that defines the value, if one does.
  const Constant* constant(Value v) const;

  // Types of the entry, in order.
  std::vector<Type> argument_types() const;
  std::vector<Type> result_types() const;
};

}  // namespace torchlift::stablehlo
