#include "bundle/verify.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "archive/safetensors.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/read.hpp"
#include "bundle/signature.hpp"
#include "stablehlo/bytecode.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::bundle {
namespace {

namespace fs = std::filesystem;

void append(std::vector<Diagnostic>& to, std::vector<Diagnostic> more) {
  for (auto& one : more) to.push_back(std::move(one));
}

// N of "model.b8.mlir"; nothing for other names.
std::optional<int64_t> size_in_name(std::string_view file) {
  size_t at = file.rfind(".b");
  int64_t size = 0;
  if (at == std::string_view::npos || !is_program_file(file)) return std::nullopt;
  const char* dot = file.data() + file.rfind('.');
  auto [end, error] = std::from_chars(file.data() + at + 2, dot, size);
  return error == std::errc() && end == dot ? std::optional(size) : std::nullopt;
}

class Verifier {
 public:
  Verifier(const std::string& directory, const Manifest& manifest) : directory_(directory), manifest_(manifest) {}

  Verification run(const std::vector<std::string>& entries) {
    files(entries);
    for (auto& program : manifest_.programs) one_program(program);
    for (size_t i = 1; i < manifest_.programs.size(); ++i) pair(manifest_.programs.front(), manifest_.programs[i]);
    same_dims();
    if (manifest_.weights) weights();
    for (auto& sample : manifest_.samples) one_sample(sample);
    return std::move(out_);
  }

 private:
  void found(Diagnostic finding) { out_.findings.push_back(std::move(finding)); }
  template <typename T>
  bool took(Result<T>& result) {
    if (!result) append(out_.findings, std::move(result.errors()));
    return result.ok();
  }
  std::string path(const std::string& name) const { return path_in(directory_, name); }
  void member(const std::string& name, std::string problem, std::string advice) {
    found(diagnose(Kind::BundleMember,
                   {{"member", name}, {"problem", std::move(problem)}, {"advice", std::move(advice)}}, directory_));
  }

  // ---- layout

  void files(const std::vector<std::string>& entries) {
    std::set<std::string> expected = {std::string(kManifestFile)};
    for (auto& program : manifest_.programs) expected.insert(program.file);
    if (manifest_.weights && !manifest_.weights->reference) expected.insert(manifest_.weights->file);
    if (manifest_.weights)
      for (auto& shard : manifest_.weights->shards) expected.insert(shard.file);
    for (auto& sample : manifest_.samples) expected.insert(sample.file);
    for (auto& entry : entries)
      if (expected.erase(entry) == 0)
        member(entry, "is no part of the bundle: the manifest does not name it",
               is_program_file(entry) ? "it is a program of another import; remove it" : "remove it");
    missing_ = expected;
    for (auto& name : missing_)
      member(name, "is not there, but the manifest names it", "import the model again, or copy the whole directory");
  }

  // ---- programs

  void one_program(const Program& program) {
    if (missing_.contains(program.file)) return;
    auto file = File::open(path(program.file));
    if (!took(file)) return;
    ++out_.programs;
    std::string digest = digest_of(file->bytes());
    if (digest != program.digest)
      found(diagnose(Kind::BundleDigest, {{"member", program.file}, {"got", digest}, {"expected", program.digest}},
                     path(program.file)));
    auto text = torchlift::text_of(file->bytes());
    const bool artifact = stablehlo::bytecode::is_bytecode(file->bytes());
    if (artifact != program.file.ends_with(".mlirbc"))
      wrong_program(program,
                    artifact ? "is a portable artifact, named as text" : "is text, named as a portable artifact");
    if (artifact) {
      auto read = stablehlo::vhlo::read(file->bytes(), path(program.file));
      if (took(read) && !read->version) wrong_program(program, "does not say which StableHLO it is written for");
    } else {
      append(out_.findings, check_program_text(text, path(program.file), program.file));
    }
    auto signature = read_signature(text, path(program.file));
    if (took(signature)) {
      auto status = check_signature(program, *signature, path(program.file));
      took(status);
    }
    sizes(program);
  }

