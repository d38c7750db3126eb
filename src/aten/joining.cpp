// Joining tensors, repeating them, and moving their elements about: results are always fresh tensors.
#include <algorithm>
#include <numeric>

#include "aten/axes.hpp"
#include "aten/scan.hpp"
#include "aten/shaping.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using torch::MemoryFormat;

size_t at(int64_t i) { return static_cast<size_t>(i); }

bool any_poison(const TensorList& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.is_poison(); });
}

// The memory format that all operands have, else row-major.
Dims joined_strides(const TensorList& tensors, const Dims& shape) {
  auto format_of = [](const Tensor& t) { return lower::suggest_memory_format(t.shape(), t.strides()); };
  MemoryFormat format = format_of(tensors.front());
  for (const Tensor& t : tensors)
    if (format_of(t) != format) format = MemoryFormat::Contiguous;
  return lower::strides_for(shape, format);
}

Tensor like(Lower& l, Tensor self, Value value) {
  return l.make(value, lower::dense_strides_like(self.shape(), self.strides()));
}

}  // namespace

// Joined along an axis that is there. PyTorch leaves out 1-D tensors without elements, whatever the rank of the others.
Tensor cat(Lower& l, TensorList tensors, int64_t dim) {
  if (any_poison(tensors)) return {};
  if (tensors.empty()) return l.wrong("cat of no tensors");
  DType dtype = lower::result_type(tensors);
  TensorList kept;
  for (const Tensor& t : tensors)
    if (t.rank() != 1 || !t.is_empty()) kept.push_back(t);
  if (kept.empty()) kept.push_back(tensors.front());
  int64_t rank = kept.front().rank();
  auto axis = l.axis(dim, rank);
  if (!axis) return {};
  Dims shape = kept.front().shape();
  Values parts;
  Dim joined(0);
  for (const Tensor& t : kept) {
    if (t.rank() != rank || rank == 0) return l.wrong("cat of " + describe(kept.front()) + " and " + describe(t));
    for (int64_t i = 0; i < rank; ++i)
      if (i != *axis && t.dim(i) != shape[at(i)])
        return l.wrong("cat of " + describe(kept.front()) + " and " + describe(t));
    joined = joined + t.dim(*axis);
    parts.push_back(l.read(t, dtype));
  }
  shape[at(*axis)] = joined;
  return l.make(l.hlo.concatenate(parts, *axis), joined_strides(kept, shape));
}

Tensor stack(Lower& l, TensorList tensors, int64_t dim) {
  if (any_poison(tensors)) return {};
  if (tensors.empty()) return l.wrong("stack of no tensors");
  auto axis = l.axis(dim, tensors.front().rank() + 1);
  if (!axis) return {};
  DType dtype = lower::result_type(tensors);
  Values parts;
  for (const Tensor& t : tensors) {
    if (t.shape() != tensors.front().shape())
      return l.wrong("stack of " + describe(tensors.front()) + " and " + describe(t));
    parts.push_back(insert_axis(l, l.read(t, dtype), *axis));
  }
  return l.make(l.hlo.concatenate(parts, *axis));
}

Tensor flip(Lower& l, Tensor self, std::vector<int64_t> dims) {
  if (self.is_poison()) return {};
  auto axes = l.axes(dims, self.rank(), false);
  if (!axes) return {};
  if (axes->size() != dims.size() && self.rank() > 0) return l.wrong("flip names a dim twice");
  return like(l, self, l.hlo.reverse(l.read(self), *axes));
}

// Copies side by side along every axis; leading repeats make new axes.
Tensor repeat(Lower& l, Tensor self, Dims repeats) {
  if (self.is_poison()) return {};
  if (static_cast<int64_t>(repeats.size()) < self.rank())
    return l.wrong("repeat of " + describe(self) + " by " + text_of(repeats));
  size_t added = repeats.size() - at(self.rank());
  Dims spread, result;
  Ints own_axes;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < Dim(0)) return l.wrong("repeat by " + text_of(repeats));
    if (i < added || repeats[i] != Dim(1)) spread.push_back(repeats[i]);
    if (i < added) {
      result.push_back(repeats[i]);
      continue;
    }
    own_axes.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(self.shape()[i - added]);
    result.push_back(repeats[i] == Dim(1) ? spread.back() : spread.back() * repeats[i]);
  }
  return l.make(l.hlo.reshape(l.hlo.broadcast_in_dim(l.read(self), spread, own_axes), result));
}

