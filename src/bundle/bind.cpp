#include "bundle/bind.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/read.hpp"

namespace torchlift::bundle {
namespace {

// Why the tensor cannot be the argument; else its source is made so that it is.
bool fit(WeightSource& source, const Argument& argument) {
  const TensorType& type = argument.type;
  TensorType got{source.dtype, source.sizes};
  if (got == type) return true;
  if (argument.model_dtype && got == TensorType{*argument.model_dtype, type.shape} &&
      can_narrow(source.dtype, type.dtype)) {
    source.narrow = type.dtype;
    return true;
  }
  // Complex numbers as pairs of their parts, if each pair lies together.
  if (!is_complex(type.dtype) || got.dtype != real_of(type.dtype)) return false;
  auto pairs = type.shape;
  pairs.push_back(2);
  if (got.shape != pairs || source.strides.back() != 1 || source.storage_offset % 2 != 0) return false;
  for (size_t i = 0; i + 1 < source.strides.size(); ++i)
    if (source.strides[i] % 2 != 0) return false;
  source.dtype = type.dtype;
  source.sizes.pop_back();
  source.strides.pop_back();
  for (int64_t& stride : source.strides) stride /= 2;
  source.storage_offset /= 2;
  return true;
}

Diagnostic wrong_type(const WeightSource& source, const Argument& argument, const std::string& path) {
  TensorType expected = argument.type;
  if (argument.model_dtype) expected.dtype = *argument.model_dtype;
  return diagnose(Kind::WeightType,
                  {{"name", source.names.front()},
                   {"got", text_of(TensorType{source.dtype, source.sizes})},
                   {"expected", text_of(expected)}},
                  path);
}

bool same_place(const WeightSource& a, const WeightSource& b) {
  return a.record.source == b.record.source && a.record.offset == b.record.offset && a.dtype == b.dtype &&
         a.sizes == b.sizes && a.strides == b.strides && a.storage_offset == b.storage_offset;
}

// The bytes where they lie, or made in `made`.
Result<ByteView> bytes_of_source(const WeightSource& source, std::vector<std::vector<std::byte>>& made) {
  if (auto view = dense_view(source)) return *view;
  TRY(auto bytes, dense_bytes(source));
  made.push_back(std::move(bytes));
  return ByteView(made.back());
}

Result<bool> same_bytes(const WeightSource& a, const WeightSource& b) {
  if (same_place(a, b)) return true;
  std::vector<std::vector<std::byte>> made;
  made.reserve(2);  // views of the first stay where they are
  TRY(ByteView x, bytes_of_source(a, made));
  TRY(ByteView y, bytes_of_source(b, made));
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

class Matcher {
 public:
  Matcher(const Manifest& manifest, const Program& program, const StateDict& state, const BindOptions& options)
      : manifest_(manifest), program_(program), state_(state), options_(options) {}

  Result<Match> run() {
    for (auto& argument : program_.arguments)
      if (argument.role != ArgumentRole::Input) TRY_OK(weight(argument));
    for (auto& inlined : manifest_.inlined) TRY_OK(constant(inlined));
    auto unused = [&](const std::string& name) {
      if (used_.contains(name)) return;
      out_.unused.push_back(name);
      if (options_.strict) problems_.push_back(diagnose(Kind::WeightUnknown, {{"name", name}}, state_.path()));
    };
    for (auto& tensor : state_.tensors()) unused(tensor.names.front());
    for (auto& other : state_.others()) unused(other);
    if (!problems_.empty()) return std::move(problems_);
    return std::move(out_);
  }

 private:
  Status weight(const Argument& argument) {
    std::optional<WeightSource> first;
    std::vector<std::string> names = {argument.name};
    names.insert(names.end(), argument.aliases.begin(), argument.aliases.end());
    std::string first_name;
    for (auto& name : names) {
      const WeightSource* found = state_.find(name);
      if (!found) continue;
      used_.insert(name);
      WeightSource source = *found;
      if (!fit(source, argument)) {
        problems_.push_back(wrong_type(*found, argument, state_.path()));
        continue;
      }
      if (!first) {
        first = std::move(source);
        first_name = name;
        continue;
      }
      TRY(bool equal, same_bytes(*first, source));
      if (!equal)
        problems_.push_back(diagnose(Kind::TiedWeightsDiffer, {{"name", name}, {"other", first_name}}, state_.path()));
    }
    bool any = std::any_of(names.begin(), names.end(), [&](auto& name) { return used_.contains(name); });
    if (!any && (options_.allow_missing || !argument.in_state_dict)) out_.kept.push_back(argument.name);
    else if (!any)
      problems_.push_back(diagnose(Kind::WeightMissing, {{"name", argument.name}, {"expected", text_of(argument.type)}},
                                   state_.path()));
    WeightSource source = first ? std::move(*first) : WeightSource{};
    source.names.clear();
    if (first) source.names = std::move(names);
    out_.sources.push_back(std::move(source));
    return Unit{};
  }

  // What became part of the programs at import cannot be given another value.
  Status constant(const InlinedWeight& inlined) {
    const WeightSource* found = state_.find(inlined.name);
    if (!found) return Unit{};
    used_.insert(inlined.name);
    bool equal = TensorType{found->dtype, found->sizes} == inlined.type;
    if (equal) {
      std::vector<std::vector<std::byte>> made;
      TRY(ByteView bytes, bytes_of_source(*found, made));
      equal = digest_of(bytes) == inlined.digest;
    }
    if (!equal) problems_.push_back(diagnose(Kind::WeightInlined, {{"name", inlined.name}}, state_.path()));
    return Unit{};
  }

  const Manifest& manifest_;
  const Program& program_;
  const StateDict& state_;
  const BindOptions& options_;
  Match out_;
  std::set<std::string> used_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

Result<Match> match(const Manifest& manifest, const Program& program, const StateDict& state,
                    const BindOptions& options) {
  return Matcher(manifest, program, state, options).run();
}

Result<BoundWeights> views_of(const Match& match) {
  BoundWeights out;
  for (auto& source : match.sources) {
    ByteView bytes;
    if (!source.names.empty()) {
      TRY(bytes, bytes_of_source(source, out.made));  // a vector that moves keeps its bytes in place
    }
    out.arguments.push_back(bytes);
  }
  return out;
}

namespace {

// What is missing, and may be, comes from `own`.
Status take_kept(Match& matched, const Manifest& manifest, const Program& program, const StateDict& own) {
  if (matched.kept.empty()) return Unit{};
  TRY(auto before, match(manifest, program, own));
  for (size_t i = 0; i < matched.sources.size(); ++i)
    if (matched.sources[i].names.empty()) matched.sources[i] = std::move(before.sources[i]);
  return Unit{};
}

Status expect_all(const Match& matched, const Program& program, const std::string& path) {
  std::vector<Diagnostic> problems;
  size_t next = 0;
  for (auto& argument : program.arguments)
    if (argument.role != ArgumentRole::Input && matched.sources[next++].names.empty())
      problems.push_back(
          diagnose(Kind::WeightMissing, {{"name", argument.name}, {"expected", text_of(argument.type)}}, path));
  if (!problems.empty()) return problems;
  return Unit{};
}

}  // namespace

Result<BoundWeights> bind(const Manifest& manifest, const Program& program, const StateDict& state,
                          const StateDict* own) {
  TRY(auto matched, match(manifest, program, state));
  if (own) TRY_OK(take_kept(matched, manifest, program, *own));
  TRY_OK(expect_all(matched, program, state.path()));
  return views_of(matched);
}

Result<BoundWeights> bind(const Manifest& manifest, const StateDict& state) {
  return bind(manifest, manifest.programs.front(), state);
}

Result<Rebound> rebind(const std::string& directory, const std::string& output, const StateDict& state,
                       const BindOptions& options, archive::Strict strict) {
  Bundle bundle;
  TRY(bundle.manifest, open(directory));
  Manifest& manifest = bundle.manifest;
  const Program& program = manifest.programs.front();
  TRY(auto matched, match(manifest, program, state, options));
  std::optional<StateDict> before;  // sources point into it until all is written
  if (!matched.kept.empty()) {
    TRY(before, open_weights(directory, manifest));
    TRY_OK(take_kept(matched, manifest, program, *before));
  }
  TRY_OK(expect_all(matched, program, directory));
  for (auto& one : manifest.programs) {
    TRY(auto text, read_program(directory, one));
    bundle.programs.push_back(std::move(text));
  }
  bundle.weights = std::move(matched.sources);
  bundle.strict = strict;
  if (manifest.weights && !manifest.weights->shards.empty())
    for (auto& shard : manifest.weights->shards) bundle.shard_size = std::max(bundle.shard_size, shard.bytes);
  if (!manifest.weights) manifest.weights.emplace();
  manifest.weights->bound = state.source();
  Rebound out;
  out.samples_dropped = manifest.samples.size();
  TRY(auto written, write(output, std::move(bundle)));
  out.manifest = std::move(written.manifest);
  out.warnings = std::move(written.warnings);
  out.kept = std::move(matched.kept);
  out.unused = std::move(matched.unused);
  return out;
}

}  // namespace torchlift::bundle
