#include "bundle/write.hpp"

#include <filesystem>
#include <utility>

#include "base/kinds.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "bundle/signature.hpp"
#include "bundle/staging.hpp"

namespace torchlift::bundle {
namespace {

namespace fs = std::filesystem;

// The sources are the arguments that are no inputs: same order, names and types. Anything else is our own mistake.
Status check_sources(const Bundle& bundle) {
  auto wrong = [](std::string reason) { return diagnose(Kind::Internal, {{"reason", std::move(reason)}}); };
  if (bundle.manifest.programs.size() != bundle.programs.size())
    return wrong("the manifest lists other programs than there are");
  for (auto& program : bundle.manifest.programs) {
    size_t next = 0;
    for (auto& argument : program.arguments) {
      if (argument.role == ArgumentRole::Input) continue;
      if (next == bundle.weights.size()) return wrong("`" + argument.name + "` has no source");
      auto& source = bundle.weights[next++];
      if (source.names.empty() || source.names.front() != argument.name)
        return wrong("`" + argument.name + "` is not weight " + std::to_string(next - 1));
      if (TensorType{stored_dtype(source), source.sizes} != argument.type)
        return wrong("`" + argument.name + "` has another type than its source");
    }
    if (next != bundle.weights.size()) return wrong("program `" + program.file + "` does not take all weights");
  }
  return Unit{};
}

// The model file as a bundle names it: from the bundle's own folder.
std::string reference_path(const fs::path& target, const Bundle& bundle) {
  for (auto& weight : bundle.weights) {
    if (!weight.record.source) continue;
    std::error_code error;
    fs::path file = fs::weakly_canonical(fs::absolute(weight.record.source->name(), error), error);
    return error ? weight.record.source->name() : file.lexically_relative(target).string();
  }
  return bundle.manifest.source.file;
}

Status write_samples(const Staging& staging, Bundle& bundle) {
  bundle.manifest.samples.clear();
  for (size_t i = 0; i < bundle.samples.size(); ++i) {
    std::string name =
        bundle.samples.size() == 1 ? "sample.safetensors" : "sample." + std::to_string(i) + ".safetensors";
    TRY_OK(archive::write_safetensors(staging.file(name), bundle.samples[i].tensors, bundle.samples[i].metadata));
    TRY(auto file, File::open(staging.file(name)));
    bundle.manifest.samples.push_back({name, file.size(), digest_of(file.bytes())});
  }
  return Unit{};
}

}  // namespace

Result<WrittenBundle> write(const std::string& directory, Bundle bundle) {
  TRY(fs::path target, target_of(directory));
  TRY(bool replace, has_bundle(target));
  TRY_OK(check_sources(bundle));
  for (size_t i = 0; i < bundle.programs.size(); ++i) {
    auto& program = bundle.manifest.programs[i];
    program.digest = digest_of(bytes_of(bundle.programs[i]));
    TRY(auto signature, read_signature(bundle.programs[i], program.file));
    TRY_OK(check_signature(program, signature, program.file));
  }
  TRY_OK(check(bundle.manifest, std::string(kManifestFile)));

  TRY(auto staging, Staging::create(target));
  WrittenBundle out;
  std::optional<Source> bound = bundle.manifest.weights ? bundle.manifest.weights->bound : std::nullopt;
  bundle.manifest.weights.reset();
  if (bundle.weights_as != WeightsAs::None) {
    TRY(auto weights,
        bundle.weights_as == WeightsAs::Reference
            ? refer_to_weights(reference_path(target, bundle), bundle.manifest.source.digest, bundle.weights,
                               bundle.strict)
            : write_weights(staging.file(kWeightsFile), bundle.weights, bundle.strict, bundle.shard_size));
    bundle.manifest.weights = std::move(weights.info);
    bundle.manifest.weights->bound = std::move(bound);
    out.warnings = std::move(weights.warnings);
  }
  TRY_OK(write_samples(staging, bundle));
  for (size_t i = 0; i < bundle.programs.size(); ++i)
    TRY_OK(write_file(staging.file(bundle.manifest.programs[i].file), bytes_of(bundle.programs[i])));
  TRY_OK(write_file(staging.file(kManifestFile), bytes_of(to_json(bundle.manifest))));
  TRY_OK(staging.take_place(replace));
  out.manifest = std::move(bundle.manifest);
  return out;
}

}  // namespace torchlift::bundle
