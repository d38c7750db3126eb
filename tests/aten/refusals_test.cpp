// The lines `error KIND: CALL` of tests/ops/*.ops (tools/record_ops.py): PyTorch records nothing for them. Each call is
// written as a program and lowered, and must be refused with that kind by the overload that takes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>

#include "aten/ops.hpp"
#include "lower/evaluate.hpp"
#include "support/temporary_directory.hpp"
#include "torch/parse.hpp"

namespace torchlift::aten {
namespace {

// A call of a line, its tensors named %x0, %x1, ... and its values in the words of the program's text.
struct Call {
  std::string name;                                         // "max.dim"
  std::vector<std::pair<std::string, std::string>> values;  // name, empty where positional; value
  std::vector<std::string> tensors;                         // types: "f32[2, 3]"
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Call call() {
    Call out;
    out.name = word();
    expect("(");
    while (!take(")")) {
      std::string_view before = rest_;
      std::string name = word();
      if (name.empty() || !take("=")) {
        name.clear();
        rest_ = before;
      }
      std::string text = value(out);
      out.values.emplace_back(name, text);
      take(",");
    }
    EXPECT_TRUE(rest_.empty()) << rest_;
    return out;
  }

 private:
  void skip() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool take(std::string_view mark) {
    skip();
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(mark.size());
    return true;
  }
  void expect(std::string_view mark) { ASSERT_TRUE(take(mark)) << mark << " before " << rest_; }
  std::string word() {
    skip();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || std::strchr("_.:+-", rest_[n])))
      ++n;
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  std::string until(char end) {
    size_t n = rest_.find(end);
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(std::min(rest_.size(), n + 1));
    return out;
  }

  std::string value(Call& call) {
    if (take("\"")) return "\"" + until('"') + "\"";
    if (take("[")) {
      std::string out;
      while (!take("]")) {
        out += (out.empty() ? "" : ", ") + value(call);
        take(",");
      }
      return "[" + out + "]";
    }
    static const std::set<std::string> kWords = {"pos",    "prob", "unit",  "small", "nan",
                                                 "sorted", "spd",  "index", "below"};
    std::string text = word();
    while (kWords.contains(text) && !rest_.empty() && std::strchr(" (", rest_[0])) {
      if (take("(")) until(')');
      text = word();
    }
    if (!take("[")) {
      if (auto dtype = dtype_from_short_name(text)) return "torch." + std::string(info(*dtype).torch_name);
      return text == "None" ? "none" : text;
    }
    std::string name = "%x" + std::to_string(call.tensors.size());
    call.tensors.push_back(text + "[" + until(']') + "]");
    return name;
  }

  std::string_view rest_;
};

std::string program_of(const Call& call, const torch::Schema& schema) {
  std::string inputs, block, operands, results;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    std::string name = "%x" + std::to_string(i);
    inputs += "input user \"\" = " + name + "\n";
    block += "  input " + name + ": " + call.tensors[i] + "\n";
  }
  for (size_t i = 0; i < call.values.size(); ++i) {
    auto [name, value] = call.values[i];
    if (name.empty() && i < schema.arguments.size()) name = schema.arguments[i].name;
    operands += (operands.empty() ? "" : ", ") + name + "=" + value;
  }
  for (size_t i = 0; i < std::max<size_t>(1, schema.returns.size()); ++i)
    results += (results.empty() ? "" : ", ") + ("%r" + std::to_string(i)) + ": tensor";
  return "program \"line\" producer \"\" schema \"8.20\"\n" + inputs + "output user \"\" = %r0\n\nblock 0 \"\"\n" +
         block + "  " + results + " = " + schema.full_name() + "(" + operands +
         ") \"op\" @0\n  return %r0\n\nlocation 0 \"\" \"\"\n";
}

// The kinds of diagnostics that the overload answers with; "none" if it gives a program.
std::set<std::string> answers(const Call& call, const torch::Schema& schema) {
  std::string text = program_of(call, schema);
  auto program = torch::parse_program(text, "line");
  if (!program) return {to_text(program.error()) + text};
  auto lowered = lower::lower(*program, table(), {});
  if (lowered) return {"none"};
  std::set<std::string> out;
  for (const Diagnostic& d : lowered.errors()) out.insert(std::string(info(d.kind).id));
  return out;
}

TEST(Refusals, lines_of_errors_are_refused_as_they_say) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TORCHLIFT_SOURCE_DIR "/tests/ops")) {
    std::string text = test::read_text(entry.path().string());
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find('\n', at), text.size());
      std::string line = text.substr(at, end - at);
      at = end + 1;
      line = line.substr(0, line.find('#'));
      while (line.ends_with(' ')) line.pop_back();
      if (!line.starts_with("error ")) continue;
      ++count;
      size_t colon = line.find(": ");
      std::string kind = line.substr(6, colon - 6);
      Call call = Reader(std::string_view(line).substr(colon + 2)).call();
      std::string name = call.name.find("::") == std::string::npos ? "aten::" + call.name : call.name;
      std::string base = name.substr(0, name.find('.', name.find("::")));
      bool refused = false, lowered = false;
      std::string seen;
      for (const torch::Schema& schema : torch::schemas_named(base)) {
        if (name != base && schema.full_name() != name) continue;
        auto kinds = answers(call, schema);
        refused = refused || kinds.contains(kind);
        lowered = lowered || kinds.contains("none");
        for (const std::string& one : kinds) seen += " " + one;
      }
      EXPECT_TRUE(refused && !lowered) << entry.path().filename().string() << ": " << line << "\n  answered by" << seen;
    }
  }
  EXPECT_GT(count, 70u);
}

}  // namespace
}  // namespace torchlift::aten
