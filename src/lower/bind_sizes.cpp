// Free sizes become numbers: requested ones first, then those of the example inputs; everything is checked.
#include <algorithm>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "lower/evaluate.hpp"

namespace torchlift::lower {
namespace {

using torch::Bindings;
using torch::SymExpr;

// An expression of the inputs that has to have a size.
struct Constraint {
  const SymExpr* expr;
  int64_t size;
  std::string what;  // "axis 0 of input x"
};

Diagnostic conflict(std::string what, int64_t got, std::string expected) {
  return diagnose(Kind::DimConflict, {{"what", std::move(what)}, {"got", got}, {"expected", std::move(expected)}});
}

std::vector<std::string> unbound(const SymExpr& expr, const Bindings& bindings) {
  std::vector<std::string> out;
  for (std::string& s : symbols_of(expr))
    if (!bindings.contains(s)) out.push_back(std::move(s));
  return out;
}

std::optional<int64_t> at(const SymExpr& expr, Bindings bindings, const std::string& symbol, int64_t size) {
  bindings.insert_or_assign(symbol, Dim(size));
  auto value = evaluate_size(expr, bindings);
  return value ? std::optional(value->concrete()) : std::nullopt;
}

// expr(symbol) = size, for an expression that is linear in the symbol.
std::optional<int64_t> solve(const SymExpr& expr, const Bindings& bindings, const std::string& symbol, int64_t size) {
  auto f0 = at(expr, bindings, symbol, 0), f1 = at(expr, bindings, symbol, 1);
  if (!f0 || !f1) return std::nullopt;
  int64_t slope = 0, rest = 0;
  if (__builtin_sub_overflow(*f1, *f0, &slope) || __builtin_sub_overflow(size, *f0, &rest)) return std::nullopt;
  if (slope == 0 || rest % slope != 0) return std::nullopt;
  int64_t answer = rest / slope;
  auto check = at(expr, bindings, symbol, answer);
  return check && *check == size ? std::optional(answer) : std::nullopt;
}

constexpr int64_t kMaxSize = int64_t{1} << 40;  // of an axis; beyond it sums and products of sizes leave 64 bits

// Every input axis and int input, free or not.
std::vector<NamedSize> nameable(const torch::Program& program) {
  std::vector<NamedSize> out;
  std::vector<std::string> paths = input_paths(program);
  size_t leaf = 0;
  for (const torch::InputSpec& spec : program.inputs) {
    bool user = spec.kind == torch::InputKind::User;
    if (!user && spec.kind != torch::InputKind::Constant) continue;
    std::string path = leaf < paths.size() ? paths[leaf] : std::to_string(leaf);
    ++leaf;
    auto* id = spec.argument.get<torch::ValueId>();
    if (!user || !id) continue;
    const torch::Value& value = program.value(*id);
    if (value.meta)
      for (size_t i = 0; i < value.meta->sizes.size(); ++i)
        out.push_back({path + "." + std::to_string(i), value.meta->sizes[i]});
    if (value.expr) out.push_back({path, *value.expr});
  }
  return out;
}

}  // namespace

std::vector<NamedSize> free_sizes(const torch::Program& program) {
  std::vector<NamedSize> out = nameable(program);
  std::erase_if(out, [](const NamedSize& n) { return n.expr.is_integer(); });
  return out;
}

Result<Bindings> bind_sizes(const torch::Program& program, const std::vector<Binding>& requested) {
  std::vector<Diagnostic> problems;
  Bindings bindings;
  std::vector<NamedSize> names = nameable(program);
  std::vector<std::string> symbols;
  for (const NamedSize& n : names)
    for (std::string& s : symbols_of(n.expr)) symbols.push_back(std::move(s));
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());

  std::vector<Constraint> constraints;
  for (const Binding& request : requested) {
    auto named = std::find_if(names.begin(), names.end(), [&](const NamedSize& n) { return n.name == request.name; });
    if (named != names.end()) {
      constraints.push_back({&named->expr, request.size, "`" + named->name + "`"});
    } else if (std::binary_search(symbols.begin(), symbols.end(), request.name)) {
      auto [it, fresh] = bindings.try_emplace(request.name, Dim::symbol(request.name, request.size));
      if (!fresh && it->second != Dim(request.size))
        problems.push_back(conflict("`" + request.name + "`", request.size, std::to_string(it->second.concrete())));
    } else {
      std::vector<std::string> known = symbols;
      for (const NamedSize& n : free_sizes(program)) known.push_back(n.name);
      if (known.empty()) known.push_back("none: the program was exported with fixed sizes");
      problems.push_back(diagnose(Kind::UnknownDim,
                                  {{"name", request.name}, {"known", join(known, ", ", [](auto& s) { return s; })}}));
    }
  }

  // Bare symbols, then expressions with one unknown, until nothing changes.
  for (bool progress = true; progress;) {
    progress = false;
    for (const Constraint& c : constraints) {
      std::vector<std::string> open = unbound(*c.expr, bindings);
      if (open.size() != 1) continue;
      if (auto size = solve(*c.expr, bindings, open[0], c.size)) {
        bindings.emplace(open[0], Dim::symbol(open[0], *size));
        progress = true;
      }
    }
  }
  for (const auto& [symbol, size] : program.hints) bindings.try_emplace(symbol, Dim::symbol(symbol, size));

  for (const Constraint& c : constraints) {
    auto value = evaluate_size(*c.expr, bindings);
    if (!value || *value != Dim(c.size)) {
      std::string expected = torch::to_text(*c.expr);
      if (value && !c.expr->is_integer()) expected += ", which is " + std::to_string(value->concrete());
      if (c.expr->is_integer()) expected += ", the size that the program was exported with (it is not dynamic)";
      problems.push_back(conflict(c.what, c.size, expected));
    }
  }
  for (const std::string& s : symbols)
    if (!bindings.contains(s))
      problems.push_back(diagnose(Kind::UnboundSymbol, {{"symbol", s}, {"where", std::string("an input")}}));
  for (const auto& [symbol, dim] : bindings)
    if (dim < Dim(0) || dim > Dim(kMaxSize))
      problems.push_back(conflict("`" + symbol + "`", dim.concrete(), "a size from 0 to 2^40"));

  for (const torch::Range& range : program.ranges) {
    auto value = evaluate_size(range.expr, bindings);
    if (!value) continue;
    if ((range.min && *value < Dim(*range.min)) || (range.max && *value > Dim(*range.max)))
      problems.push_back(
          diagnose(Kind::DimRange, {{"expr", torch::to_text(range.expr)},
                                    {"got", value->concrete()},
                                    {"low", range.min ? std::to_string(*range.min) : std::string("-inf")},
                                    {"high", range.max ? std::to_string(*range.max) : std::string("inf")}}));
  }
  if (!problems.empty()) return problems;
  return bindings;
}

}  // namespace torchlift::lower
