// The commands, and the program as a user calls it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "archive/safetensors.hpp"
#include "base/kinds.hpp"
#include "bundle/read.hpp"
#include "cli/case_file.hpp"
#include "cli/command.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::cli {
namespace {

using test::TemporaryDirectory;

std::string fixture(const std::string& name) {
  return std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/fixtures/" + name;
}

// Runs the program; standard output and error go to `output`.
int call(const std::string& arguments, std::string* output = nullptr, const std::string& before = "") {
  TemporaryDirectory directory;
  std::string command = before + " '" TORCHLIFT_PROGRAM "' " + arguments + " >'" + directory.file("out") + "' 2>&1";
  int status = std::system(command.c_str());
  if (output) *output = test::read_text(directory.file("out"));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ImportOptions import_of(const std::string& name, const std::string& directory) {
  ImportOptions options;
  options.file = fixture(name);
  options.directory = directory;
  return options;
}

struct Cli : testing::Test {
  TemporaryDirectory directory;
  std::string out = directory.file("out");
};

TEST_F(Cli, exit_codes_are_as_documented) {
  EXPECT_EQ(call("--version"), 0);
  EXPECT_EQ(call("--help"), 0);
  EXPECT_EQ(call(""), 2);
  EXPECT_EQ(call("import"), 2);
  EXPECT_EQ(call("import x -o y --precision exact"), 2);
  EXPECT_EQ(call("no-such-command"), 2);
  EXPECT_EQ(call("run-cases list.tsv -o out --jobs 99999999999"), 2);
  EXPECT_EQ(call("inspect '" + fixture("mlp_dynamic.pt2") + "'"), 0);
  EXPECT_EQ(call("inspect /no/such/file"), 1);
  EXPECT_EQ(call("devices --plugin /no/such/plugin.so"), 4);
  EXPECT_EQ(call("ops"), 0);
}

TEST_F(Cli, what_is_known_of_an_operator_is_said) {
  auto known = run_ops({.name = "gelu"});
  ASSERT_TRUE(known);
  EXPECT_NE(known->text.find("supported      aten::gelu\n"), std::string::npos) << known->text;
  EXPECT_NE(known->text.find("tested         "), std::string::npos) << known->text;
  EXPECT_NE(known->text.find("refused        unsupported-mode: gelu(f32[3], approximate=\"cubic\")\n"),
            std::string::npos)
      << known->text;
  EXPECT_NE(known->json.find(R"("dtypes": [)"), std::string::npos) << known->json;
  auto tested = [](const std::string& text) { return text.substr(text.find("tested  ")); };
  EXPECT_EQ(tested(run_ops({.name = "gelu_"})->text), tested(known->text)) << "the in-place form is the same operator";
  for (const char* printed : {"aten.gelu.default", "aten::gelu.default", "gelu.default"})
    EXPECT_EQ(run_ops({.name = printed})->text, known->text) << printed;
  auto unsupported = run_ops({.name = "aten::coalesce"});
  ASSERT_TRUE(unsupported);
  EXPECT_NE(unsupported->text.find("not supported  aten::coalesce\nwhy            sparse tensors"), std::string::npos)
      << unsupported->text;
  auto other = run_ops({.name = "transformers::grouped_mm_fallback"});
  ASSERT_TRUE(other);
  EXPECT_NE(other->text.find("tested         recorded models"), std::string::npos)
      << "no line, and why: " << other->text;
}

TEST_F(Cli, every_command_has_help_with_an_example) {
  for (const char* command :
       {"import", "bind", "verify-bundle", "run", "verify", "inspect", "ops", "devices", "run-cases"}) {
    std::string text;
    EXPECT_EQ(call(std::string(command) + " --help", &text), 0);
    EXPECT_NE(text.find("Example"), std::string::npos) << command;
    EXPECT_NE(text.find("--json"), std::string::npos) << command;
  }
}

TEST_F(Cli, a_word_that_is_no_command_is_answered_with_the_commands) {
  std::string text;
  EXPECT_EQ(call("imprt model.pt2", &text), 2);
  EXPECT_NE(text.find("\"imprt\""), std::string::npos) << text;
  EXPECT_NE(text.find("import, bind, verify-bundle, run, verify"), std::string::npos) << text;
}

TEST_F(Cli, json_is_one_object_with_status_and_diagnostics) {
  std::string text;
  EXPECT_EQ(call("--json inspect /no/such/file", &text), 1);
  EXPECT_EQ(text.find("{\"status\": \"refused\", \"result\": null, \"diagnostics\": [{\"kind\": \"cannot-open\""), 0u)
      << text;
  EXPECT_EQ(call("--json import", &text), 2);
  EXPECT_EQ(text.find("{\"status\": \"usage\", \"result\": null, \"diagnostics\": [{\"kind\": \"command-line\""), 0u)
      << text;
  EXPECT_EQ(call("inspect --json '" + fixture("mlp_dynamic.pt2") + "'", &text), 0);
  EXPECT_EQ(text.find("{\"status\": \"ok\", \"result\": {"), 0u) << text;
  EXPECT_NE(text.find("\"free_axes\": [{\"name\": \"x.0\", \"size\": \"s77\"}]"), std::string::npos) << text;
}

TEST_F(Cli, imports_on_different_days_folders_and_locales_give_the_same_bytes) {
  std::filesystem::create_directory(directory.file("elsewhere"));
  for (const char* name : {"mlp_dynamic.pt2", "pytree_io.pt2", "weights_layout.pt2", "mutation.pt2", "lstm.pt2"}) {
    std::string arguments = "import '" + fixture(name) + "' -o ";
    ASSERT_EQ(call(arguments + "'" + out + "'"), 0) << name;
    ASSERT_EQ(call(arguments + "again", nullptr,
                   "cd '" + directory.file("elsewhere") + "' && TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8"),
              0)
        << name;
    for (const char* file : {"/manifest.json", "/model.mlir", "/weights.safetensors"})
      EXPECT_EQ(test::read_text(out + file), test::read_text(directory.file("elsewhere/again") + file)) << name << file;
  }
}

TEST_F(Cli, several_sizes_make_several_programs_over_one_weights_file) {
  auto options = import_of("mlp_dynamic.pt2", out);
  options.lift.dims = {"x.0=2,8"};
  ASSERT_TRUE(run_import(options));
  EXPECT_EQ(directory.entries(), (std::vector<std::string>{"out", "out/manifest.json", "out/model.b2.mlir",
                                                           "out/model.b8.mlir", "out/weights.safetensors"}));
  auto manifest = bundle::open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  for (auto& program : manifest->programs) {
    EXPECT_EQ(program.arguments[0].type.shape[0], program.dims[0].size);
    EXPECT_TRUE(bundle::read_program(out, program));
  }
}

TEST_F(Cli, weights_none_writes_the_program_alone) {
  auto options = import_of("mlp_dynamic.pt2", out);
  options.with_weights = false;
  ASSERT_TRUE(run_import(options));
  EXPECT_EQ(directory.entries(), (std::vector<std::string>{"out", "out/manifest.json", "out/model.mlir"}));
}

TEST_F(Cli, small_weights_can_be_constants) {
  auto options = import_of("mlp_dynamic.pt2", out);
  options.lift.inline_below = 100;
  ASSERT_TRUE(run_import(options));
  auto manifest = bundle::open(out);
  ASSERT_TRUE(manifest);
  for (auto& argument : manifest->programs[0].arguments) EXPECT_NE(argument.name, "fc1.bias");
}

TEST_F(Cli, a_bundle_of_tied_and_strided_weights_has_each_storage_once) {
  ASSERT_TRUE(run_import(import_of("weights_layout.pt2", out)));
  auto weights = archive::SafetensorsFile::open(out + "/weights.safetensors");
  ASSERT_TRUE(weights) << to_text(weights.error());
  EXPECT_NE(weights->find("emb.weight"), nullptr);
  EXPECT_EQ(weights->find("head.weight"), nullptr);
  EXPECT_EQ(*weights->find_metadata("aliases"), R"({"head.weight": "emb.weight"})");
}

// ---- many cases

TEST_F(Cli, a_bad_case_does_not_stop_the_others) {
  std::string model = fixture("mlp_dynamic.pt2");
  std::string x(128, '\0');
  archive::SafetensorsEntry entry{"in.0", DType::Float32, {4, 8}};
  std::vector<archive::SafetensorsData> tensors = {{entry, bytes_of(x)}};
  ASSERT_TRUE(archive::write_safetensors(directory.file("method.safetensors"), tensors, {{"method", "encode"}}));
  ASSERT_TRUE(archive::write_safetensors(directory.file("good.safetensors"), tensors, {}));
  test::write_text(directory.file("bad.safetensors"), "no tensors");
  std::string list;
  for (const char* name : {"method", "bad", "good"}) list += model + "\t" + directory.file(name) + ".safetensors\n";
  test::write_text(directory.file("list"), list);
  // The plugin is a file that is none: what needs a device is an error, what is refused before is refused.
  ASSERT_EQ(call("run-cases '" + directory.file("list") + "' -o '" + out + "' --jobs 1 --plugin '" + model + "'"), 0);
  std::string status = test::read_text(out + "/status.jsonl");
  EXPECT_NE(status.find(R"({"case": "method", "status": "refused")"), std::string::npos) << status;
  EXPECT_NE(status.find("method-missing"), std::string::npos) << status;
  EXPECT_NE(status.find(R"({"case": "bad", "status": "refused")"), std::string::npos) << status;
  EXPECT_NE(status.find(R"({"case": "good", "status": "error")"), std::string::npos) << status;
}

// ---- case files

TEST_F(Cli, answers_keep_dtypes_numbers_and_order) {
  auto tensor = [](DType dtype, std::vector<int64_t> shape) {
    std::vector<std::byte> bytes(static_cast<size_t>(info(dtype).bytes), std::byte{1});
    return run::HostTensor::own({dtype, std::move(shape)}, std::move(bytes));
  };
  LeafValues answer;
  answer.emplace("out.10", tensor(DType::Complex128, {}));
  answer.emplace("out.2", bundle::Constant(int64_t{7}));
  answer.emplace("out.0", tensor(DType::Complex64, {1}));
  answer.emplace("mut.steps", tensor(DType::Int64, {}));
  std::string keys;
  for (auto& entry : answer) keys += entry.first + " ";
  EXPECT_EQ(keys, "mut.steps out.0 out.2 out.10 ");
  ASSERT_TRUE(write_answer(directory.file("answer"), answer));
  auto read = read_case_file(directory.file("answer"));
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->values.size(), 4u);
  for (auto& [key, value] : answer) EXPECT_EQ(text_of(read->values.at(key)), text_of(value)) << key;
}

TEST_F(Cli, an_npy_file_takes_one_result_only) {
  LeafValues answer;
  answer.emplace("out.0", run::HostTensor::own({DType::Float32, {0}}, {}));
  EXPECT_TRUE(write_answer(directory.file("y.npy"), answer));
  answer.emplace("out.1", bundle::Constant(true));
  auto refused = write_answer(directory.file("y.npy"), answer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::OutputFormat);
}

}  // namespace
}  // namespace torchlift::cli
