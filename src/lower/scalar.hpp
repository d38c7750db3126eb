// A Python number in an operator's argument: bool, int (a Dim, it may come from a size), float or complex.
#pragma once

#include <complex>
#include <string>
#include <variant>

#include "base/dim.hpp"
#include "base/dtype.hpp"

namespace torchlift::lower {

class Scalar {
 public:
  Scalar(bool value) : data_(value) {}                  // NOLINT
  Scalar(int value) : data_(Dim(value)) {}              // NOLINT
  Scalar(int64_t value) : data_(Dim(value)) {}          // NOLINT
  Scalar(Dim value) : data_(std::move(value)) {}        // NOLINT
  Scalar(double value) : data_(value) {}                // NOLINT
  Scalar(std::complex<double> value) : data_(value) {}  // NOLINT

  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<Dim>(data_); }
  bool is_integral() const { return is_bool() || is_int(); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_complex() const { return std::holds_alternative<std::complex<double>>(data_); }

  // Conversions follow Python's int(), float(), complex(); the imaginary part is dropped, fractions are cut.
  int64_t to_int() const;
  double to_double() const;
  std::complex<double> to_complex() const;
  Dim to_dim() const;
  bool to_bool() const;
  bool equals(double value) const { return !is_complex() && to_double() == value; }
  bool is_zero() const { return equals(0); }
  bool is_one() const { return equals(1); }

  // The dtype of torch.tensor(number): bool, int64, float32 (PyTorch's default dtype), complex64.
  DType dtype() const;
  std::string text() const;

 private:
  std::variant<bool, Dim, double, std::complex<double>> data_;
};

}  // namespace torchlift::lower
