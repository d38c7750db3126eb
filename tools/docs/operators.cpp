#include "operators.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "aten/ops.hpp"
#include "torch/schema.hpp"

namespace torchlift {
namespace {

using torch::Schema;

constexpr std::string_view kDtypes[] = {"bool", "u8",  "i8",   "i16", "i32", "i64", "u16", "u32",
                                        "u64",  "f16", "bf16", "f32", "f64", "c64", "c128"};

enum class Match { Exact, Begins, Has };

struct Reason {
  Match match;
  std::string_view word;
  std::string_view why;
};

bool holds(const Reason& reason, std::string_view name) {
  switch (reason.match) {
    case Match::Exact: return name == reason.word;
    case Match::Begins: return name.starts_with(reason.word);
    case Match::Has: return name.find(reason.word) != std::string_view::npos;
  }
  return false;
}

std::string_view first_of(std::span<const Reason> reasons, std::string_view name) {
  for (const Reason& reason : reasons)
    if (holds(reason, name)) return reason.why;
  return "";
}

// Why a row has no line.
constexpr Reason kNoLine[] = {
    {Match::Exact, "_shape_as_tensor", "TorchScript alone"},
    {Match::Exact, "Bool.Tensor", "TorchScript alone"},
    {Match::Exact, "Float.Tensor", "TorchScript alone"},
    {Match::Exact, "Int.Tensor", "TorchScript alone"},
    {Match::Exact, "len.Tensor", "TorchScript alone"},
    {Match::Exact, "split", "TorchScript alone"},
    {Match::Exact, "to.prim_Device", "TorchScript alone"},
    {Match::Exact, "to.prim_dtype", "TorchScript alone"},
    {Match::Exact, "to.prim_other", "TorchScript alone"},
    {Match::Begins, "_operator::", "numbers"},
    {Match::Begins, "math::", "numbers"},
    {Match::Begins, "torch::sym_", "numbers"},
    {Match::Begins, "sym_", "numbers"},
    {Match::Exact, "is_same_size", "numbers"},
    {Match::Begins, "_assert_", "no result"},
    {Match::Begins, "higher_order::", "regions: fixtures and cases"},
    {Match::Begins, "transformers::", "recorded models"},
    {Match::Exact, "_scaled_dot_product_efficient_attention", "CUDA only"},
    {Match::Exact, "_pin_memory", "CUDA only"},
    {Match::Exact, "pin_memory", "CUDA only"},
    {Match::Begins, "mkldnn_", "oneDNN's own layout"},
    {Match::Exact, "convolution_overrideable", "no kernel for CPU"},
    {Match::Exact, "_efficientzerotensor", "no storage"},
    {Match::Exact, "lift_fresh", "exported as `lift_fresh_copy`"},
    {Match::Exact, "combinations", "not exported alone"},
};

constexpr std::string_view kSparse = "sparse tensors";
constexpr std::string_view kNested = "nested tensors";
constexpr std::string_view kQuantised = "quantised tensors";
constexpr std::string_view kDevice = "a kernel of one device or library";
constexpr std::string_view kTraining = "optimisers and loss scaling";
constexpr std::string_view kScript = "TorchScript's own";
constexpr std::string_view kObject = "about the tensor object, not its values";

// Why there is no lowering, by what the name says; the first that holds.
constexpr Reason kUnsupported[] = {
    {Match::Begins, "_test_", "PyTorch's own tests"},
    {Match::Begins, "_foobar", "PyTorch's own tests"},
    {Match::Exact, "Bool", kScript},
    {Match::Exact, "Complex", kScript},
    {Match::Exact, "Delete", kScript},
    {Match::Exact, "Float", kScript},
    {Match::Exact, "Int", kScript},
    {Match::Has, "Implicit", kScript},
    {Match::Exact, "__contains__", kScript},
    {Match::Exact, "__getitem__", kScript},
    {Match::Begins, "__interpolate", kScript},
    {Match::Begins, "__upsample", kScript},
    {Match::Begins, "_cast_", kScript},
    {Match::Exact, "_list_to_tensor", kScript},
    {Match::Exact, "_tensor_to_list", kScript},
    {Match::Exact, "_set_item", kScript},
    {Match::Exact, "_dimI", kScript},
    {Match::Exact, "_dimV", kScript},
    {Match::Exact, "as_tensor", kScript},
    {Match::Exact, "tensor", kScript},
    {Match::Exact, "count", kScript},
    {Match::Exact, "get", kScript},
    {Match::Exact, "grad", kScript},
    {Match::Exact, "keys", kScript},
    {Match::Exact, "len", kScript},
    {Match::Exact, "pop", kScript},
    {Match::Exact, "remove", kScript},
    {Match::Exact, "setdefault", kScript},
    {Match::Exact, "sorted", kScript},
    {Match::Begins, "_foreach_", kTraining},
    {Match::Begins, "_fused_ada", kTraining},
    {Match::Begins, "_fused_sgd", kTraining},
    {Match::Begins, "_amp_", kTraining},
    {Match::Has, "nested", kNested},
    {Match::Has, "jagged", kNested},
    {Match::Has, "sparse", kSparse},
    {Match::Has, "coalesce", kSparse},
    {Match::Has, "_spsolve", kSparse},
    {Match::Has, "spdiags", kSparse},
    {Match::Has, "col_indices", kSparse},
    {Match::Has, "row_indices", kSparse},
    {Match::Exact, "_indices", kSparse},
    {Match::Exact, "indices", kSparse},
    {Match::Exact, "_values", kSparse},
    {Match::Exact, "values", kSparse},
    {Match::Exact, "_indices_copy", kSparse},
    {Match::Exact, "indices_copy", kSparse},
    {Match::Exact, "_values_copy", kSparse},
    {Match::Exact, "values_copy", kSparse},
    {Match::Exact, "dense_dim", kSparse},
    {Match::Has, "to_dense", kSparse},
    {Match::Exact, "_nnz", kSparse},
    {Match::Exact, "hspmm", kSparse},
    {Match::Exact, "smm", kSparse},
    {Match::Exact, "sspaddmm", kSparse},
    {Match::Has, "_coo", kSparse},
    {Match::Has, "_cslt", kSparse},
    {Match::Has, "quant", kQuantised},
    {Match::Has, "fbgemm", kQuantised},
    {Match::Has, "int4", kQuantised},
    {Match::Has, "int8", kQuantised},
    {Match::Begins, "q_", kQuantised},
    {Match::Exact, "int_repr", kQuantised},
    {Match::Has, "qparams", kQuantised},
    {Match::Has, "fake_quant", kQuantised},
    {Match::Has, "_obs_fq_", kQuantised},
    {Match::Has, "_linear_prepack", kQuantised},
    {Match::Has, "cudnn", kDevice},
    {Match::Has, "miopen", kDevice},
    {Match::Has, "mps", kDevice},
    {Match::Has, "mkldnn", kDevice},
    {Match::Has, "nnpack", kDevice},
    {Match::Has, "flash_attention", kDevice},
    {Match::Has, "efficient_attention", kDevice},
    {Match::Has, "_triton_", kDevice},
    {Match::Has, "overrideable", kDevice},
    {Match::Has, "thnn", kDevice},
    {Match::Has, "slow_conv", kDevice},
    {Match::Has, "conv_depthwise", kDevice},
    {Match::Begins, "batch_norm_", kDevice},
    {Match::Exact, "cuda", kDevice},
    {Match::Has, "_philox", "random numbers by key"},
    {Match::Has, "backward", "a gradient's own kernel"},
    {Match::Has, "_grad", "a gradient's own kernel"},
    {Match::Has, "_jvp", "a gradient's own kernel"},
    {Match::Begins, "_batch_dim", kObject},
    {Match::Has, "_batch_dim", kObject},
    {Match::Has, "requires_grad", kObject},
    {Match::Begins, "is_", kObject},
    {Match::Begins, "_is_", kObject},
    {Match::Begins, "_has_", kObject},
    {Match::Begins, "set_", kObject},
    {Match::Begins, "_make_dual", kObject},
    {Match::Has, "_dual", kObject},
    {Match::Has, "_primal", kObject},
    {Match::Exact, "_version", kObject},
    {Match::Exact, "data", kObject},
    {Match::Exact, "output_nr", kObject},
    {Match::Exact, "storage_offset", kObject},
    {Match::Exact, "stride", kObject},
    {Match::Exact, "size", kObject},
    {Match::Exact, "numel", kObject},
    {Match::Exact, "dim", kObject},
    {Match::Exact, "element_size", kObject},
    {Match::Exact, "get_device", kObject},
    {Match::Exact, "record_stream", kObject},
    {Match::Begins, "retain", kObject},
};

bool is_tensor(const torch::SchemaType& type) { return type.base == torch::SchemaBase::Tensor; }

bool has_tensor(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const auto& a) { return is_tensor(a.type); }) ||
         std::any_of(schema.returns.begin(), schema.returns.end(), [](const auto& r) { return is_tensor(r.type); });
}

