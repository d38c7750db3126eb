// Writes opcodes for tests: pickles as torch.save writes them, and wrong ones.
#pragma once

#include <string>
#include <string_view>

#include "archive/zip_builder.hpp"

namespace torchlift::archive::pickled {

inline std::string text(std::string_view value) {
  std::string out = "X";
  put_number(out, value.size(), 4);
  return out + std::string(value);
}
inline std::string integer(int32_t value) {
  std::string out = "J";
  put_number(out, static_cast<uint32_t>(value), 4);
  return out;
}
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string tuple(std::string_view items) { return "(" + std::string(items) + "t"; }
inline std::string storage(std::string_view type, std::string_view key, int32_t elements) {
  return tuple(text("storage") + global("torch", type) + text(key) + text("cpu") + integer(elements)) + "Q";
}
inline std::string hooks() { return global("collections", "OrderedDict") + ")R"; }
// sizes and strides are opcodes of integers.
inline std::string tensor(std::string_view storage_ops, int32_t offset, std::string_view sizes,
                          std::string_view strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(std::string(storage_ops) + integer(offset) + tuple(sizes) + tuple(strides) + "\x89" + hooks()) + "R";
}
inline std::string dict(std::string_view keys_and_values) { return "}(" + std::string(keys_and_values) + "u"; }
// A whole pickle of protocol 2.
inline std::string whole(std::string_view ops) { return "\x80\x02" + std::string(ops) + "."; }

}  // namespace torchlift::archive::pickled
