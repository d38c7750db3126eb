// Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber, ICML 2006): how likely a sequence of
// labels is, over all ways to align it with longer sequences of scores.
#include <algorithm>
#include <array>
#include <limits>

#include "aten/axes.hpp"
#include "aten/loss.hpp"
#include "aten/reduction.hpp"
#include "aten/scan.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The lengths of a batch: numbers of the program, or values.
struct Lengths {
  Formula input, target;  // [batch], int64
  Dim longest;            // no target is longer
};

// A row moved right by `by`, -inf coming in.
Formula moved(Lower& l, Formula x, int64_t by) {
  Dim width = l.type(x).dims[1];
  if (width <= Dim(by)) return x.like(kNever);
  return x.with(pad_axis(l, slice_axis(l, x, 1, 0, width - Dim(by)), 1, by, 0, kNever));
}

// [batch, 2 * longest + 1]: the targets with blanks before, between and behind them.
Formula with_blanks(Lower& l, Tensor targets, const Lengths& lengths, int64_t blank) {
  Dim batch = l.type(lengths.target).dims[0], longest = lengths.longest;
  Formula labels(l, l.read(targets, DType::Int64));
  Value first = l.full({batch, Dim(1)}, DType::Int64, blank);
  if (longest == Dim(0)) return {l, first};
  if (targets.rank() == 1) {  // one target after the other
    Formula begin = labels.with(cumulate(l, lengths.target, 0, Reducer::Add)) - lengths.target;
    Dims grid{batch, longest};
    Formula place = begin.with(along_axis(l, begin, 0, grid)) + begin.with(l.hlo.iota({DType::Int64, grid}, 1));
    stablehlo::Gather g{};
    g.collapsed_slice_dims = g.start_index_map = {0};
    g.index_vector_dim = 2;
    g.slice_sizes = {Dim(1)};
    labels = labels.with(l.hlo.gather(labels, place, std::move(g)));  // what no target has takes the last
  } else {
    labels = labels.with(slice_axis(l, labels, 1, 0, longest));
  }
  Value pairs =
      l.hlo.concatenate({insert_axis(l, labels, 2), l.full({batch, longest, Dim(1)}, DType::Int64, blank)}, 2);
  return {l, l.hlo.concatenate({first, l.hlo.reshape(pairs, {batch, longest * Dim(2)})}, 1)};
}

// [time, batch, states]: the score of each state's label.
Formula scores_of_states(Lower& l, Tensor log_probs, Formula states) {
  Dims column = l.type(states).dims;
  column.emplace_back(1);
  Value index = l.hlo.concatenate({l.hlo.iota({DType::Int64, column}, 0), l.hlo.reshape(states, column)}, 2);
  stablehlo::Gather g{};
  g.offset_dims = {0};
  g.collapsed_slice_dims = g.start_index_map = {1, 2};
  g.index_vector_dim = 2;
  g.slice_sizes = {log_probs.dim(0), Dim(1), Dim(1)};
  return {l, l.hlo.gather(l.read(log_probs), index, std::move(g))};
}

struct Ctc {
  Formula loss;   // [batch]
  Formula alpha;  // [batch, time, states]: logarithms of the likelihoods of all beginnings
};

Formula log_sum(Formula a, Formula b, Formula c) {
  Formula top = max(max(a, b), c);
  top = select(eq(top, kNever), 0.0, top);
  return log(exp(a - top) + exp(b - top) + exp(c - top)) + top;
}

