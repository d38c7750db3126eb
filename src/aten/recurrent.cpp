// Recurrent networks: torch.nn's "Recurrent Layers". One layer in one direction is one stablehlo.while over time, with
// the products of all inputs taken before it.
#include <algorithm>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/linear_algebra.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

enum class CellKind : uint8_t { Lstm, Gru, Tanh, Relu };

// The parameters of one layer in one direction; biases and the projection may be missing.
struct Parameters {
  Value w_ih, w_hh, b_ih, b_hh, w_hr;
};

struct State {
  Value h, c;  // c of LSTM only
};

// x @ weight^T + bias, in the wide dtype.
Value affine(Lower& l, Value x, Value weight, Value bias) {
  Value product = contract_last(l, x, weight);
  if (!bias.has_value() || !product.has_value()) return product;
  const Dims shape = l.type(product).dims;
  return l.hlo.add(
      product, along_axis(l, l.convert(bias, l.type(product).dtype), static_cast<int64_t>(shape.size()) - 1, shape));
}

Value gate(Lower& l, Value all, int64_t number, int64_t count) {
  if (!all.has_value()) return {};
  auto last = static_cast<int64_t>(l.type(all).rank()) - 1;
  Dim width = floordiv(l.type(all).dims[static_cast<size_t>(last)], Dim(count));
  return slice_axis(l, all, last, width * Dim(number), width * Dim(number + 1));
}

// i, f, g, o: c' = sigmoid(f) * c + sigmoid(i) * tanh(g); h' = sigmoid(o) * tanh(c'), projected where there is a w_hr.
State lstm_step(Lower& l, Value gates, const State& state, const Parameters& p, DType dtype) {
  auto logistic = [&](int64_t number) { return l.hlo.logistic(gate(l, gates, number, 4)); };
  Value kept = l.hlo.multiply(logistic(1), l.convert(state.c, l.type(gates).dtype));
  Value c = l.hlo.add(kept, l.hlo.multiply(logistic(0), l.hlo.tanh(gate(l, gates, 2, 4))));
  Value h = l.convert(l.hlo.multiply(logistic(3), l.hlo.tanh(c)), dtype);
  if (p.w_hr.has_value()) h = l.convert(contract_last(l, h, p.w_hr), dtype);
  return {h, l.convert(c, dtype)};
}

// r, z, n: n = tanh(x_n + r * h_n); h' = n + z * (h - n).
Value gru_step(Lower& l, Value from_input, Value from_hidden, Value h, DType dtype) {
  auto logistic = [&](int64_t number) {
    return l.hlo.logistic(l.hlo.add(gate(l, from_input, number, 3), gate(l, from_hidden, number, 3)));
  };
  Value reset = logistic(0), update = logistic(1);
  Value fresh = l.hlo.tanh(l.hlo.add(gate(l, from_input, 2, 3), l.hlo.multiply(reset, gate(l, from_hidden, 2, 3))));
  Value old = l.convert(h, l.type(fresh).dtype);
  return l.convert(l.hlo.add(fresh, l.hlo.multiply(update, l.hlo.subtract(old, fresh))), dtype);
}

// One step, given the input's part of the gates [batch, gates * hidden].
State step(Lower& l, CellKind kind, Value from_input, const State& state, const Parameters& p) {
  if (!state.h.has_value()) return {};
  DType dtype = l.type(state.h).dtype;
  Value from_hidden = affine(l, state.h, p.w_hh, p.b_hh);
  if (!from_hidden.has_value() || !from_input.has_value()) return {};
  if (kind == CellKind::Gru) return {gru_step(l, from_input, from_hidden, state.h, dtype), {}};
  Value gates = l.hlo.add(from_input, from_hidden);
  if (kind == CellKind::Lstm) return lstm_step(l, gates, state, p, dtype);
  Value h = kind == CellKind::Tanh ? l.hlo.tanh(gates) : l.hlo.maximum(gates, l.full_like(gates, 0));
  return {l.convert(h, dtype), {}};
}

