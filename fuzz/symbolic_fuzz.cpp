// Any text as a symbolic expression: what is read is printed, read back as the same tree, and evaluated.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "torch/schema.hpp"
#include "torch/symbolic.hpp"

namespace {

using namespace torchlift;
using namespace torchlift::torch;

bool has_nan(const SymExpr& expr) {
  if (expr.kind == SymExpr::Kind::Float && expr.number != expr.number) return true;
  for (const SymExpr& argument : expr.arguments)
    if (has_nan(argument)) return true;
  return false;
}

void use(const Result<SymExpr>& expr) {
  if (!expr) {
    (void)to_text(expr.error());
    return;
  }
  std::string text = to_text(*expr);
  if (text.size() <= kMaxSymbolicText) {
    Result<SymExpr> again = parse_infix(text);
    CHECK(again.ok()) << text;
    CHECK(has_nan(*expr) || *again == *expr) << text;
  }
  Bindings bindings;
  for (const std::string& symbol : symbols_of(*expr)) bindings.emplace(symbol, Dim::symbol(symbol, 6));
  (void)evaluate(*expr, bindings);
  (void)solve_linear(*expr, 12, "s0", bindings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = text_of(std::as_bytes(std::span(data, size)));
  use(parse_srepr(text));
  use(parse_infix(text));
  (void)parse_schema(text);
  return 0;
}
