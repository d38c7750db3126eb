// The text of a `code/….py` member as classes and functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "frontend/script/syntax.hpp"

namespace torchlift::frontend::script {

// `member` goes into diagnostics. Nesting and size are bounded by the constants of syntax.hpp, so that whoever walks
// the result may do so by recursion.
Result<Source> parse_source(std::string_view text, const std::string& member);

// A type as its text: "Dict[str, List[int]]", "__torch__.M", "Tuple[()]". Nothing if the expression is no type.
std::optional<std::string> type_text(const Expr& expr);

}  // namespace torchlift::frontend::script
