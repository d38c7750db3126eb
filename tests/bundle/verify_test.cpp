// Bundles with one fault each, made by code: every one is found, and a good bundle passes.
#include "bundle/verify.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "archive/safetensors.hpp"
#include "base/kinds.hpp"
#include "bundle/fixture.hpp"
#include "bundle/read.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::bundle {
namespace {

using test::read_text;
using test::TemporaryDirectory;
using test::write_text;
namespace fs = std::filesystem;

// x f32[N,3], two weights of one type, a state -> y f32[N,4], for two sizes of N; a sample for the first.
struct Good {
  MemoryRecord a{counting_bytes(48)}, b{std::string(48, '\3')}, n{counting_bytes(8)};
  std::string x = counting_bytes(24), y = counting_bytes(32);

  Bundle bundle() const {
    Bundle out = small_bundle(a, n);
    Program two = out.manifest.programs[0];
    two.file = "model.b2.mlir";
    two.arguments[0].sizes = {"s77", "3"};
    two.results[0].sizes = {"s77", "4"};
    two.arguments.insert(two.arguments.begin() + 2,
                         {ArgumentRole::Weight, "other.weight", {}, {DType::Float32, {3, 4}}, {}, {}});
    Program eight = two;
    eight.file = "model.b8.mlir";
    eight.dims[0].size = 8;
    eight.arguments[0].type.shape[0] = eight.results[0].type.shape[0] = 8;
    out.manifest.programs = {two, eight};
    out.programs = {text("2"), text("8")};
    out.weights.insert(out.weights.begin() + 1, {{"other.weight"}, DType::Float32, {3, 4}, {4, 1}, 0, b.record});
    out.samples = {
        {{{{"in.0", DType::Float32, {2, 3}}, bytes_of(x)}, {{"out.0", DType::Float32, {2, 4}}, bytes_of(y)}}, {}}};
    return out;
  }
  static std::string text(const std::string& n) {
    return "module @main {\n  func.func public @main(%arg0: tensor<" + n +
           "x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<3x4xf32>, %arg3: tensor<i64>) -> (tensor<" + n +
           "x4xf32>, tensor<i64>) {\n    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : "
           "(tensor<" +
           n + "x3xf32>, tensor<3x4xf32>) -> tensor<" + n + "x4xf32>\n    return %0, %arg3 : tensor<" + n +
           "x4xf32>, tensor<i64>\n  }\n}\n";
  }
};

struct Verify : testing::Test {
  TemporaryDirectory directory;
  Good good;
  std::string out = directory.file("out");

  void fresh() {
    auto written = write(out, good.bundle());
    ASSERT_TRUE(written) << to_text(written.error());
  }
  std::string file(const std::string& name) const { return out + "/" + name; }
  // The first `from` of a file becomes `to`.
  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read_text(file(name));
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(file(name), text.replace(at, from.size(), to));
  }
  // Changes the manifest, and writes it as the writer does.
  void manifest(const std::function<void(Manifest&)>& change) {
    auto read = open(out);
    ASSERT_TRUE(read) << to_text(read.error());
    change(*read);
    write_text(file("manifest.json"), to_json(*read));
  }
  // The manifest has the digest of the program as it is.
  void reseal(size_t program) {
    manifest([&](Manifest& m) {
      m.programs[program].digest = digest_of(bytes_of(read_text(file(m.programs[program].file))));
    });
  }
  void in_program(const std::string& from, const std::string& to, size_t program = 1) {
    replace(program == 0 ? "model.b2.mlir" : "model.b8.mlir", from, to);
    reseal(program);
  }
  // Writes the weights anew, from tensors of the present ones.
  using Tensors = std::vector<archive::SafetensorsData>;
  void weights(const std::function<void(Tensors&)>& change, bool with_order = true) {
    std::string copy = directory.file("copy.safetensors");
    fs::copy_file(file("weights.safetensors"), copy, fs::copy_options::overwrite_existing);
    auto old = archive::SafetensorsFile::open(copy);
    ASSERT_TRUE(old);
    Tensors tensors;
    for (auto& tensor : old->tensors()) tensors.push_back({{tensor.name, tensor.dtype, tensor.shape}, tensor.bytes});
    change(tensors);
    auto metadata = old->metadata();
    if (!with_order) metadata.clear();
    ASSERT_TRUE(archive::write_safetensors(file("weights.safetensors"), tensors, metadata));
    manifest([&](Manifest& m) { m.weights->bytes = fs::file_size(file("weights.safetensors")); });
  }
  static archive::SafetensorsData& named(Tensors& tensors, const std::string& name) {
    for (auto& tensor : tensors)
      if (tensor.entry.name == name) return tensor;
    ADD_FAILURE() << name;
    return tensors.front();
  }
};

