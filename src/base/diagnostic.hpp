// What is wrong with a file or a request, said once: a kind (one row of diagnostics.def), typed arguments, and the
// narrowest place known. Text and JSON are two prints of the same record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace torchlift {

enum class Severity : uint8_t { Note, Warning, Error };

enum class Kind : uint16_t;  // kinds.hpp

struct KindInfo {
  std::string_view name;  // "UnsupportedOperator"
  std::string_view id;    // "unsupported-operator"
  Severity severity;
  std::string_view message;  // with {argument} places
  std::string_view advice;   // with {argument} places; may be empty
};

const KindInfo& info(Kind kind);
size_t kind_count();

// A place in the model's own source, outermost frame of the innermost user code first.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
  std::string text;  // the line itself, where the file keeps it
};

// Where a diagnostic points to. Every part may be empty.
struct Place {
  std::string file;         // the model file on disk
  std::string member;       // archive member, tensor name, ...
  std::string node;         // "%conv2d_3"
  int64_t node_index = -1;  // of node_count, 0-based
  int64_t node_count = 0;
  std::string module;              // "encoder.layers.0 (torch.nn.modules.linear.Linear)"
  std::vector<SourceLine> source;  // the model's Python line, innermost first
};

using Argument = std::variant<int64_t, double, std::string>;

struct Diagnostic {
  Kind kind{};
  std::vector<std::pair<std::string, Argument>> arguments;
  Place place;
  std::string got;  // operand types, where they help: "input f32[1,3,64,64], grid f32[1,64,64,2]"

  std::string message() const;  // one line, without place
  std::string advice() const;
  Severity severity() const { return info(kind).severity; }
};

using Arguments = std::vector<std::pair<std::string, Argument>>;
Diagnostic diagnose(Kind kind, Arguments arguments = {});
Diagnostic diagnose(Kind kind, Arguments arguments, std::string file, std::string member = "");

std::string to_text(const Diagnostic& diagnostic);  // several lines, ends with a newline
std::string to_json(const Diagnostic& diagnostic);  // one object, one line

// Collects the problems of one run.
class DiagnosticSink {
 public:
  void add(Diagnostic diagnostic);
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace torchlift
