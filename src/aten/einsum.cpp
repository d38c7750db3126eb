// Sums over named axes: einsum with its equation, tensordot, kron, trace, cross.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "aten/axes.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/pointwise.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

// A label of an axis: a letter, or the k-th axis of the ellipsis counted from its right end, as kEllipsis + k.
using Label = int;
constexpr Label kEllipsis = 256;
using Labels = std::vector<Label>;

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

size_t place_of(const Labels& labels, Label label) {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

// One side's term: "b...ij". The ellipsis stands for `hidden` axes.
std::optional<Labels> parse_term(Lower& l, std::string_view term, int64_t hidden) {
  Labels out;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    char c = term[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out.push_back(c);
      continue;
    }
    if (term.substr(i, 3) != "..." || seen) {
      l.wrong("expected letters and at most one ellipsis in a term of the equation, got `" + std::string(term) + "`");
      return std::nullopt;
    }
    seen = true;
    i += 2;
    for (int64_t k = hidden; k-- > 0;) out.push_back(kEllipsis + static_cast<Label>(k));
  }
  return out;
}

int64_t count_letters(std::string_view term) {
  return std::count_if(term.begin(), term.end(), [](char c) { return c != ' ' && c != '.'; });
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == at) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

// Without "->": the ellipsis, then every label that occurs once, in alphabetical order.
Labels implicit_output(const std::vector<Labels>& inputs) {
  std::map<Label, int> uses;
  int64_t hidden = 0;
  for (const Labels& term : inputs)
    for (Label label : term) {
      ++uses[label];
      if (label >= kEllipsis) hidden = std::max<int64_t>(hidden, label - kEllipsis + 1);
    }
  Labels out;
  for (int64_t k = hidden; k-- > 0;) out.push_back(kEllipsis + static_cast<Label>(k));
  for (auto [label, count] : uses)
    if (label < kEllipsis && count == 1) out.push_back(label);
  return out;
}

std::optional<Equation> parse_equation(Lower& l, const std::string& equation, const TensorList& tensors) {
  size_t arrow = equation.find("->");
  std::vector<std::string> terms = split(equation.substr(0, arrow), ',');
  if (terms.size() != tensors.size()) {
    l.wrong("the equation has " + std::to_string(terms.size()) + " terms, got " + std::to_string(tensors.size()) +
            " operands");
    return std::nullopt;
  }
  Equation out;
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    bool ellipsis = terms[i].find('.') != std::string::npos;
    int64_t hidden = tensors[i].rank() - count_letters(terms[i]);
    if (hidden < 0 || (!ellipsis && hidden != 0)) {
      l.wrong("the term `" + terms[i] + "` does not fit " + describe(tensors[i]));
      return std::nullopt;
    }
    widest = std::max(widest, ellipsis ? hidden : 0);
    auto labels = parse_term(l, terms[i], hidden);
    if (!labels || static_cast<int64_t>(labels->size()) != tensors[i].rank()) return std::nullopt;
    out.inputs.push_back(std::move(*labels));
  }
  if (arrow == std::string::npos) {
    out.output = implicit_output(out.inputs);
    return out;
  }
  auto output = parse_term(l, equation.substr(arrow + 2), widest);
  if (!output) return std::nullopt;
  for (size_t i = 0; i < output->size(); ++i) {
    bool known =
        std::any_of(out.inputs.begin(), out.inputs.end(), [&](const Labels& t) { return contains(t, (*output)[i]); });
    if (!known || std::count(output->begin(), output->end(), (*output)[i]) > 1) {
      l.wrong("a label of the equation's result occurs in no operand, or twice: `" + equation + "`");
      return std::nullopt;
    }
  }
  out.output = std::move(*output);
  return out;
}

// A value and the labels of its axes.
struct Term {
  Value value;
  Labels labels;
};

// The diagonal over two axes of equal size takes the place of the first.
Value diagonal_value(Lower& l, Value v, int64_t first, int64_t second) {
  Value ends = move_last(l, move_last(l, v, second), first);  // ..., second, first
  if (!ends.has_value()) return {};
  Dims shape = l.type(ends).dims;
  Dim n = shape.back();
  shape.pop_back();
  shape.back() = n * n;
  auto last = static_cast<int64_t>(shape.size()) - 1;
  Value diagonal = slice_axis(l, l.hlo.reshape(ends, shape), last, 0, n * n, l.pin(n) + 1);
  return move_from_last(l, diagonal, first);
}

