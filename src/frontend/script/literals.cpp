#include "frontend/script/literals.hpp"

#include <charconv>
#include <complex>

#include "base/text.hpp"
#include "torch/print.hpp"

namespace torchlift::frontend::script {

using torch::Operand;

torch::Device device_of(std::string_view text) {
  torch::Device device{.type = std::string(text)};
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return device;
  int64_t index = 0;
  auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0) return device;
  return {.type = std::string(text.substr(0, colon)), .index = index};
}

std::optional<Operand> literal_as(const torch::ScriptType& type, const Operand& literal) {
  if (type.is("Any")) return literal;
  if (literal.is_none()) return type.is("NoneType") || type.is("Optional") ? std::optional(literal) : std::nullopt;
  const auto* text = literal.get<std::string>();
  if (type.is("str") && text != nullptr) return literal;
  if (type.is("Device") && text != nullptr) return Operand{device_of(*text)};
  if (type.is("Device") && literal.get<torch::Device>() != nullptr) return literal;
  if (type.is("bool") && literal.get<bool>() != nullptr) return literal;
  const auto* integer = literal.get<int64_t>();
  const auto* real = literal.get<double>();
  const auto* complex = literal.get<std::complex<double>>();
  if (integer == nullptr && real == nullptr && complex == nullptr) return std::nullopt;
  if (type.is("number")) return literal;
  if (type.is("int") && integer != nullptr) return literal;
  if (type.is("complex") && complex != nullptr) return literal;
  if (complex != nullptr) return std::nullopt;
  double value = real != nullptr ? *real : static_cast<double>(*integer);
  if (type.is("float")) return Operand{value};
  if (type.is("complex")) return Operand{std::complex<double>(value)};
  return std::nullopt;
}

std::string literal_text(const Operand& literal) {
  if (literal.is_none()) return "None";
  return printable(torch::print(torch::Program(), literal));
}

}  // namespace torchlift::frontend::script
