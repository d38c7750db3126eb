// A small TorchScript archive in memory, for tests: x * self.w, and the same with parts of it replaced.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/pickle_writer.hpp"
#include "archive/zip_builder.hpp"
#include "base/kinds.hpp"
#include "frontend/script/load.hpp"

namespace torchlift::frontend::script {

inline std::string small_code() {
  return "class M(Module):\n"
         "  __parameters__ = [\"w\", ]\n"
         "  __buffers__ = []\n"
         "  w : Tensor\n"
         "  training : bool\n"
         "  def forward(self: __torch__.M,\n"
         "    x: Tensor) -> Tensor:\n"
         "    w = self.w\n"
         "    return torch.mul(x, w)\n";
}

// f32[count] over a whole record.
inline std::string pickled_tensor(std::string_view key, int32_t count) {
  using namespace archive::pickled;
  return tensor(storage("FloatStorage", key, count), 0, integer(count), integer(1));
}

// An object of `__torch__.NAME` with these attributes (opcodes of keys and values).
inline std::string pickled_object(std::string_view name, std::string_view attributes) {
  using namespace archive::pickled;
  return global("__torch__", name) + ")\x81" + dict(attributes) + "b";
}

inline std::string small_attributes() {
  using namespace archive::pickled;
  return text("w") + pickled_tensor("0", 2) + text("training") + "\x88";
}

struct SmallScript {
  std::string code = small_code();
  std::string data = archive::pickled::whole(pickled_object("M", small_attributes()));
  std::string constants = archive::pickled::whole(")");
  std::string record = std::string(8, '\0');
  std::string version = "3\n";
  std::vector<archive::ZipEntry> more = {};
  std::vector<std::string> without = {};  // members

  // With these attributes of the root beside `w` and `training`: lines of the class, opcodes of keys and values.
  static SmallScript with(const std::string& declared, const std::string& attributes, const std::string& classes = "") {
    SmallScript out;
    size_t at = out.code.find("  training : bool\n");
    out.code.insert(at, declared);
    out.code += classes;
    out.data = archive::pickled::whole(pickled_object("M", small_attributes() + attributes));
    return out;
  }

  std::string bytes() const {
    std::vector<archive::ZipEntry> entries = {
        {.name = "small/data.pkl", .data = data},
        {.name = "small/code/__torch__.py", .data = code, .deflated = true},
        {.name = "small/data/0", .data = record, .alignment = 64},
        {.name = "small/constants.pkl", .data = constants},
        {.name = "small/version", .data = version},
        {.name = "small/byteorder", .data = "little"},
    };
    for (const std::string& name : without)
      std::erase_if(entries, [&](const archive::ZipEntry& entry) { return entry.name == "small/" + name; });
    entries.insert(entries.end(), more.begin(), more.end());
    return archive::build_zip(entries);
  }
};

// The file, and what was read of it: records point into the archive.
struct OpenedScript {
  std::unique_ptr<archive::Archive> archive;
  Result<ScriptFile> file;
};

inline OpenedScript opened(Result<std::unique_ptr<archive::Archive>> archive) {
  if (!archive) return {nullptr, std::move(archive.errors())};
  std::unique_ptr<archive::Archive> holder = std::move(archive).value();
  EXPECT_EQ(holder->kind(), archive::FileKind::TorchScript);
  Result<ScriptFile> file = load(*holder);
  return {std::move(holder), std::move(file)};
}

inline OpenedScript open_script(const SmallScript& small) {
  std::string bytes = small.bytes();
  return opened(archive::Archive::from_memory(bytes_of(bytes), "small.pt"));
}

template <typename T>
std::string problems(const Result<T>& result) {
  std::string out;
  if (!result)
    for (const Diagnostic& each : result.errors()) out += to_text(each);
  return out;
}

// The id of the first problem, and its message; empty if there is none.
struct ScriptRefusal {
  std::string id;
  std::string message;
};

inline ScriptRefusal refusal(const SmallScript& small) {
  OpenedScript opened = open_script(small);
  if (opened.file) return {};
  return {std::string(info(opened.file.error().kind).id), opened.file.error().message()};
}

}  // namespace torchlift::frontend::script