// A label twice in one term: its diagonal.
bool take_diagonals(Lower& l, Term& term) {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t k = term.labels.size(); k-- > i + 1;) {
      if (term.labels[k] != term.labels[i]) continue;
      const Dims& dims = l.type(term.value).dims;
      if (dims[i] != dims[k]) {
        l.wrong("a repeated label of the equation stands for sizes " + dims[i].text() + " and " + dims[k].text());
        return false;
      }
      term.value = diagonal_value(l, term.value, static_cast<int64_t>(i), static_cast<int64_t>(k));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(k));
      if (!term.value.has_value()) return false;
    }
  return true;
}

// Sums over the labels that nothing else needs.
void sum_out(Lower& l, Term& term, const Labels& needed) {
  Ints summed;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(needed, term.labels[i])) kept.push_back(term.labels[i]);
    else summed.push_back(static_cast<int64_t>(i));
  }
  if (summed.empty()) return;
  term.value = l.hlo.reduce(term.value, summed, Reducer::Add);
  term.labels = std::move(kept);
}

// Axes of size one where the label's size is another are left out: they broadcast.
void drop_broadcast(Lower& l, Term& term, const std::map<Label, Dim>& sizes) {
  Dims shape;
  Labels kept;
  const Dims& dims = l.type(term.value).dims;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (dims[i] == Dim(1) && sizes.at(term.labels[i]) != Dim(1)) continue;
    shape.push_back(dims[i]);
    kept.push_back(term.labels[i]);
  }
  term.value = l.hlo.reshape(term.value, std::move(shape));
  term.labels = std::move(kept);
}

Term multiply(Lower& l, const Term& a, const Term& b, const Labels& needed) {
  stablehlo::DotGeneral d{};
  Labels batch, free_a, free_b;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    Label label = a.labels[i];
    if (!contains(b.labels, label)) {
      free_a.push_back(label);
      continue;
    }
    auto other = static_cast<int64_t>(place_of(b.labels, label));
    bool keep = contains(needed, label);
    (keep ? d.lhs_batching_dimensions : d.lhs_contracting_dimensions).push_back(static_cast<int64_t>(i));
    (keep ? d.rhs_batching_dimensions : d.rhs_contracting_dimensions).push_back(other);
    if (keep) batch.push_back(label);
  }
  for (Label label : b.labels)
    if (!contains(a.labels, label)) free_b.push_back(label);
  Term out{contract(l, a.value, b.value, std::move(d)), batch};
  out.labels.insert(out.labels.end(), free_a.begin(), free_a.end());
  out.labels.insert(out.labels.end(), free_b.begin(), free_b.end());
  return out;
}

std::optional<std::map<Label, Dim>> label_sizes(Lower& l, const std::vector<Term>& terms) {
  std::map<Label, Dim> sizes;
  for (const Term& term : terms)
    for (size_t i = 0; i < term.labels.size(); ++i) {
      Dim size = l.type(term.value).dims[i];
      auto [it, fresh] = sizes.try_emplace(term.labels[i], size);
      if (it->second == Dim(1)) it->second = size;
      if (size == it->second || size == Dim(1)) continue;
      l.wrong("a label of the equation stands for sizes " + it->second.text() + " and " + size.text());
      return std::nullopt;
    }
  return sizes;
}

// Axes in the order of the output, those that only broadcast spread out.
Value arrange(Lower& l, const Term& term, const Labels& output, const std::map<Label, Dim>& sizes) {
  Ints order;
  Dims shape, with_ones;
  for (Label label : output) {
    bool there = contains(term.labels, label);
    if (there) order.push_back(static_cast<int64_t>(place_of(term.labels, label)));
    shape.push_back(sizes.at(label));
    with_ones.push_back(there ? sizes.at(label) : Dim(1));
  }
  return l.broadcast_to(l.hlo.reshape(l.hlo.transpose(term.value, order), with_ones), shape);
}

