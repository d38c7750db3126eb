// What the walk computes with (PyTorch's name for it): Python values, and tensors.
#pragma once

#include <complex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lower/tensor.hpp"
#include "torch/program.hpp"

namespace torchlift::lower {

struct IValue {
  using List = std::vector<IValue>;
  using Data = std::variant<torch::None, bool, Dim, double, std::complex<double>, std::string, DType, torch::Layout,
                            torch::MemoryFormat, torch::Device, Tensor, torch::BlockId, torch::OperatorName,
                            torch::CustomObject, List>;
  Data data;

  IValue() = default;
  template <typename T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, IValue> && std::is_constructible_v<Data, T&&>) IValue(T&& value)
      : data(std::forward<T>(value)) {}  // NOLINT
  IValue(Scalar s);                      // NOLINT

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return std::holds_alternative<torch::None>(data); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(data); }
  bool is_number() const;
  std::optional<Scalar> number() const;  // of a bool, int, float or complex
};

std::string describe(const IValue& value);  // for messages: "f32[2,3]", "[1, 2]", "None", "'mean'"
std::string describe(const Tensor& tensor);

}  // namespace torchlift::lower
