// Where a node stands in the model's Python code, from its metadata.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torch/program.hpp"

namespace torchlift::frontend {

inline constexpr size_t kMaxFrames = 32;       // innermost ones are kept
inline constexpr size_t kMaxSourceText = 400;  // bytes of a source line

// A Python traceback, innermost frame first. Frames of the torch library and of generated code are left out, unless
// nothing else remains.
std::vector<SourceLine> parse_stack_trace(std::string_view trace);

// The last entry of `nn_module_stack`: module path and type.
std::pair<std::string, std::string> parse_module_stack(std::string_view stack);

// Locations of one program, equal ones once, in the order of their first use.
class LocationTable {
 public:
  torch::LocId intern(std::string_view stack_trace, std::string_view module_stack);
  std::vector<torch::Location> take() && { return std::move(locations_); }

 private:
  std::unordered_map<std::string, torch::LocId> by_text_;
  std::map<std::string, torch::LocId, std::less<>> by_content_;
  std::vector<torch::Location> locations_;
};

}  // namespace torchlift::frontend