TEST_F(Verify, good_bundles_pass) {
  fresh();
  auto result = verify(out);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->findings.size(), 0u) << to_text(result->findings.front());
  EXPECT_EQ(result->programs, 2u);
  EXPECT_EQ(result->tensors, 3u);
  EXPECT_EQ(result->samples, 1u);
  auto sharded = good.bundle();
  sharded.shard_size = 50;
  ASSERT_TRUE(write(out, std::move(sharded)));
  result = verify(out);
  EXPECT_EQ(result->findings.size(), 0u) << to_text(result->findings.front());
  auto bare = good.bundle();
  bare.weights_as = WeightsAs::None;
  ASSERT_TRUE(write(out, std::move(bare)));
  EXPECT_TRUE(verify(out)->findings.empty());
  EXPECT_FALSE(verify(directory.file("none")));
}

TEST_F(Verify, every_fault_is_found) {
  struct Fault {
    const char* what;
    Kind kind;
    std::function<void()> make;
  };
  const std::vector<Fault> faults = {
      // layout
      {"no manifest", Kind::NotABundle, [&] { fs::remove(file("manifest.json")); }},
      {"manifest cut", Kind::ManifestField,
       [&] { write_text(file("manifest.json"), read_text(file("manifest.json")).substr(0, 300)); }},
      {"empty manifest", Kind::EmptyFile, [&] { write_text(file("manifest.json"), ""); }},
      {"version too new", Kind::ManifestVersion,
       [&] { replace("manifest.json", "\"format_version\": 1", "\"format_version\": 2"); }},
      {"another format", Kind::ManifestField, [&] { replace("manifest.json", "torchlift-bundle", "other-bundle"); }},
      {"stray program", Kind::BundleMember, [&] { write_text(file("model.b4.mlir"), Good::text("4")); }},
      {"stray file", Kind::BundleMember, [&] { write_text(file("notes.txt"), "mine"); }},
      {"stray folder", Kind::BundleMember, [&] { fs::create_directory(file(".cache")); }},
      {"missing program", Kind::BundleMember, [&] { fs::remove(file("model.b8.mlir")); }},
      {"missing weights file", Kind::BundleMember, [&] { fs::remove(file("weights.safetensors")); }},
      {"missing sample", Kind::BundleMember, [&] { fs::remove(file("sample.safetensors")); }},
      // programs
      {"stale program", Kind::BundleDigest, [&] { replace("model.b8.mlir", "%arg1, con", "%arg2, con"); }},
      {"program cut", Kind::ProgramContent,
       [&] {
         std::string text = read_text(file("model.b8.mlir"));
         write_text(file("model.b8.mlir"), text.substr(0, text.size() - 6));
         reseal(1);
       }},
      {"program cut within a text", Kind::ProgramContent,
       [&] {
         write_text(file("model.b8.mlir"), Good::text("8") + "\"open");
         reseal(1);
       }},
      {"empty program", Kind::ProgramContent, [&] { write_text(file("model.b2.mlir"), ""); }},
      {"program of another size", Kind::ProgramSignature,
       [&] {
         write_text(file("model.b8.mlir"), Good::text("2"));
         reseal(1);
       }},
      {"program not main first", Kind::ProgramContent,
       [&] { in_program("func.func public @main", "func.func private @f() { }\n func.func public @main"); }},
      {"program without a public function", Kind::ProgramContent, [&] { in_program("public @main", "private @main"); }},
      {"two public functions", Kind::ProgramContent, [&] { in_program("  }\n}\n", "  }\n func.func @g() { }\n}\n"); }},
      {"operation of another dialect", Kind::ProgramContent,
       [&] { in_program("= stablehlo.dot_general", "= chlo.dot_general"); }},
      {"generic operation of another dialect", Kind::ProgramContent,
       [&] { in_program("= stablehlo.dot_general", "= \"mhlo.dot\"() %"); }},
      {"size that is not fixed", Kind::ProgramContent, [&] { in_program(": (tensor<8x", ": (tensor<?x"); }},
      {"argument of another dtype", Kind::ProgramSignature,
       [&] { in_program("%arg1: tensor<3x4xf32>", "%arg1: tensor<3x4xf64>"); }},
      {"argument of another shape", Kind::ProgramSignature,
       [&] { in_program("%arg2: tensor<3x4xf32>", "%arg2: tensor<4x3xf32>"); }},
      {"argument dropped", Kind::ProgramSignature, [&] { in_program(", %arg2: tensor<3x4xf32>", ""); }},
      {"result dropped", Kind::ProgramSignature, [&] { in_program("x4xf32>, tensor<i64>) {", "x4xf32>) {"); }},
      // programs among each other
      {"wrong batch size", Kind::ProgramContent,
       [&] {
         write_text(file("model.b8.mlir"), Good::text("4"));
         manifest([](Manifest& m) {
           m.programs[1].arguments[0].type.shape[0] = m.programs[1].results[0].type.shape[0] = 4;
         });
         reseal(1);
       }},
      {"name of another size", Kind::ProgramContent,
       [&] {
         fs::rename(file("model.b8.mlir"), file("model.b9.mlir"));
         manifest([](Manifest& m) { m.programs[1].file = "model.b9.mlir"; });
       }},
      {"two programs of one size", Kind::ProgramsDiffer,
       [&] {
         write_text(file("model.b8.mlir"), Good::text("2"));
         manifest([](Manifest& m) {
           std::string name = m.programs[1].file;
           m.programs[1] = m.programs[0];
           m.programs[1].file = name;
         });
         reseal(1);
       }},
      {"another order of weights", Kind::ProgramsDiffer,
       [&] {
         manifest([](Manifest& m) {
           std::swap(m.programs[1].arguments[1], m.programs[1].arguments[2]);
           m.weights->tensors.clear();
         });
       }},
      {"another input name", Kind::ProgramsDiffer,
       [&] { manifest([](Manifest& m) { m.programs[1].arguments[0].name = "z"; }); }},
      {"another feature size", Kind::ProgramsDiffer,
       [&] {
         in_program("tensor<8x4xf32>, tensor<i64>) {", "tensor<8x5xf32>, tensor<i64>) {");
         manifest([](Manifest& m) {
           m.programs[1].results[0].type.shape[1] = 5;
           m.programs[1].results[0].sizes = {"s77", "5"};
         });
       }},
      // weights
      {"swapped weights", Kind::WeightsContent,
       [&] { weights([](Tensors& t) { std::swap(named(t, "layer.weight").bytes, named(t, "other.weight").bytes); }); }},
      {"one byte changed", Kind::WeightsContent,
       [&] {
         std::string text = read_text(file("weights.safetensors"));
         text.back() = static_cast<char>(text.back() ^ 1);
         write_text(file("weights.safetensors"), text);
       }},
      {"missing weight", Kind::WeightMissing,
       [&] {
         weights([](Tensors& t) { std::erase_if(t, [](auto& one) { return one.entry.name == "other.weight"; }); });
       }},
      {"additional weight", Kind::WeightUnknown,
       [&] { weights([](Tensors& t) {
               t.push_back({{"more", DType::UInt8, {0}}, {}});
             }); }},
      {"wrong dtype", Kind::WeightType,
       [&] { weights([](Tensors& t) { named(t, "count").entry.dtype = DType::Float64; }); }},
      {"wrong shape", Kind::WeightType,
       [&] { weights([](Tensors& t) {
               named(t, "layer.weight").entry.shape = {4, 3};
             }); }},
      {"reordered weights", Kind::BundleDigest, [&] { weights([](Tensors& t) { std::swap(t[0], t[1]); }); }},
      {"no order of arguments", Kind::BundleMember, [&] { weights([](Tensors&) {}, false); }},
      {"another order of arguments", Kind::BundleMember,
       [&] {
         replace("weights.safetensors", "[\\\"layer.weight\\\", \\\"other.weight\\\"",
                 "[\\\"other.weight\\\", \\\"layer.weight\\\"");
       }},
      {"weights cut", Kind::WeightsSize,
       [&] {
         std::string text = read_text(file("weights.safetensors"));
         write_text(file("weights.safetensors"), text.substr(0, text.size() - 1));
       }},
      {"weights cut, and the manifest says so", Kind::SafetensorsTensor,
       [&] {
         std::string text = read_text(file("weights.safetensors"));
         write_text(file("weights.safetensors"), text.substr(0, text.size() - 1));
         manifest([&](Manifest& m) { m.weights->bytes = text.size() - 1; });
       }},
      {"bytes after the weights", Kind::SafetensorsHeader,
       [&] {
         std::string text = read_text(file("weights.safetensors")) + "x";
         write_text(file("weights.safetensors"), text);
         manifest([&](Manifest& m) { m.weights->bytes = text.size(); });
       }},
      {"gap between weights", Kind::SafetensorsTensor,
       [&] { replace("weights.safetensors", "\"data_offsets\": [48, 96]", "\"data_offsets\": [49, 97]"); }},
      {"weights are no safetensors", Kind::SafetensorsHeader,
       [&] {
         write_text(file("weights.safetensors"), "weights");
         manifest([](Manifest& m) { m.weights->bytes = 7; });
       }},
      {"digest of the weights", Kind::BundleDigest,
       [&] { manifest([](Manifest& m) { m.weights->digest = digest_of(bytes_of("other")); }); }},
      {"digest of one weight", Kind::WeightsContent,
       [&] { manifest([](Manifest& m) { m.weights->tensors[1].digest = digest_of(bytes_of("other")); }); }},
      // samples
      {"sample changed", Kind::BundleDigest,
       [&] {
         std::string text = read_text(file("sample.safetensors"));
         text.back() = static_cast<char>(text.back() ^ 1);
         write_text(file("sample.safetensors"), text);
       }},
      {"sample of another shape", Kind::SampleFile,
       [&] {
         ASSERT_TRUE(archive::write_safetensors(file("sample.safetensors"),
                                                {{{"in.0", DType::Float32, {3, 2}}, bytes_of(good.x)}}, {}));
       }},
  };
  EXPECT_GE(faults.size(), 40u);
  for (auto& fault : faults) {
    SCOPED_TRACE(fault.what);
    fs::remove_all(out);
    fresh();
    fault.make();
    auto result = verify(out);
    ASSERT_TRUE(result);
    std::string kinds;
    bool found = false;
    for (auto& finding : result->findings) {
      kinds += to_text(finding);
      found = found || finding.kind == fault.kind;
      EXPECT_FALSE(finding.advice().empty()) << to_text(finding);
    }
    EXPECT_TRUE(found) << kinds;
  }
}

TEST_F(Verify, all_findings_are_said_at_once) {
  fresh();
  write_text(file("notes.txt"), "mine");
  replace("model.b2.mlir", "%arg1, con", "%arg2, con");
  std::string text = read_text(file("weights.safetensors"));
  text.back() = static_cast<char>(text.back() ^ 1);
  write_text(file("weights.safetensors"), text);
  EXPECT_EQ(verify(out)->findings.size(), 3u);
}

}  // namespace
}  // namespace torchlift::bundle
