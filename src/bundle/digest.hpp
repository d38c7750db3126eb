// Private to this room: a digest of bytes that come piece by piece.
#pragma once

#include <string>

#include "base/bytes.hpp"

struct XXH3_state_s;

namespace torchlift::bundle {

class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;
  void update(ByteView bytes);
  std::string text() const;  // "xxh3-128:...", of what came so far

 private:
  XXH3_state_s* state_;
};

}  // namespace torchlift::bundle