Value number_i64(Lower& l, const Dim& n) { return l.constant(DType::Int64, Scalar(n)); }

struct Run {
  Value outputs;  // [time, batch, hidden]
  State last;
};

// A whole sequence [time, batch, features]; backwards in time for the second direction.
Run run_direction(Lower& l, CellKind kind, Value input, const State& initial, const Parameters& p, bool backwards) {
  if (!input.has_value() || !initial.h.has_value()) return {};
  Value from_input = affine(l, input, p.w_ih, p.b_ih);
  if (!from_input.has_value()) return {};
  const Dims all = l.type(from_input).dims, hidden = l.type(initial.h).dims;
  Dim time = all[0];
  bool lstm = kind == CellKind::Lstm;
  Values inits{number_i64(l, 0), initial.h, l.full({time, hidden[0], hidden[1]}, l.type(initial.h).dtype, 0)};
  if (lstm) inits.push_back(initial.c);
  auto more = [&](std::span<const Value> a) {
    return l.hlo.compare(a[0], number_i64(l, time), ComparisonDirection::Lt);
  };
  auto body = [&](std::span<const Value> a) -> Values {
    Value at = backwards ? l.hlo.subtract(number_i64(l, time - Dim(1)), a[0]) : a[0];
    Value zero = number_i64(l, 0);
    Value gates =
        l.hlo.reshape(l.hlo.dynamic_slice(from_input, {at, zero, zero}, {Dim(1), all[1], all[2]}), {all[1], all[2]});
    State next = step(l, kind, gates, {a[1], lstm ? a[3] : Value()}, p);
    Value outputs = l.hlo.dynamic_update_slice(a[2], insert_axis(l, next.h, 0), {at, zero, zero});
    Values results{l.hlo.add(a[0], number_i64(l, 1)), next.h, outputs};
    if (lstm) results.push_back(next.c);
    return results;
  };
  Values results = l.hlo.while_(inits, more, body);
  return {results[2], {results[1], lstm ? results[3] : Value()}};
}

// ---- the operators' arguments

struct Network {
  CellKind kind{};
  std::vector<Tensor> params;
  bool has_biases = false;
  int64_t num_layers = 1;
  double dropout = 0;
  bool train = false;
  bool bidirectional = false;
  bool batch_first = false;
};

struct Sequence {
  Tensor output, h, c;
};

int64_t directions(const Network& n) { return n.bidirectional ? 2 : 1; }

// How many parameters belong to one layer in one direction; LSTM may have one more, the projection.
std::optional<size_t> parameters_each(Lower& l, const Network& n) {
  constexpr int64_t kMostLayers = 1024;
  auto cells = static_cast<size_t>(std::clamp<int64_t>(n.num_layers, 0, kMostLayers) * directions(n));
  size_t least = n.has_biases ? 4 : 2;
  if (n.num_layers >= 1 && n.num_layers <= kMostLayers) {
    if (n.params.size() == cells * least) return least;
    if (n.kind == CellKind::Lstm && n.params.size() == cells * (least + 1)) return least + 1;
  }
  l.wrong("expected " + std::to_string(least) + " parameters for each of " + std::to_string(n.num_layers) +
          " layers and " + std::to_string(directions(n)) + " directions, got " + std::to_string(n.params.size()));
  return std::nullopt;
}

// Ranks and sizes, so that what follows may index.
bool parameters_fit(Lower& l, const Network& n, size_t each, DType dtype) {
  for (size_t i = 0; i < n.params.size(); ++i) {
    Tensor p = n.params[i];
    if (p.is_poison()) return false;
    bool bias = n.has_biases && (i % each == 2 || i % each == 3);
    if (p.rank() == (bias ? 1 : 2) && p.dtype() == dtype) continue;
    l.wrong("expected a " + std::string(bias ? "1-D bias" : "2-D weight") + " of the input's dtype, got " +
            describe(p));
    return false;
  }
  return true;
}

