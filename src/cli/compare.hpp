// Whether an answer is right: the rules of case files (tools/corpus/README.md). Same keys, dtypes and shapes exactly;
// values within the tolerance of the file, or of the dtype.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/case_file.hpp"

namespace torchlift::cli {

struct Comparison {
  std::string key;
  bool equal = false;
  std::string text;       // what differs; or what is equal
  double difference = 0;  // the largest, absolute; of numbers
};

bool expects_something(const CaseFile& expected);

// One for each expected `out.`, `mut.` and `mutin.`, and one for each answered `out.` that is not expected.
Result<std::vector<Comparison>> compare(const CaseFile& expected, const LeafValues& answer, const std::string& path);

}  // namespace torchlift::cli
