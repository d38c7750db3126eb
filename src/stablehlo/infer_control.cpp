// Control flow, calls, and random bits.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

std::vector<Type> operand_types(const Site& site) {
  std::vector<Type> out;
  for (size_t i = 0; i < site.operands.size(); ++i) out.push_back(site.type(i));
  return out;
}

// Branches take nothing and give the same types.
Inference infer_branches(const Site& site) {
  std::vector<Type> results;
  for (Value v : site.module.at(site.regions[0]).results) {
    if (!site.module.contains(v)) return refuse("a branch hands back no value");
    results.push_back(site.module.type(v));
  }
  for (size_t r = 0; r < site.regions.size(); ++r) {
    if (std::string problem = signature_problem(site, r, {}, results); !problem.empty())
      return refuse("(C2) (C3) branch ", r, ": ", problem);
    const Values& values = site.module.at(site.regions[r]).results;
    for (size_t i = 0; i < results.size(); ++i)
      results[i].dims = richer(results[i].dims, site.module.type(values[i]).dims);
  }
  return results;
}

}  // namespace

Inference infer_if(const Site& site) {
  if (site.type(0) != scalar(DType::Bool)) return refuse("(I1) pred is no i1 of rank 0");
  return infer_branches(site);
}

Inference infer_case(const Site& site) {
  if (site.type(0) != scalar(DType::Int32)) return refuse("(I1) index is no i32 of rank 0");
  return infer_branches(site);
}

Inference infer_while(const Site& site) {
  std::vector<Type> carried = operand_types(site);
  if (std::string problem = signature_problem(site, 0, carried, {scalar(DType::Bool)}); !problem.empty())
    return refuse("(C1) cond: ", problem);
  if (std::string problem = signature_problem(site, 1, carried, carried); !problem.empty())
    return refuse("(C2) body: ", problem);
  return carried;
}

Inference infer_call(const Site& site) {
  const auto* call = std::get_if<Call>(&site.attributes);
  const FunctionId callee = call ? call->callee : site.get<Composite>().decomposition;
  if (!callee.has_value() || callee.at() >= site.module.functions.size()) return refuse("there is no such function");
  const Region& body = site.module.at(site.module.at(callee).body);
  if (body.arguments.size() != site.operands.size())
    return refuse("(C1) the function takes ", body.arguments.size(), " arguments, not ", site.operands.size());
  for (size_t i = 0; i < site.operands.size(); ++i)
    if (site.module.type(body.arguments[i]) != site.type(i))
      return refuse("(C1) the function's argument ", i, " is ", site.module.type(body.arguments[i]));
  std::vector<Type> results;
  for (Value v : body.results) {
    if (!site.module.contains(v)) return refuse("the function hands back no value");
    results.push_back(site.module.type(v));
  }
  return results;
}

Inference infer_optimization_barrier(const Site& site) { return operand_types(site); }

Inference infer_custom_call(const Site& site) {
  if (site.get<CustomCall>().call_target_name.empty()) return refuse("call_target_name is empty");
  return std::vector<Type>(site.claimed.begin(), site.claimed.end());
}

Inference infer_rng_bit_generator(const Site& site) {
  const Type& state = site.type(0);
  if (site.claimed.empty()) return refuse("the type of the bits must be given");
  const Type& bits = site.claimed.back();
  if (state.dtype != DType::UInt64 || state.rank() != 1) return refuse("(I2) the state is no ui64 of rank 1");
  const int64_t size = state.dims[0].concrete();
  const RngAlgorithm algorithm = site.get<RngBitGenerator>().algorithm;
  if (algorithm == RngAlgorithm::ThreeFry && size != 2) return refuse("(C2) THREE_FRY wants a state of 2, not ", size);
  if (algorithm == RngAlgorithm::Philox && size != 2 && size != 3)
    return refuse("(C2) PHILOX wants a state of 2 or 3, not ", size);
  if (!is_integer(bits.dtype) && !is_float(bits.dtype))
    return refuse("(O2) bits are integers or floats, not ", bits.dtype);
  return std::vector<Type>{state, bits};
}

}  // namespace torchlift::stablehlo
