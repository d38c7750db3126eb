#include "run/bundle_session.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/read.hpp"

namespace torchlift::run {
namespace {

using bundle::Argument;
using bundle::ArgumentRole;

std::vector<TensorType> input_types(const bundle::Program& program) {
  std::vector<TensorType> out;
  for (const Argument& argument : program.arguments)
    if (argument.role == ArgumentRole::Input) out.push_back(argument.type);
  return out;
}

// What to do where no program takes the inputs: the sizes can be imported, a dtype or rank has to be given as it is.
std::string advice_for(const bundle::Program& program, std::span<const TensorType> inputs) {
  std::vector<TensorType> expected = input_types(program);
  if (expected.size() != inputs.size())
    return "the program takes " + std::to_string(expected.size()) + " tensors, " + std::to_string(inputs.size()) +
           " are given";
  for (size_t i = 0; i < inputs.size(); ++i)
    if (expected[i].dtype != inputs[i].dtype || expected[i].shape.size() != inputs[i].shape.size())
      return "input " + std::to_string(i) + " must be " + bundle::text_of(expected[i]) + " but for its free sizes";
  return "where these sizes are free (`torchlift inspect` of the model file), import it again with --dim for them";
}

std::string text_of_types(std::span<const TensorType> types) {
  return "(" + join(types, ", ", [](const TensorType& type) { return bundle::text_of(type); }) + ")";
}

}  // namespace

Result<size_t> select_program(const bundle::Manifest& manifest, std::span<const TensorType> inputs,
                              const std::string& path) {
  for (size_t i = 0; i < manifest.programs.size(); ++i) {
    std::vector<TensorType> types = input_types(manifest.programs[i]);
    if (std::equal(types.begin(), types.end(), inputs.begin(), inputs.end())) return i;
  }
  std::string programs = join(manifest.programs, ", ", [](const bundle::Program& program) {
    return "`" + program.file + "` for " + text_of_types(input_types(program));
  });
  return diagnose(Kind::NoSuchProgram,
                  {{"got", text_of_types(inputs)},
                   {"programs", programs},
                   {"advice", advice_for(manifest.programs.front(), inputs)}},
                  path);
}

// In the order of their making; destroyed in reverse.
struct BundleSession::Parts {
  std::optional<pjrt::Executable> executable;
  std::optional<bundle::StateDict> own, other;  // mapped; weights lie in them while the session lives
  bundle::BoundWeights bound;
  std::optional<Session> session;
};

Result<BundleSession> BundleSession::open(const pjrt::Client& client, const std::string& directory,
                                          const bundle::Manifest& manifest, size_t program, const std::string& weights,
                                          const pjrt::CompileOptions& options) {
  const bundle::Program& chosen = manifest.programs[program];
  auto parts = std::make_unique<Parts>();
  TRY(std::string text, bundle::read_program(directory, chosen));
  TRY(parts->executable, pjrt::Executable::compile(client, bytes_of(text), options));
  std::vector<HostTensor> residents;
  if (input_types(chosen).size() < chosen.arguments.size()) {
    if (weights.empty() || manifest.weights) {
      TRY(parts->own, bundle::open_weights(directory, manifest));
    }
    if (!weights.empty()) {
      TRY(parts->other, bundle::StateDict::open(weights));
    }
    const bundle::StateDict* own = parts->own ? &*parts->own : nullptr;
    TRY(parts->bound, bundle::bind(manifest, chosen, parts->other ? *parts->other : *own, own));
    size_t next = 0;
    for (const Argument& argument : chosen.arguments)
      if (argument.role != ArgumentRole::Input)
        residents.push_back(HostTensor::view(argument.type, parts->bound.arguments[next++]));
  }
  TRY(parts->session, Session::create(client, *parts->executable, chosen, residents));
  return BundleSession(std::move(parts));
}

BundleSession::BundleSession(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
BundleSession::BundleSession(BundleSession&&) noexcept = default;
BundleSession& BundleSession::operator=(BundleSession&&) noexcept = default;
BundleSession::~BundleSession() = default;

Session& BundleSession::session() { return *parts_->session; }

}  // namespace torchlift::run
