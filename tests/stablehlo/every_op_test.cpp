// One module that holds every operation. Its text is left in the build folder for tools/oracle/check_stablehlo.py.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "stablehlo/every_op.hpp"
#include "stablehlo/passes.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

std::set<Opcode> opcodes_of(const Module& module) {
  std::set<Opcode> out;
  for (const Inst& inst : module.insts) out.insert(inst.opcode);
  return out;
}

std::string describe(const std::vector<Failure>& failures) {
  std::string out;
  for (const Failure& f : failures)
    out += std::string(info(f.opcode).name) + ": " + f.message + " (got " + f.got + ")\n";
  return out;
}

std::string describe(const std::vector<VerifyError>& errors) {
  std::string out;
  for (const VerifyError& e : errors) out += e.message + "\n";
  return out;
}

TEST(EveryOp, can_be_built_verified_and_printed) {
  EveryOp every;
  EXPECT_EQ(describe(every.b_.failures()), "");
  EXPECT_EQ(describe(verify(every.module_)), "");
  EXPECT_EQ(opcodes_of(every.module_).size(), opcode_count() - 1) << "all but `undefined`";
  std::ofstream(TORCHLIFT_BINARY_DIR "/stablehlo_every_op.mlir") << to_text(every.module_);
  std::ofstream(TORCHLIFT_BINARY_DIR "/stablehlo_every_op_hex.mlir") << to_text(every.module_, {.hex_elements = 1});
  std::ofstream(TORCHLIFT_BINARY_DIR "/stablehlo_every_op_locations.mlir")
      << to_text(every.module_, {.locations = true});
}

TEST(EveryOp, still_verifies_after_simplification) {
  EveryOp every(CustomCalls::No);
  simplify(every.module_);
  EXPECT_EQ(describe(verify(every.module_)), "");
  std::ofstream(TORCHLIFT_BINARY_DIR "/stablehlo_every_op_simplified.mlir") << to_text(every.module_);
}

TEST(EveryOp, prints_the_same_text_twice) {
  EXPECT_EQ(to_text(EveryOp().module_, {.locations = true}), to_text(EveryOp().module_, {.locations = true}));
}

}  // namespace
}  // namespace torchlift::stablehlo