Parameters read_parameters(Lower& l, const Network& n, size_t cell, size_t each) {
  auto at = [&](size_t k) { return l.read(n.params[cell * each + k]); };
  Parameters p{at(0), at(1), {}, {}, {}};
  if (n.has_biases) {
    p.b_ih = at(2);
    p.b_hh = at(3);
  }
  if (each % 2 == 1) p.w_hr = at(each - 1);
  return p;
}

// The state of one cell out of [cells, batch, width].
Value state_of(Lower& l, Tensor all, size_t cell) {
  auto i = static_cast<int64_t>(cell);
  return drop_axis(l, slice_axis(l, l.read(all), 0, Dim(i), Dim(i + 1)), 0);
}

bool states_fit(Lower& l, Tensor input, const std::vector<Tensor>& states, const Network& n) {
  if (!l.expect_rank(input, 3, 3, "input") || !is_float(input.dtype())) return false;
  Dim batch = input.dim(n.batch_first ? 0 : 1);
  for (Tensor t : states) {
    if (t.is_poison()) return false;
    if (t.rank() == 3 && t.dtype() == input.dtype() && t.dim(0) == Dim(n.num_layers * directions(n)) &&
        t.dim(1) == batch)
      continue;
    l.wrong("expected a state of " + std::to_string(n.num_layers * directions(n)) + " cells and batch " + batch.text() +
            ", got " + describe(t));
    return false;
  }
  return true;
}

Value stack_states(Lower& l, const Values& states) {
  Values rows;
  for (Value v : states) rows.push_back(insert_axis(l, v, 0));
  return l.hlo.concatenate(rows, 0);
}

// Stored as [time, batch, hidden]; batch first is a transposed view of that.
Tensor make_sequence(Lower& l, Value v, bool batch_first) {
  if (!v.has_value() || !batch_first) return l.make(v);
  Dims s = l.type(v).dims;
  Value swapped = l.hlo.transpose(v, {1, 0, 2});
  return l.make(swapped, {s[2], s[1] * s[2], Dim(1)});
}

std::optional<Sequence> run_network(Lower& l, Tensor input, Tensor h0, Optional<Tensor> c0, const Network& n) {
  if (input.is_poison() || h0.is_poison()) return std::nullopt;
  auto each = parameters_each(l, n);
  std::vector<Tensor> states{h0};
  if (c0) states.push_back(*c0);
  if (!each || !parameters_fit(l, n, *each, input.dtype()) || !states_fit(l, input, states, n)) return std::nullopt;
  if (n.dropout != 0 && n.train && n.num_layers > 1 && !l.allow_train_dropout) {
    l.refuse(Kind::TrainDropout);
    return std::nullopt;
  }
  Value sequence = l.read(input);
  if (n.batch_first) sequence = l.hlo.transpose(sequence, {1, 0, 2});
  Values last_h, last_c;
  auto per_layer = static_cast<size_t>(directions(n));
  for (size_t layer = 0; layer < static_cast<size_t>(n.num_layers); ++layer) {
    Values outputs;
    for (size_t direction = 0; direction < per_layer; ++direction) {
      size_t cell = layer * per_layer + direction;
      State initial{state_of(l, h0, cell), c0 ? state_of(l, *c0, cell) : Value()};
      Run run = run_direction(l, n.kind, sequence, initial, read_parameters(l, n, cell, *each), direction == 1);
      if (!run.outputs.has_value()) return std::nullopt;
      outputs.push_back(run.outputs);
      last_h.push_back(run.last.h);
      last_c.push_back(run.last.c);
    }
    sequence = outputs.size() == 1 ? outputs.front() : l.hlo.concatenate(outputs, 2);
  }
  Sequence out{make_sequence(l, sequence, n.batch_first), l.make(stack_states(l, last_h)), {}};
  if (c0) out.c = l.make(stack_states(l, last_c));
  return out;
}