  void wrong_program(const Program& program, std::string problem) {
    found(diagnose(Kind::ProgramContent, {{"program", program.file}, {"problem", std::move(problem)}},
                   path(program.file)));
  }

  // Sizes that are a symbol, or a number, are what the program is bound to.
  void sizes(const Program& program) {
    if (auto size = size_in_name(program.file);
        size && std::none_of(program.dims.begin(), program.dims.end(), [&](auto& dim) { return dim.size == *size; }))
      wrong_program(program, "is named for size " + std::to_string(*size) + ", which none of its `dims` has");
    auto check = [&](const std::string& name, const TensorType& type, const std::vector<std::string>& sizes) {
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        auto bound = std::find_if(program.dims.begin(), program.dims.end(),
                                  [&](auto& dim) { return dim.symbol == sizes[axis]; });
        int64_t number = 0;
        auto [end, error] = std::from_chars(sizes[axis].data(), sizes[axis].data() + sizes[axis].size(), number);
        bool fixed = error == std::errc() && end == sizes[axis].data() + sizes[axis].size();
        if (bound == program.dims.end() && !fixed) continue;
        int64_t expected = fixed ? number : bound->size;
        if (type.shape[axis] != expected)
          wrong_program(program, "has " + torchlift::quoted(name) + " as " + text_of(type) + ", axis " +
                                     std::to_string(axis) + " is " + sizes[axis] + " = " + std::to_string(expected));
      }
    };
    for (auto& argument : program.arguments) check(argument.name, argument.type, argument.sizes);
    for (auto& result : program.results) check(result.name, result.type, result.sizes);
  }

  // ---- programs among each other

  void differ(const Program& a, const Program& b, std::string problem) {
    found(diagnose(Kind::ProgramsDiffer, {{"program", b.file}, {"other", a.file}, {"problem", std::move(problem)}},
                   directory_));
  }

  template <typename Described>
  void lists(const Program& a, const Program& b, const std::vector<Described>& x, const std::vector<Described>& y,
             const std::string& what) {
    if (x.size() != y.size())
      return differ(a, b, "have " + std::to_string(y.size()) + " and " + std::to_string(x.size()) + " " + what + "s");
    for (size_t i = 0; i < x.size(); ++i) {
      std::string place = what + " " + std::to_string(i);
      if (x[i].role != y[i].role || x[i].name != y[i].name || x[i].aliases != y[i].aliases)
        differ(a, b, "have " + torchlift::quoted(y[i].name) + " and " + torchlift::quoted(x[i].name) + " as " + place);
      else if (x[i].sizes != y[i].sizes && (x[i].sizes.empty() || y[i].sizes.empty() || symbols(x[i]) != symbols(y[i])))
        differ(a, b, "say other sizes of " + place + " (" + torchlift::quoted(x[i].name) + ")");
      else if (!alike(x[i].type, y[i].type, x[i].sizes))
        differ(a, b,
               "have " + place + " (" + torchlift::quoted(x[i].name) + ") as " + text_of(y[i].type) + " and " +
                   text_of(x[i].type));
    }
  }

  template <typename Described>
  static std::vector<std::string> symbols(const Described& one) {
    std::vector<std::string> out = one.sizes;
    for (auto& size : out)
      if (size.find_first_not_of("-0123456789") == std::string::npos) size.clear();
    return out;
  }

  // Equal but for sizes that depend on symbols.
  static bool alike(const TensorType& a, const TensorType& b, const std::vector<std::string>& sizes) {
    if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return false;
    for (size_t i = 0; i < a.shape.size(); ++i) {
      bool free = i < sizes.size() && sizes[i].find_first_not_of("-0123456789") != std::string::npos;
      if (a.shape[i] != b.shape[i] && !free) return false;
    }
    return true;
  }