Ctc align(Lower& l, Tensor log_probs, Tensor targets, const Lengths& lengths, int64_t blank) {
  Formula states = with_blanks(l, targets, lengths, blank), scores = scores_of_states(l, log_probs, states);
  const Dims grid = l.type(states).dims;  // [batch, states]
  Dim time = log_probs.dim(0);
  auto over = [&](Formula x) { return x.with(along_axis(l, x, 0, grid)); };
  auto at = [&](Value t) {
    Value zero = l.constant(DType::Int64, 0);
    return Formula(l, l.hlo.reshape(l.hlo.dynamic_slice(scores, {t, zero, zero}, {Dim(1), grid[0], grid[1]}), grid));
  };
  Formula number(l, l.hlo.iota({DType::Int64, grid}, 1)), length = over(lengths.target);
  // A blank may be left out between two labels that differ.
  Formula before = convert(moved(l, convert(states, DType::Float64), 2), DType::Int64);
  Formula skips = (number >= 2.0) & ne(states, before);
  Formula open = eq(number, 0.0) | (eq(number, 1.0) & (length > 0.0));
  Value start = l.constant(DType::Int64, 0);
  Formula first = select(open, at(start), kNever);
  Dims whole{grid[0], time, grid[1]};
  auto put = [&](Value all, Formula row, Value t) {
    Value zero = l.constant(DType::Int64, 0);
    return l.hlo.dynamic_update_slice(all, insert_axis(l, row, 1), {zero, t, zero});
  };
  Value one = l.constant(DType::Int64, 1);
  auto more = [&](std::span<const Value> v) {
    return l.hlo.compare(v[0], l.constant(DType::Int64, Scalar(time)), ComparisonDirection::Lt);
  };
  auto step = [&](std::span<const Value> v) -> Values {
    Formula row(l, v[1]), t(l, v[0]);
    Formula sum = log_sum(row, moved(l, row, 1), select(skips, moved(l, row, 2), kNever)) + at(v[0]);
    Formula now = t.with(l.broadcast_to(t, grid)) < over(lengths.input);
    return {l.hlo.add(v[0], one), select(now, sum, row), put(v[2], select(now, sum, kNever), v[0])};
  };
  Value nothing = l.full(whole, first.dtype(), kNever);
  Values out = l.hlo.while_({one, first, put(nothing, first, start)}, more, step);
  Formula last = first.with(out[1]);
  auto ending = [&](Formula state) {
    return last.with(sum_value(l, select(eq(number, state), last, 0.0), std::array<int64_t, 1>{1}));
  };
  Formula empty = eq(lengths.target, 0.0);
  Formula in_blank = ending(length * 2.0), in_label = select(empty, kNever, ending(length * 2.0 - 1.0));
  Formula loss = -log_sum(in_blank, in_label, in_label.like(kNever));
  Formula of_nothing = select(empty, loss.like(0), -loss.like(kNever));
  return {select(eq(lengths.input, 0.0), of_nothing, loss), first.with(out[2])};
}

bool expect_sequences(Lower& l, Tensor log_probs, Tensor targets, int64_t blank) {
  if (log_probs.is_poison() || targets.is_poison()) return false;
  if (!l.expect_rank(log_probs, 3, 3, "log_probs") || !l.expect_rank(targets, 1, 2, "targets")) return false;
  DType d = log_probs.dtype();
  bool fits = (d == DType::Float32 || d == DType::Float64) && is_integer(targets.dtype()) &&
              log_probs.dim(0) >= Dim(1) && log_probs.dim(1) >= Dim(1) && Dim(blank) >= Dim(0) &&
              Dim(blank) < log_probs.dim(2) && (targets.rank() == 1 || targets.dim(0) == log_probs.dim(1));
  if (!fits)
    l.wrong("expected scores [time, batch, classes], targets of the batch and a blank among the classes, got " +
            describe(log_probs) + ", " + describe(targets) + " and " + std::to_string(blank));
  return fits;
}

// Lengths that the program holds: they are checked.
std::optional<Lengths> fixed_lengths(Lower& l, Tensor log_probs, Tensor targets, const Ints& input,
                                     const Ints& target) {
  Dim batch = log_probs.dim(1);
  bool fits = Dim(static_cast<int64_t>(input.size())) == batch && input.size() == target.size();
  int64_t longest = 0;
  Dim all(0);
  for (size_t i = 0; fits && i < input.size(); ++i) {
    fits = input[i] >= 0 && target[i] >= 0 && Dim(input[i]) <= log_probs.dim(0) && target[i] <= (int64_t{1} << 31);
    longest = std::max(longest, target[i]);
    all = all + Dim(target[i]);
  }
  if (!fits || (targets.rank() == 1 ? all != targets.dim(0) : Dim(longest) > targets.dim(1))) {
    l.wrong("lengths do not fit " + describe(log_probs) + " and " + describe(targets));
    return std::nullopt;
  }
  return Lengths{Formula(l, l.hlo.constant_ints(DType::Int64, input)),
                 Formula(l, l.hlo.constant_ints(DType::Int64, target)), longest};
}

