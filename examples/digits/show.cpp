// Handwritten digits through a bundle: draws the images, says what the model reads in them, and how far its numbers are
// from PyTorch's. An example of running a bundle from C++.
//
//   digits BUNDLE IMAGES.safetensors     (in.0: images f32[n,1,8,8]; out.0: PyTorch's logits f32[n,10]; label: i64[n])
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iostream>

#include "archive/safetensors.hpp"
#include "base/kinds.hpp"
#include "bundle/read.hpp"
#include "pjrt/client.hpp"
#include "pjrt/find.hpp"
#include "pjrt/plugin.hpp"
#include "run/bundle_session.hpp"

namespace torchlift {
namespace {

constexpr size_t kSide = 8, kPixels = kSide * kSide, kClasses = 10, kAcross = 4;  // fits 80 columns

std::vector<float> floats(ByteView bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

void draw(const std::vector<float>& images, size_t first, size_t count) {
  static constexpr std::array<const char*, 5> kShades = {"  ", "░░", "▒▒", "▓▓", "██"};
  float darkest = *std::max_element(images.begin(), images.end());
  for (size_t row = 0; row < kSide; ++row) {
    for (size_t i = first; i < first + count; ++i) {
      for (size_t column = 0; column < kSide; ++column) {
        float ink = images[i * kPixels + row * kSide + column] / darkest * 4.0F;
        std::cout << kShades[static_cast<size_t>(std::clamp(ink + 0.5F, 0.0F, 4.0F))];
      }
      std::cout << "  ";
    }
    std::cout << '\n';
  }
}

// The logits of all images, `batch` at a time.
Result<std::vector<float>> classify(const pjrt::Client& client, const std::string& directory,
                                    const bundle::Manifest& manifest, const std::vector<float>& images, size_t batch) {
  bundle::TensorType type{DType::Float32, {static_cast<int64_t>(batch), 1, kSide, kSide}};
  TRY(auto program, run::select_program(manifest, std::array{type}, directory));
  TRY(auto opened, run::BundleSession::open(client, directory, manifest, program));
  std::vector<float> logits;
  for (size_t at = 0; at + batch <= images.size() / kPixels; at += batch) {
    auto part = std::as_bytes(std::span(images).subspan(at * kPixels, batch * kPixels));
    TRY(auto results, opened.session().run(std::array{run::HostTensor::view(type, part)}));
    std::vector<float> answer = floats(results.front().bytes());
    logits.insert(logits.end(), answer.begin(), answer.end());
  }
  return logits;
}

Status show(const std::string& directory, const std::string& file) {
  TRY(auto data, archive::SafetensorsFile::open(file));
  const auto* in = data.find("in.0");
  const auto* out = data.find("out.0");
  const auto* label = data.find("label");
  if (!in || !out || !label)
    return diagnose(Kind::SafetensorsHeader, {{"problem", std::string("it has no in.0, out.0, label")}}, file);
  std::vector<float> images = floats(in->bytes), expected = floats(out->bytes);
  size_t count = images.size() / kPixels;

  TRY(auto manifest, bundle::open(directory));
  TRY(auto plugin_file, pjrt::find_plugin(""));
  TRY(auto plugin, pjrt::Plugin::load(plugin_file));
  TRY(auto client, pjrt::Client::create(plugin));

  std::vector<float> logits;
  for (size_t batch : {size_t{1}, count}) {
    TRY(logits, classify(client, directory, manifest, images, batch));
    float largest = 0;
    for (size_t i = 0; i < std::min(logits.size(), expected.size()); ++i)
      largest = std::max(largest, std::fabs(logits[i] - expected[i]));
    std::cout << count << " images, " << batch << " at a time: largest difference to PyTorch's logits " << largest
              << '\n';
  }
  std::cout << '\n';
  size_t right = 0;
  for (size_t first = 0; first < count; first += kAcross) {
    size_t across = std::min(kAcross, count - first);
    draw(images, first, across);
    for (size_t i = first; i < first + across; ++i) {
      auto begin = logits.begin() + static_cast<std::ptrdiff_t>(i * kClasses);
      auto best = std::max_element(begin, begin + kClasses);
      double sum = 0;
      for (auto it = begin; it != begin + kClasses; ++it) sum += std::exp(static_cast<double>(*it - *best));
      int64_t truth = 0;
      std::memcpy(&truth, label->bytes.data() + i * sizeof(truth), sizeof(truth));
      right += best - begin == truth ? 1 : 0;
      std::string text = std::to_string(best - begin) +
                         (best - begin == truth ? "" : " (is " + std::to_string(truth) + ")") + ", " +
                         std::to_string(static_cast<int>(std::lround(100 / sum))) + " % sure";
      text.resize(2 * kSide + 2, ' ');
      std::cout << text;
    }
    std::cout << "\n\n";
  }
  std::cout << right << " of " << count << " are read as what they are\n";
  return Unit{};
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "digits BUNDLE IMAGES.safetensors\n";
    return 2;
  }
  auto status = torchlift::show(argv[1], argv[2]);
  if (status) return 0;
  for (const auto& error : status.errors()) std::cerr << torchlift::to_text(error);
  return 1;
}