Value einsum_value(Lower& l, const Equation& equation, const TensorList& tensors) {
  std::vector<Term> terms;
  for (size_t i = 0; i < tensors.size(); ++i) {
    terms.push_back({l.read(tensors[i]), equation.inputs[i]});
    if (!terms.back().value.has_value() || !take_diagonals(l, terms.back())) return {};
  }
  auto sizes = label_sizes(l, terms);
  if (!sizes) return {};
  DType dtype = l.type(terms.front().value).dtype;
  // Of one operand PyTorch takes a plain sum, which counts integers in int64.
  if (terms.size() == 1 && terms[0].labels.size() > equation.output.size() && is_integral(dtype)) {
    dtype = DType::Int64;
    terms[0].value = l.convert(terms[0].value, dtype);
  }
  for (Term& term : terms) drop_broadcast(l, term, *sizes);
  for (size_t i = 0; i < terms.size(); ++i) {
    Labels needed = equation.output;
    for (size_t k = 0; k < terms.size(); ++k)
      if (k != i) needed.insert(needed.end(), terms[k].labels.begin(), terms[k].labels.end());
    sum_out(l, terms[i], needed);
  }
  Term result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = equation.output;
    for (size_t k = i + 1; k < terms.size(); ++k)
      needed.insert(needed.end(), terms[k].labels.begin(), terms[k].labels.end());
    if (!terms[i].value.has_value()) return {};
    result = multiply(l, result, {l.convert(terms[i].value, l.type(result.value).dtype), terms[i].labels}, needed);
    if (!result.value.has_value()) return {};
    sum_out(l, result, needed);
  }
  return l.convert(arrange(l, result, equation.output, *sizes), dtype);
}

bool is_permutation(const Labels& labels, const Labels& output) {
  if (labels.size() != output.size()) return false;
  return std::all_of(output.begin(), output.end(), [&](Label label) { return contains(labels, label); });
}

// A view of the diagonals of labels that stand twice, the first of the two places kept.
Tensor diagonals_view(Lower& l, Tensor self, Labels& labels) {
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t k = labels.size(); k-- > i + 1;) {
      if (labels[k] != labels[i] || self.dim(static_cast<int64_t>(i)) != self.dim(static_cast<int64_t>(k))) continue;
      self = diagonal(l, self, 0, static_cast<int64_t>(i), static_cast<int64_t>(k));  // which comes last
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(k));
      Ints order;
      for (size_t axis = 0; axis < labels.size(); ++axis)
        order.push_back(static_cast<int64_t>(axis < i ? axis : axis == i ? labels.size() - 1 : axis - 1));
      self = permute(l, self, order);
    }
  return self;
}

}  // namespace

// Products summed over the labels that the result lacks. Operands are multiplied from left to right: `path` only says
// in which order PyTorch would.
Tensor einsum(Lower& l, std::string equation, TensorList tensors, Ignored) {
  if (tensors.empty()) return l.wrong("expected at least one operand");
  for (const Tensor& t : tensors) {
    if (t.is_poison()) return {};
    if (t.dtype() != tensors.front().dtype())
      return l.wrong("expected operands of one dtype, got " + describe(t) + " and " + describe(tensors.front()));
  }
  auto parsed = parse_equation(l, equation, tensors);
  if (!parsed) return {};
  if (tensors.size() == 1) {  // where nothing is summed the result is a view
    Labels labels = parsed->inputs[0];
    Tensor view = diagonals_view(l, tensors.front(), labels);
    if (is_permutation(labels, parsed->output)) {
      Ints order;
      for (Label label : parsed->output) order.push_back(static_cast<int64_t>(place_of(labels, label)));
      return permute(l, view, order);
    }
  }
  return l.make(einsum_value(l, *parsed, tensors));
}

