// Wrong files and wrong requests, each with the one diagnostic that it is answered with, and nothing left behind.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "archive/archive.hpp"
#include "archive/npy.hpp"
#include "archive/safetensors.hpp"
#include "archive/zip_builder.hpp"
#include "base/interrupt.hpp"
#include "base/kinds.hpp"
#include "base/output_file.hpp"
#include "cli/command.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift {
namespace {

using archive::ZipEntry;
using test::TemporaryDirectory;

std::string fixture(const std::string& name) {
  return std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/fixtures/" + name;
}

// The members of the archive that most tests are made from: 4 linear and normalisation weights, batch size s77 from 2
// to 64.
std::vector<ZipEntry> members() {
  auto file = archive::Archive::open(fixture("mlp_dynamic.pt2"));
  EXPECT_TRUE(file) << to_text(file.error());
  std::vector<ZipEntry> out;
  for (auto& member : (*file)->zip().members()) {
    auto bytes = (*file)->zip().read(member);
    EXPECT_TRUE(bytes);
    ZipEntry entry;
    entry.name = member.name;
    entry.data = std::string(bytes->text());
    entry.alignment = 64;
    out.push_back(std::move(entry));
  }
  return out;
}

ZipEntry& member(std::vector<ZipEntry>& all, const std::string& ending) {
  for (auto& one : all)
    if (one.name.ends_with(ending)) return one;
  ADD_FAILURE() << "no member " << ending;
  return all.front();
}

std::string changed(const std::function<void(std::vector<ZipEntry>&)>& change) {
  auto all = members();
  change(all);
  return archive::build_zip(all, {.zip64_end = true});
}

std::string without(const std::string& ending) {
  return changed([&](auto& all) { std::erase_if(all, [&](auto& one) { return one.name.ends_with(ending); }); });
}

std::string replaced(const std::string& ending, const std::string& from, const std::string& to) {
  return changed([&](auto& all) {
    std::string& text = member(all, ending).data;
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  });
}

std::string in_program(const std::string& from, const std::string& to) {
  return replaced("models/model.json", from, to);
}

std::string kinds_of(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (auto& one : diagnostics) out += std::string(info(one.kind).id) + " ";
  return out;
}

bool has(const std::vector<Diagnostic>& diagnostics, Kind kind) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](auto& one) { return one.kind == kind; });
}

struct Errors : testing::Test {
  TemporaryDirectory directory;
  std::string out = directory.file("out");

  cli::ImportOptions import_of(const std::string& bytes) {
    test::write_text(directory.file("model.pt2"), bytes);
    cli::ImportOptions options;
    options.file = directory.file("model.pt2");
    options.directory = out;
    return options;
  }

  // Imports, expects a refusal of this kind with every part of a good message, and nothing beside the file itself.
  void expect_refused(const std::string& what, Kind kind, const cli::ImportOptions& options) {
    auto before = directory.entries();
    auto result = cli::run_import(options);
    ASSERT_FALSE(result) << what;
    EXPECT_TRUE(has(result.errors(), kind)) << what << ": " << kinds_of(result.errors()) << "\n"
                                            << to_text(result.error());
    EXPECT_EQ(cli::exit_code(result.errors()), cli::ExitCode::Refused) << what;
    EXPECT_EQ(directory.entries(), before) << what;
    for (auto& error : result.errors()) EXPECT_FALSE(error.message().empty());
  }
};

TEST_F(Errors, files_that_are_no_model_are_told_apart) {
  struct Row {
    const char* what;
    std::string bytes;
    Kind kind;
  };
  const std::string whole = test::read_text(fixture("mlp_dynamic.pt2"));
  const std::vector<Row> rows = {
      {"empty", "", Kind::EmptyFile},
      {"cut", whole.substr(0, whole.size() / 2), Kind::ZipTruncated},
      {"text", "hello world, this is no model at all", Kind::UnknownFile},
      {"HTML", "<!DOCTYPE html><html><body>404</body></html>", Kind::HtmlPage},
      {"LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", Kind::GitLfsPointer},
      {"TorchScript without its inputs", test::read_text(fixture("ts_traced_mlp.pt")), Kind::ScriptArgument},
      {"weights", test::read_text(fixture("mlp_dynamic.safetensors")), Kind::SafetensorsFile},
      {"zip", archive::build_zip({{.name = "notes.txt", .data = "x"}}), Kind::OtherZip},
  };
  for (auto& row : rows) expect_refused(row.what, row.kind, import_of(row.bytes));
}

