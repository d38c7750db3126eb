#include "pjrt/find.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/kinds.hpp"
#include "pjrt/compile_options.hpp"

namespace torchlift::pjrt {
namespace {

namespace fs = std::filesystem;

// A folder of its own that looks like site-packages, and an environment that names only it.
class Find : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("torchlift_find_" + std::to_string(getpid()));
    fs::create_directories(root_);
    setenv("TORCHLIFT_PJRT_PATH", root_.c_str(), 1);
    unsetenv("TORCHLIFT_PJRT_PLUGIN");
    unsetenv("VIRTUAL_ENV");
  }
  void TearDown() override {
    unsetenv("TORCHLIFT_PJRT_PATH");
    fs::remove_all(root_);
  }
  std::string file(const fs::path& name) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "x";
    return (root_ / name).string();
  }
  fs::path root_;
};

TEST_F(Find, a_short_name_finds_the_known_file) {
  std::string rocm = file("jax_plugins/xla_rocm7/xla_rocm_plugin.so");
  EXPECT_EQ(find_plugin("rocm").value(), rocm);
}

TEST_F(Find, the_folder_of_the_environment_comes_first) {
  std::string cpu = file("fastatomstruct_xla_cpu/libpjrt_cpu.so");
  EXPECT_EQ(find_plugin("cpu").value(), cpu);
  EXPECT_EQ(find_plugin("").value(), cpu);
}

TEST_F(Find, a_path_is_taken_as_it_is) {
  std::string other = file("other.so");
  EXPECT_EQ(find_plugin(other).value(), other);
  EXPECT_EQ(find_plugin("/nowhere/at/all.so").error().kind, Kind::PluginLoad);
}

TEST_F(Find, the_environment_names_the_plugin_where_the_request_is_empty) {
  std::string other = file("other.so");
  setenv("TORCHLIFT_PJRT_PLUGIN", other.c_str(), 1);
  EXPECT_EQ(find_plugin("").value(), other);
  setenv("TORCHLIFT_PJRT_PLUGIN", "nonsense", 1);
  EXPECT_EQ(find_plugin("").error().kind, Kind::PluginUnknown);
}

TEST_F(Find, the_active_environment_of_python_is_searched) {
  std::string oneapi = file("lib/python3.11/site-packages/jax_plugins/xla_oneapi/xla_oneapi_plugin.so");
  unsetenv("TORCHLIFT_PJRT_PATH");
  setenv("VIRTUAL_ENV", root_.c_str(), 1);
  EXPECT_EQ(find_plugin("oneapi").value(), oneapi);
}

TEST_F(Find, a_missing_plugin_names_folders_and_packages) {
  auto missing = find_plugin("tpu");
  if (missing.ok()) GTEST_SKIP() << "this machine has a plugin for tpu";
  EXPECT_EQ(missing.error().kind, Kind::PluginNotFound);
  EXPECT_NE(missing.error().message().find(root_.string()), std::string::npos);
  EXPECT_NE(missing.error().advice().find("libtpu"), std::string::npos);
}

TEST(CompileOptionBytes, are_those_that_plugins_take) {
  std::string expected("\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01", 17);
  EXPECT_EQ(CompileOptions().bytes(), expected);
}

TEST(CompileOptionBytes, hold_flags_by_name) {
  CompileOptions options;
  options.flags = {{"a", int64_t{300}}, {"b", std::string("x")}, {"c", true}, {"d", 0.0}};
  std::string flags = options.bytes().substr(17);
  std::string expected("\x3A\x08\x0A\x01\x61\x12\x03\x18\xAC\x02", 10);
  expected += std::string("\x3A\x08\x0A\x01\x62\x12\x03\x0A\x01\x78", 10);
  expected += std::string("\x3A\x07\x0A\x01\x63\x12\x02\x10\x01", 9);
  expected += std::string("\x3A\x0E\x0A\x01\x64\x12\x09\x21\0\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(flags, expected);
}

}  // namespace
}  // namespace torchlift::pjrt
