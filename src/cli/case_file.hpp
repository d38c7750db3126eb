// Inputs and answers as files: the case convention (`in.K`, `out.K`, `mut.NAME`, `mutin.K`, with numbers and texts in
// the metadata), inputs by name, and npy.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "archive/npy.hpp"
#include "archive/safetensors.hpp"
#include "bundle/manifest.hpp"
#include "run/host_tensor.hpp"

namespace torchlift::cli {

// A leaf of the inputs or of an answer.
using LeafValue = std::variant<run::HostTensor, bundle::Constant>;

std::string text_of(const LeafValue& value);  // "f32[2,3]", "5"

// in.2 before in.10.
struct KeyOrder {
  bool operator()(std::string_view a, std::string_view b) const;
};
using LeafValues = std::map<std::string, LeafValue, KeyOrder>;

// Everything in a case file by key, its files kept open: tensors are views into them.
struct CaseFile {
  LeafValues values;
  std::map<std::string, std::string> metadata;  // but for `values` and `complex`
  std::vector<std::shared_ptr<const void>> files;
};
Result<CaseFile> read_case_file(const std::string& path);

// Files for one call: case files, safetensors with the inputs' names, or npy. A lone npy file is the lone input.
Result<CaseFile> read_inputs(const std::vector<std::string>& files);

// The inputs by leaf. A leaf goes by `in.K`, by its path ("x"), or, if it is the only tensor, by any name; constants
// may be left out. Problems are reported all at once.
Result<std::vector<LeafValue>> leaves_of(const CaseFile& inputs, const std::vector<bundle::Leaf>& leaves,
                                         const std::vector<std::string>& files);

// The tensors of the leaves in the order of the program's arguments. Types must be the program's, and a constant what
// the program was made for; problems are reported all at once.
Result<std::vector<run::HostTensor>> arguments_of(const bundle::Program& program, const std::vector<LeafValue>& leaves);

// What the call answered, by the keys of the convention.
LeafValues answer_of(const bundle::Program& program, std::span<const run::HostTensor> results);

Status write_answer(const std::string& path, const LeafValues& answer);

}  // namespace torchlift::cli
