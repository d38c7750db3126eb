// Raw deflate streams, by libdeflate.
#pragma once

#include <cstdint>
#include <string>

#include "archive/record.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// The `size` bytes that `stream` holds, exactly; `member` and `file` are named by the diagnostic if it holds others.
Result<Buffer> inflate(ByteView stream, uint64_t size, const std::string& member, const std::string& file);

}  // namespace torchlift::archive