bool has_tag(const Schema& schema, std::string_view tag) {
  return std::find(schema.tags.begin(), schema.tags.end(), tag) != schema.tags.end();
}

bool is_out(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const auto& a) { return a.is_out(); });
}

bool takes_names(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const auto& a) { return a.type.base == torch::SchemaBase::Dimname; });
}

std::string without_aten(std::string_view name) {
  return std::string(name.starts_with("aten::") ? name.substr(6) : name);
}

std::string why_unsupported(const std::string& name, const Schema& schema) {
  if (has_tag(schema, "dynamic_output_shape")) return "the result's sizes depend on values";
  if (has_tag(schema, "data_dependent_output")) return "gives Python a value of a tensor";
  if (takes_names(schema)) return "named tensors";
  return std::string(first_of(kUnsupported, name));
}

const lower::Row* row_for(const Schema& schema) {
  if (const lower::Row* row = aten::table().find(schema)) return row;
  const Schema* functional = torch::functional_partner(schema);
  return functional ? aten::table().find(*functional) : nullptr;
}

// ---- lines

struct Line {
  std::string target;  // "max.dim"
  std::string error;   // the kind, of a refusal
  std::string call;
};

std::vector<Line> read_lines(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ops") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Line> out;
  for (const auto& path : files) {
    std::ifstream file(path);
    std::string text;
    while (std::getline(file, text)) {
      if (text.empty() || text[0] == '#') continue;
      Line line;
      if (text.starts_with("error ")) {
        size_t colon = text.find(": ");
        line.error = text.substr(6, colon - 6);
        text = text.substr(colon + 2);
      }
      line.target = text.substr(0, text.find('('));
      line.call = text.substr(0, text.rfind(')') + 1);
      if (size_t comment = line.call.find("  #"); comment != std::string::npos) line.call.resize(comment);
      out.push_back(std::move(line));
    }
  }
  return out;
}

