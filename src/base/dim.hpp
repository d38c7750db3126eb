// A size: a number, and where it comes from. Programs are specialised, so every Dim has a concrete size; the expression
// over the program's symbols says which results carry the batch, and which node pins a size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torchlift {

// A polynomial with integer coefficients over atoms, in canonical order. An atom is a symbol ("s77") or the canonical
// text of an operation that is no polynomial ("floordiv(s77 + 1, 2)"). Results that would overflow or grow past a bound
// become one atom, so equal texts mean equal expressions, and different texts mean "not known to be equal".
class Expr {
 public:
  Expr() = default;
  Expr(int64_t constant) : constant_(constant) {}  // NOLINT
  static Expr atom(std::string text);

  bool is_constant() const { return terms_.empty(); }
  int64_t constant() const { return constant_; }
  std::string text() const;  // "2*s60 + 1"
  // Whether `symbol` occurs anywhere, also inside an opaque atom.
  bool mentions(std::string_view symbol) const;

  bool operator==(const Expr&) const = default;
  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr floordiv(const Expr& a, const Expr& b);  // exact where every coefficient divides

 private:
  struct Term {
    std::vector<std::string> atoms;  // sorted, repeated for powers
    int64_t coefficient = 0;
    bool operator==(const Term&) const = default;
  };
  static Expr opaque(std::string_view name, const Expr& a, const Expr& b);
  int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted by atoms, no zero coefficient
};

class Dim {
 public:
  Dim(int64_t size = 0) : size_(size), expr_(size) {}  // NOLINT: a plain number is a Dim
  Dim(int64_t size, Expr expr) : size_(size), expr_(std::move(expr)) {}
  static Dim symbol(std::string name, int64_t size) { return {size, Expr::atom(std::move(name))}; }

  // The bare number. Lowerings do not ask for it: they compute with Dims, or call Lower::pin, which records who asked.
  int64_t concrete() const { return size_; }
  bool is_symbolic() const { return !expr_.is_constant(); }
  const Expr& expr() const { return expr_; }
  std::string text() const;  // "8" or "8 (2*s60)"

  // Sizes alone: the program is specialised, and 8 equals 8 wherever it comes from.
  friend bool operator==(const Dim& a, const Dim& b) { return a.size_ == b.size_; }
  friend auto operator<=>(const Dim& a, const Dim& b) { return a.size_ <=> b.size_; }

  // Saturating: a size that leaves 64 bits becomes INT64_MAX or INT64_MIN, which no type accepts.
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  Dim operator-() const { return Dim(0) - *this; }
  friend Dim floordiv(const Dim& a, const Dim& b);  // Python's //; b != 0
  friend Dim mod(const Dim& a, const Dim& b);       // Python's %; b != 0
  friend Dim ceildiv(const Dim& a, const Dim& b);   // rounded up; b != 0
  friend Dim max(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);

 private:
  int64_t size_;
  Expr expr_;
};

using Dims = std::vector<Dim>;

// Of two sizes known to be equal, the one that says more about where it comes from.
inline const Dim& richer(const Dim& a, const Dim& b) { return a.is_symbolic() ? a : b; }

Dim product(std::span<const Dim> dims);
std::vector<int64_t> concrete(std::span<const Dim> dims);
Dims dims_of(std::span<const int64_t> sizes);
std::string text_of(std::span<const Dim> dims);  // "[8,3]", sizes only

// Row-major strides, in elements; a size of zero counts as one, as in PyTorch.
Dims contiguous_strides(std::span<const Dim> dims);

}  // namespace torchlift
