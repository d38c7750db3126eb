#include "torch/parse.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "torch/cursor.hpp"
#include "torch/verify.hpp"
#include "torch/words.hpp"

namespace torchlift::torch {
namespace {

constexpr int kMaxTreeDepth = 64;

constexpr std::array<std::string_view, 6> kClassWords = {"attribute", "constant",         "parameter",
                                                         "buffer",    "forward_pre_hook", "forward_hook"};

class ProgramParser {
 public:
  ProgramParser(std::string_view text, const std::string& file) : text_(text), file_(file), cursor_("") {}
  Result<Program> parse();

 private:
  struct Line {
    std::string_view text;
    int64_t number = 0;
  };

  Status statement(const Line& line);
  Status header();
  Status arguments();
  Status range();
  Status hint();
  Status weight();
  Status location();
  Status frame();
  Status class_of_code();
  Status class_line(std::string_view word);
  Status function(bool is_method);
  Status parameter();
  Status object();
  Status item();
  Status root();
  Status block();
  Status block_input();
  Status block_return();
  Status inst();
  Status input();
  Status output();

  Result<Operand> operand(int depth = 0);
  Result<Operand> call_operand(std::string_view word);
  Result<Operand> value_operand();
  Result<Operand> result(int depth = 0);
  Result<ValueId> define();
  Result<Value> type();
  Result<TensorMeta> meta(DType dtype);
  Result<TreeSpec> tree(int depth = 0);
  Result<SymExpr> expr_until(std::string_view ends);
  Result<std::vector<SymExpr>> exprs(char close);
  Result<SymExpr> bracketed_expr();
  Result<std::string> text();
  Result<std::string> name(std::string_view also = "");
  Result<int64_t> integer();
  Result<size_t> index();
  Result<double> real();
  Result<std::vector<int64_t>> integers();
  Result<std::vector<std::string>> texts();
  std::string_view dotted_word();
  Status want(std::string_view text);
  Status want_next(size_t size);
  template <typename Words>
  auto kind(const Words& words) -> Result<decltype(words.front().second)>;
  Diagnostic unexpected(std::string_view expected) const;

  std::string_view text_;
  const std::string& file_;
  Cursor cursor_;  // of the line being read
  int64_t line_number_ = 0;
  Program program_;
  std::vector<Line> specs_;  // `input` and `output` lines name values of the entry, which stands below them
  using Names = std::unordered_map<std::string, ValueId>;
  std::vector<Names> names_{1};                 // of each block
  std::unordered_map<size_t, size_t> holders_;  // of a block: the one before it whose instruction names it
  size_t block_ = 0;                            // being read
};

Diagnostic ProgramParser::unexpected(std::string_view expected) const {
  std::string_view rest = cursor_.rest();
  rest = rest.substr(0, std::min<size_t>(24, rest.find('\n')));
  return diagnose(
      Kind::ProgramText,
      {{"line", line_number_}, {"got", rest.empty() ? "its end" : quoted(rest)}, {"expected", std::string(expected)}},
      file_);
}

Status ProgramParser::want(std::string_view text) {
  if (!cursor_.take(text)) return unexpected("`" + std::string(text) + "`");
  return Unit{};
}

// Ids stand in order: the next one is `size`.
Status ProgramParser::want_next(size_t size) {
  TRY(size_t number, index());
  if (number != size) return unexpected("the number " + std::to_string(size) + " before this");
  return Unit{};
}

Result<std::string> ProgramParser::text() {
  auto out = cursor_.string_literal();
  if (!out) return unexpected("a text in quotes");
  return *std::move(out);
}

// Letters, digits, `_` and the characters of `also`; or a text in quotes.
Result<std::string> ProgramParser::name(std::string_view also) {
  cursor_.skip_spaces();
  if (cursor_.peek() == '"') return text();
  size_t start = cursor_.offset();
  auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c != '\0' && also.find(c) != std::string_view::npos);
  };
  while (plain(cursor_.peek())) cursor_.advance();
  if (cursor_.offset() == start) return unexpected("a name");
  return std::string(cursor_.taken_since(start));
}

