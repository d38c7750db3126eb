#include "cli/compare.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/kinds.hpp"
#include "cli/show.hpp"
#include "cli/ties.hpp"

namespace torchlift::cli {
namespace {

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// By dtype, where a file says nothing; integers and bool are exact.
Tolerance default_tolerance(DType dtype) {
  switch (real_of(dtype)) {
    case DType::Float64: return {1e-9, 1e-9};
    case DType::Float32: return {1e-4, 1e-5};
    case DType::Float16: return {2e-3, 2e-3};
    case DType::BFloat16: return {2e-2, 2e-2};
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ: return {0.13, 0.01};
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ: return {0.26, 0.01};
    default: return {};
  }
}

enum class Mode { Values, Absolute, Shape, Ties };

struct Rules {
  std::map<std::string, Tolerance> tolerances;
  Mode mode = Mode::Values;
  std::vector<run::HostTensor> inputs;  // where ties are looked for

  Tolerance of(const std::string& key, DType dtype) const {
    if (is_integral(dtype)) return {};
    if (auto own = tolerances.find(key); own != tolerances.end()) return own->second;
    if (auto all = tolerances.find("*"); all != tolerances.end()) return all->second;
    return default_tolerance(dtype);
  }
};

Result<Rules> rules_of(const CaseFile& expected, const std::string& path) {
  Rules out;
  auto find = [&](const char* key) {
    auto found = expected.metadata.find(key);
    return found == expected.metadata.end() ? std::string() : found->second;
  };
  std::string mode = find("compare");
  if (mode == "abs") out.mode = Mode::Absolute;
  if (mode == "shape") out.mode = Mode::Shape;
  if (mode == "ties") out.mode = Mode::Ties;
  for (auto& [key, value] : expected.values)
    if (auto* tensor = std::get_if<run::HostTensor>(&value); tensor && key.starts_with("in."))
      out.inputs.push_back(*tensor);
  std::string json = find("tolerance");
  if (json.empty()) return out;
  simdjson::dom::parser parser;
  simdjson::padded_string padded(json);
  simdjson::dom::object object;
  auto problem =
      diagnose(Kind::SafetensorsHeader, {{"problem", std::string("`tolerance` is no JSON object of pairs")}}, path);
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) return problem;
  for (auto [key, value] : object) {
    simdjson::dom::array pair;
    Tolerance tolerance;
    if (value.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get(tolerance.relative) != simdjson::SUCCESS ||
        pair.at(1).get(tolerance.absolute) != simdjson::SUCCESS)
      return problem;
    out.tolerances.emplace(key, tolerance);
  }
  return out;
}

bool same_nan(double a, double b) { return std::isnan(a) && std::isnan(b); }

bool close(std::complex<double> want, std::complex<double> got, const Tolerance& tolerance) {
  if (want == got) return true;
  auto same = [](double a, double b) { return a == b || same_nan(a, b); };
  if (same(want.real(), got.real()) && same(want.imag(), got.imag())) return true;
  if (!std::isfinite(std::abs(want)) || !std::isfinite(std::abs(got))) return false;
  return std::abs(want - got) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string number(std::complex<double> value) {
  return value.imag() == 0 ? number(value.real())
                           : number(value.real()) + (value.imag() < 0 ? "" : "+") + number(value.imag()) + "j";
}

Comparison compare_tensors(const std::string& key, const run::HostTensor& want, const run::HostTensor& got,
                           const Rules& rules) {
  Comparison out{key, false, "", 0};
  if (want.type() != got.type()) {
    out.text = "is " + bundle::text_of(got.type()) + ", expected " + bundle::text_of(want.type());
    return out;
  }
  bool judged = rules.mode != Mode::Shape;
  size_t count = judged ? element_count(want) : 0, wrong = 0, first = 0;
  Tolerance tolerance = rules.of(key, want.type().dtype);
  bool exact = is_integral(want.type().dtype);
  auto width = static_cast<size_t>(info(want.type().dtype).bytes);
  for (size_t i = 0; i < count; ++i) {
    auto a = element(want, i), b = element(got, i);
    if (rules.mode == Mode::Absolute) a = std::abs(a), b = std::abs(b);
    bool equal = exact
                     ? std::ranges::equal(want.bytes().subspan(i * width, width), got.bytes().subspan(i * width, width))
                     : close(a, b, tolerance);
    if (double off = std::abs(a - b); std::isfinite(off)) out.difference = std::max(out.difference, off);
    if (equal) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong > 0 && rules.mode == Mode::Ties && want.type().dtype == DType::Int64 &&
      picks_equal(want, got, rules.inputs)) {
    out.equal = true;
    out.text = bundle::text_of(want.type()) + ", other indices of equal elements";
    return out;
  }
  out.equal = wrong == 0;
  out.text = bundle::text_of(want.type()) +
             (judged ? ", largest difference " + number(out.difference) : ", values are not compared");
  if (wrong > 0)
    out.text += "; " + std::to_string(wrong) + " of " + std::to_string(count) + " differ, first element " +
                std::to_string(first) + ": " + number(element(got, first)) + ", expected " +
                number(element(want, first)) + " (within " + number(tolerance.absolute) + " + " +
                number(tolerance.relative) + " * |expected|)";
  return out;
}

// A number may be answered by a tensor of rank 0.
std::optional<bundle::Constant> constant_of(const LeafValue& value) {
  if (auto* constant = std::get_if<bundle::Constant>(&value)) return *constant;
  auto& tensor = std::get<run::HostTensor>(value);
  if (!tensor.type().shape.empty() || tensor.bytes().empty()) return std::nullopt;
  double number = element(tensor, 0).real();
  if (tensor.type().dtype == DType::Bool) return bundle::Constant(number != 0);
  if (tensor.type().dtype == DType::Int64) return bundle::Constant(static_cast<int64_t>(read_u64(tensor.bytes(), 0)));
  if (tensor.type().dtype == DType::Float64) return bundle::Constant(number);
  return std::nullopt;
}

Comparison compare_values(const std::string& key, const LeafValue& want, const LeafValue& got, const Rules& rules) {
  auto* a = std::get_if<run::HostTensor>(&want);
  auto* b = std::get_if<run::HostTensor>(&got);
  if (a && b) return compare_tensors(key, *a, *b, rules);
  Comparison out{key, false, "is " + text_of(got) + ", expected " + text_of(want), 0};
  auto expected = std::get_if<bundle::Constant>(&want);
  auto answered = constant_of(got);
  if (!expected || !answered) return out;
  auto* x = std::get_if<double>(expected);
  auto* y = std::get_if<double>(&*answered);
  out.equal =
      *expected == *answered || rules.mode == Mode::Shape || (x && y && close(*x, *y, rules.of(key, DType::Float32)));
  if (out.equal) out.text = text_of(want);
  return out;
}

bool is_result(std::string_view key) {
  return key.starts_with("out.") || key.starts_with("mut.") || key.starts_with("mutin.");
}

}  // namespace

bool expects_something(const CaseFile& expected) {
  return std::any_of(expected.values.begin(), expected.values.end(),
                     [](auto& entry) { return is_result(entry.first); });
}

Result<std::vector<Comparison>> compare(const CaseFile& expected, const LeafValues& answer, const std::string& path) {
  TRY(auto rules, rules_of(expected, path));
  std::vector<Comparison> out;
  for (auto& [key, want] : expected.values) {
    if (!is_result(key)) continue;
    auto got = answer.find(key);
    out.push_back(got == answer.end() ? Comparison{key, false, "is missing in the answer, expected " + text_of(want), 0}
                                      : compare_values(key, want, got->second, rules));
  }
  for (auto& [key, got] : answer)
    if (key.starts_with("out.") && !expected.values.contains(key))
      out.push_back({key, false, "is " + text_of(got) + ", not expected", 0});
  return out;
}

}  // namespace torchlift::cli
