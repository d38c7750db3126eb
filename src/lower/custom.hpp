// Operators that whoever calls lower() says the meaning of, in place of a row of the table: a call of a function in
// StableHLO text, or a custom call that the device's program finds by its name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lower/bind_arguments.hpp"
#include "lower/lower.hpp"
#include "stablehlo/function_text.hpp"

namespace torchlift::lower {

struct CustomOp {
  struct Function {
    stablehlo::FunctionText text;
    std::string file;  // for messages
  };
  std::string name;                 // "ns::op", every overload; "ns::op.overload", that one
  std::string target;               // of a custom call; empty where functions are given
  std::vector<Function> functions;  // the one with the types of a call is called

  bool means(std::string_view operator_name) const {
    return operator_name == name || operator_name.substr(0, operator_name.find('.')) == name;
  }
};

// One call of such an operator.
struct CustomCallSite {
  const torch::Inst& inst;
  std::span<const NamedValue> operands;
  std::vector<std::optional<Type>> declared;  // of the tensors that it gives, lists flattened
};

// Lowers such calls. A function is declared in the module when it is first called, under a name that begins with
// "custom" and the number of the function.
class CustomCalls {
 public:
  CustomCalls(stablehlo::Module& module, std::span<const CustomOp> ops) : module_(module), ops_(ops) {}
  const CustomOp* find(std::string_view operator_name) const;
  // The tensors that the call gives, or nothing: it refused.
  Values lower(Lower& l, const CustomOp& op, const CustomCallSite& site);
  // Of the functions that were declared: by name, their texts.
  std::map<std::string, std::string> definitions() const;

 private:
  Values custom_call(Lower& l, const CustomOp& op, const CustomCallSite& site);
  Values function_call(Lower& l, const CustomOp& op, const CustomCallSite& site);

  stablehlo::Module& module_;
  std::span<const CustomOp> ops_;
  struct Added {
    const CustomOp::Function* function;
    stablehlo::FunctionId id;
    std::vector<std::string> operands;  // of its first call, by the operator's names
  };
  std::vector<Added> added_;
  std::map<const CustomOp*, std::vector<std::string>> tensors_given_;  // by the first custom call
};

}  // namespace torchlift::lower