Result<int64_t> ProgramParser::integer() {
  auto number = cursor_.number();
  if (!number || !std::holds_alternative<int64_t>(*number)) return unexpected("a 64-bit integer");
  return std::get<int64_t>(*number);
}

Result<size_t> ProgramParser::index() {
  TRY(int64_t number, integer());
  if (number < 0 || number > INT32_MAX) return unexpected("an index before this");
  return static_cast<size_t>(number);
}

Result<double> ProgramParser::real() {
  auto number = cursor_.number();
  if (!number || !std::holds_alternative<double>(*number)) return unexpected("a number with a point");
  return std::get<double>(*number);
}

Result<std::vector<int64_t>> ProgramParser::integers() {
  TRY_OK(want("["));
  std::vector<int64_t> out;
  while (!cursor_.take(']')) {
    TRY(out.emplace_back(), integer());
    if (!cursor_.take(',') && cursor_.peek() != ']') return unexpected("`,` or `]`");
  }
  return out;
}

Result<std::vector<std::string>> ProgramParser::texts() {
  TRY_OK(want("["));
  std::vector<std::string> out;
  while (!cursor_.take(']')) {
    TRY(out.emplace_back(), text());
    if (!cursor_.take(',') && cursor_.peek() != ']') return unexpected("`,` or `]`");
  }
  return out;
}

template <typename Words>
auto ProgramParser::kind(const Words& words) -> Result<decltype(words.front().second)> {
  Cursor before = cursor_;
  auto value = value_of(words, cursor_.identifier());
  if (value) return *value;
  cursor_ = before;
  return unexpected("one of " + join(words, ", ", [](const auto& row) { return std::string(row.first); }));
}

// The text up to one of `ends` outside of parentheses.
Result<SymExpr> ProgramParser::expr_until(std::string_view ends) {
  size_t start = cursor_.offset();
  int depth = 0;
  while (!cursor_.at_end() && (depth > 0 || ends.find(cursor_.peek()) == std::string_view::npos)) {
    if (cursor_.peek() == '(') ++depth;
    if (cursor_.peek() == ')') --depth;
    cursor_.advance();
  }
  Result<SymExpr> expr = parse_infix(cursor_.taken_since(start));
  if (!expr) {
    expr.errors().front().place.file = file_;
    expr.errors().front().place.member = "line " + std::to_string(line_number_);
  }
  return expr;
}

Result<std::vector<SymExpr>> ProgramParser::exprs(char close) {
  std::vector<SymExpr> out;
  std::string ends{',', close};
  while (!cursor_.take(close)) {
    TRY(out.emplace_back(), expr_until(ends));
    if (!cursor_.take(',') && cursor_.peek() != close) return unexpected("`,` or `" + std::string(1, close) + "`");
  }
  return out;
}

Result<SymExpr> ProgramParser::bracketed_expr() {
  TRY_OK(want("("));
  TRY(SymExpr expr, expr_until(")"));
  TRY_OK(want(")"));
  return expr;
}

// ---- header lines

Status ProgramParser::header() {
  TRY(program_.name, text());
  TRY_OK(want("producer"));
  TRY(program_.producer, text());
  TRY_OK(want("schema"));
  TRY(program_.schema_version, text());
  return Unit{};
}

Status ProgramParser::arguments() {
  TRY(program_.argument_names, texts());
  return Unit{};
}

