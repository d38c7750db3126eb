// A small bundle in memory, for the tests of this room.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bundle/write.hpp"

namespace torchlift::bundle {

// Bytes in memory as a record, with its right checksum.
struct MemoryRecord {
  explicit MemoryRecord(const std::string& content) {
    auto buffer = archive::Buffer::allocate(content.size(), "memory");
    std::memcpy(buffer->bytes().data(), content.data(), content.size());
    source = std::make_unique<archive::Source>(std::move(*buffer), "model.pt2");
    record.source = source.get();
    record.size = record.stored_size = content.size();
    record.crc = archive::crc32(0, bytes_of(content));
    record.member = "data/weights/weight_0";
  }
  std::unique_ptr<archive::Source> source;
  archive::Record record;
};

inline std::string counting_bytes(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += static_cast<char>(i & 0xFF);
  return out;
}

// main(x f32[2,3], w f32[3,4], n i64[]) -> (f32[2,4], i64[]); n is written.
inline Bundle small_bundle(const MemoryRecord& w, const MemoryRecord& n) {
  TensorType x{DType::Float32, {2, 3}}, y{DType::Float32, {2, 4}}, weight{DType::Float32, {3, 4}},
      count{DType::Int64, {}};
  Program program;
  program.file = "model.mlir";
  program.dims = {{"s77", 2}};
  program.arguments = {{ArgumentRole::Input, "x", {}, x, 0, {}},
                       {ArgumentRole::Weight, "layer.weight", {"tied.weight"}, weight, {}, {}},
                       {ArgumentRole::State, "count", {}, count, {}, 1}};
  program.results = {{ResultRole::Output, "", {}, y}, {ResultRole::BufferMutation, "count", {}, count}};
  program.inputs = {{"x", 0, {}}, {"scale", {}, Constant(0.5)}};
  program.outputs = {{"", 0, {}}};
  Bundle bundle;
  bundle.manifest.producer = "torchlift 0.1.0";
  bundle.manifest.source = {"model.pt2", "pt2", digest_of(bytes_of("archive"))};
  bundle.manifest.precision = "highest";
  bundle.manifest.programs = {program};
  bundle.programs = {
      "module @main {\n  func.func public @main(%arg0: tensor<2x3xf32> loc(\"x)\"), %arg1: tensor<3x4xf32>, "
      "%arg2: tensor<i64> {tf.aliasing_output = 1 : i32}) -> (tensor<2x4xf32> {jax.result_info = \"}\"}, tensor<i64>) "
      "{\n  }\n}\n"};
  bundle.weights = {{{"layer.weight", "tied.weight"}, DType::Float32, {3, 4}, {4, 1}, 0, w.record},
                    {{"count"}, DType::Int64, {}, {}, 0, n.record}};
  return bundle;
}

}  // namespace torchlift::bundle
