#include <algorithm>

#include "base/kinds.hpp"
#include "cli/command.hpp"

namespace torchlift::cli {
namespace {

bool is_device(Kind kind) {
  switch (kind) {
    case Kind::PluginUnknown:
    case Kind::PluginNotFound:
    case Kind::PluginLoad:
    case Kind::PluginVersion:
    case Kind::PluginFunctionMissing:
    case Kind::PluginError:
    case Kind::DeviceDType:
    case Kind::DeviceMissing:
    case Kind::StateLost:
    case Kind::WorkerStart:
    case Kind::WorkerDied: return true;
    default: return false;
  }
}

}  // namespace

ExitCode exit_code(const std::vector<Diagnostic>& errors) {
  auto any = [&](auto&& predicate) { return std::any_of(errors.begin(), errors.end(), predicate); };
  if (any([](const Diagnostic& d) { return d.kind == Kind::Internal; })) return ExitCode::Internal;
  if (any([](const Diagnostic& d) { return is_device(d.kind); })) return ExitCode::Device;
  if (any([](const Diagnostic& d) { return d.kind == Kind::CommandLine; })) return ExitCode::Usage;
  return errors.empty() ? ExitCode::Ok : ExitCode::Refused;
}

}  // namespace torchlift::cli