namespace {

// Sums over pairs of axes; an axis of size one meets any other.
Tensor tensordot(Lower& l, Tensor self, Tensor other, std::vector<int64_t> dims_self, std::vector<int64_t> dims_other) {
  if (self.is_poison() || other.is_poison()) return {};
  if (dims_self.size() != dims_other.size() || self.dtype() != other.dtype())
    return l.wrong("expected as many axes of one as of the other and one dtype, got " +
                   std::to_string(dims_self.size()) + " of " + describe(self) + " and " +
                   std::to_string(dims_other.size()) + " of " + describe(other));
  Value a = l.read(self), b = l.read(other);
  stablehlo::DotGeneral d{};
  for (size_t i = 0; i < dims_self.size(); ++i) {
    auto axis = l.axis(dims_self[i], self.rank());
    auto match = l.axis(dims_other[i], other.rank());
    if (!axis || !match || self.rank() == 0 || other.rank() == 0) return {};
    d.lhs_contracting_dimensions.push_back(*axis);
    d.rhs_contracting_dimensions.push_back(*match);
    if (self.dim(*axis) == other.dim(*match)) continue;
    if (self.dim(*axis) == Dim(1)) b = insert_axis(l, l.hlo.reduce(b, {*match}, Reducer::Add), *match);
    else if (other.dim(*match) == Dim(1)) a = insert_axis(l, l.hlo.reduce(a, {*axis}, Reducer::Add), *axis);
  }
  return l.make(l.convert(contract(l, a, b, std::move(d)), self.dtype()));
}

// Every element of self times the whole of other, block by block.
Tensor kron(Lower& l, Tensor self, Tensor other) {
  if (self.is_poison() || other.is_poison()) return {};
  DType dtype = lower::result_type(std::array{self, other});
  auto rank = static_cast<size_t>(std::max(self.rank(), other.rank()));
  Dims blocks, result, of_self, of_other;
  for (size_t i = 0; i < rank; ++i) {
    auto from_end = static_cast<int64_t>(i) - static_cast<int64_t>(rank);
    Dim a = -from_end <= self.rank() ? self.dim(from_end) : Dim(1);
    Dim b = -from_end <= other.rank() ? other.dim(from_end) : Dim(1);
    of_self.insert(of_self.end(), {a, Dim(1)});
    of_other.insert(of_other.end(), {Dim(1), b});
    blocks.insert(blocks.end(), {a, b});
    result.push_back(a * b);
  }
  Value x = l.broadcast_to(l.hlo.reshape(l.read(self, dtype), of_self), blocks);
  Value y = l.broadcast_to(l.hlo.reshape(l.read(other, dtype), of_other), blocks);
  return l.make(l.hlo.reshape(l.hlo.multiply(x, y), result));
}

// The sum of the diagonal; integers are summed as int64.
Tensor trace(Lower& l, Tensor self) {
  if (self.is_poison() || !l.expect_rank(self, 2, 2, "matrix")) return {};
  DType dtype = is_integral(self.dtype()) ? DType::Int64 : self.dtype();
  Value v = l.read(self, lower::accumulate_type(dtype));
  Dim n = min(self.dim(0), self.dim(1));
  if (n == Dim(0)) return l.make(l.constant(dtype, 0));
  Value flat = l.hlo.reshape(v, {self.numel()});
  int64_t step = l.pin(self.dim(1)) + 1;
  Value diagonal = slice_axis(l, flat, 0, 0, (n - Dim(1)) * Dim(step) + Dim(1), step);
  return l.make(l.convert(l.hlo.reduce(diagonal, {0}, Reducer::Add), dtype));
}

// The vector product along an axis of size 3.
Tensor linalg_cross(Lower& l, Tensor self, Tensor other, int64_t dim) {
  if (self.is_poison() || other.is_poison()) return {};
  std::array operands{self, other};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  auto axis = l.axis(dim, static_cast<int64_t>(shape->size()));
  if (!axis) return {};
  if (shape->empty() || (*shape)[static_cast<size_t>(*axis)] != Dim(3))
    return l.wrong("expected size 3 along dim " + std::to_string(dim) + ", got " + describe(self) + " and " +
                   describe(other));
  DType dtype = lower::result_type(operands);
  Value a = l.read(self, lower::accumulate_type(dtype), *shape),
        b = l.read(other, lower::accumulate_type(dtype), *shape);
  auto rotated = [&](Value v, int64_t by) {
    Values parts{slice_axis(l, v, *axis, by, 3), slice_axis(l, v, *axis, 0, by)};
    return l.hlo.concatenate(parts, *axis);
  };
  Value forward = l.hlo.multiply(rotated(a, 1), rotated(b, 2));
  Value backward = l.hlo.multiply(rotated(a, 2), rotated(b, 1));
  return l.make_elementwise(l.convert(l.hlo.subtract(forward, backward), dtype), operands);
}

// Without a dim, the first axis of size 3.
Tensor cross(Lower& l, Tensor self, Tensor other, Optional<int64_t> dim) {
  if (dim) return linalg_cross(l, self, other, *dim);
  for (int64_t i = 0; i < self.rank(); ++i)
    if (self.dim(i) == Dim(3)) return linalg_cross(l, self, other, i);
  return l.wrong("expected an axis of size 3, got " + describe(self));
}

}  // namespace

std::span<const Row> einsum_ops() {
  static constexpr Row rows[] = {
      op<cross>("cross"),
      op<einsum>("einsum", lower::aliases("tensors"), lower::AutocastRule::Lower),
      op<kron>("kron"),
      op<linalg_cross>("linalg_cross"),
      op<tensordot>("tensordot", lower::AutocastRule::Lower),
      op<trace>("trace", lower::AutocastRule::Float32),
  };
  return rows;
}

}  // namespace torchlift::aten