// Outputs of the last layer for every step, then the last state of every cell.
std::tuple<Tensor, Tensor, Tensor> lstm(Lower& l, Tensor input, TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  if (hx.size() != 2) return l.wrong("expected two states, got " + std::to_string(hx.size()));
  auto s = run_network(l, input, hx[0], hx[1],
                       {CellKind::Lstm, params, has_biases, num_layers, dropout, train, bidirectional, batch_first});
  if (!s) return {};
  return {s->output, s->h, s->c};
}

template <CellKind kKind>
std::tuple<Tensor, Tensor> rnn(Lower& l, Tensor input, Tensor hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  auto s = run_network(l, input, hx, {},
                       {kKind, params, has_biases, num_layers, dropout, train, bidirectional, batch_first});
  if (!s) return {};
  return {s->output, s->h};
}

// ---- single cells

std::optional<Parameters> cell_parameters(Lower& l, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh,
                                          const Optional<Tensor>& b_ih, const Optional<Tensor>& b_hh) {
  for (Tensor t : {input, hx, w_ih, w_hh}) {
    if (t.is_poison()) return std::nullopt;
    if (!l.expect_rank(t, 1, 2, "operand")) return std::nullopt;
    if (t.dtype() == input.dtype() && is_float(t.dtype())) continue;
    l.wrong("expected operands of one floating-point dtype, got " + describe(t) + " beside " + describe(input));
    return std::nullopt;
  }
  if (!l.expect_rank(w_ih, 2, 2, "w_ih") || !l.expect_rank(w_hh, 2, 2, "w_hh")) return std::nullopt;
  Parameters p{l.read(w_ih), l.read(w_hh), {}, {}, {}};
  for (const Optional<Tensor>& b : {b_ih, b_hh})
    if (b && (b->is_poison() || !l.expect_rank(*b, 1, 1, "bias"))) return std::nullopt;
  if (b_ih) p.b_ih = l.read(*b_ih);
  if (b_hh) p.b_hh = l.read(*b_hh);
  return p;
}

std::tuple<Tensor, Tensor> lstm_cell(Lower& l, Tensor input, TensorList hx, Tensor w_ih, Tensor w_hh,
                                     Optional<Tensor> b_ih, Optional<Tensor> b_hh) {
  if (hx.size() != 2) return l.wrong("expected two states, got " + std::to_string(hx.size()));
  auto p = cell_parameters(l, input, hx[0], w_ih, w_hh, b_ih, b_hh);
  if (!p || hx[1].is_poison()) return {};
  State next = step(l, CellKind::Lstm, affine(l, l.read(input), p->w_ih, p->b_ih), {l.read(hx[0]), l.read(hx[1])}, *p);
  return {l.make(next.h), l.make(next.c)};
}

template <CellKind kKind>
Tensor cell(Lower& l, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Optional<Tensor> b_ih, Optional<Tensor> b_hh) {
  auto p = cell_parameters(l, input, hx, w_ih, w_hh, b_ih, b_hh);
  if (!p) return {};
  return l.make(step(l, kKind, affine(l, l.read(input), p->w_ih, p->b_ih), {l.read(hx), {}}, *p).h);
}

}  // namespace

std::span<const Row> recurrent_ops() {
  static constexpr Row rows[] = {
      op<rnn<CellKind::Gru>>("gru.input"),
      op<cell<CellKind::Gru>>("gru_cell"),
      op<lstm>("lstm.input"),
      op<lstm_cell>("lstm_cell"),
      op<rnn<CellKind::Relu>>("rnn_relu.input"),
      op<cell<CellKind::Relu>>("rnn_relu_cell"),
      op<rnn<CellKind::Tanh>>("rnn_tanh.input"),
      op<cell<CellKind::Tanh>>("rnn_tanh_cell"),
  };
  return rows;
}

}  // namespace torchlift::aten
