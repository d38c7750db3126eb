// Programs without inputs, written as text, lowered and run on the real plugin: for tests of what cannot be recorded.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "aten/ops.hpp"
#include "lower/evaluate.hpp"
#include "pjrt/real_plugin.hpp"
#include "run/program_cache.hpp"
#include "run/session.hpp"
#include "stablehlo/print.hpp"
#include "torch/parse.hpp"

namespace torchlift::aten {

struct Evaluated {
  std::vector<double> numbers;  // of the result %r, converted to float64
  std::vector<Diagnostic> notes;
};

// Lines of a block in the text form of programs (torch/parse.hpp) that define %r, a tensor of real numbers.
inline Evaluated evaluate_nodes(const std::string& nodes, const lower::Options& options = {}) {
  std::string text = "program \"nodes\" producer \"\" schema \"8.20\"\noutput user \"\" = %out\n\nblock 0 \"\"\n" +
                     nodes +
                     "  %out: tensor = aten::to.dtype(self=%r, dtype=torch.float64) \"out\" @0\n  return %out\n\n"
                     "location 0 \"\" \"\"\n";
  auto program = torch::parse_program(text, "nodes");
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error()));
  auto lowered = lower::lower(*program, table(), options);
  EXPECT_TRUE(lowered) << (lowered ? "" : to_text(lowered.error()));
  bundle::Program signature;
  const lower::EntryResult& result = lowered->results.at(0);
  signature.results = {
      {.role = bundle::ResultRole::Output, .name = "", .aliases = {}, .type = {result.dtype, concrete(result.shape)}}};
  run::ProgramCache programs(real_client());
  auto session =
      run::Session::create(real_client(), *programs.get(stablehlo::to_text(lowered->module)).value(), signature, {});
  auto results = session.value().run({}).value();
  Evaluated out{std::vector<double>(results[0].bytes().size() / sizeof(double)), lowered->notes};
  std::memcpy(out.numbers.data(), results[0].bytes().data(), results[0].bytes().size());
  return out;
}

}  // namespace torchlift::aten
