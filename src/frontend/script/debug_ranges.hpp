// Where the code of a TorchScript archive comes from: its `.debug_pkl` members map bytes of a `.py` member to lines of
// the author's own files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/diagnostic.hpp"
#include "base/result.hpp"

namespace torchlift::frontend::script {

class DebugRanges {
 public:
  // Both formats of PyTorch. The member is optional, so its reader's caller may go on without one that cannot be read.
  // `file` and `member` go into diagnostics.
  static Result<DebugRanges> read(ByteView bytes, const std::string& file, const std::string& member);

  // The author's lines for the byte at `offset` of the `.py` text, innermost first; empty where none are known.
  const std::vector<SourceLine>& at(uint64_t offset) const;

 private:
  struct Range {
    uint64_t offset = 0;  // of the first byte; it reaches to the next one's
    size_t frames = 0;    // index into frames_
  };
  std::vector<Range> ranges_;                        // sorted by offset
  std::vector<std::vector<SourceLine>> frames_{{}};  // the first is empty
};

}  // namespace torchlift::frontend::script
