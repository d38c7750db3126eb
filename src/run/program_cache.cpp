#include "run/program_cache.hpp"

#include <xxhash.h>

namespace torchlift::run {

Result<const pjrt::Executable*> ProgramCache::get(std::string_view program) {
  XXH128_hash_t hash = XXH3_128bits(program.data(), program.size());
  Key key{.low = hash.low64, .high = hash.high64, .size = program.size()};
  if (auto found = programs_.find(key); found != programs_.end()) return &found->second;
  TRY(pjrt::Executable executable, pjrt::Executable::compile(*client_, bytes_of(program), options_));
  ++compiled_;
  return &programs_.emplace(key, std::move(executable)).first->second;
}

}  // namespace torchlift::run