TEST_F(Errors, every_cut_of_a_model_is_refused) {
  const std::string whole = test::read_text(fixture("mlp_dynamic.pt2"));
  for (size_t size = 1; size < whole.size(); size += whole.size() / 23) {
    auto result = cli::run_import(import_of(whole.substr(0, size)));
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(cli::exit_code(result.errors()), cli::ExitCode::Refused) << size;
    EXPECT_FALSE(std::filesystem::exists(out)) << size;
  }
}

TEST_F(Errors, an_input_of_a_script_says_its_type) {
  for (const char* input : {"x", "x=", "x=f32", "x=f99[2]", "x=f32[2", "x=f32[-1]", "x=f32[2,y]"}) {
    cli::ImportOptions options = import_of(test::read_text(fixture("ts_traced_mlp.pt")));
    options.lift.inputs = {input};
    expect_refused(input, Kind::InputOption, options);
  }
}

TEST_F(Errors, damaged_archives_name_what_is_wrong) {
  struct Row {
    const char* what;
    std::string bytes;
    Kind kind;
  };
  const std::vector<Row> rows = {
      {"no weight record", without("weights/weight_0"), Kind::MemberMissing},
      {"checksum of metadata", changed([](auto& all) {
         member(all, "models/model.json").local_crc = member(all, "models/model.json").central_crc = 7;
       }),
       Kind::MemberCrc},
      {"headers disagree",
       changed([](auto& all) { member(all, "weight_0").local_name = "mlp_dynamic/data/weights/weight_1"; }),
       Kind::ZipHeaders},
      {"member twice", changed([](auto& all) { all.push_back(all.front()); }), Kind::ZipDuplicate},
      {"compression",
       changed([](auto& all) { member(all, "weight_0").local_method = member(all, "weight_0").central_method = 93; }),
       Kind::ZipMethod},
      {"big-endian", replaced("byteorder", "little", "big"), Kind::BigEndian},
      {"archive version", replaced("archive_version", "0", "7"), Kind::ArchiveVersion},
      {"schema major", in_program("\"major\": 8", "\"major\": 99"), Kind::ProgramVersion},
      {"cut program", changed([](auto& all) {
         auto& text = member(all, "models/model.json").data;
         text.resize(text.size() / 2);
       }),
       Kind::JsonSyntax},
      {"union tag", in_program("\"as_tensor\"", "\"as_tensr\""), Kind::ProgramTag},
      {"no graph", in_program("\"graph\":", "\"grapf\":"), Kind::ProgramFieldMissing},
      {"short weight", changed([](auto& all) { member(all, "weight_0").data.resize(100); }), Kind::TensorBounds},
      {"stripped weight", changed([](auto& all) { member(all, "weight_0").data.clear(); }), Kind::WeightsNotSaved},
      {"unknown operator", in_program("torch.ops.aten.relu.default", "torch.ops.mine.relu.default"),
       Kind::UnknownOperator},
      {"unsupported operator", in_program("torch.ops.aten.relu.default", "torch.ops.aten.to_mkldnn.default"),
       Kind::UnsupportedOperator},
      {"nodes behind it", in_program("torch.ops.aten.relu.default", "torch.ops.aten.to_mkldnn.default"),
       Kind::HiddenNodes},
      {"argument left out", in_program("torch.ops.aten.relu.default", "torch.ops.aten.clamp_min.default"),
       Kind::ArgumentMissing},
      {"argument of another operator", in_program("torch.ops.aten.relu.default", "torch.ops.aten.dropout.default"),
       Kind::ArgumentUnknown},
      {"argument type",
       in_program("{\"name\": \"dim\", \"arg\": {\"as_int\": -1}",
                  "{\"name\": \"dim\", \"arg\": {\"as_string\": \"rows\"}"),
       Kind::ArgumentType},
      {"declared dtype", in_program("\"relu\": {\"dtype\": 7", "\"relu\": {\"dtype\": 8"), Kind::TypeDiffers},
  };
  for (auto& row : rows) expect_refused(row.what, row.kind, import_of(row.bytes));
}

