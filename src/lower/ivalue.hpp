// What the walk computes with (PyTorch's name for it): Python values, and tensors.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lower/tensor.hpp"
#include "torch/program.hpp"

namespace torchlift::lower {

// TorchScript's containers and objects have identity: two names may hold one list, and an append shows in both.
struct ScriptList;
struct ScriptDict;
struct ScriptTuple;
struct ScriptObject;
using ListRef = std::shared_ptr<ScriptList>;
using DictRef = std::shared_ptr<ScriptDict>;
using TupleRef = std::shared_ptr<const ScriptTuple>;
using ObjectRef = std::shared_ptr<ScriptObject>;

struct IValue {
  using List = std::vector<IValue>;  // of exported programs, and what ATen's operators take and give
  using Data = std::variant<torch::None, bool, Dim, double, std::complex<double>, std::string, DType, torch::Layout,
                            torch::MemoryFormat, torch::Device, Tensor, torch::BlockId, torch::OperatorName,
                            torch::CustomObject, List, ListRef, DictRef, TupleRef, ObjectRef>;
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

struct ScriptList {
  std::string element_type;  // "int"; empty where it is not known
  std::vector<IValue> items;
  size_t region = 0;  // Lower::region_depth() where it was made: inside of deeper ones it cannot be changed
};

struct ScriptDict {
  std::string key_type;
  std::string value_type;
  std::vector<std::pair<IValue, IValue>> items;  // in order of insertion; keys are bool, int, float, str or tensors
  size_t region = 0;                             // as of a list
};

struct ScriptTuple {
  std::string type;                 // the class of a NamedTuple, else empty
  std::vector<std::string> fields;  // of a NamedTuple
  std::vector<IValue> items;
};

// An instance of a class, or a member of an Enum (attributes "name" and "value", its class in `type`).
struct ScriptObject {
  std::string type;  // "__torch__.M"
  bool is_enum = false;
  std::string path;  // of a module of the file: "encoder.layers.0", "" for the root
  std::vector<std::pair<std::string, IValue>> attributes;

  IValue* find(std::string_view name);  // nullptr if there is none
};

// Stands where a script has a value that it never reads.
IValue uninitialized_value();
bool is_uninitialized(const IValue& value);

std::string describe(const IValue& value);  // for messages: "f32[2,3]", "[1, 2]", "None", "'mean'"
std::string describe(const Tensor& tensor);

}  // namespace torchlift::lower
