// What a file is, what is said of files that are no model, and the recorded archives.
#include "archive/archive.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "archive/pickle_writer.hpp"
#include "archive/torch_save.hpp"
#include "base/kinds.hpp"

namespace torchlift::archive {
namespace {

using namespace pickled;
using namespace std::string_literals;

const std::string kFixtures = TORCHLIFT_SOURCE_DIR "/tests/data/fixtures/";

// The kind of the refusal by open or by expect_pt2; empty for a `.pt2`.
std::string refusal(const std::string& bytes, std::string* message = nullptr) {
  Result<std::unique_ptr<Archive>> archive = Archive::from_memory(bytes_of(bytes), "m.pt2");
  Status status = archive ? expect_pt2(**archive) : Status(archive.errors());
  if (status) return "";
  if (message != nullptr) *message = to_text(status.error());
  EXPECT_EQ(status.error().place.file, "m.pt2");
  return std::string(info(status.error().kind).id);
}

std::string container(const std::string& format, const std::string& version, const std::string& order = "little") {
  return build_zip({{.name = "m/models/model.json", .data = "{}"},
                    {.name = "m/archive_format", .data = format},
                    {.name = "m/archive_version", .data = version},
                    {.name = "m/byteorder", .data = order}});
}

std::string saved(const std::string& ops) {
  return build_zip({{.name = "w/data.pkl", .data = whole(ops)}, {.name = "w/data/0", .data = "1234"}});
}

TEST(Recognise, containers_of_torch_export) {
  EXPECT_EQ(refusal(container("pt2", "0")), "");
  EXPECT_EQ(refusal(build_zip({{.name = "serialized_exported_program.json", .data = "{}"}})), "");
  EXPECT_EQ(
      refusal(build_zip({{.name = "m/models/a.json", .data = "{}"}, {.name = "m/archive_format", .data = "pt2"}})), "");
  EXPECT_EQ(refusal(container("pt3", "0")), "archive-format");
  EXPECT_EQ(refusal(container("pt2", "1")), "archive-version");
  EXPECT_EQ(refusal(container("pt2", "0", "big")), "big-endian");
  EXPECT_EQ(refusal(build_zip({{.name = "m/archive_format", .data = "pt2"}})), "member-missing");
}

TEST(Recognise, the_root_is_that_of_the_first_member) {
  auto archive = Archive::from_memory(bytes_of(container("pt2", "0")), "other.pt2");
  EXPECT_EQ((*archive)->root(), "m");
  EXPECT_EQ((*archive)->member_name("models/model.json"), "m/models/model.json");
  EXPECT_EQ((*archive)->read("models/model.json")->text(), "{}");
}

TEST(Recognise, compiled_packages_are_told_apart) {
  EXPECT_EQ(refusal(build_zip(
                {{.name = "m/archive_format", .data = "pt2"}, {.name = "m/data/aotinductor/model/x.so", .data = "x"}})),
            "aotinductor-only");
  EXPECT_EQ(refusal(build_zip({{.name = "data/aotinductor/model/x.so", .data = "x"}})), "aotinductor-only");
  EXPECT_EQ(refusal(build_zip({{.name = "m/archive_format", .data = "pt2"},
                               {.name = "m/models/model.json", .data = "{}"},
                               {.name = "m/data/aotinductor/model/x.so", .data = "x"}})),
            "");
}

TEST(Recognise, a_pickled_module_is_answered_with_the_export) {
  std::string module = global("models", "Net") + ")\x81" + dict(text("_modules") + "}") + "b";
  std::string message;
  EXPECT_EQ(refusal(saved(module), &message), "pickled-module");
  EXPECT_NE(message.find("`models.Net`"), std::string::npos) << message;
  EXPECT_NE(message.find("torch.export.save(torch.export.export(model"), std::string::npos) << message;
  // A checkpoint that holds a whole module beside numbers.
  EXPECT_EQ(refusal(saved(dict(text("epoch") + integer(3) + text("model") + module))), "pickled-module");
}

TEST(Recognise, a_state_dict_is_answered_with_the_export) {
  std::string one = tensor(storage("FloatStorage", "0", 1), 0, "", "");
  std::string parameter = global("torch._utils", "_rebuild_parameter") + tuple(one + "\x88" + hooks()) + "R";
  std::string message;
  EXPECT_EQ(refusal(saved(dict(text("a") + one + text("b") + parameter)), &message), "bare-state-dict");
  EXPECT_NE(message.find("tensors in it: 2\n"), std::string::npos) << message;
}

TEST(Recognise, other_files_of_pytorch) {
  EXPECT_EQ(
      refusal(build_zip({{.name = "m/data.pkl", .data = whole("N")}, {.name = "m/constants.pkl", .data = whole(")")}})),
      "torchscript-file");
  EXPECT_EQ(
      refusal(build_zip({{.name = "m/model/data.pkl", .data = ""}, {.name = "m/.data/extern_modules", .data = ""}})),
      "torch-package-file");
  EXPECT_EQ(refusal("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s), "legacy-torch-save");
  EXPECT_EQ(refusal("\x80\x04N."), "foreign-file");
}

TEST(Recognise, foreign_files_are_named) {
  EXPECT_EQ(refusal(""), "empty-file");
  EXPECT_EQ(refusal("hello"), "unknown-file");
  EXPECT_EQ(refusal("\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}"s), "safetensors-file");
  EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "git-lfs-pointer");
  EXPECT_EQ(refusal("\n<!DOCTYPE html><html>404</html>"), "html-page");
  EXPECT_EQ(refusal("<HTML lang=en>"), "html-page");
  std::string message;
  EXPECT_EQ(refusal("\x08\x08\x12\x07pytorch", &message), "foreign-file");
  EXPECT_NE(message.find("an ONNX model"), std::string::npos);
  EXPECT_EQ(refusal("\x89HDF\r\n\x1a\n", &message), "foreign-file");
  EXPECT_NE(message.find("HDF5"), std::string::npos);
  EXPECT_EQ(refusal(build_zip({{.name = "word/document.xml", .data = "x"}})), "other-zip");
  EXPECT_EQ(refusal(build_zip({})), "other-zip");
  EXPECT_EQ(refusal(container("pt2", "0").substr(0, 200)), "zip-truncated");
}

TEST(Archive, a_file_that_is_not_there_is_an_error) {
  EXPECT_EQ(Archive::open(kFixtures + "no_such_file.pt2").error().kind, Kind::CannotOpen);
  EXPECT_EQ(Archive::open(kFixtures).error().kind, Kind::CannotOpen);
}

TEST(Archive, nested_files_are_read_where_they_lie_or_inflated) {
  std::string inner = saved(dict(text("w") + tensor(storage("FloatStorage", "0", 1), 0, "", "")));
  for (bool deflated : {false, true}) {
    std::string bytes = build_zip({{.name = "serialized_exported_program.json", .data = "{}"},
                                   {.name = "serialized_state_dict.pt", .data = inner, .deflated = deflated}});
    auto archive = Archive::from_memory(bytes_of(bytes), "m.pt2");
    ASSERT_TRUE(archive.ok());
    Result<Zip> zip = (*archive)->nested(*(*archive)->find("serialized_state_dict.pt"));
    ASSERT_TRUE(zip.ok());
    Result<TorchSave> state = TorchSave::read(*zip);
    ASSERT_TRUE(state.ok());
    Result<TensorRecord> tensor = state->tensor(state->pickle().attribute(state->root(), "w"), "w");
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(tensor->record.source == &(*archive)->source(), !deflated);
    EXPECT_EQ(text_of(*view(tensor->record)), "1234");
    EXPECT_EQ(tensor->record.member, "serialized_state_dict.pt/w/data/0");
  }
}

TEST(Archive, a_nested_file_that_is_no_zip_is_named) {
  std::string legacy = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;
  auto archive =
      Archive::from_memory(bytes_of(build_zip({{.name = "a.pt", .data = legacy}, {.name = "b.pt", .data = "x"}})), "m");
  EXPECT_EQ((*archive)->nested(*(*archive)->find("a.pt")).error().kind, Kind::LegacyTorchSave);
  EXPECT_EQ((*archive)->nested(*(*archive)->find("b.pt")).error().kind, Kind::UnknownFile);
}

// Opens a recorded archive; `use` sees it.
std::unique_ptr<Archive> fixture(const std::string& name) {
  auto archive = Archive::open(kFixtures + name);
  EXPECT_TRUE(archive.ok()) << to_text(archive.error());
  return archive ? std::move(archive).value() : nullptr;
}

std::string state_text(Archive& archive, const Member* member, std::string_view name) {
  Result<Zip> zip = archive.nested(*member);
  if (!zip) return to_text(zip.error());
  Result<TorchSave> state = TorchSave::read(std::move(zip).value());
  if (!state) return to_text(state.error());
  PickleId id = state->pickle().attribute(state->root(), name);
  Result<TensorRecord> tensor = state->tensor(id, name);
  if (!tensor) return to_text(tensor.error());
  if (!file_range(tensor->record)) return "not in the file";
  if (check_crc(tensor->record, Strict::Yes)) return "wrong crc";
  return state->pickle().text(id);
}

TEST(Fixtures, every_archive_opens_and_all_of_its_members_are_right) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    std::string extension = entry.path().extension().string();
    if (extension != ".pt2" && extension != ".pt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    auto archive = Archive::open(entry.path().string());
    ASSERT_TRUE(archive.ok()) << to_text(archive.error());
    for (const Member& member : (*archive)->zip().members()) {
      EXPECT_TRUE((*archive)->zip().read(member).ok()) << member.name;
      EXPECT_FALSE(check_crc((*archive)->zip().record(member), Strict::Yes).has_value()) << member.name;
    }
    FileKind kind = (*archive)->kind();
    EXPECT_EQ(kind == FileKind::TorchScript, extension == ".pt");
    EXPECT_EQ(expect_pt2(**archive).ok(), extension == ".pt2");
    ++count;
  }
  EXPECT_GE(count, 20);
}

TEST(Fixtures, state_dicts_of_torch_2_6_point_into_the_outer_file) {
  auto archive = fixture("layout26.pt2");
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(archive->kind(), FileKind::Pt2Zip);
  EXPECT_EQ(state_text(*archive, archive->find("serialized_state_dict.pt"), "fc1.weight"),
            "parameter(f32[16,8] strides 8,1 at 0 of storage(\"0\", FloatStorage, 128), requires_grad)");
}

TEST(Fixtures, state_dicts_of_torch_2_8_point_into_the_outer_file) {
  auto archive = fixture("layout28.pt2");
  ASSERT_NE(archive, nullptr);
  EXPECT_EQ(archive->kind(), FileKind::Pt2);
  EXPECT_EQ(archive->root(), "layout28");
  EXPECT_EQ(state_text(*archive, archive->find("data/weights/model.pt"), "fc1.weight"),
            "parameter(f32[16,8] strides 8,1 at 0 of storage(\"0\", FloatStorage, 128), requires_grad)");
}

TEST(Fixtures, sample_inputs_are_read) {
  auto archive = fixture("weights_layout.pt2");
  ASSERT_NE(archive, nullptr);
  Result<Zip> zip = archive->nested(*archive->find("data/sample_inputs/model.pt"));
  ASSERT_TRUE(zip.ok());
  Result<TorchSave> inputs = TorchSave::read(std::move(zip).value());
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->pickle().text(inputs->root()).substr(0, 9), "((tensor(");
}

TEST(Fixtures, torchscript_modules_are_read_with_their_tensors) {
  auto archive = fixture("ts_tensors.pt");
  ASSERT_NE(archive, nullptr);
  Result<TorchSave> module = TorchSave::read(archive->zip());
  ASSERT_TRUE(module.ok()) << to_text(module.error());
  const Pickle& pickle = module->pickle();
  EXPECT_TRUE(pickle.class_name(pickle.root).starts_with("__torch__.___torch_mangle_23."))
      << pickle.class_name(pickle.root);
  EXPECT_EQ(pickle.text(pickle.attribute(pickle.root, "col")),
            "tensor(f32[6] strides 4 at 1 of storage(\"2\", FloatStorage, 24))");
  int tensors = 0;
  for (size_t i = 0; i < pickle.values.size(); ++i) {
    if (pickle.get_if<PickleTensor>(PickleId(i)) == nullptr) continue;
    EXPECT_TRUE(module->tensor(PickleId(i), "t").ok());
    ++tensors;
  }
  EXPECT_GE(tensors, 16);
  Result<TorchSave> constants = TorchSave::read(archive->zip(), "ts_tensors/constants.pkl", "ts_tensors/constants/");
  ASSERT_TRUE(constants.ok());
  EXPECT_EQ(constants->pickle().text(constants->root()), "()");
}

}  // namespace
}  // namespace torchlift::archive
