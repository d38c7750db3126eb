#include "bundle/signature.hpp"

#include <optional>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/function_text.hpp"

namespace torchlift::bundle {
namespace {

constexpr std::string_view kEntry = "@main(";

// The part of MLIR that a signature is made of: types, and attributes and locations to skip.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  // "%arg0:" before an argument's type.
  bool skip_name() {
    size_t colon = text_.find(':');
    if (!take("%") || colon == std::string_view::npos) return false;
    text_ = text_.substr(text_.find(':') + 1);
    return true;
  }

  // tensor<8x3xcomplex<f32>>
  std::optional<TensorType> type() {
    if (!take("tensor<")) return std::nullopt;
    size_t depth = 1;
    size_t end = 0;
    for (; end < text_.size(); ++end) {
      if (text_[end] == '<') ++depth;
      if (text_[end] == '>' && --depth == 0) break;
    }
    auto type = stablehlo::parse_type("tensor<" + std::string(text_.substr(0, end)) + ">");
    if (!type || end == text_.size()) return std::nullopt;
    text_.remove_prefix(end + 1);
    return TensorType{type->dtype, concrete(type->dims)};
  }

  // What may follow a type: {attributes} and loc(...).
  bool skip_decorations() {
    if (take("{") && !skip_to_close()) return false;
    if (take("loc(") && !skip_to_close()) return false;
    return true;
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t' || text_[0] == '\r'))
      text_.remove_prefix(1);
  }

  // Past the bracket that closes the one just taken; strings may hold brackets.
  bool skip_to_close() {
    size_t depth = 1;
    bool in_string = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      char c = text_[i];
      if (in_string) {
        if (c == '\\') ++i;
        if (c == '"') in_string = false;
        continue;
      }
      if (c == '"') in_string = true;
      if (c == '{' || c == '(' || c == '[') ++depth;
      if ((c == '}' || c == ')' || c == ']') && --depth == 0) {
        text_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
};

Diagnostic problem(const std::string& path, std::string what, std::string text) {
  return diagnose(Kind::ProgramSignature, {{"what", std::move(what)}, {"program", path}, {"problem", std::move(text)}},
                  path);
}

// "(type, type)" after its opening bracket.
bool read_list(Scanner& scanner, bool named, std::vector<TensorType>& out) {
  if (scanner.take(")")) return true;
  while (true) {
    if (named && !scanner.skip_name()) return false;
    auto type = scanner.type();
    if (!type || !scanner.skip_decorations()) return false;
    out.push_back(std::move(*type));
    if (scanner.take(")")) return true;
    if (!scanner.take(",")) return false;
  }
}

template <typename Described>
void compare(const std::vector<Described>& declared, const std::vector<TensorType>& types, const std::string& what,
             const std::string& path, std::vector<Diagnostic>& problems) {
  if (declared.size() != types.size()) {
    problems.push_back(
        problem(path, "the number of " + what + "s",
                "is " + std::to_string(types.size()) + ", the manifest lists " + std::to_string(declared.size())));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i)
    if (declared[i].type != types[i])
      problems.push_back(problem(path, what + " " + std::to_string(i) + " (" + printable(declared[i].name) + ")",
                                 "is " + text_of(types[i]) + ", the manifest says " + text_of(declared[i].type)));
}

Result<Signature> read_artifact(std::string_view program, const std::string& path) {
  TRY(auto found, stablehlo::artifact_signature(bytes_of(program), path));
  Signature out;
  for (auto& type : found.arguments) out.arguments.push_back({type.dtype, concrete(type.dims)});
  for (auto& type : found.results) out.results.push_back({type.dtype, concrete(type.dims)});
  return out;
}

}  // namespace

Result<Signature> read_signature(std::string_view program, const std::string& path) {
  if (stablehlo::bytecode::is_bytecode(bytes_of(program))) return read_artifact(program, path);
  const std::string_view mlir = program;
  size_t at = mlir.find(kEntry);
  if (at == std::string_view::npos) return problem(path, "the entry", "is missing");
  Scanner scanner(mlir.substr(at + kEntry.size()));
  Signature out;
  if (!read_list(scanner, true, out.arguments))
    return problem(path, "argument " + std::to_string(out.arguments.size()), "cannot be read");
  if (!scanner.take("->")) return out;
  if (scanner.take("(")) {
    if (!read_list(scanner, false, out.results))
      return problem(path, "result " + std::to_string(out.results.size()), "cannot be read");
    return out;
  }
  auto type = scanner.type();
  if (!type) return problem(path, "result 0", "cannot be read");
  out.results.push_back(std::move(*type));
  return out;
}

Status check_signature(const Program& program, const Signature& signature, const std::string& path) {
  std::vector<Diagnostic> problems;
  compare(program.arguments, signature.arguments, "argument", path, problems);
  compare(program.results, signature.results, "result", path, problems);
  if (!problems.empty()) return problems;
  return Unit{};
}

}  // namespace torchlift::bundle
