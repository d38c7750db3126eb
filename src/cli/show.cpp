#include "cli/show.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"
#include "stablehlo/element.hpp"

namespace torchlift::cli {
namespace {

constexpr size_t kShown = 12;

std::string number_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);  // the program never sets a locale
  return buffer;
}

std::string element_text(const run::HostTensor& tensor, size_t index) {
  DType dtype = tensor.type().dtype;
  std::complex<double> value = element(tensor, index);
  if (is_bool(dtype)) return value.real() != 0 ? "True" : "False";
  if (is_complex(dtype))
    return number_text(value.real()) + (value.imag() < 0 ? "" : "+") + number_text(value.imag()) + "j";
  if (!is_integer(dtype)) return number_text(value.real());
  auto width = static_cast<size_t>(info(dtype).bytes);
  auto number = stablehlo::read_element(dtype, tensor.bytes().subspan(index * width, width));
  auto exact = std::get<int64_t>(number);
  return is_unsigned(dtype) ? std::to_string(static_cast<uint64_t>(exact)) : std::to_string(exact);
}

std::string summary(const run::HostTensor& tensor) {
  if (is_integral(tensor.type().dtype) || is_complex(tensor.type().dtype)) return "";
  double low = INFINITY, high = -INFINITY, sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < element_count(tensor); ++i) {
    double value = element(tensor, i).real();
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ++count;
  }
  if (count == 0) return "  all NaN";
  return "  min " + number_text(low) + "  max " + number_text(high) + "  mean " +
         number_text(sum / static_cast<double>(count));
}

}  // namespace

size_t element_count(const run::HostTensor& tensor) {
  return tensor.bytes().size() / static_cast<size_t>(info(tensor.type().dtype).bytes);
}

std::complex<double> element(const run::HostTensor& tensor, size_t index) {
  DType dtype = tensor.type().dtype;
  auto width = static_cast<size_t>(info(dtype).bytes);
  auto number = stablehlo::read_element(dtype, tensor.bytes().subspan(index * width, width));
  struct Visitor {
    bool is_unsigned;
    std::complex<double> operator()(bool value) const { return value ? 1 : 0; }
    std::complex<double> operator()(int64_t value) const {
      return is_unsigned ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
    }
    std::complex<double> operator()(double value) const { return value; }
    std::complex<double> operator()(std::complex<double> value) const { return value; }
  };
  return std::visit(Visitor{is_unsigned(dtype)}, number);
}

std::string show(const LeafValue& value) {
  auto* tensor = std::get_if<run::HostTensor>(&value);
  if (!tensor) return text_of(value);
  size_t count = element_count(*tensor);
  if (count == 0) return text_of(value);
  std::string out = text_of(value);
  if (count > 1) out += summary(*tensor);
  out += count > 1 ? "\n    " : "  ";
  for (size_t i = 0; i < std::min(count, kShown); ++i) out += (i > 0 ? "  " : "") + element_text(*tensor, i);
  if (count > kShown) out += "  …";
  return out;
}

}  // namespace torchlift::cli
