#include "aten/generator.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

uint32_t plus(uint32_t a, uint32_t b) { return a + b; }
Formula plus(Formula a, uint32_t b) { return a + a.like(Scalar(int64_t{b})); }
uint32_t plus_word(uint32_t a, uint32_t b) { return a + b; }
Formula plus_word(Formula a, Formula b) { return a + b; }
Formula plus(Formula a, Formula b) { return a + b; }
uint32_t exclusive_or(uint32_t a, uint32_t b) { return a ^ b; }
Formula exclusive_or(Formula a, uint32_t b) { return a ^ a.like(Scalar(int64_t{b})); }
Formula exclusive_or(Formula a, Formula b) { return a ^ b; }
uint32_t rotate(uint32_t a, int bits) { return std::rotl(a, bits); }
Formula rotate(Formula a, int bits) {
  Formula left = a.with(a.hlo().shift_left(a, a.like(bits)));
  return left | a.with(a.hlo().shift_right_logical(a, a.like(32 - bits)));
}

// Of numbers while importing, and of values; the key as well.
template <typename Word, typename Key>
std::array<Word, 2> rounds(std::array<Key, 2> key, Word x0, Word x1) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::array<Key, 3> keys{key[0], key[1], exclusive_or(exclusive_or(key[0], key[1]), 0x1BD11BDA)};
  x0 = plus(x0, keys[0]);
  x1 = plus(x1, keys[1]);
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int bits : kRotations[(group - 1) % 2]) {
      x0 = plus_word(x0, x1);
      x1 = exclusive_or(rotate(x1, bits), x0);
    }
    x0 = plus(x0, keys[group % 3]);
    x1 = plus(x1, plus(keys[(group + 1) % 3], group));
  }
  return {x0, x1};
}

Formula shifted_right(Formula x, int64_t bits) { return x.with(x.hlo().shift_right_logical(x, x.like(bits))); }

Formula joined(const std::array<Formula, 2>& words) {
  Formula wide = convert(words[1], DType::UInt64);
  return wide.with(wide.hlo().shift_left(wide, wide.like(32))) | convert(words[0], DType::UInt64);
}

}  // namespace

WordPair threefry(WordPair key, WordPair counter) { return rounds(key, counter[0], counter[1]); }

int64_t random_digits(DType dtype) {
  switch (dtype) {
    case DType::Float64: return 53;
    case DType::Float16: return 11;
    case DType::BFloat16: return 8;
    default: return 24;
  }
}

std::optional<Draw> Draw::begin(Lower& l, Dims shape) {
  for (const Dim& d : shape)
    if (d < Dim(0)) {
      l.wrong("a tensor of shape " + text_of(shape));
      return std::nullopt;
    }
  if (l.in_region()) {
    l.refuse(Kind::CannotLower,
             {{"operator", std::string("random numbers")},
              {"problem", std::string("inside of loops and branches each pass would draw the same; draw "
                                      "them before, and pass them in")}});
    return std::nullopt;
  }
  if (l.draws == 0) l.refuse(Kind::RandomNumbers, {{"seed", static_cast<int64_t>(l.seed)}});
  uint64_t draw = l.draws++;
  auto words = [](uint64_t x) { return WordPair{static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)}; };
  return Draw(l, std::move(shape), threefry(words(l.seed), words(draw)));
}

std::array<Formula, 2> Draw::element_numbers() {
  Dim count = product(shape_);
  Value flat = l_->hlo.iota({DType::UInt64, {count}}, 0);
  Formula index(*l_, l_->hlo.reshape(flat, shape_));
  return {convert(index, DType::UInt32), convert(shifted_right(index, 32), DType::UInt32)};
}

std::array<Formula, 2> Draw::words() {
  auto [low, high] = element_numbers();
  return rounds(key_, low, plus(high, block_++ << 28));
}

Formula Draw::bits32() { return words()[0]; }

Formula Draw::bits64() { return joined(words()); }

Formula Draw::uniform(DType dtype) {
  DType wide = lower::accumulate_type(dtype);
  int64_t digits = random_digits(dtype);
  // The digits fit into a signed integer, whose conversion every device has.
  Formula integer = wide == DType::Float64 ? convert(shifted_right(bits64(), 64 - digits), DType::Int64)
                                           : convert(shifted_right(bits32(), 32 - digits), DType::Int32);
  return convert(integer, wide) * std::ldexp(1.0, static_cast<int>(-digits));
}

// The key of a pass comes from a counter that no element has.
Formula Draw::uniform_in_pass(Formula pass) {
  constexpr int64_t kNoElement = 0xFFFFFFFF;
  std::array<Formula, 2> key = rounds(key_, pass, pass.like(kNoElement));
  for (Formula& word : key) word = word.with(l_->broadcast_to(word, shape_));
  auto [low, high] = element_numbers();
  Formula digits = convert(shifted_right(joined(rounds(key, low, high)), 64 - 53), DType::Int64);
  return convert(digits, DType::Float64) * std::ldexp(1.0, -53);
}

// Box and Muller, Annals of Mathematical Statistics 29 (1958) 610. float16 and bfloat16 are rounded from float32.
Formula Draw::normal(DType dtype) {
  if (is_complex(dtype)) {
    DType real = real_of(dtype);
    Formula re = normal(real), im = normal(real);
    return complex(re * std::numbers::sqrt2 / 2.0, im * std::numbers::sqrt2 / 2.0);
  }
  DType wide = lower::accumulate_type(dtype);
  Formula radius = sqrt(log(1.0 - uniform(wide)) * -2.0);
  return radius * cos(uniform(wide) * (2 * std::numbers::pi));
}

Formula Draw::exponential(DType dtype) {
  DType wide = lower::accumulate_type(dtype);
  // Half a step up: never zero.
  Formula u = uniform(wide) + std::ldexp(0.5, static_cast<int>(-random_digits(wide)));
  return -log1p(-u);
}

Formula Draw::integers(DType dtype, Formula from, Formula count) {
  Formula bits = bits64();
  Formula spread = bits.with(l_->broadcast_to(count, shape_));
  Formula start = bits.with(l_->broadcast_to(from, shape_));
  return convert(convert(fmod(bits, spread), DType::Int64) + start, dtype);
}

}  // namespace torchlift::aten
