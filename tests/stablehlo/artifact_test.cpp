// Portable artifacts: what is written reads back as the same module and the same bytes, in every version; what is
// damaged is refused. tools/artifact/check.py compares the files that are left in the build folder with the reference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/kinds.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/every_op.hpp"
#include "stablehlo/function_text.hpp"

namespace torchlift::stablehlo {
namespace {

using vhlo::Version;

std::string written(const Module& module, const ArtifactOptions& options = {}) {
  auto out = write_artifact(module, options);
  EXPECT_TRUE(out) << (out ? "" : to_text(out.error()));
  return out ? *out : "";
}

Module read(const std::string& bytes) {
  auto out = read_artifact(bytes_of(bytes), "file");
  EXPECT_TRUE(out) << (out ? "" : to_text(out.error()));
  return out ? *out : Module();
}

void leave(const std::string& name, const std::string& text, const std::string& bytes) {
  const std::string folder = TORCHLIFT_BINARY_DIR "/artifacts";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name + ".mlir") << text;
  std::ofstream(folder + "/" + name + ".mlirbc") << bytes;
}

// Text and bytes are the same again, with locations and without.
void expect_round_trip(const Module& module, std::optional<Version> version = {}) {
  for (bool locations : {false, true}) {
    const std::string bytes = written(module, {.version = version, .locations = locations});
    const Module again = read(bytes);
    EXPECT_EQ(to_text(again, {.locations = locations}), to_text(module, {.locations = locations}));
    EXPECT_TRUE(written(again, {.version = version, .locations = true}) == bytes);
  }
}

TEST(Artifact, every_operation_reads_back_in_every_version) {
  EveryOp every;
  expect_round_trip(every.module_);
  for (int minor = 8; minor <= vhlo::kNewestVersion.minor; ++minor) {
    expect_round_trip(every.module_, Version{1, minor, 0});
    const std::string name = "every_op.1." + std::to_string(minor);
    leave(name, to_text(every.module_), written(every.module_, {.version = Version{1, minor, 0}}));
    leave(name + ".locations", to_text(every.module_, {.locations = true}),
          written(every.module_, {.version = Version{1, minor, 0}, .locations = true}));
  }
}

// A module of one argument.
struct Small {
  explicit Small(Dims dims = {2, 3}) : b(module) {
    x = b.argument({DType::Float32, std::move(dims)}, {.name = "x", .aliasing_output = {}});
  }
  Module module;
  Builder b{module};
  Value x;
};

std::string producer(const std::string& bytes) {
  auto program = vhlo::read(bytes_of(bytes), "file");
  return program ? program->producer : "";
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[c >> 4];
    out += kDigits[c & 0xf];
  }
  return out;
}

TEST(Artifact, equal_modules_are_equal_bytes) {
  EXPECT_TRUE(written(EveryOp().module_, {.locations = true}) == written(EveryOp().module_, {.locations = true}));
}

TEST(Artifact, names_and_attributes_of_arguments_and_results_are_kept) {
  Module module;
  module.name = "a \"module\"";
  Builder b(module);
  const Value x = b.argument({DType::Float32, {2}}, {.name = "x[\"k\"]", .aliasing_output = 1});
  const Value y = b.argument({DType::Complex64, {}}, {.name = "", .aliasing_output = {}, .buffer_donor = true});
  b.argument({DType::Bool, {0, 3}}, {.name = "unused", .aliasing_output = {}});
  b.set_location({"model.py", 7, "encoder"});
  b.set_results({b.negate(y), b.negate(x)}, {"", "out['b']"});
  expect_round_trip(module);
  const Module again = read(written(module, {.locations = true}));
  EXPECT_EQ(again.name, module.name);
  EXPECT_EQ(again.functions[0].arguments[0].name, "x[\"k\"]");
  EXPECT_EQ(again.functions[0].arguments[0].aliasing_output, 1);
  EXPECT_TRUE(again.functions[0].arguments[1].buffer_donor);
  EXPECT_EQ(again.functions[0].result_names[1], "out['b']");
  EXPECT_EQ(read(written(module)).functions[0].arguments[0].name, "") << "names are locations";
}

TEST(Artifact, constants_keep_their_bits) {
  Module module;
  Builder b(module);
  Values results;
  for (const Ints& values : {Ints{1}, Ints{0}, Ints{1, 1, 1}, Ints{0, 0}, Ints{1, 0, 1, 1, 0, 0, 0, 1, 1}, Ints{},
                             Ints{1, 1, 1, 1, 1, 1, 1, 1}, Ints{0, 0, 0, 0, 0, 0, 0, 0, 1}}) {
    results.push_back(b.constant_ints(DType::Bool, values));
    results.push_back(b.constant_ints(DType::UInt16, values));
  }
  results.push_back(b.splat_int({DType::Bool, {2, 20}}, 1));
  results.push_back(b.splat_int({DType::Bool, {2, 20}}, 0));
  results.push_back(b.splat_float({DType::Float32, {3}}, -NAN));
  results.push_back(b.constant_ints(DType::Int64, {INT64_MIN, INT64_MAX, -1}));
  b.set_results(results);
  expect_round_trip(module);
}

