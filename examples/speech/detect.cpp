// Where somebody speaks in a recording: a voice detector in TorchScript whose recurrent state stays in the model from
// chunk to chunk. An example of calling a model file from C++.
//
//   speech MODEL.jit SOUND.wav     (PCM of 16 bits, one channel)
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>

#include "base/kinds.hpp"
#include "cli/execute.hpp"
#include "pjrt/find.hpp"
#include "pjrt/plugin.hpp"

namespace torchlift {
namespace {

constexpr int64_t kRate = 16000;      // samples a second that the model takes
constexpr size_t kChunk = 512;        // samples a call
constexpr float kSpeech = 0.5F;       // probability from which a chunk counts as speech
constexpr size_t kSilentChunks = 10;  // that end a stretch of speech

struct Sound {
  double rate = 0;
  std::vector<float> samples;  // -1 to 1
};

// An unsigned little-endian number of `width` bytes; 0 beyond the end.
size_t number(const std::string& bytes, size_t at, size_t width) {
  size_t out = 0;
  for (size_t i = 0; i < width && at + i < bytes.size(); ++i)
    out |= static_cast<size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return out;
}

// Nothing for what is no such WAV file.
std::optional<Sound> read_wav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0) return std::nullopt;
  Sound out;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    std::string_view name(bytes.data() + at, 4);
    size_t size = number(bytes, at + 4, 4), begin = at + 8, end = std::min(bytes.size(), begin + size);
    if (name == "fmt ") {
      bool pcm = number(bytes, begin, 2) == 1, mono = number(bytes, begin + 2, 2) == 1;
      if (!pcm || !mono || number(bytes, begin + 14, 2) != 16) return std::nullopt;
      out.rate = static_cast<double>(number(bytes, begin + 4, 4));
    } else if (name == "data" && out.rate > 0) {
      for (size_t i = begin; i + 2 <= end; i += 2)
        out.samples.push_back(static_cast<float>(static_cast<int16_t>(number(bytes, i, 2))) / 32768.0F);
      return out;
    }
    at = begin + size + size % 2;
  }
  return std::nullopt;
}

// At kRate, between neighbours in a straight line: good enough to tell speech from silence.
std::vector<float> resampled(const Sound& sound) {
  std::vector<float> out;
  double step = sound.rate / static_cast<double>(kRate);
  for (double at = 0; at + 1 < static_cast<double>(sound.samples.size()); at += step) {
    auto i = static_cast<size_t>(at);
    auto part = static_cast<float>(at - std::floor(at));
    out.push_back(sound.samples[i] * (1 - part) + sound.samples[i + 1] * part);
  }
  return out;
}

// One probability a chunk. The first call leaves a state of another shape than it finds, and so does the import.
Result<std::vector<float>> probabilities(const std::string& model_file, const std::vector<float>& samples) {
  TRY(auto plugin_file, pjrt::find_plugin(""));
  TRY(auto plugin, pjrt::Plugin::load(plugin_file));
  TRY(auto client, pjrt::Client::create(plugin));
  run::ProgramCache programs(client);
  TRY(auto model, cli::LoadedModel::open(model_file, {}));
  run::Seconds seconds;
  std::vector<float> out;
  for (size_t at = 0; at + kChunk <= samples.size(); at += kChunk) {
    cli::CaseFile inputs;
    auto chunk = std::as_bytes(std::span(samples).subspan(at, kChunk));
    inputs.values["in.0"] = run::HostTensor::view({DType::Float32, {1, kChunk}}, chunk);
    inputs.values["in.1"] = bundle::Constant(kRate);
    TRY(auto arguments, model.prepare(inputs, {}, seconds));
    TRY(auto answer, model.call(arguments, client, programs, seconds));
    ByteView bytes = std::get<run::HostTensor>(answer.at("out.0")).bytes();
    float probability = 0;
    std::memcpy(&probability, bytes.data(), std::min(bytes.size(), sizeof(probability)));
    out.push_back(probability);
  }
  std::cout << out.size() << " chunks of " << kChunk << " samples; seconds: import " << seconds.import << ", compile "
            << seconds.compile << ", run " << seconds.run << '\n';
  return out;
}

// The stretches of speech; silence shorter than kSilentChunks belongs to them.
void show(const std::vector<float>& probabilities) {
  auto time = [](size_t chunk) { return static_cast<double>(chunk * kChunk) / static_cast<double>(kRate); };
  std::cout << std::fixed << std::setprecision(2);
  size_t begin = 0, last = 0;
  bool speaks = false;
  for (size_t i = 0; i <= probabilities.size(); ++i) {
    bool voice = i < probabilities.size() && probabilities[i] >= kSpeech;
    if (voice && !speaks) begin = i;
    if (voice) last = i;
    speaks = speaks || voice;
    if (speaks && (i == probabilities.size() || i - last > kSilentChunks)) {
      std::cout << "speech from " << time(begin) << " s to " << time(last + 1) << " s\n";
      speaks = false;
    }
  }
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  using namespace torchlift;
  if (argc != 3) {
    std::cerr << "speech MODEL.jit SOUND.wav\n";
    return 2;
  }
  auto sound = read_wav(argv[2]);
  if (!sound) {
    std::cerr << argv[2] << ": no WAV file of 16 bits and one channel\n";
    return 1;
  }
  auto found = probabilities(argv[1], resampled(*sound));
  if (!found) {
    for (const auto& error : found.errors()) std::cerr << to_text(error);
    return 1;
  }
  show(found.value());
  return 0;
}