TEST_F(Errors, archives_that_were_zipped_again_are_read) {
  auto bytes = changed([](auto& all) {
    for (auto& one : all) one.deflated = true;
  });
  auto result = cli::run_import(import_of(bytes));
  ASSERT_TRUE(result) << to_text(result.error());
  cli::ImportOptions plain;
  plain.file = fixture("mlp_dynamic.pt2");
  plain.directory = directory.file("plain");
  ASSERT_TRUE(cli::run_import(plain));
  for (const char* name : {"/model.mlir", "/weights.safetensors"})
    EXPECT_EQ(test::read_text(out + name), test::read_text(plain.directory + name)) << name;
}

TEST_F(Errors, a_record_that_inflates_to_more_than_its_weight_is_refused) {
  auto bytes = changed([](auto& all) {
    ZipEntry& weight = member(all, "data/weights/weight_0");
    weight.deflated = true;
    weight.data.resize(weight.data.size() + (size_t{65} << 20));
  });
  expect_refused("mostly unused", Kind::WeightInflated, import_of(bytes));
}

TEST_F(Errors, a_graph_in_training_mode_is_told_of) {
  auto result = cli::run_import(import_of(in_program("{\"name\": \"training\", \"arg\": {\"as_bool\": false}",
                                                     "{\"name\": \"training\", \"arg\": {\"as_bool\": true}")));
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_TRUE(has(result->notes, Kind::TrainingMode)) << kinds_of(result->notes);
}

TEST_F(Errors, a_size_that_no_example_gives_is_asked_for) {
  auto bytes = changed([](auto& all) {
    std::string& text = member(all, "models/model.json").data;
    const std::string hint = "\"hint\": {\"as_int\": 3}";
    for (size_t at = text.find(hint); at != std::string::npos; at = text.find(hint))
      text.replace(at, hint.size(), "\"hint\": null");
  });
  auto options = import_of(bytes);
  expect_refused("no hint", Kind::UnboundSymbol, options);
  options.lift.dims = {"x.0=4"};
  EXPECT_TRUE(cli::run_import(options));
}

TEST_F(Errors, a_newer_schema_minor_is_read) {
  EXPECT_TRUE(cli::run_import(import_of(in_program("\"minor\": 20", "\"minor\": 99"))));
}

TEST_F(Errors, a_wrong_checksum_of_weights_is_a_warning_and_strictly_an_error) {
  auto bytes = changed([](auto& all) { member(all, "weight_0").local_crc = member(all, "weight_0").central_crc = 7; });
  auto options = import_of(bytes);
  auto result = cli::run_import(options);
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_TRUE(has(result->notes, Kind::WeightCrc)) << kinds_of(result->notes);
  EXPECT_EQ(result->code, cli::ExitCode::Ok);
  options.lift.strict = true;
  options.directory = directory.file("strict");
  expect_refused("strict", Kind::MemberCrc, options);
}

TEST_F(Errors, sizes_that_cannot_be_are_refused) {
  struct Row {
    std::vector<std::string> dims;
    Kind kind;
  };
  const std::vector<Row> rows = {
      {{"x.0=65"}, Kind::DimRange},
      {{"s77=1"}, Kind::DimRange},
      {{"x.1=9"}, Kind::DimConflict},
      {{"x.0=4", "s77=5"}, Kind::DimConflict},
      {{"x.0=9000000000000000000"}, Kind::DimConflict},
      {{"y.0=4"}, Kind::UnknownDim},
      {{"x.0"}, Kind::DimOption},
      {{"x.0="}, Kind::DimOption},
      {{"x.0=4x"}, Kind::DimOption},
      {{"x.0=4,,5"}, Kind::DimOption},
      {{"x.0=4,5", "s77=4,5"}, Kind::DimOption},
  };
  for (auto& row : rows) {
    cli::ImportOptions options;
    options.file = fixture("mlp_dynamic.pt2");
    options.directory = out;
    options.lift.dims = row.dims;
    expect_refused(row.dims.front(), row.kind, options);
  }
}

TEST_F(Errors, places_that_cannot_be_read_or_written_are_named) {
  cli::ImportOptions options;
  options.directory = out;
  options.file = directory.file("nothing.pt2");
  expect_refused("missing file", Kind::CannotOpen, options);
  options.file = fixture("mlp_dynamic.pt2");
  options.lift.model = "other";
  expect_refused("missing model", Kind::ModelMissing, options);
  options.lift.model = "";
  std::filesystem::create_directory(out);
  test::write_text(out + "/notes.txt", "mine");
  expect_refused("occupied", Kind::OutputOccupied, options);
  options.directory = out + "/notes.txt";
  expect_refused("a file in its place", Kind::CannotWrite, options);
  options.directory = out + "/notes.txt/below";
  expect_refused("below a file", Kind::CannotWrite, options);
  options.directory = directory.file("with folder");
  std::filesystem::create_directories(options.directory + "/model.mlir");
  test::write_text(options.directory + "/manifest.json", "{}");
  expect_refused("a folder with the name of a program", Kind::OutputOccupied, options);
}