void add_dtypes(const std::string& call, std::set<int>& out) {
  for (size_t i = 0; i < std::size(kDtypes); ++i) {
    const std::string word = std::string(kDtypes[i]) + "[";
    for (size_t at = call.find(word); at != std::string::npos; at = call.find(word, at + 1))
      if (call[at - 1] == '(' || call[at - 1] == ' ' || call[at - 1] == '[' || call[at - 1] == '=')
        out.insert(static_cast<int>(i));
  }
}

// "add_" -> "add", where there is an "add".
std::string stem_of(const std::string& target, const std::map<std::string, Operator>& known) {
  std::string name = target.substr(0, target.find('.'));
  if (name.ends_with('_') && !name.ends_with("__") && known.contains(name.substr(0, name.size() - 1))) name.pop_back();
  return name;
}

void add_lines(const std::vector<Line>& lines, Operators& all) {
  for (const Line& line : lines) {
    auto found = all.by_name.find(stem_of(line.target, all.by_name));
    if (found == all.by_name.end()) continue;
    Operator& op = found->second;
    if (line.error.empty()) {
      ++op.cases;
      add_dtypes(line.call, op.dtypes);
    } else if (line.error == "wrong-argument" || line.error == "cannot-lower") {
      ++op.wrong_calls;
    } else {
      op.refusals.push_back(line.error + ": " + line.call);
    }
  }
}

