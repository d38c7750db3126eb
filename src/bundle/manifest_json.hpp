// Private to this room: the names that the writer and the reader of manifest.json share.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "bundle/manifest.hpp"

namespace torchlift::bundle {

inline constexpr std::string_view kFormatName = "torchlift-bundle";

void write_constant(JsonWriter& json, const Constant& constant);

}  // namespace torchlift::bundle
