// Random numbers. PyTorch's streams differ between devices and versions and cannot be repeated; here numbers come from
// a counter: word pair i of draw d is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011) of the counter (low word of i, block * 2^28 + high word of i) under the key
// that Threefry gives for (d, 0) under the seed of the import; in pass p of a loop under the key that it gives for
// (p, 2^32 - 1) under the draw's. Draws are counted in the program's order. A program's
// numbers are the same on every device and in every run.
#pragma once

#include <array>
#include <cstdint>

#include "aten/formula.hpp"

namespace torchlift::aten {

using WordPair = std::array<uint32_t, 2>;
WordPair threefry(WordPair key, WordPair counter);

// The numbers of one operator. Uniform numbers are multiples of 2^-digits, as PyTorch's are: 24 digits of float32, 53
// of float64, 11 of float16, 8 of bfloat16.
class Draw {
 public:
  // Refuses inside of loops and branches, where each pass would draw the same; notes once that the numbers are others.
  static std::optional<Draw> begin(Lower& l, Dims shape);

  Formula bits32();                  // u32
  Formula bits64();                  // u64
  Formula uniform(DType dtype);      // [0, 1), in accumulate_type of the dtype
  Formula normal(DType dtype);       // mean 0, variance 1, in accumulate_type of the dtype; also complex
  Formula exponential(DType dtype);  // mean 1, above 0
  Formula integers(DType dtype, Formula from, Formula count);  // from + (bits mod count); u64 `count` is not 0
  // In a loop: [0, 1) of float64, others for each `pass`, a u32 of rank 0.
  Formula uniform_in_pass(Formula pass);

 private:
  Draw(Lower& l, Dims shape, WordPair key) : l_(&l), shape_(std::move(shape)), key_(key) {}
  std::array<Formula, 2> words();            // the next block of u32 pairs
  std::array<Formula, 2> element_numbers();  // low and high words

  Lower* l_;
  Dims shape_;
  WordPair key_;
  uint32_t block_ = 0;
};

// For operators that draw for each element of a tensor of floats.
bool expect_float(Lower& l, Tensor t);

// The files of random numbers.
std::span<const Row> rejection_ops();

// Of a floating-point dtype: the digits of its uniform numbers.
int64_t random_digits(DType dtype);

}  // namespace torchlift::aten
