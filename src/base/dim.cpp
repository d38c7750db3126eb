#include "base/dim.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.hpp"

namespace torchlift {
namespace {

constexpr size_t kMaxTerms = 32;       // a longer polynomial becomes one atom
constexpr size_t kMaxAtomText = 4096;  // a longer text is cut: it is then equal to nothing useful, but bounded

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return a == kMin ? kMax : -a;
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

Expr Expr::atom(std::string text) {
  if (text.size() > kMaxAtomText) text.resize(kMaxAtomText);
  Expr e;
  e.terms_.push_back({{std::move(text)}, 1});
  return e;
}

Expr Expr::opaque(std::string_view name, const Expr& a, const Expr& b) {
  return atom(std::string(name) + "(" + a.text() + ", " + b.text() + ")");
}

std::string Expr::text() const {
  std::string out;
  for (const Term& t : terms_) {
    int64_t c = t.coefficient;
    if (!out.empty()) out += c < 0 ? " - " : " + ";
    else if (c < 0) out += "-";
    uint64_t magnitude = c < 0 ? 0 - static_cast<uint64_t>(c) : static_cast<uint64_t>(c);
    if (magnitude != 1) out += std::to_string(magnitude) + "*";
    out += join(t.atoms, "*", [](const std::string& s) { return s; });
  }
  if (out.empty()) return std::to_string(constant_);
  if (constant_ > 0) out += " + " + std::to_string(constant_);
  if (constant_ < 0) out += " - " + std::to_string(0 - static_cast<uint64_t>(constant_));
  return out;
}

bool Expr::mentions(std::string_view symbol) const {
  for (const Term& t : terms_)
    for (const std::string& a : t.atoms)
      for (size_t at = a.find(symbol); at != std::string::npos; at = a.find(symbol, at + 1)) {
        size_t end = at + symbol.size();
        if ((at == 0 || !is_word(a[at - 1])) && (end == a.size() || !is_word(a[end]))) return true;
      }
  return false;
}

Expr operator+(const Expr& a, const Expr& b) {
  Expr out;
  auto constant = checked_add(a.constant_, b.constant_);
  if (!constant) return Expr::opaque("add", a, b);
  out.constant_ = *constant;
  auto i = a.terms_.begin();
  auto j = b.terms_.begin();
  while (i != a.terms_.end() || j != b.terms_.end()) {
    if (j == b.terms_.end() || (i != a.terms_.end() && i->atoms < j->atoms)) {
      out.terms_.push_back(*i++);
    } else if (i == a.terms_.end() || j->atoms < i->atoms) {
      out.terms_.push_back(*j++);
    } else {
      auto c = checked_add(i->coefficient, j->coefficient);
      if (!c) return Expr::opaque("add", a, b);
      if (*c != 0) out.terms_.push_back({i->atoms, *c});
      ++i;
      ++j;
    }
  }
  if (out.terms_.size() > kMaxTerms) return Expr::opaque("add", a, b);
  return out;
}

Expr operator*(const Expr& a, const Expr& b) {
  auto terms_of = [](const Expr& e) {
    std::vector<Expr::Term> terms = e.terms_;
    if (e.constant_ != 0) terms.push_back({{}, e.constant_});
    return terms;
  };
  Expr out;
  for (const Expr::Term& x : terms_of(a))
    for (const Expr::Term& y : terms_of(b)) {
      auto c = checked_mul(x.coefficient, y.coefficient);
      if (!c) return Expr::opaque("mul", a, b);
      std::vector<std::string> atoms = x.atoms;
      atoms.insert(atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(atoms.begin(), atoms.end());
      Expr one;
      if (atoms.empty()) one.constant_ = *c;
      else if (*c != 0) one.terms_.push_back({std::move(atoms), *c});
      out = out + one;
      if (out.terms_.size() > kMaxTerms) return Expr::opaque("mul", a, b);
    }
  return out;
}

Expr operator-(const Expr& a, const Expr& b) { return a + b * Expr(-1); }

Expr floordiv(const Expr& a, const Expr& b) {
  if (b.is_constant() && b.constant_ > 0) {
    int64_t d = b.constant_;
    bool exact = std::all_of(a.terms_.begin(), a.terms_.end(), [d](const auto& t) { return t.coefficient % d == 0; });
    if (exact) {  // (2*s + 3) // 2 is s + 1: integer terms leave the floor
      Expr out = a;
      for (auto& t : out.terms_) t.coefficient /= d;
      out.constant_ = floor_div(a.constant_, d);
      return out;
    }
  }
  if (a == b) return Expr(1);
  return Expr::opaque("floordiv", a, b);
}

std::string Dim::text() const {
  return is_symbolic() ? std::to_string(size_) + " (" + expr_.text() + ")" : std::to_string(size_);
}

namespace {

// Most sizes are plain numbers: their expressions are not computed.
template <typename Fn>
Dim combine(const Dim& a, const Dim& b, int64_t size, Fn&& expr) {
  if (!a.is_symbolic() && !b.is_symbolic()) return Dim(size);
  Expr e = expr(a.expr(), b.expr());
  return e.is_constant() ? Dim(size) : Dim(size, std::move(e));
}

}  // namespace

Dim operator+(const Dim& a, const Dim& b) {
  int64_t size = checked_add(a.size_, b.size_).value_or(a.size_ < 0 ? kMin : kMax);
  return combine(a, b, size, [](const Expr& x, const Expr& y) { return x + y; });
}

Dim operator-(const Dim& a, const Dim& b) {
  int64_t size = 0;
  if (__builtin_sub_overflow(a.size_, b.size_, &size)) size = a.size_ < 0 ? kMin : kMax;
  return combine(a, b, size, [](const Expr& x, const Expr& y) { return x - y; });
}

Dim operator*(const Dim& a, const Dim& b) {
  int64_t size = checked_mul(a.size_, b.size_).value_or((a.size_ < 0) != (b.size_ < 0) ? kMin : kMax);
  return combine(a, b, size, [](const Expr& x, const Expr& y) { return x * y; });
}

Dim floordiv(const Dim& a, const Dim& b) {
  return combine(a, b, floor_div(a.size_, b.size_), [](const Expr& x, const Expr& y) { return floordiv(x, y); });
}

Dim mod(const Dim& a, const Dim& b) {
  return combine(a, b, floor_mod(a.size_, b.size_), [](const Expr& x, const Expr& y) {
    Expr rest = x - floordiv(x, y) * y;  // exact quotients leave a constant
    return rest.is_constant() ? rest : Expr::atom("mod(" + x.text() + ", " + y.text() + ")");
  });
}

Dim ceildiv(const Dim& a, const Dim& b) { return floordiv(a + b - Dim(b > Dim(0) ? 1 : -1), b); }

Dim max(const Dim& a, const Dim& b) {
  return combine(a, b, std::max(a.size_, b.size_), [](const Expr& x, const Expr& y) {
    return x == y ? x : Expr::atom("max(" + x.text() + ", " + y.text() + ")");
  });
}

Dim min(const Dim& a, const Dim& b) {
  return combine(a, b, std::min(a.size_, b.size_), [](const Expr& x, const Expr& y) {
    return x == y ? x : Expr::atom("min(" + x.text() + ", " + y.text() + ")");
  });
}

Dim product(std::span<const Dim> dims) {
  Dim out(1);
  for (const Dim& d : dims) out = out * d;
  return out;
}

std::vector<int64_t> concrete(std::span<const Dim> dims) {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const Dim& d : dims) out.push_back(d.concrete());
  return out;
}

Dims dims_of(std::span<const int64_t> sizes) { return Dims(sizes.begin(), sizes.end()); }

std::string text_of(std::span<const Dim> dims) {
  return "[" + join(dims, ",", [](const Dim& d) { return std::to_string(d.concrete()); }) + "]";
}

Dims contiguous_strides(std::span<const Dim> dims) {
  Dims strides(dims.size(), Dim(1));
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * max(dims[i], Dim(1));
  return strides;
}

}  // namespace torchlift