TEST(Artifact, the_version_is_the_oldest_that_has_all_that_is_used) {
  Small plain;
  plain.b.set_results({plain.b.exponential(plain.x)});
  EXPECT_EQ(producer(written(plain.module)), "StableHLO_v1.0.0");
  Small tan;
  tan.b.set_results({tan.b.elementwise(Opcode::Tan, {tan.x})});
  EXPECT_EQ(producer(written(tan.module)), "StableHLO_v1.4.0");
  Small f8;
  f8.b.set_results({f8.b.convert(f8.x, DType::Float8E8M0FNU)});
  EXPECT_EQ(producer(written(f8.module)), "StableHLO_v1.8.0");
  for (bool batched : {false, true}) {
    Small gather({4, 3});
    const Value i = gather.b.argument({DType::Int32, batched ? Dims{4, 2, 1} : Dims{2, 1}});
    Gather how;
    how.collapsed_slice_dims = {batched ? 1 : 0};
    if (batched) how.operand_batching_dims = how.start_indices_batching_dims = {0};
    if (!batched) how.offset_dims = {1};
    how.start_index_map = how.collapsed_slice_dims;
    how.index_vector_dim = batched ? 2 : 1;
    how.slice_sizes = batched ? Dims{1, 1} : Dims{1, 3};
    gather.b.set_results({gather.b.gather(gather.x, i, how)});
    ASSERT_TRUE(gather.b.failures().empty()) << gather.b.failures()[0].message;
    EXPECT_EQ(producer(written(gather.module)), batched ? "StableHLO_v1.1.0" : "StableHLO_v1.0.0");
    expect_round_trip(gather.module);
  }
}

TEST(Artifact, a_version_that_is_too_old_is_refused_with_the_operation_and_its_line) {
  Small tan;
  tan.b.set_location({"model.py", 12, "net.0"});
  tan.b.set_results({tan.b.elementwise(Opcode::Tan, {tan.x})});
  EXPECT_EQ(producer(written(tan.module, {.version = Version{1, 4, 0}})), "StableHLO_v1.4.0");
  EXPECT_EQ(producer(written(tan.module, {.version = Version{1, 9, 7}})), "StableHLO_v1.9.7");
  auto refused = write_artifact(tan.module, {.version = Version{1, 3, 9}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::ArtifactVersion);
  EXPECT_EQ(refused.error().message(), "`tan` needs StableHLO 1.4.0, the artifact is to be for 1.3.9");
  ASSERT_EQ(refused.error().place.source.size(), 1u);
  EXPECT_EQ(refused.error().place.source[0].line, 12);
}

TEST(Artifact, a_version_that_is_not_known_is_refused) {
  Small small;
  small.b.set_results({small.x});
  for (Version version : {Version{0, 20, 0}, Version{1, 21, 0}, Version{2, 0, 0}, Version{0, 0, 0}}) {
    auto refused = write_artifact(small.module, {.version = version});
    ASSERT_FALSE(refused) << vhlo::to_text(version);
    EXPECT_EQ(refused.error().kind, Kind::ArtifactTarget);
  }
  for (const char* text :
       {"", "1", "1.2", "1.2.", "1.2.x", "1.2.3.4", "-1.2.3", "1.-2.3", " 1.2.3", "v1.2.3", "1.2.99999999999"})
    EXPECT_FALSE(vhlo::parse_version(text)) << text;
  EXPECT_EQ(vhlo::parse_version("1.20.3"), (Version{1, 20, 3}));
}

TEST(Artifact, functions_in_text_are_refused) {
  Small small;
  auto f =
      read_function_text("func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }", "f");
  ASSERT_TRUE(f);
  small.b.set_results(small.b.call(declare(small.module, *f, "p."), {small.x}));
  auto refused = write_artifact(small.module);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::ArtifactFunction);
  EXPECT_NE(refused.error().message().find("p.f"), std::string::npos);
}