TEST_F(Errors, a_bundle_is_not_imported_again) {
  cli::ImportOptions options;
  options.directory = out;
  options.file = directory.file("bundle");
  std::filesystem::create_directory(options.file);
  test::write_text(options.file + "/manifest.json", "{}");
  expect_refused("a bundle", Kind::BundleDirectory, options);
}

TEST_F(Errors, pipes_are_neither_read_nor_replaced) {
  std::string pipe = directory.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  cli::ImportOptions options;
  options.directory = out;
  options.file = pipe;
  expect_refused("a pipe as model", Kind::CannotOpen, options);
  auto written = write_file(pipe, bytes_of("text"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, Kind::CannotWrite);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Errors, an_interrupted_write_leaves_nothing) {
  auto before = directory.entries();
  {
    InterruptScope scope;
    auto file = OutputFile::create(directory.file("file"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes_of("text")));
    std::raise(SIGTERM);
    auto written = file->write(bytes_of("more"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, Kind::CannotWrite);
  }
  EXPECT_EQ(directory.entries(), before);
  EXPECT_FALSE(interrupted());
  EXPECT_TRUE(write_file(directory.file("file"), bytes_of("text")));
}

TEST_F(Errors, a_file_is_written_where_a_link_leads) {
  test::write_text(directory.file("file"), "old");
  std::filesystem::create_symlink("file", directory.file("link"));
  ASSERT_TRUE(write_file(directory.file("link"), bytes_of("new")));
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("link")));
  EXPECT_EQ(test::read_text(directory.file("file")), "new");
}

// ---- requests to run

struct RunErrors : Errors {
  std::string tensor_file(const std::string& name, const archive::SafetensorsEntry& entry) {
    std::string bytes(archive::byte_size(entry), '\0');
    EXPECT_TRUE(archive::write_safetensors(directory.file(name), {{entry, bytes_of(bytes)}}, {}));
    return directory.file(name);
  }
  void expect_run_refused(const std::string& what, Kind kind, const std::string& model,
                          const std::vector<std::string>& inputs) {
    cli::RunOptions options;
    options.model = model;
    options.inputs = inputs;
    options.plugin = "/nowhere/plugin.so";  // not reached
    auto result = cli::run_run(options);
    ASSERT_FALSE(result) << what;
    EXPECT_TRUE(has(result.errors(), kind)) << what << ": " << kinds_of(result.errors()) << "\n"
                                            << to_text(result.error());
  }
  std::string bundle() {
    cli::ImportOptions options;
    options.file = fixture("mlp_dynamic.pt2");
    options.directory = out;
    options.lift.dims = {"x.0=2,8"};
    EXPECT_TRUE(cli::run_import(options));
    return out;
  }
};

TEST_F(RunErrors, files_that_hold_no_safetensors_are_told_apart) {
  std::string model = fixture("mlp_dynamic.pt2");
  expect_run_refused("a model as inputs", Kind::NotSafetensors, model, {model});
  test::write_text(directory.file("pickle"), "\x80\x02}q\x01.");
  expect_run_refused("a pickle as inputs", Kind::NotSafetensors, model, {directory.file("pickle")});
  test::write_text(directory.file("array"), "\x93NUMPY\x01");
  expect_run_refused("an array without its ending", Kind::NotSafetensors, model, {directory.file("array")});
}

TEST_F(RunErrors, results_are_written_by_the_ending_of_their_file) {
  cli::RunOptions options;
  options.model = fixture("mlp_dynamic.pt2");
  options.output = directory.file("y.txt");
  auto result = cli::run_run(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::OutputEnding);
}

TEST_F(RunErrors, the_advice_to_import_again_is_given_for_sizes_alone) {
  auto advice = [&](const archive::SafetensorsEntry& entry) {
    cli::RunOptions options;
    options.model = bundle();
    options.inputs = {tensor_file("inputs", entry)};
    auto result = cli::run_run(options);
    EXPECT_FALSE(result);
    return result ? "" : to_text(result.error());
  };
  EXPECT_NE(advice({"x", DType::Float32, {4, 8}}).find("--dim"), std::string::npos);
  EXPECT_NE(advice({"x", DType::Float64, {2, 8}}).find("input 0 must be f32[2,8]"), std::string::npos);
  EXPECT_NE(advice({"x", DType::Float32, {2}}).find("input 0 must be"), std::string::npos);
}

