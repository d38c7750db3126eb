// torch.save files: tensors with the records that hold them.
#include "archive/torch_save.hpp"

#include <gtest/gtest.h>

#include "archive/pickle_writer.hpp"

namespace torchlift::archive {
namespace {

using namespace pickled;

struct Saved {
  std::unique_ptr<Source> source;
  Result<TorchSave> file;

  explicit Saved(const std::vector<ZipEntry>& entries)
      : source(memory_source(build_zip(entries))), file(TorchSave::read(Zip::open(*source).value())) {}
  std::string kind() const { return file ? "" : std::string(info(file.error().kind).id); }
  // Refusal of the value named `name`, empty if it is a tensor within its record.
  std::string tensor_kind(const std::string& name) const {
    Result<TensorRecord> tensor = file->tensor(file->pickle().attribute(file->root(), name), name);
    return tensor ? "" : std::string(info(tensor.error().kind).id);
  }
};

Saved save(const std::string& ops, const std::string& bytes, const std::string& order = "little") {
  return Saved({{.name = "archive/data.pkl", .data = whole(ops)},
                {.name = "archive/byteorder", .data = order},
                {.name = "archive/data/0", .data = bytes}});
}

std::string float_tensor(int32_t offset, const std::string& sizes, const std::string& strides) {
  return tensor(storage("FloatStorage", "0", 6), offset, sizes, strides);
}

TEST(TorchSave, tensors_point_into_their_records) {
  Saved saved =
      save(dict(text("w") + float_tensor(1, integer(2), integer(2)) + text("n") + integer(7)), std::string(24, 'f'));
  ASSERT_TRUE(saved.file.ok());
  auto values = saved.file->named_values();
  ASSERT_TRUE(values.ok());
  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ((*values)[0].first, "w");
  Result<TensorRecord> tensor = saved.file->tensor((*values)[0].second, "w");
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->offset, 1);
  EXPECT_EQ(tensor->record.member, "archive/data/0");
  EXPECT_EQ(text_of(*view(tensor->record)), std::string(24, 'f'));
}

TEST(TorchSave, the_last_of_equal_names_counts) {
  Saved saved = save(dict(text("a") + integer(1) + text("b") + integer(2) + text("a") + integer(3)), "");
  auto values = saved.file->named_values();
  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ(saved.file->pickle().text((*values)[0].second), "3");
}

TEST(TorchSave, tensors_beyond_their_record_are_refused) {
  std::string bytes(24, 'f');
  EXPECT_EQ(save(dict(text("w") + float_tensor(0, integer(6), integer(1))), bytes).tensor_kind("w"), "");
  EXPECT_EQ(save(dict(text("w") + float_tensor(1, integer(6), integer(1))), bytes).tensor_kind("w"), "tensor-bounds");
  EXPECT_EQ(save(dict(text("w") + float_tensor(0, integer(4), integer(2))), bytes).tensor_kind("w"), "tensor-bounds");
  EXPECT_EQ(save(dict(text("w") + float_tensor(5, "", "")), bytes).tensor_kind("w"), "");
  EXPECT_EQ(save(dict(text("w") + float_tensor(6, "", "")), bytes).tensor_kind("w"), "tensor-bounds");
  EXPECT_EQ(save(dict(text("w") + float_tensor(0, integer(5), integer(0))), bytes).tensor_kind("w"), "");  // expanded
  EXPECT_EQ(save(dict(text("w") + float_tensor(0, integer(6), integer(1))), bytes.substr(1)).tensor_kind("w"),
            "tensor-bounds");
}

TEST(TorchSave, numbers_that_overflow_are_refused) {
  Record record{.source = nullptr, .size = 8};
  auto source = memory_source("");
  record.source = source.get();
  auto kind = [&](int64_t offset, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    TensorRecord tensor{
        .record = record, .dtype = DType::Float64, .offset = offset, .sizes = sizes, .strides = strides};
    Status status = check_bounds(tensor, "w");
    return status ? "" : std::string(info(status.error().kind).id);
  };
  constexpr int64_t kMost = INT64_MAX;
  EXPECT_EQ(kind(0, {1}, {kMost}), "");
  EXPECT_EQ(kind(0, {2}, {kMost}), "tensor-bounds");
  EXPECT_EQ(kind(0, {2, 2}, {kMost, kMost}), "tensor-bounds");
  EXPECT_EQ(kind(kMost, {1}, {1}), "tensor-bounds");
  EXPECT_EQ(kind(kMost / 8, {1}, {1}), "tensor-bounds");
  EXPECT_EQ(kind(0, {kMost, 2}, {0, 0}), "tensor-layout");
  EXPECT_EQ(kind(0, {0, kMost}, {kMost, kMost}), "");  // no elements
  EXPECT_EQ(kind(0, {-1}, {1}), "tensor-layout");
  EXPECT_EQ(kind(0, {1}, {-1}), "tensor-layout");
  EXPECT_EQ(kind(-1, {1}, {1}), "tensor-layout");
  EXPECT_EQ(kind(0, {1}, {}), "tensor-layout");
}

TEST(TorchSave, a_storage_without_elements_may_have_no_record) {
  std::string none = tensor(storage("FloatStorage", "9", 0), 0, integer(0), integer(1));
  EXPECT_EQ(save(dict(text("w") + none), "").tensor_kind("w"), "");
  std::string missing = tensor(storage("FloatStorage", "9", 1), 0, integer(1), integer(1));
  EXPECT_EQ(save(dict(text("w") + missing), "").tensor_kind("w"), "member-missing");
}

TEST(TorchSave, weights_that_were_not_saved_are_named) {
  Saved saved = save(dict(text("w") + float_tensor(0, integer(1), integer(1))), "");
  EXPECT_EQ(saved.tensor_kind("w"), "weights-not-saved");
}

TEST(TorchSave, big_endian_files_are_refused) { EXPECT_EQ(save("}", "", "big").kind(), "big-endian"); }

TEST(TorchSave, a_file_without_its_pickle_is_refused) {
  EXPECT_EQ(Saved(std::vector{ZipEntry{.name = "archive/data/0", .data = "x"}}).kind(), "member-missing");
}

TEST(TorchSave, a_root_that_is_no_dict_has_no_names) {
  Saved saved = save("]", "");
  EXPECT_FALSE(saved.file->named_values().ok());
}

}  // namespace
}  // namespace torchlift::archive