  void pair(const Program& a, const Program& b) {
    lists(a, b, a.arguments, b.arguments, "argument");
    lists(a, b, a.results, b.results, "result");
    auto same_symbols = std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                                   [](auto& x, auto& y) { return x.symbol == y.symbol; });
    if (!same_symbols) differ(a, b, "are bound by other symbols");
  }

  void same_dims() {
    for (size_t i = 0; i < manifest_.programs.size(); ++i)
      for (size_t j = i + 1; j < manifest_.programs.size(); ++j)
        if (manifest_.programs[i].dims == manifest_.programs[j].dims)
          differ(manifest_.programs[i], manifest_.programs[j], "are bound to the same sizes");
  }

  // ---- weights

  void wrong_weight(const std::string& name, std::string problem) {
    found(diagnose(Kind::WeightsContent, {{"tensor", name}, {"problem", std::move(problem)}},
                   path(manifest_.weights->file)));
  }

  void weights() {
    auto& info = *manifest_.weights;
    if (missing_.contains(info.file)) return;
    for (auto& shard : info.shards)
      if (missing_.contains(shard.file)) return;
    auto state = open_weights(directory_, manifest_);
    if (!took(state)) return;
    auto matched = match(manifest_, manifest_.programs.front(), *state, {.strict = true, .allow_missing = false});
    took(matched);
    out_.tensors = state->tensors().size();
    for (auto& tensor : info.tensors)
      if (auto* source = state->find(tensor.name)) {
        auto view = dense_view(*source);
        if (std::string digest = view ? digest_of(*view) : "no digest"; digest != tensor.digest)
          wrong_weight(tensor.name, "has digest " + digest + ", the manifest says " + tensor.digest);
      }
    if (!info.reference) headers();
  }

  // The order that a reader of the weights alone goes by, and the digest of the whole.
  void headers() {
    auto& info = *manifest_.weights;
    std::vector<std::string> names = {info.file}, headers;
    if (!info.shards.empty()) names.clear();
    for (auto& shard : info.shards) names.push_back(shard.file);
    for (auto& name : names) {
      auto file = archive::SafetensorsFile::open(path(name));
      if (!took(file)) return;
      uint64_t data = file->file().size();
      for (auto& tensor : file->tensors()) data = std::min(data, tensor.offset);
      headers.emplace_back(torchlift::text_of(file->file().bytes().first(data)));
      JsonWriter order;
      order.begin_array();
      for (auto& argument : manifest_.programs.front().arguments)
        if (argument.role != ArgumentRole::Input && file->find(argument.name)) order.string(argument.name);
      order.end_array();
      auto* metadata = file->find_metadata("argument_order");
      if (std::string expected = std::move(order).take(); !metadata || *metadata != expected)
        member(name, "has another `argument_order` than the programs have arguments",
               "import the model again, or `torchlift bind` the right weights");
    }
    if (info.tensors.empty()) return;  // of an earlier writer, whose digest cannot be made again
    if (std::string digest = weights_digest(headers, info.tensors); digest != info.digest)
      found(diagnose(Kind::BundleDigest, {{"member", info.file}, {"got", digest}, {"expected", info.digest}},
                     path(info.file)));
  }

  // ---- samples

  void one_sample(const StoredFile& sample) {
    if (missing_.contains(sample.file)) return;
    auto file = archive::SafetensorsFile::open(path(sample.file));
    if (!took(file)) return;
    ++out_.samples;
    std::string digest = digest_of(file->file().bytes());
    if (digest != sample.digest)
      found(diagnose(Kind::BundleDigest, {{"member", sample.file}, {"got", digest}, {"expected", sample.digest}},
                     path(sample.file)));
    auto fits = [&](const Program& program) {
      return std::all_of(program.arguments.begin(), program.arguments.end(), [&](auto& argument) {
        if (argument.role != ArgumentRole::Input) return true;
        auto* tensor = file->find("in." + std::to_string(*argument.leaf));
        return tensor && tensor->dtype == archive::storage_of("", argument.type.dtype, argument.type.shape).dtype &&
               tensor->shape == archive::storage_of("", argument.type.dtype, argument.type.shape).shape;
      });
    };
    if (std::none_of(manifest_.programs.begin(), manifest_.programs.end(), fits))
      found(diagnose(Kind::SampleFile,
                     {{"problem", std::string("fits no program of the bundle")},
                      {"advice", std::string("import the model again with its samples")}},
                     path(sample.file)));
  }

  const std::string& directory_;
  const Manifest& manifest_;
  Verification out_;
  std::set<std::string> missing_;
};

}  // namespace

