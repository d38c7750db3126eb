// The fake plugin as a test sees it: its file, and the controls of the loaded library.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/check.hpp"
#include "fake_plugin/control.hpp"

namespace torchlift::fake {

inline std::string plugin_file() { return TORCHLIFT_FAKE_PLUGIN_FILE; }

inline const Control& fake() {
  static const Control* control = [] {
    void* library = dlopen(TORCHLIFT_FAKE_PLUGIN_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    CHECK(library != nullptr) << dlerror();
    auto get = reinterpret_cast<const Control* (*)()>(dlsym(library, "torchlift_fake_control"));
    CHECK(get != nullptr) << "the fake plugin has no controls";
    return get();
  }();
  return *control;
}

}  // namespace torchlift::fake