Tensor reduced(Lower& l, Formula loss, Formula lengths, int64_t reduction, bool zero_infinity) {
  if (zero_infinity) loss = select(eq(loss, -kNever), 0.0, loss);
  if (reduction == 1) loss = loss / convert(max(lengths, 1.0), loss.dtype());
  return reduce_loss(l, l.make(loss), reduction);
}

// A single sequence as a batch of one, and its loss as a number.
Tensor as_batch(Lower& l, Tensor log_probs) {
  return log_probs.rank() == 2 ? l.make(insert_axis(l, l.read(log_probs), 1)) : log_probs;
}
Tensor as_given(Lower& l, Tensor loss, Tensor log_probs) {
  if (loss.is_poison() || log_probs.rank() != 2 || loss.rank() != 1) return loss;
  return l.make(drop_axis(l, l.read(loss), 0));
}

Tensor ctc_loss(Lower& l, Tensor log_probs, Tensor targets, std::vector<int64_t> input_lengths,
                std::vector<int64_t> target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  Tensor batch = as_batch(l, log_probs);
  if (!expect_sequences(l, batch, targets, blank)) return {};
  auto lengths = fixed_lengths(l, batch, targets, input_lengths, target_lengths);
  if (!lengths) return {};
  Ctc c = align(l, batch, targets, *lengths, blank);
  return as_given(l, reduced(l, c.loss, lengths->target, reduction, zero_infinity), log_probs);
}

Tensor ctc_loss_of_values(Lower& l, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths,
                          int64_t blank, int64_t reduction, bool zero_infinity) {
  Tensor batch = as_batch(l, log_probs);
  if (!expect_sequences(l, batch, targets, blank)) return {};
  for (Tensor t : {input_lengths, target_lengths}) {
    if (t.is_poison()) return {};
    if (!is_integer(t.dtype()) || t.numel() != batch.dim(1) || t.rank() > 1)
      return l.wrong("expected a length for each sequence, got " + describe(t));
  }
  auto read = [&](Tensor t) { return Formula(l, l.hlo.reshape(l.read(t, DType::Int64), {batch.dim(1)})); };
  Lengths lengths{read(input_lengths), read(target_lengths), targets.dim(-1)};
  Ctc c = align(l, batch, targets, lengths, blank);
  return as_given(l, reduced(l, c.loss, lengths.target, reduction, zero_infinity), log_probs);
}

// (the loss of each sequence, log_alpha for its gradient). Beyond the ends of sequences log_alpha is -inf.
std::tuple<Tensor, Tensor> ctc_loss_forward(Lower& l, Tensor log_probs, Tensor targets,
                                            std::vector<int64_t> input_lengths, std::vector<int64_t> target_lengths,
                                            int64_t blank, bool) {
  if (!expect_sequences(l, log_probs, targets, blank)) return {};
  auto lengths = fixed_lengths(l, log_probs, targets, input_lengths, target_lengths);
  if (!lengths) return {};
  Ctc c = align(l, log_probs, targets, *lengths, blank);
  return {l.make(c.loss), l.make(c.alpha)};
}

std::tuple<Tensor, Tensor> ctc_loss_forward_of_values(Lower& l, Tensor, Tensor, Tensor, Tensor, int64_t, bool) {
  return l.refuse(Kind::DataDependent, {{"what", std::string("the size of log_alpha")},
                                        {"advice", std::string("use ctc_loss, or give lengths as numbers")}});
}

}  // namespace

std::span<const Row> ctc_ops() {
  static constexpr Row rows[] = {
      op<ctc_loss_forward>("_ctc_loss"),
      op<ctc_loss_forward_of_values>("_ctc_loss.Tensor"),
      op<ctc_loss>("ctc_loss.IntList", AutocastRule::Float32),
      op<ctc_loss_of_values>("ctc_loss.Tensor", AutocastRule::Float32),
  };
  return rows;
}

}  // namespace torchlift::aten
