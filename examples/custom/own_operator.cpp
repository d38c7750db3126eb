// An operator of one's own, lowered in C++: a program that imports models which use `mine::soft_cap`, besides all that
// torchlift knows. docs/custom.md explains it.
//
//   own_operator MODEL.pt2 BUNDLE
#include <array>
#include <iostream>

#include "aten/ops.hpp"
#include "cli/command.hpp"
#include "lower/own_ops.hpp"

namespace {

using namespace torchlift;

// cap * tanh(x / cap): the parameters are those of the schema, after the Lower.
aten::Tensor soft_cap(aten::Lower& l, aten::Tensor x, double cap) { return l.mul(l.tanh(l.div(x, cap)), cap); }

// Its row, with the schema as torch.library has it.
constexpr std::array kRows = {lower::own<soft_cap>("mine::soft_cap(Tensor x, float cap) -> Tensor")};

Status import_model(const std::string& file, const std::string& directory) {
  TRY(auto operators, lower::with_own(aten::table(), kRows));
  cli::ImportOptions options;
  options.file = file;
  options.directory = directory;
  options.lift.operators = &operators;
  TRY(auto output, cli::run_import(options));
  std::cout << output.text;
  return Unit{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "own_operator MODEL.pt2 BUNDLE\n";
    return 2;
  }
  auto status = import_model(argv[1], argv[2]);
  if (status) return 0;
  for (const auto& error : status.errors()) std::cerr << to_text(error);
  return 1;
}
