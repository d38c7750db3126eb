// The CPU plugin that tools/setup fetches, for tests labelled `run`. Real plugins are built without sanitizers and are
// not run under ours.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "pjrt/client.hpp"
#include "pjrt/find.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TORCHLIFT_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TORCHLIFT_SANITIZED 1
#endif

namespace torchlift {

// Why the real plugin cannot be used, empty if it can.
inline std::string why_no_real_plugin() {
#ifdef TORCHLIFT_SANITIZED
  return "real plugins are not run under sanitizers";
#else
  // Also for a build folder outside the repository.
  setenv("TORCHLIFT_PJRT_PATH", TORCHLIFT_SOURCE_DIR "/.deps/pjrt", 0);  // NOLINT(concurrency-mt-unsafe): one thread
  Result<std::string> file = pjrt::find_plugin("cpu");
  return file.ok() ? "" : "NUMBERS WERE NOT TESTED: " + to_text(file.error());
#endif
}

inline std::unique_ptr<pjrt::Client>& real_client_of_suite() {
  static std::unique_ptr<pjrt::Client> client;
  return client;
}

// One client for a test suite.
inline const pjrt::Client& real_client() {
  auto& client = real_client_of_suite();
  if (!client) {
    pjrt::Plugin plugin = pjrt::Plugin::load(pjrt::find_plugin("cpu").value()).value();
    client = std::make_unique<pjrt::Client>(pjrt::Client::create(plugin).value());
  }
  return *client;
}

// The base of test suites whose names begin with RealPlugin.
class RealPluginTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = why_no_real_plugin(); !why.empty()) GTEST_SKIP() << why;
  }
  // Before the process ends: a client's threads may not outlive the static objects of its plugin.
  static void TearDownTestSuite() { real_client_of_suite().reset(); }
};

}  // namespace torchlift