TEST_F(RunErrors, inputs_that_do_not_fit_are_named_before_a_device_is_asked_for) {
  std::string good = tensor_file("good", {"x", DType::Float32, {8, 8}});
  std::string model = fixture("mlp_dynamic.pt2");
  expect_run_refused("a good call stops at the plugin", Kind::PluginLoad, model, {good});
  expect_run_refused("rank", Kind::InputType, model, {tensor_file("a", {"x", DType::Float32, {8}})});
  expect_run_refused("dtype", Kind::InputType, model, {tensor_file("b", {"x", DType::Float64, {8, 8}})});
  expect_run_refused("size", Kind::DimConflict, model, {tensor_file("c", {"x", DType::Float32, {8, 9}})});
  expect_run_refused("range", Kind::DimRange, model, {tensor_file("d", {"x", DType::Float32, {1, 8}})});
  test::write_text(directory.file("none"), archive::safetensors_header({}, {}));
  expect_run_refused("missing", Kind::InputMissing, model, {directory.file("none")});
  expect_run_refused("twice", Kind::InputRepeated, model, {good, good});
  std::string array = directory.file("x.npy");
  ASSERT_TRUE(archive::write_npy(array, DType::Float32, {8, 8}, bytes_of(std::string(256, '\0'))));
  expect_run_refused("no input of that name", Kind::InputUnknown, model, {"x=" + array, "y=" + array});
  expect_run_refused("another name", Kind::InputUnknown, model, {"y=" + array});
  test::write_text(directory.file("text"), "no tensors here");
  expect_run_refused("no safetensors", Kind::SafetensorsHeader, model, {directory.file("text")});
  test::write_text(directory.file("text.npy"), "no array here");
  expect_run_refused("no npy", Kind::NpyFormat, model, {"x=" + directory.file("text.npy")});
}

TEST_F(RunErrors, a_bundle_takes_no_options_of_the_import) {
  cli::RunOptions options;
  options.model = bundle();
  options.inputs = {tensor_file("good", {"x", DType::Float32, {8, 8}})};
  options.lift.dims = {"x.0=2"};
  auto result = cli::run_run(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::ImportOption);
}

TEST_F(RunErrors, bundles_that_were_changed_are_refused) {
  std::string good = tensor_file("good", {"x", DType::Float32, {8, 8}});
  expect_run_refused("size", Kind::NoSuchProgram, bundle(), {tensor_file("a", {"x", DType::Float32, {3, 8}})});
  std::string manifest = test::read_text(out + "/manifest.json");
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = manifest;
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    test::write_text(out + "/manifest.json", text.replace(at, from.size(), to));
  };
  with("\"format_version\": 1", "\"format_version\": 9");
  expect_run_refused("version", Kind::ManifestVersion, out, {good});
  with("\"role\": \"weight\"", "\"role\": \"weird\"");
  expect_run_refused("role", Kind::ManifestField, out, {good});
  std::filesystem::remove(out + "/manifest.json");
  expect_run_refused("no manifest", Kind::NotABundle, out, {good});
}

TEST_F(RunErrors, unknown_names_are_answered) {
  auto ops = cli::run_ops({.name = "no_such_operator"});
  ASSERT_FALSE(ops);
  EXPECT_EQ(ops.error().kind, Kind::OperatorUnknown);
  auto misspelt = cli::run_ops({.name = "softmaks"});
  ASSERT_FALSE(misspelt);
  EXPECT_NE(to_text(misspelt.error()).find("nearest are `softmax`"), std::string::npos) << to_text(misspelt.error());
  auto devices = cli::run_devices({.plugin = "abacus"});
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().kind, Kind::PluginUnknown);
  EXPECT_EQ(cli::exit_code(devices.errors()), cli::ExitCode::Device);
  cli::VerifyOptions verify;
  verify.run.model = fixture("mlp_dynamic.pt2");
  verify.run.inputs = {tensor_file("good", {"x", DType::Float32, {8, 8}})};
  auto compared = cli::run_verify(verify);
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().kind, Kind::NothingExpected);
}

}  // namespace
}  // namespace torchlift