// Columns: function, dtype, max_ulp, pytorch_ulp, points, domain, note. The first line names them.
void add_ulp(const std::string& path, Operators& all) {
  std::ifstream file(path);
  std::string text;
  while (std::getline(file, text)) {
    std::vector<std::string> cells;
    std::stringstream line(text);
    for (std::string cell; std::getline(line, cell, '\t');) cells.push_back(cell);
    if (cells.size() < 3 || cells[0] == "function" || cells[0].starts_with('#')) continue;
    cells.resize(6);
    auto found = all.by_name.find(without_aten(cells[0]));
    if (found == all.by_name.end()) continue;
    found->second.ulp.push_back(cells[1] + " " + cells[2] + (cells[3].empty() ? "" : " (PyTorch " + cells[3] + ")") +
                                (cells[5].empty() ? "" : " on " + cells[5]));
  }
}

// Rows that no line of tests/ops names, by themselves or by an overload that they serve.
void find_rows_without_line(const std::vector<Line>& lines,
                            const std::map<std::string, std::vector<std::string>>& served_by, Operators& all) {
  std::set<std::string> targets;
  for (const Line& line : lines) targets.insert(line.target);
  for (const auto& [key, names] : served_by) {
    bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return targets.contains(name) || targets.contains(name.substr(0, name.find('.')));
    });
    if (found) continue;
    std::string_view why = first_of(kNoLine, key);
    if (why.empty()) all.without_line.push_back(key);
    auto op = all.by_name.find(stem_of(key, all.by_name));
    if (op != all.by_name.end() && op->second.cases == 0) op->second.why = why;
  }
}

}  // namespace

std::string dtype_names(const std::set<int>& dtypes) {
  std::string out;
  for (int i : dtypes) out += (out.empty() ? "" : " ") + std::string(kDtypes[static_cast<size_t>(i)]);
  return out;
}

Operators read_operators(const std::string& folder) {
  Operators out;
  std::vector<const Schema*> schemas;
  for (std::string_view name : torch::schema_names()) {
    const Schema* schema = torch::find_schema(name);
    if (!schema || schema->name.starts_with("prims::")) continue;
    if (!has_tensor(*schema) && !row_for(*schema)) {
      ++out.without_tensor;
      continue;
    }
    schemas.push_back(schema);
    out.by_name.try_emplace(without_aten(schema->name));
  }
  // The in-place form stands with the functional one.
  for (const Schema* schema : schemas)
    if (std::string name = without_aten(schema->name); stem_of(name, out.by_name) != name) {
      out.by_name.erase(name);
    }
  std::map<std::string, std::vector<std::string>> served_by;
  for (const lower::Row* row : aten::table().rows()) served_by[std::string(row->key)];
  for (const Schema* schema : schemas) {
    std::string name = without_aten(schema->name);
    bool in_place = !out.by_name.contains(name);
    Operator& op = out.by_name.at(in_place ? name.substr(0, name.size() - 1) : name);
    const lower::Row* row = row_for(*schema);
    ++out.overloads;
    if (row) {
      ++out.served;
      served_by[std::string(row->key)].push_back(without_aten(schema->full_name()));
    } else if (op.why.empty()) {
      op.why = why_unsupported(name, *schema);
    }
    // Such a form goes with its operator; one that is not served while the operator is, is told.
    if ((in_place || is_out(*schema)) && (row || op.served.empty())) continue;
    (row ? op.served : op.not_served)
        .push_back((in_place ? "_" : "") + (schema->overload.empty() ? "" : "." + schema->overload));
  }
  for (auto& [name, op] : out.by_name)
    if (op.is_supported()) op.why.clear();
  for (const auto& [key, names] : served_by)
    if (names.empty()) out.without_schema.push_back(key);
  std::vector<Line> lines = read_lines(folder);
  add_lines(lines, out);
  find_rows_without_line(lines, served_by, out);
  add_ulp(folder + "/../../docs/ulp.tsv", out);
  return out;
}

}  // namespace torchlift
