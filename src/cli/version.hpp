// The version of the program, as CMake's project() says.
#pragma once

#include <string_view>

namespace torchlift::cli {

inline constexpr std::string_view kVersion = TORCHLIFT_VERSION;

}  // namespace torchlift::cli