Status ProgramParser::range() {
  Range out;
  TRY(out.expr, bracketed_expr());
  if (cursor_.take("min")) {
    TRY(out.min, integer());
  }
  if (cursor_.take("max")) {
    TRY(out.max, integer());
  }
  program_.ranges.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::hint() {
  std::string_view symbol = cursor_.identifier();
  if (symbol.empty()) return unexpected("a symbol");
  TRY(int64_t size, integer());
  program_.hints.emplace_back(symbol, size);
  return Unit{};
}

Status ProgramParser::weight() {
  TRY_OK(want_next(program_.weights.size()));
  Weight out;
  TRY(out.name, text());
  auto dtype = dtype_from_short_name(cursor_.identifier());
  if (!dtype) return unexpected("an element type before this");
  out.dtype = *dtype;
  TRY(out.sizes, integers());
  TRY_OK(want("strides"));
  TRY(out.strides, integers());
  TRY_OK(want("offset"));
  TRY(out.storage_offset, integer());
  TRY_OK(want("record"));
  TRY(size_t record, index());
  out.record = RecordId(record);
  TRY_OK(want("elements"));
  TRY(out.record_elements, integer());
  out.is_parameter = cursor_.take("parameter");
  out.is_constant = cursor_.take("constant");
  program_.weights.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::location() {
  TRY_OK(want_next(program_.locations.size()));
  Location out;
  TRY(out.module_path, text());
  TRY(out.module_type, text());
  program_.locations.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::frame() {
  if (program_.locations.empty()) return unexpected("a location before its frames");
  SourceLine out;
  TRY(out.file, text());
  TRY(size_t number, index());
  out.line = static_cast<int>(number);
  TRY(out.function, text());
  TRY(out.text, text());
  program_.locations.back().frames.push_back(std::move(out));
  return Unit{};
}

Result<TreeSpec> ProgramParser::tree(int depth) {
  if (depth >= kMaxTreeDepth) return unexpected("a tree that is not nested as deeply");
  TreeSpec out;
  if (cursor_.take('*')) return out;
  TRY_OK(want("("));
  TRY(out.type, text());
  TRY(out.context, text());
  TRY(out.keys, texts());
  while (!cursor_.take(')')) {
    TRY(out.children.emplace_back(), tree(depth + 1));
  }
  return out;
}

Status ProgramParser::input() {
  InputSpec out;
  TRY(out.kind, kind(kInputKindWords));
  TRY(out.target, text());
  if (cursor_.take("weight")) {
    TRY(size_t id, index());
    out.weight = WeightId(id);
  }
  out.persistent = !cursor_.take("transient");
  TRY_OK(want("="));
  TRY(out.argument, operand());
  program_.inputs.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::output() {
  OutputSpec out;
  TRY(out.kind, kind(kOutputKindWords));
  TRY(out.target, text());
  TRY_OK(want("="));
  TRY(out.argument, operand());
  program_.outputs.push_back(std::move(out));
  return Unit{};
}

// ---- values

// torch.float32, torch.channels_last: the whole word
std::string_view ProgramParser::dotted_word() {
  cursor_.skip_spaces();
  size_t start = cursor_.offset();
  cursor_.identifier();
  while (cursor_.peek() == '.') {
    cursor_.advance();
    cursor_.identifier();
  }
  return cursor_.taken_since(start);
}

Result<Operand> ProgramParser::value_operand() {
  TRY(std::string value, name("."));
  // A branch sees the blocks that it stands in, and these come before it.
  for (size_t at = block_;;) {
    auto found = names_[at].find(value);
    if (found != names_[at].end()) return Operand{found->second};
    auto holder = holders_.find(at);
    if (at == 0 || !program_.blocks[at].is_branch || holder == holders_.end())
      return unexpected("a value that is defined before this");
    at = holder->second;
  }
}

// complex(1.0, 2.0), device("cpu", -1), object("name", "class"), operator "aten::add"
Result<Operand> ProgramParser::call_operand(std::string_view word) {
  if (word == "operator") {
    TRY(std::string target, text());
    return Operand{OperatorName{std::move(target)}};
  }
  Operand out;
  TRY_OK(want("("));
  if (word == "complex") {
    TRY(double real_part, real());
    TRY_OK(want(","));
    TRY(double imaginary, real());
    out.data = std::complex<double>(real_part, imaginary);
  } else if (word == "device") {
    Device device;
    TRY(device.type, text());
    TRY_OK(want(","));
    TRY(device.index, integer());
    out.data = std::move(device);
  } else if (word == "object") {
    CustomObject object;
    TRY(object.name, text());
    TRY_OK(want(","));
    TRY(object.class_name, text());
    out.data = std::move(object);
  } else {
    return unexpected("complex, device or object before this");
  }
  TRY_OK(want(")"));
  return out;
}

Result<Operand> ProgramParser::operand(int depth) {
  if (depth >= static_cast<int>(kMaxOperandDepth)) return unexpected("a list that is not nested as deeply");
  cursor_.skip_spaces();
  char c = cursor_.peek();
  if (cursor_.take('%')) return value_operand();
  if (cursor_.take('^')) {
    TRY(size_t id, index());
    if (id > block_) holders_.emplace(id, block_);
    return Operand{BlockId(id)};
  }
  if (cursor_.take('[')) {
    Operand::List list;
    while (!cursor_.take(']')) {
      TRY(list.emplace_back(), operand(depth + 1));
      if (!cursor_.take(',') && cursor_.peek() != ']') return unexpected("`,` or `]`");
    }
    return Operand{std::move(list)};
  }
  if (c == '"') {
    TRY(std::string literal, text());
    return Operand{std::move(literal)};
  }
  Cursor before = cursor_;
  std::string_view word = dotted_word();
  if (word == "none") return Operand{None{}};
  if (word == "true" || word == "false") return Operand{word == "true"};
  if (auto layout = value_of(kLayoutWords, word)) return Operand{*layout};
  if (auto format = value_of(kMemoryFormatWords, word)) return Operand{*format};
  if (word.starts_with("torch."))
    if (auto dtype = dtype_from_torch_name(word)) return Operand{*dtype};
  cursor_.skip_spaces();
  if ((word == "weight" || word == "object") && cursor_.peek() != '(') {
    TRY(size_t id, index());
    return word == "weight" ? Operand{WeightId(id)} : Operand{ObjectId(id)};
  }
  if (!word.empty() && word != "inf" && word != "nan") return call_operand(word);
  cursor_ = before;
  auto number = cursor_.number();
  if (!number) return unexpected("an operand");
  return std::visit([](auto value) { return Operand{value}; }, *number);
}

Result<TensorMeta> ProgramParser::meta(DType dtype) {
  TensorMeta out;
  out.dtype = dtype;
  TRY_OK(want("["));
  TRY(out.sizes, exprs(']'));
  if (cursor_.peek() == '{') {
    cursor_.advance();
    TRY(out.strides, exprs('}'));
  }
  if (cursor_.take("offset")) {
    TRY(out.storage_offset, bracketed_expr());
  }
  Cursor before = cursor_;
  if (auto layout = value_of(kLayoutWords, dotted_word())) {
    out.layout = *layout;
  } else {
    cursor_ = before;
  }
  out.requires_grad = cursor_.take("grad");
  return out;
}

// "f32[s77, 4]{4, 1} grad", "tensor", "symint (2*s60)", "token f32[0]{1}"
Result<Value> ProgramParser::type() {
  Value out;
  Cursor before = cursor_;
  std::string_view word = cursor_.identifier();
  if (auto kind = value_of(kValueKindWords, word)) {
    out.kind = *kind;
    before = cursor_;
    word = cursor_.identifier();
  }
  auto dtype = cursor_.peek() == '[' ? dtype_from_short_name(word) : std::nullopt;
  if (dtype) {
    TRY(out.meta, meta(*dtype));
  } else {
    if (cursor_.peek() == '[') return unexpected("an element type before this");
    cursor_ = before;
  }
  cursor_.skip_spaces();
  if (cursor_.peek() == '(') {
    TRY(out.expr, bracketed_expr());
  }
  return out;
}

Result<ValueId> ProgramParser::define() {
  TRY_OK(want("%"));
  TRY(std::string spelled, name("."));
  TRY_OK(want(":"));
  TRY(Value value, type());
  value.name = spelled;
  ValueId id(program_.values.size());
  if (!names_[block_].emplace(std::move(spelled), id).second)
    return unexpected("a value that is not defined yet before this");
  program_.values.push_back(std::move(value));
  return id;
}

// ---- classes, functions, objects

Status ProgramParser::class_of_code() {
  TRY_OK(want_next(program_.classes.size()));
  Class out;
  TRY(out.kind, kind(kClassKindWords));
  TRY(out.name, text());
  program_.classes.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::class_line(std::string_view word) {
  if (program_.classes.empty()) return unexpected("a class before this");
  Class& into = program_.classes.back();
  TRY(std::string name, text());
  if (word == "attribute") {
    TRY(std::string type, text());
    into.attributes.emplace_back(std::move(name), std::move(type));
  } else if (word == "constant") {
    TRY_OK(want("="));
    TRY(Operand value, operand());
    into.constants.emplace_back(std::move(name), std::move(value));
  } else if (word == "parameter") {
    into.parameters.push_back(std::move(name));
  } else if (word == "buffer") {
    into.buffers.push_back(std::move(name));
  } else if (word == "forward_pre_hook") {
    into.forward_pre_hooks.push_back(std::move(name));
  } else {
    into.forward_hooks.push_back(std::move(name));
  }
  return Unit{};
}

Status ProgramParser::function(bool is_method) {
  TRY_OK(want_next(program_.functions.size()));
  Function out;
  out.is_method = is_method;
  TRY(out.name, text());
  TRY_OK(want("^"));
  TRY(size_t block, index());
  out.block = BlockId(block);
  TRY_OK(want("->"));
  TRY(out.result_type, text());
  program_.functions.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::parameter() {
  if (program_.functions.empty()) return unexpected("a function before its parameters");
  Parameter out;
  TRY(out.name, text());
  TRY(out.type, text());
  if (cursor_.take('=')) {
    TRY(out.default_value, operand());
  }
  program_.functions.back().parameters.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::object() {
  TRY_OK(want_next(program_.objects.size()));
  Object out;
  TRY(out.kind, kind(kObjectKindWords));
  TRY(out.type, text());
  program_.objects.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::item() {
  if (program_.objects.empty()) return unexpected("an object before its items");
  TRY(Operand key, operand());
  TRY_OK(want("="));
  TRY(Operand value, operand());
  program_.objects.back().items.emplace_back(std::move(key), std::move(value));
  return Unit{};
}

Status ProgramParser::root() {
  TRY(size_t id, index());
  program_.root = ObjectId(id);
  return Unit{};
}

// ---- blocks

Status ProgramParser::block() {
  TRY_OK(want_next(program_.blocks.size()));
  block_ = program_.blocks.size();
  TRY(program_.blocks.emplace_back().name, text());
  program_.blocks.back().is_branch = cursor_.take("branch");
  names_.resize(program_.blocks.size());
  return Unit{};
}

Status ProgramParser::block_input() {
  if (program_.blocks.empty()) return unexpected("a block before its inputs");
  TRY(ValueId id, define());
  program_.blocks.back().inputs.push_back(id);
  return Unit{};
}

Status ProgramParser::block_return() {
  if (program_.blocks.empty()) return unexpected("a block before its outputs");
  cursor_.skip_spaces();
  while (!cursor_.at_end()) {
    TRY(program_.blocks.back().outputs.emplace_back(), operand());
    if (!cursor_.take(',')) break;
  }
  return Unit{};
}

Result<Operand> ProgramParser::result(int depth) {
  cursor_.skip_spaces();
  if (cursor_.peek() == '%') {
    TRY(ValueId id, define());
    return Operand{id};
  }
  if (depth == 0 && cursor_.take('[')) {
    Operand::List list;
    while (!cursor_.take(']')) {
      TRY(list.emplace_back(), result(depth + 1));
      if (!cursor_.take(',') && cursor_.peek() != ']') return unexpected("`,` or `]`");
    }
    return Operand{std::move(list)};
  }
  TRY_OK(want("none"));
  return Operand{None{}};
}

// %a: f32[2]{1}, none, [%b: f32[2]{1}] = aten::op(self=%x, dim=1) "node" @3
Status ProgramParser::inst() {
  if (program_.blocks.empty()) return unexpected("a block before its instructions");
  Inst out;
  std::vector<Operand> results;
  cursor_.skip_spaces();
  bool has_results = cursor_.peek() == '%' || cursor_.peek() == '[' || cursor_.rest().starts_with("none");
  if (has_results) {
    do {
      TRY(results.emplace_back(), result());
    } while (cursor_.take(','));
    TRY_OK(want("="));
  }
  Cursor kind = cursor_;
  if (cursor_.identifier() == "overloaded" && cursor_.peek() == ' ') {
    out.kind = InstKind::Overloaded;
  } else {
    cursor_ = kind;
  }
  TRY(out.target, name(".:#"));
  TRY_OK(want("("));
  while (!cursor_.take(')')) {
    NamedOperand named;
    Cursor before = cursor_;
    Result<std::string> argument = name();
    if (argument && cursor_.peek() == '=') {
      named.name = std::move(argument).value();
      cursor_.advance();
    } else {
      cursor_ = before;
    }
    TRY(named.value, operand());
    out.operands.push_back(std::move(named));
    if (!cursor_.take(',') && cursor_.peek() != ')') return unexpected("`,` or `)`");
  }
  cursor_.skip_spaces();
  if (cursor_.peek() == '"') {
    TRY(out.name, text());
  }
  TRY_OK(want("@"));
  TRY(size_t place, index());
  out.location = LocId(place);
  out.results = std::move(results);
  program_.blocks.back().insts.emplace_back(program_.insts.size());
  program_.insts.push_back(std::move(out));
  return Unit{};
}

Status ProgramParser::statement(const Line& line) {
  cursor_ = Cursor(line.text);
  line_number_ = line.number;
  bool inner = line.text.starts_with(' ');
  Cursor before = cursor_;
  std::string_view word = cursor_.identifier();
  auto done = [&](Status status) -> Status {
    TRY_OK(std::move(status));
    cursor_.skip_spaces();
    if (!cursor_.at_end()) return unexpected("the end of the line");
    return Unit{};
  };
  auto read_tree = [&](std::optional<TreeSpec>& into) -> Status {
    TRY(into, tree());
    return Unit{};
  };
  // An instruction may begin with these letters, but a `:` follows.
  std::string_view inner_word = inner && (cursor_.at_end() || cursor_.peek() == ' ') ? word : "";
  if (inner_word == "input") return done(block_input());
  if (inner_word == "return") return done(block_return());
  if (inner_word == "frame") return done(frame());
  if (inner_word == "takes") return done(parameter());
  if (inner_word == "item") return done(item());
  for (std::string_view each : kClassWords)
    if (inner_word == each) return done(class_line(each));
  if (inner) {
    cursor_ = before;
    return done(inst());
  }
  if (word == "program") return done(header());
  if (word == "arguments") return done(arguments());
  if (word == "input_tree") return done(read_tree(program_.input_tree));
  if (word == "output_tree") return done(read_tree(program_.output_tree));
  if (word == "range") return done(range());
  if (word == "hint") return done(hint());
  if (word == "weight") return done(weight());
  if (word == "location") return done(location());
  if (word == "class") return done(class_of_code());
  if (word == "function" || word == "method") return done(function(word == "method"));
  if (word == "object") return done(object());
  if (word == "root") return done(root());
  if (word == "block") return done(block());
  if (word == "input") return done(input());
  if (word == "output") return done(output());
  cursor_ = before;
  return unexpected("the first word of a line");
}

Result<Program> ProgramParser::parse() {
  int64_t number = 0;
  std::string_view rest = text_;
  while (!rest.empty()) {
    Line line{rest.substr(0, rest.find('\n')), ++number};
    rest.remove_prefix(std::min(rest.size(), line.text.size() + 1));
    if (line.text.find_first_not_of(" \t") == std::string_view::npos || line.text.starts_with('#')) continue;
    if (line.text.starts_with("input ") || line.text.starts_with("output ")) {
      specs_.push_back(line);
    } else {
      TRY_OK(statement(line));
    }
  }
  block_ = 0;
  for (const Line& line : specs_) TRY_OK(statement(line));
  Status sound = verify(program_);
  if (sound) return std::move(program_);
  for (Diagnostic& problem : sound.errors()) problem.place.file = file_;
  return std::move(sound.errors());
}

}  // namespace

Result<Program> parse_program(std::string_view text, const std::string& file) {
  return ProgramParser(text, file).parse();
}

}  // namespace torchlift::torch