namespace {

TensorList with_rank(Lower& l, TensorList tensors, int64_t rank) {
  for (Tensor& t : tensors) {
    if (rank == 3 && t.rank() == 2) t = unsqueeze(l, t, -1);
    if (t.rank() == 0) t = reshape(l, t, {Dim(1)});
    while (t.rank() < rank && t.rank() == 1) t = unsqueeze(l, t, 0);
    if (rank == 3 && t.rank() == 2) t = unsqueeze(l, t, -1);
  }
  return tensors;
}

Tensor hstack(Lower& l, TensorList tensors) {
  tensors = with_rank(l, std::move(tensors), 1);
  int64_t axis = !tensors.empty() && tensors.front().rank() == 1 ? 0 : 1;
  return cat(l, std::move(tensors), axis);
}
Tensor vstack(Lower& l, TensorList tensors) { return cat(l, with_rank(l, std::move(tensors), 2), 0); }
Tensor dstack(Lower& l, TensorList tensors) { return cat(l, with_rank(l, std::move(tensors), 3), 2); }

Tensor column_stack(Lower& l, TensorList tensors) {
  for (Tensor& t : tensors)
    if (t.rank() <= 1) t = reshape(l, t, {t.numel(), Dim(1)});
  return hstack(l, std::move(tensors));
}

// Matrices along the diagonal, zeros elsewhere; numbers and vectors count as single rows.
Tensor block_diag(Lower& l, TensorList tensors) {
  if (any_poison(tensors)) return {};
  if (tensors.empty()) return l.make(l.full({Dim(1), Dim(0)}, DType::Float32, 0));
  DType dtype = lower::result_type(tensors);
  Dim rows(0), columns(0), row(0), column(0);
  for (Tensor& t : tensors) {
    if (!l.expect_rank(t, 0, 2, "blocks")) return {};
    if (t.rank() < 2) t = reshape(l, t, {Dim(1), t.numel()});
    rows = rows + t.dim(0);
    columns = columns + t.dim(1);
  }
  Values blocks;
  for (const Tensor& t : tensors) {
    blocks.push_back(pad_axis(l, l.read(t, dtype), 1, column, columns - column - t.dim(1)));
    column = column + t.dim(1);
  }
  return l.make(l.hlo.concatenate(blocks, 0));
}

// Every chunk of every tensor, padded to equal lengths and joined: the copy-in of a reduce-scatter.
Tensor chunk_cat(Lower& l, TensorList tensors, int64_t dim, int64_t num_chunks) {
  if (any_poison(tensors)) return {};
  if (tensors.empty() || num_chunks < 1) return l.wrong("_chunk_cat of nothing");
  TensorList rows;
  for (const Tensor& t : tensors) {
    auto axis = l.axis(dim, t.rank());
    if (!axis || t.rank() == 0) return l.wrong("_chunk_cat of " + describe(t));
    Dim length = ceildiv(t.dim(*axis), Dim(num_chunks));
    Value padded = pad_axis(l, l.read(t), *axis, 0, length * Dim(num_chunks) - t.dim(*axis));
    Dims shape(t.shape().begin(), t.shape().begin() + *axis);
    shape.insert(shape.end(), {Dim(num_chunks), length * product(std::span(t.shape()).subspan(at(*axis) + 1))});
    rows.push_back(l.make(l.hlo.reshape(padded, shape)));
  }
  return cat(l, std::move(rows), -1);
}

TensorList grid(Lower& l, const TensorList& tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape.push_back(t.dim(0));
  TensorList out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out.push_back(l.make(l.hlo.broadcast_in_dim(l.read(tensors[i]), shape, {static_cast<int64_t>(i)})));
  return out;
}

Tensor cartesian_prod(Lower& l, TensorList tensors) {
  if (any_poison(tensors)) return {};
  for (const Tensor& t : tensors)
    if (!l.expect_rank(t, 1, 1, "tensors")) return {};
  if (tensors.size() == 1) return tensors.front();
  TensorList columns;
  for (Tensor axis : grid(l, tensors)) columns.push_back(reshape(l, axis, {axis.numel()}));
  return stack(l, std::move(columns), 1);
}

constexpr int64_t kMaxCombinations = 1 << 20;

// The rows of r places in rising order, as a table; nothing past a bound.
std::optional<Ints> combination_places(int64_t n, int64_t r, bool with_replacement) {
  Ints table, row(at(r), 0);
  for (int64_t i = 0; i < r; ++i) row[at(i)] = with_replacement ? 0 : i;
  if (!with_replacement && r > n) return table;
  if (n == 0) return table;
  while (true) {
    table.insert(table.end(), row.begin(), row.end());
    if (static_cast<int64_t>(table.size()) > kMaxCombinations) return std::nullopt;
    int64_t i = r - 1;
    while (i >= 0 && row[at(i)] == (with_replacement ? n - 1 : n - r + i)) --i;
    if (i < 0) return table;
    ++row[at(i)];
    for (int64_t k = i + 1; k < r; ++k) row[at(k)] = row[at(k - 1)] + (with_replacement ? 0 : 1);
  }
}

Tensor combinations(Lower& l, Tensor self, int64_t r, bool with_replacement) {
  if (self.is_poison() || !l.expect_rank(self, 1, 1, "self")) return {};
  if (r < 0 || r > kMaxCombinations) return l.unsupported("r", std::to_string(r));
  if (r == 0) return l.make(l.full({Dim(0)}, self.dtype(), 0));
  auto places = combination_places(l.pin(self.dim(0)), r, with_replacement);
  if (!places) return l.unsupported("r", std::to_string(r), "the table of combinations would be too large");
  Dims shape{Dim(static_cast<int64_t>(places->size()) / r), Dim(r)};
  if (places->empty()) return l.make(l.full(shape, self.dtype(), 0));
  return l.make(l.hlo.reshape(take_along(l, l.read(self), 0, *places), shape));
}

// repeat, where a list shorter than the rank stands for the last axes.
Tensor tile(Lower& l, Tensor self, Dims dims) {
  while (static_cast<int64_t>(dims.size()) < self.rank()) dims.insert(dims.begin(), Dim(1));
  return repeat(l, self, std::move(dims));
}

// ---- repeat_interleave

// Every element `repeats` times in place.
Tensor repeat_interleave_int(Lower& l, Tensor self, Dim repeats, Optional<int64_t> dim, Optional<Dim>) {
  if (self.is_poison()) return {};
  if (!dim || self.rank() == 0) self = reshape(l, self, {self.numel()});
  auto axis = l.axis(dim.value_or(0), self.rank());
  if (!axis || repeats < Dim(0)) return l.wrong("repeat_interleave of " + describe(self) + " by " + repeats.text());
  Dims spread = self.shape(), result = self.shape();
  spread.insert(spread.begin() + *axis + 1, repeats);
  result[at(*axis)] = result[at(*axis)] * repeats;
  Ints own;
  for (int64_t i = 0; i <= self.rank(); ++i)
    if (i != *axis + 1) own.push_back(i);
  return l.make(l.hlo.reshape(l.hlo.broadcast_in_dim(l.read(self), spread, own), result));
}

// For each place of the result which element stands there: the number of elements whose repeats end at or before it.
Value repeated_places(Lower& l, Tensor repeats, const Dim& output_size) {
  Dim n = repeats.dim(0);
  Value counts = l.read(repeats, DType::Int64);
  Value ends = cumulate(l, counts, 0, Reducer::Add);
  Dims table{output_size, n};
  Value passed = l.hlo.compare(l.hlo.broadcast_in_dim(ends, table, {1}), l.hlo.iota({DType::Int64, table}, 0),
                               ComparisonDirection::Le);
  return l.hlo.reduce(l.hlo.convert(passed, DType::Int64), {1}, Reducer::Add);
}

// How often each element is repeated, where that follows from constants: the size of the result is the sum. Nothing,
// with a refusal recorded, else.
std::optional<Dims> known_repeats(Lower& l, Tensor repeats) {
  auto counts = l.known_elements(repeats);
  if (!counts) {
    l.refuse(Kind::DataDependent, {{"what", std::string("the size of repeat_interleave's result")},
                                   {"advice", std::string("pass output_size=, or repeats as a Python integer")}});
    return std::nullopt;
  }
  Dims out;
  for (const Scalar& n : *counts) {
    if (!n.is_integral() || n.to_int() < 0) {
      l.wrong("expected whole numbers that are not negative as repeats, got " + describe(repeats));
      return std::nullopt;
    }
    out.emplace_back(n.to_int());
  }
  return out;
}

Tensor repeat_interleave_places(Lower& l, Tensor repeats, Optional<Dim> output_size) {
  if (repeats.is_poison() || !l.expect_rank(repeats, 1, 1, "repeats")) return {};
  if (!output_size) {
    auto counts = known_repeats(l, repeats);
    if (!counts) return {};
    output_size = std::accumulate(counts->begin(), counts->end(), Dim(0));
  }
  return l.make(l.convert(repeated_places(l, repeats, *output_size), repeats.dtype()));
}

Tensor repeat_interleave_tensor(Lower& l, Tensor self, Tensor repeats, Optional<int64_t> dim,
                                Optional<Dim> output_size) {
  if (self.is_poison() || repeats.is_poison() || !l.expect_rank(repeats, 0, 1, "repeats")) return {};
  if (!output_size) {
    auto counts = known_repeats(l, repeats);
    if (!counts) return {};
    if (counts->size() == 1) return repeat_interleave_int(l, self, counts->front(), dim, std::nullopt);
    output_size = std::accumulate(counts->begin(), counts->end(), Dim(0));
  }
  if (!dim || self.rank() == 0) self = reshape(l, self, {self.numel()});
  auto axis = l.axis(dim.value_or(0), self.rank());
  if (!axis) return {};
  Dim n = self.dim(*axis);
  if (repeats.rank() == 0 || repeats.dim(0) == Dim(1)) repeats = expand(l, reshape(l, repeats, {Dim(1)}), {n}, false);
  if (repeats.dim(0) != n) return l.wrong("repeats " + describe(repeats) + " for an axis of " + n.text());
  if (n == Dim(0)) return l.make(l.read(self));
  stablehlo::Gather g{};
  for (int64_t i = 0; i < self.rank(); ++i)
    if (i != *axis) g.offset_dims.push_back(i);
  g.collapsed_slice_dims = {*axis};
  g.start_index_map = {*axis};
  g.index_vector_dim = 1;
  g.slice_sizes = self.shape();
  g.slice_sizes[at(*axis)] = 1;
  return l.make(l.hlo.gather(l.read(self), repeated_places(l, repeats, *output_size), std::move(g)));
}

// ---- flips, rolls, turns

Tensor fliplr(Lower& l, Tensor self) { return flip(l, self, {1}); }
Tensor flipud(Lower& l, Tensor self) { return flip(l, self, {0}); }

// The last `shift` places come first.
Value roll_axis(Lower& l, Value v, const Dim& shift, int64_t axis, const Dim& size) {
  if (size == Dim(0)) return v;
  Dim start = mod(size - mod(shift, size), size);
  if (start == Dim(0)) return v;
  return l.hlo.concatenate({slice_axis(l, v, axis, start, size), slice_axis(l, v, axis, 0, start)}, axis);
}

Tensor roll(Lower& l, Tensor self, Dims shifts, std::vector<int64_t> dims) {
  if (self.is_poison()) return {};
  if (dims.empty() && shifts.size() == 1) {
    Value flat = l.hlo.reshape(l.read(self), {self.numel()});
    return l.make(l.hlo.reshape(roll_axis(l, flat, shifts[0], 0, self.numel()), self.shape()));
  }
  if (dims.size() != shifts.size()) return l.wrong("roll with " + std::to_string(shifts.size()) + " shifts");
  Value v = l.read(self);
  for (size_t i = 0; i < dims.size(); ++i) {
    auto axis = l.axis(dims[i], self.rank());
    if (!axis) return {};
    if (self.rank() > 0) v = roll_axis(l, v, shifts[i], *axis, self.dim(*axis));
  }
  return like(l, self, v);
}

Tensor rot90(Lower& l, Tensor self, int64_t k, std::vector<int64_t> dims) {
  if (self.is_poison()) return {};
  if (dims.size() != 2) return l.wrong("rot90 with " + std::to_string(dims.size()) + " dims");
  auto a = l.axis(dims[0], self.rank()), b = l.axis(dims[1], self.rank());
  if (!a || !b || *a == *b) return l.wrong("rot90 of " + describe(self) + " in one dim");
  switch (((k % 4) + 4) % 4) {
    case 1: return fresh(l, transpose(l, flip(l, self, {*b}), *a, *b));
    case 2: return flip(l, self, {*a, *b});
    case 3: return fresh(l, transpose(l, flip(l, self, {*a}), *a, *b));
    default: return clone(l, self, torch::MemoryFormat::Contiguous);
  }
}

// ---- channels and pixels

// [.., C r r, H, W] to [.., C, H r, W r]
Tensor pixel_shuffle(Lower& l, Tensor self, int64_t upscale_factor) {
  if (self.is_poison()) return {};
  Dim r(upscale_factor);
  if (self.rank() < 3 || r < Dim(1) || mod(self.dim(-3), r * r) != Dim(0))
    return l.wrong("pixel_shuffle of " + describe(self) + " by " + r.text());
  Dims lead(self.shape().begin(), self.shape().end() - 3), split = lead, joined = lead;
  auto n = static_cast<int64_t>(lead.size());
  Dim channels = floordiv(self.dim(-3), r * r), height = self.dim(-2), width = self.dim(-1);
  split.insert(split.end(), {channels, r, r, height, width});
  joined.insert(joined.end(), {channels, height * r, width * r});
  Ints order(at(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i : {0, 3, 1, 4, 2}) order.push_back(n + i);
  return l.make(l.hlo.reshape(l.hlo.transpose(l.hlo.reshape(l.read(self), split), order), joined));
}

// [.., C, H r, W r] to [.., C r r, H, W]
Tensor pixel_unshuffle(Lower& l, Tensor self, int64_t downscale_factor) {
  if (self.is_poison()) return {};
  Dim r(downscale_factor);
  if (self.rank() < 3 || r < Dim(1) || mod(self.dim(-2), r) != Dim(0) || mod(self.dim(-1), r) != Dim(0))
    return l.wrong("pixel_unshuffle of " + describe(self) + " by " + r.text());
  Dims lead(self.shape().begin(), self.shape().end() - 3), split = lead, joined = lead;
  auto n = static_cast<int64_t>(lead.size());
  Dim channels = self.dim(-3), height = floordiv(self.dim(-2), r), width = floordiv(self.dim(-1), r);
  split.insert(split.end(), {channels, height, r, width, r});
  joined.insert(joined.end(), {channels * r * r, height, width});
  Ints order(at(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i : {0, 2, 4, 1, 3}) order.push_back(n + i);
  return l.make(l.hlo.reshape(l.hlo.transpose(l.hlo.reshape(l.read(self), split), order), joined));
}

// Channels g * k + i become i * groups + g.
Tensor channel_shuffle(Lower& l, Tensor self, Dim groups) {
  if (self.is_poison()) return {};
  if (self.rank() < 3 || groups < Dim(1) || mod(self.dim(1), groups) != Dim(0))
    return l.wrong("channel_shuffle of " + describe(self) + " in " + groups.text() + " groups");
  Dims split = self.shape();
  split[1] = floordiv(split[1], groups);
  split.insert(split.begin() + 1, groups);
  Ints order(split.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  return like(l, self, l.hlo.reshape(l.hlo.transpose(l.hlo.reshape(l.read(self), split), order), self.shape()));
}

}  // namespace

std::span<const Row> joining_ops() {
  using lower::aliases;
  static constexpr auto kPromote = lower::AutocastRule::Promote;
  static constexpr Row rows[] = {
      op<chunk_cat>("_chunk_cat"),
      op<block_diag>("block_diag"),
      op<cartesian_prod>("cartesian_prod", aliases("tensors")),
      op<cat>("cat", kPromote),
      op<channel_shuffle>("channel_shuffle"),
      op<column_stack>("column_stack"),
      op<combinations>("combinations"),
      op<cat>("concat", kPromote),
      op<cat>("concatenate", kPromote),
      op<dstack>("dstack"),
      op<flip>("flip"),
      op<fliplr>("fliplr"),
      op<flipud>("flipud"),
      op<hstack>("hstack"),
      op<channel_shuffle>("native_channel_shuffle"),
      op<pixel_shuffle>("pixel_shuffle"),
      op<pixel_unshuffle>("pixel_unshuffle"),
      op<repeat>("repeat"),
      op<repeat_interleave_places>("repeat_interleave.Tensor"),
      op<repeat_interleave_tensor>("repeat_interleave.self_Tensor"),
      op<repeat_interleave_int>("repeat_interleave.self_int"),
      op<roll>("roll"),
      op<rot90>("rot90"),
      op<stack>("stack", kPromote),
      op<tile>("tile"),
      op<vstack>("vstack"),
  };
  return rows;
}

}  // namespace torchlift::aten
