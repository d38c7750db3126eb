// The kinds of diagnostics by name. Apart from diagnostic.hpp, so that a new kind rebuilds only what names kinds.
#pragma once

#include "base/diagnostic.hpp"

namespace torchlift {

enum class Kind : uint16_t {
#define DIAGNOSTIC(name, id, severity, message, advice) name,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
};

}  // namespace torchlift