std::vector<Diagnostic> check_program_text(std::string_view text, const std::string& path, const std::string& name) {
  std::vector<Diagnostic> out;
  auto wrong = [&](std::string problem) {
    out.push_back(diagnose(Kind::ProgramContent, {{"program", name}, {"problem", std::move(problem)}}, path));
  };
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  std::string open;  // the brackets to be closed, innermost last
  std::string_view word;
  size_t functions = 0, public_functions = 0;
  std::set<std::string_view> foreign;
  bool after_equals = false, after_function = false, in_type = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\0') return wrong("holds a zero byte"), out;
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size()) - 1;
      continue;
    }
    if (c == '"') {
      size_t begin = i + 1;
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      if (i >= text.size()) return wrong("ends within a text"), out;
      bool operation = after_equals && i + 1 < text.size() && text[i + 1] == '(';  // in its generic form
      word = operation ? text.substr(begin, i - begin) : std::string_view();
    } else if (is_word(c) && (c < '0' || c > '9')) {
      size_t begin = i;
      while (i + 1 < text.size() && is_word(text[i + 1])) ++i;
      word = text.substr(begin, i + 1 - begin);
    } else {
      word = {};
      if (c == '(' || c == '{' || c == '[') open += c == '(' ? ')' : c == '{' ? '}' : ']';
      if (c == ')' || c == '}' || c == ']') {
        if (open.empty() || open.back() != c) return wrong("has a bracket that closes nothing"), out;
        open.pop_back();
      }
      if (c == '?' && in_type) return wrong("has a size that is not fixed"), out;
      in_type = in_type ? c != '>' : c == '<' && i >= 6 && text.substr(i - 6, 6) == "tensor";
      if (after_function && c == '@') {
        size_t end = i + 1;
        while (end < text.size() && is_word(text[end])) ++end;
        bool main = text.substr(i + 1, end - i - 1) == "main";
        if (functions == 1 && !main) wrong("has another function before `@main`");
        after_function = false;
        i = end - 1;
      }
      after_equals = c == '=';
      continue;
    }
    size_t dot = word.find('.');
    if (word == "func.func") {
      ++functions;
      ++public_functions;
      after_function = true;
    } else if (word == "private" && after_function) {
      --public_functions;
    } else if (after_equals && dot != std::string::npos && !word.starts_with("stablehlo.") &&
               !word.starts_with("func.")) {
      foreign.insert(word);
    }
    after_equals = false;
  }
  if (!open.empty()) wrong("ends before " + std::to_string(open.size()) + " of its brackets are closed");
  if (functions == 0) wrong("holds no function");
  else if (public_functions != 1) wrong("has " + std::to_string(public_functions) + " public functions, expected one");
  for (auto& operation : foreign)
    wrong("has the operation " + torchlift::quoted(operation) + ", which is none of StableHLO");
  return out;
}

Result<Verification> verify(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> entries;
  fs::directory_iterator at(directory, error), end;
  for (; !error && at != end; at.increment(error)) entries.push_back(at->path().filename().string());
  if (error) return diagnose(Kind::CannotOpen, {{"reason", error.message()}}, directory);
  std::sort(entries.begin(), entries.end());
  auto manifest = open(directory);
  if (!manifest) return Verification{std::move(manifest.errors()), 0, 0, 0};
  return Verifier(directory, *manifest).run(entries);
}

}  // namespace torchlift::bundle
