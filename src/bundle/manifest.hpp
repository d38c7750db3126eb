// manifest.json of a bundle: what each program takes and gives, in order, and how a runner rebuilds the call from it.
// It is written in one fixed form (equal manifests are equal bytes) and read back with every field checked.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/dtype.hpp"
#include "base/result.hpp"

namespace torchlift::bundle {

// Raised when a reader of the version before would run a bundle wrongly. Unknown keys are ignored.
inline constexpr int64_t kFormatVersion = 1;
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kServerManifestFile = "manifest.yaml";  // of the format reactant-server
inline constexpr std::string_view kWeightsFile = "weights.safetensors";

// "model.b8.mlir", text; "model.b8.mlirbc", a portable artifact.
bool is_program_file(std::string_view name);

inline constexpr std::string_view kWeightsIndex = "weights.safetensors.index.json";

// Text for a Python value of a type that has no form here: "torch.float32".
struct Repr {
  std::string text;
  bool operator==(const Repr&) const = default;
};

// A Python value that is no tensor: None, bool, int, float, str, complex.
using Constant = std::variant<std::monostate, bool, int64_t, double, std::string, std::complex<double>, Repr>;

// "None", "True", "5", "0.5", "'text'"
std::string text_of(const Constant& constant);

// How leaves form the nested value that the model takes or returns: PyTorch's own tree specification.
struct TreeNode {
  std::string type;               // "builtins.tuple", "builtins.dict", "collections.namedtuple", ...; empty for a leaf
  std::string context;            // as PyTorch writes it
  std::vector<std::string> keys;  // one per child where the type names them (dicts, named tuples)
  std::vector<TreeNode> children;
  bool operator==(const TreeNode&) const = default;
};

struct TensorType {
  DType dtype{};
  std::vector<int64_t> shape;
  bool operator==(const TensorType&) const = default;
};

// "f32[8,3]"
std::string text_of(const TensorType& type);

enum class ArgumentRole : uint8_t {
  Input,   // a tensor leaf of (args, kwargs)
  Weight,  // a parameter, buffer or constant that the program only reads
  State,   // one that the program writes: a result holds its new value
};

struct Argument {
  ArgumentRole role{};
  std::string name;  // input: its path ("x", "kwargs['mask']"); else the model's name, key in the weights file
  std::vector<std::string> aliases;    // weights: further names of the same tensor (tied weights)
  TensorType type;                     // as the program declares it: complex128 is complex128 here
  std::optional<size_t> leaf;          // input: its number among all leaves of (args, kwargs)
  std::optional<size_t> result;        // the result that holds its value after the call, where the call writes it
  std::optional<DType> model_dtype{};  // weights: the model's own, where it is stored narrower
  bool in_state_dict = true;           // weights: false for constants and buffers that no state dict of the model holds
  std::vector<std::string> sizes{};    // of each axis over the symbols ("s77", "2*s77 + 1", "16"); empty: all are fixed
  bool operator==(const Argument&) const = default;
};

enum class ResultRole : uint8_t {
  Output,          // a tensor leaf of the returned value
  BufferMutation,  // the new value of a state
  InputMutation,   // the new value of an input that the program writes
};

struct ProgramResult {
  ResultRole role{};
  std::string name;                  // output: its path ("[0]", "['logits']"); else the name of what is written
  std::vector<std::string> aliases;  // further names of a written state
  TensorType type;
  std::vector<std::string> sizes{};  // as an argument's
  bool operator==(const ProgramResult&) const = default;
};

// A leaf of the inputs or outputs, in flattened order: a tensor, or a constant.
struct Leaf {
  std::string path;
  std::optional<size_t> tensor;  // number of the argument (inputs) or result (outputs); two leaves may share one
  Constant constant;             // where there is no tensor
  bool operator==(const Leaf&) const = default;
};

struct Binding {
  std::string symbol;  // the archive's own: "s77"
  int64_t size = 0;
  bool operator==(const Binding&) const = default;
};

// One specialised program: a file of StableHLO whose @main takes `arguments` and returns `results`, in order.
struct Program {
  std::string file;           // "model.mlir", "model.b8.mlir"
  std::string digest;         // of its bytes: "xxh3-128:<32 hex digits>"
  std::vector<Binding> dims;  // sorted by symbol
  std::vector<Argument> arguments;
  std::vector<ProgramResult> results;
  std::vector<Leaf> inputs;   // all leaves of (args, kwargs)
  std::vector<Leaf> outputs;  // all leaves of the returned value
  bool operator==(const Program&) const = default;
};

struct Source {
  std::string file;    // base name alone
  std::string format;  // "pt2"
  std::string digest;  // of the archive's directory: name, size and checksum of every member, weights included
  bool operator==(const Source&) const = default;
};

// One tensor of the weights, as it is stored.
struct StoredTensor {
  std::string name;
  std::string digest;                // of its bytes
  std::optional<uint64_t> offset{};  // in the file that is referred to
  bool operator==(const StoredTensor&) const = default;
};

// A file that a manifest names, and what it must be.
struct StoredFile {
  std::string file;
  uint64_t bytes = 0;
  std::string digest{};  // empty where nothing beside the size is kept
  bool operator==(const StoredFile&) const = default;
};

struct WeightsInfo {
  std::string file;    // "weights.safetensors"; "weights.safetensors.index.json" of several; of a reference the path
  std::string digest;  // of the files' headers and of the tensors' digests; of a reference, of the archive's directory
  uint64_t bytes = 0;  // of all files of tensors; of a reference, of the archive
  std::vector<StoredTensor> tensors{};  // in the order of the arguments; none in bundles of earlier writers
  std::vector<StoredFile> shards{};     // where there are several files
  bool reference = false;               // the tensors lie in the model file, whose path is relative to the bundle
  std::optional<Source> bound{};        // the checkpoint that the weights come from, where it is not the model file
  bool operator==(const WeightsInfo&) const = default;
};

// A weight whose value became part of the programs (`--inline-below`): another value takes another import.
struct InlinedWeight {
  std::string name;
  TensorType type;
  std::string digest;  // of its bytes, dense
  bool operator==(const InlinedWeight&) const = default;
};

struct Manifest {
  std::string producer;  // "torchlift 0.1.0"
  Source source;
  std::string precision;               // "default", "high", "highest"
  std::optional<WeightsInfo> weights;  // none: `--weights none`
  std::optional<TreeNode> inputs;      // of (args, kwargs), where the archive has it
  std::optional<TreeNode> outputs;
  std::vector<Program> programs;
  std::vector<InlinedWeight> inlined{};  // sorted by name
  std::vector<StoredFile> samples{};     // case files: inputs, and the results that are expected
  bool operator==(const Manifest&) const = default;
};

std::string to_json(const Manifest& manifest);
// Every field checked, and the cross references: leaves, results, roles, names. `path` names the file in messages.
Result<Manifest> read_manifest(ByteView json, const std::string& path);
// The same cross checks for a manifest that was built.
Status check(const Manifest& manifest, const std::string& path);

// Numbers and texts by name, as JSON of one line: the `values` of a case file. Floats have a point or an exponent;
// "inf", "-inf" and "nan" are floats, {"str": "inf"} is the text; {"complex": [1.0, 2.0]}; {"repr": "torch.float32"}.
using NamedConstants = std::vector<std::pair<std::string, Constant>>;
std::string to_json(const NamedConstants& constants);
Result<NamedConstants> read_constants(std::string_view json, const std::string& path);

std::string_view name_of(ArgumentRole role);
std::string_view name_of(ResultRole role);

// "xxh3-128:..." of the bytes.
std::string digest_of(ByteView bytes);

}  // namespace torchlift::bundle
