#include "bundle/read.hpp"

#include <sys/stat.h>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/signature.hpp"

namespace torchlift::bundle {
namespace {

std::string path_in(const std::string& directory, std::string_view name) { return directory + "/" + std::string(name); }

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

const archive::SafetensorsTensor* find(const archive::SafetensorsFile& weights, const Argument& argument) {
  if (auto* found = weights.find(argument.name)) return found;
  for (auto& alias : argument.aliases)
    if (auto* found = weights.find(alias)) return found;
  return nullptr;
}

// As it is, or complex numbers as pairs of their parts.
bool stores(const archive::SafetensorsTensor& tensor, const TensorType& type) {
  if (tensor.dtype == type.dtype && tensor.shape == type.shape) return true;
  if (!is_complex(type.dtype) || tensor.dtype != real_of(type.dtype)) return false;
  auto pairs = type.shape;
  pairs.push_back(2);
  return tensor.shape == pairs;
}

}  // namespace

Result<Manifest> open(const std::string& directory) {
  std::string path = path_in(directory, kManifestFile);
  if (exists(directory) && !exists(path)) return diagnose(Kind::NotABundle, {}, directory);
  TRY(auto file, File::open(path));
  return read_manifest(file.bytes(), path);
}

Result<std::string> read_program(const std::string& directory, const Program& program) {
  std::string path = path_in(directory, program.file);
  TRY(auto file, File::open(path));
  std::string text(torchlift::text_of(file.bytes()));
  if (std::string digest = digest_of(bytes_of(text)); digest != program.digest)
    return diagnose(Kind::BundleDigest, {{"member", program.file}, {"got", digest}, {"expected", program.digest}},
                    path);
  TRY(auto signature, read_signature(text, path));
  TRY_OK(check_signature(program, signature, path));
  return text;
}

Result<archive::SafetensorsFile> open_weights(const std::string& directory, const Manifest& manifest) {
  if (!manifest.weights) return diagnose(Kind::WeightsNotInBundle, {}, directory);
  std::string path = path_in(directory, manifest.weights->file);
  TRY(auto file, archive::SafetensorsFile::open(path));
  if (file.file().size() != manifest.weights->bytes)
    return diagnose(Kind::WeightsSize,
                    {{"got", static_cast<int64_t>(file.file().size())},
                     {"expected", static_cast<int64_t>(manifest.weights->bytes)}},
                    path);
  return file;
}

Result<std::vector<ByteView>> bind(const Program& program, const archive::SafetensorsFile& weights) {
  std::vector<ByteView> out;
  std::vector<Diagnostic> problems;
  for (auto& argument : program.arguments) {
    if (argument.role == ArgumentRole::Input) continue;
    auto* tensor = find(weights, argument);
    out.push_back(tensor ? tensor->bytes : ByteView());
    std::string expected = text_of(argument.type);
    const std::string& path = weights.file().path();
    if (!tensor)
      problems.push_back(diagnose(Kind::WeightMissing, {{"name", argument.name}, {"expected", expected}}, path));
    else if (!stores(*tensor, argument.type))
      problems.push_back(diagnose(
          Kind::WeightType,
          {{"name", tensor->name}, {"got", text_of(TensorType{tensor->dtype, tensor->shape})}, {"expected", expected}},
          path));
  }
  if (!problems.empty()) return problems;
  return out;
}

}  // namespace torchlift::bundle