TEST(Artifact, bytes_of_small_modules) {
  Small add;
  add.b.set_results({add.b.add(add.x, add.x)}, {"sum"});
  EXPECT_EQ(hex(written(add.module)),
            "4d4cef520d537461626c65484c4f5f76312e302e300001190511150901031b03071f2327032b15070105070b03110b0b0f13"
            "0b0b0b0b030717170702431f05010301230303030b0d030d0f1d031d051d011d072905090d05110301030109044b05015001"
            "0107043b0301050350010307042703050b03010005060103010501010704010303060301050100b115150f110f0b110f0921"
            "0b6d61696e006a61782e726573756c745f696e666f0073756d007075626c6963006275696c74696e0076686c6f006d6f6475"
            "6c650066756e635f7631006164645f76310072657475726e5f7631000815050507010b0507091113");
  Small reduce;
  reduce.b.set_location({"model.py", 3, ""});
  reduce.b.set_results({reduce.b.reduce(reduce.x, {1}, Reducer::Maximum)});
  EXPECT_EQ(hex(written(reduce.module, {.locations = true})),
            "4d4cef520d537461626c65484c4f5f76312e302e3000011d0511150d01031b030b1f23272b2f0337190f010d07130b0f0b0b"
            "030d0b0b0b0b1f2f030f0f071713171307027f1f170b070105011d090105030505030123091d011d071f0109000080ff1f0b"
            "110100000000000000290103092905090d032903090311030503072903050d1d048505015001010704750301050550010307"
            "046103070f030b07000742030503010956030703070501030503070b050101000b06030301050709030401030b0304010305"
            "060301050100d71917151911150f0b110f13050b6d61696e0078006d6f64656c2e7079007075626c6963006275696c74696e"
            "0076686c6f006d6f64756c650072657475726e5f76310066756e635f763100636f6e7374616e745f7631007265647563655f"
            "7631006d6178696d756d5f763100081d09050b010b0d0f0d111303150317");
}

// ---- damaged files

// Whatever is read can be printed, and a module that is read can be written.
void expect_sane(const std::string& bytes) {
  auto program = vhlo::read(bytes_of(bytes), "file");
  if (!program) {
    EXPECT_EQ(program.error().kind, Kind::ArtifactFile);
    return;
  }
  auto text = vhlo::to_text(*program, "file", true);
  if (!text) {
    EXPECT_EQ(text.error().kind, Kind::ArtifactOperation);
  }
  auto module = module_of(*program, "file");
  if (!module) return;
  auto again = read_artifact(bytes_of(written(*module, {.version = vhlo::kNewestVersion, .locations = true})), "again");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(to_text(*again, {.locations = true}), to_text(*module, {.locations = true}));
}

TEST(Artifact, every_cut_is_refused) {
  Small small;
  small.b.set_results({small.b.reduce(small.b.add(small.x, small.x), {1}, Reducer::Maximum)});
  const std::string whole = written(small.module, {.locations = true});
  for (size_t size = 0; size < whole.size(); ++size) {
    auto program = vhlo::read(bytes_of(whole.substr(0, size)), "file");
    // The sections stand behind one another: a cut between two leaves one out.
    ASSERT_FALSE(program) << size << " of " << whole.size();
    EXPECT_EQ(program.error().kind, Kind::ArtifactFile);
  }
}

TEST(Artifact, every_changed_byte_is_read_or_refused) {
  Small small;
  const Value zero = small.b.splat_int(scalar(DType::Int32), 0);
  small.b.set_results(small.b.while_(
      {zero, small.x}, [&](std::span<const Value> a) { return small.b.compare(a[0], zero, ComparisonDirection::Lt); },
      [&](std::span<const Value> a) {
        return Values{a[0], small.b.add(a[1], small.b.tanh(small.x))};
      }));
  const std::string whole = written(small.module, {.locations = true});
  expect_sane(whole);
  for (size_t at = 0; at < whole.size(); ++at)
    for (int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      expect_sane(changed);
    }
}

// ---- artifacts of others, recorded by tools/artifact/foreign.py

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Artifact, what_others_have_written_is_printed_in_the_generic_form) {
  size_t files = 0;
  for (auto& entry : std::filesystem::directory_iterator(TORCHLIFT_SOURCE_DIR "/tests/data/artifacts")) {
    if (entry.path().extension() != ".mlirbc") continue;
    ++files;
    const std::string bytes = file_text(entry.path());
    auto program = vhlo::read(bytes_of(bytes), entry.path());
    ASSERT_TRUE(program) << to_text(program.error());
    auto text = vhlo::to_text(*program, entry.path());
    ASSERT_TRUE(text) << to_text(text.error());
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".mlir");
    EXPECT_EQ(*text, file_text(expected)) << expected;
    // Written again it says the same.
    auto again = vhlo::read(bytes_of(vhlo::write(*program)), "again");
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(*vhlo::to_text(*again, "again", true), *vhlo::to_text(*program, "file", true));
    const bool is_plain = entry.path().filename().string().starts_with("plain");
    auto module = module_of(*program, entry.path());
    EXPECT_EQ(module.ok(), is_plain) << entry.path();
    if (module) {
      expect_round_trip(*module);
    } else {
      EXPECT_EQ(module.error().kind, Kind::ArtifactOperation);
    }
  }
  EXPECT_EQ(files, 17u);
}

}  // namespace
}  // namespace torchlift::stablehlo
