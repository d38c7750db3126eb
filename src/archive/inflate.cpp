#include "archive/inflate.hpp"

#include <libdeflate.h>

#include <memory>

#include "base/kinds.hpp"

namespace torchlift::archive {
namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

std::string_view problem_of(libdeflate_result result) {
  switch (result) {
    case LIBDEFLATE_SUCCESS: return "";
    case LIBDEFLATE_SHORT_OUTPUT: return "it holds fewer";
    case LIBDEFLATE_INSUFFICIENT_SPACE: return "it holds more";
    case LIBDEFLATE_BAD_DATA: break;
  }
  return "its deflate stream is damaged";
}

}  // namespace

Result<Buffer> inflate(ByteView stream, uint64_t size, const std::string& member, const std::string& file) {
  TRY(Buffer buffer, Buffer::allocate(size, file));
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) return diagnose(Kind::OutOfMemory, {{"bytes", static_cast<int64_t>(size)}}, file);
  size_t consumed = 0;
  libdeflate_result result = libdeflate_deflate_decompress_ex(decompressor.get(), stream.data(), stream.size(),
                                                              buffer.bytes().data(), size, &consumed, nullptr);
  std::string_view problem = problem_of(result);
  if (problem.empty() && consumed != stream.size()) problem = "its deflate stream ends early";
  if (problem.empty()) return buffer;
  return diagnose(Kind::ZipInflate,
                  {{"name", member}, {"size", static_cast<int64_t>(size)}, {"problem", std::string(problem)}}, file);
}

}  // namespace torchlift::archive
