#include "lower/scalar.hpp"

#include <cmath>

#include "base/text.hpp"

namespace torchlift::lower {

int64_t Scalar::to_int() const {
  if (auto* b = std::get_if<bool>(&data_)) return *b;
  if (auto* i = std::get_if<Dim>(&data_)) return i->concrete();
  double value = to_double();
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

double Scalar::to_double() const {
  if (auto* b = std::get_if<bool>(&data_)) return *b ? 1 : 0;
  if (auto* i = std::get_if<Dim>(&data_)) return static_cast<double>(i->concrete());
  if (auto* f = std::get_if<double>(&data_)) return *f;
  return std::get<std::complex<double>>(data_).real();
}

std::complex<double> Scalar::to_complex() const {
  if (auto* c = std::get_if<std::complex<double>>(&data_)) return *c;
  return to_double();
}

Dim Scalar::to_dim() const {
  if (auto* i = std::get_if<Dim>(&data_)) return *i;
  return Dim(to_int());
}

bool Scalar::to_bool() const {
  if (auto* i = std::get_if<Dim>(&data_)) return i->concrete() != 0;
  return to_complex() != 0.0;  // NaN is true
}

DType Scalar::dtype() const {
  if (is_bool()) return DType::Bool;
  if (is_int()) return DType::Int64;
  return is_float() ? DType::Float32 : DType::Complex64;
}

std::string Scalar::text() const {
  if (auto* b = std::get_if<bool>(&data_)) return *b ? "True" : "False";
  if (auto* i = std::get_if<Dim>(&data_)) return std::to_string(i->concrete());
  if (auto* f = std::get_if<double>(&data_)) return shortest(*f);
  auto c = std::get<std::complex<double>>(data_);
  return "(" + shortest(c.real()) + ", " + shortest(c.imag()) + ")";
}

}  // namespace torchlift::lower
