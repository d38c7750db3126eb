// A small `.pt2` in memory, for tests: relu(x + w), and the same with parts of its text replaced.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/zip_builder.hpp"
#include "frontend/export/load.hpp"

namespace torchlift::frontend {

// The file, and what was read of it: records and texts point into the archive.
struct Opened {
  std::unique_ptr<archive::Archive> archive;
  Result<Loaded> loaded;
};

inline const std::string kMeta =
    R"({"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", "index": null},)"
    R"( "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";

inline std::string small_graph() {
  return R"({"inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
    "outputs": [{"as_tensor": {"name": "relu"}}],
    "nodes": [
      {"target": "torch.ops.aten.add.Tensor", "name": "add",
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                  {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1}],
       "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}},
      {"target": "torch.ops.aten.relu.default", "name": "relu",
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "add"}}, "kind": 1}],
       "outputs": [{"as_tensor": {"name": "relu"}}], "metadata": {}}],
    "tensor_values": {"p_w": )" +
         kMeta + R"(, "x": )" + kMeta + R"(, "add": )" + kMeta + R"(, "relu": )" + kMeta + R"(},
    "sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {}, "custom_obj_values": {},
    "is_single_tensor_return": false})";
}

inline std::string small_program() {
  return R"({"graph_module": {"graph": )" + small_graph() + R"(,
    "signature": {
      "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}]},
    "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}},
  "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
  "verifiers": ["TRAINING"], "torch_version": "2.13.0", "guards_code": []})";
}

inline std::string small_config() {
  return R"({"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": )" +
         kMeta + "}}}";
}

struct SmallArchive {
  std::string program = small_program();
  std::string weights_config = small_config();
  std::string record = std::string(8, '\0');
  std::string constants_config = R"({"config": {}})";
  std::vector<archive::ZipEntry> more = {};

  std::string bytes() const {
    std::vector<archive::ZipEntry> entries = {
        {.name = "small/data/weights/weight_0", .data = record, .alignment = 64},
        {.name = "small/data/weights/model_weights_config.json", .data = weights_config},
        {.name = "small/data/constants/model_constants_config.json", .data = constants_config},
        {.name = "small/models/model.json", .data = program},
        {.name = "small/archive_format", .data = "pt2"},
        {.name = "small/archive_version", .data = "0"},
        {.name = "small/byteorder", .data = "little"},
    };
    entries.insert(entries.end(), more.begin(), more.end());
    return archive::build_zip(entries);
  }
};

inline Opened open_bytes(const std::string& bytes, const LoadOptions& options = {}) {
  auto archive = archive::Archive::from_memory(bytes_of(bytes), "small.pt2");
  if (!archive) return {nullptr, std::move(archive.errors())};
  std::unique_ptr<archive::Archive> opened = std::move(archive).value();
  Result<Loaded> loaded = load(*opened, options);
  return {std::move(opened), std::move(loaded)};
}

inline Opened open_small(const SmallArchive& small, const LoadOptions& options = {}) {
  return open_bytes(small.bytes(), options);
}

// `text` with the first `from` replaced, which has to be there.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

inline std::string messages(const Result<Loaded>& loaded) {
  std::string out;
  if (!loaded)
    for (const Diagnostic& d : loaded.errors()) out += to_text(d);
  return out;
}

}  // namespace torchlift::frontend
