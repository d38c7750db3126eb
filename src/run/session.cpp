#include "run/session.hpp"

#include <utility>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::run {
namespace {

using bundle::Argument;
using bundle::ArgumentRole;
using bundle::ProgramResult;
using bundle::ResultRole;

bool is_input(const Argument& argument) { return argument.role == ArgumentRole::Input; }
// Whether each call replaces it by one of its results.
bool is_replaced(const Argument& argument) { return !is_input(argument) && argument.result.has_value(); }

std::string types_text(const std::vector<ProgramResult>& results) {
  return "(" + join(results, ", ", [](const ProgramResult& result) { return bundle::text_of(result.type); }) + ")";
}

std::string types_text(const std::vector<pjrt::OutputType>& types) {
  auto text = [](const pjrt::OutputType& type) {
    return type.dtype ? bundle::text_of(TensorType{.dtype = *type.dtype, .shape = type.sizes}) : std::string("?");
  };
  return "(" + join(types, ", ", text) + ")";
}

bool same_types(const std::vector<pjrt::OutputType>& compiled, const std::vector<ProgramResult>& declared) {
  if (compiled.size() != declared.size()) return false;
  for (size_t i = 0; i < compiled.size(); ++i)
    if (compiled[i].dtype != declared[i].type.dtype || compiled[i].sizes != declared[i].type.shape) return false;
  return true;
}

Status check_bytes(const std::string& name, const TensorType& type, ByteView bytes) {
  std::optional<uint64_t> expected = byte_size(type);
  if (expected == bytes.size()) return Unit{};
  return diagnose(Kind::TensorBytes,
                  {{"name", name},
                   {"type", bundle::text_of(type)},
                   {"got", static_cast<int64_t>(bytes.size())},
                   {"expected", expected ? std::to_string(*expected) : "a number of bytes below 2^64"}});
}

}  // namespace

Result<Session> Session::create(const pjrt::Client& client, const pjrt::Executable& executable,
                                bundle::Program signature, std::span<const HostTensor> residents, size_t device) {
  if (device >= client.devices().size())
    return diagnose(Kind::DeviceMissing, {{"device", static_cast<int64_t>(device)},
                                          {"count", static_cast<int64_t>(client.devices().size())}});
  Session out(client, executable, std::move(signature), device);
  TRY_OK(out.check_program());
  TRY_OK(out.place_residents(residents));
  return out;
}

Status Session::check_program() const {
  auto compiled = executable_->output_types();
  if (!compiled.ok() && compiled.error().kind != Kind::PluginFunctionMissing) return std::move(compiled.errors());
  bool same = compiled.ok() ? same_types(*compiled, signature_.results)
                            : executable_->output_count() == signature_.results.size();
  if (same) return Unit{};
  std::string got = compiled.ok() ? types_text(*compiled) : std::to_string(executable_->output_count()) + " results";
  return diagnose(Kind::ProgramResults, {{"got", got}, {"expected", types_text(signature_.results)}});
}

Status Session::place_residents(std::span<const HostTensor> residents) {
  size_t next = 0;
  const pjrt::Device& device = client_->devices()[device_];
  for (size_t i = 0; i < signature_.arguments.size(); ++i) {
    const Argument& argument = signature_.arguments[i];
    if (!is_replaced(argument)) non_donatable_.push_back(static_cast<int64_t>(i));
    if (is_input(argument)) {
      residents_.emplace_back();
      continue;
    }
    CHECK(next < residents.size()) << "a resident is missing for argument " << argument.name;
    const HostTensor& tensor = residents[next++];
    if (tensor.type() != argument.type)
      return diagnose(Kind::WeightType, {{"name", argument.name},
                                         {"got", bundle::text_of(tensor.type())},
                                         {"expected", bundle::text_of(argument.type)}});
    TRY_OK(check_bytes(argument.name, tensor.type(), tensor.bytes()));
    pjrt::HostView view{.dtype = argument.type.dtype, .sizes = argument.type.shape, .bytes = tensor.bytes()};
    // A state is donated to the first call, which writes where it lies.
    auto memory = is_replaced(argument) ? pjrt::HostMemory::Copied : pjrt::HostMemory::Borrowed;
    TRY(pjrt::Buffer buffer, pjrt::Buffer::from_host(*client_, device, view, memory));
    residents_.emplace_back(std::move(buffer));
  }
  CHECK(next == residents.size()) << residents.size() << " residents, the program takes " << next;
  return Unit{};
}

Status Session::check_inputs(std::span<const HostTensor> inputs) const {
  std::vector<const Argument*> expected;
  for (const Argument& argument : signature_.arguments)
    if (is_input(argument)) expected.push_back(&argument);
  if (inputs.size() != expected.size())
    return diagnose(Kind::InputCount, {{"got", static_cast<int64_t>(inputs.size())},
                                       {"expected", static_cast<int64_t>(expected.size())},
                                       {"inputs", join(expected, ", ", [](const Argument* argument) {
                                          return "`" + argument->name + "` " + bundle::text_of(argument->type);
                                        })}});
  std::vector<Diagnostic> errors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& got = inputs[i].type();
    if (got != expected[i]->type)
      errors.push_back(diagnose(Kind::InputType, {{"name", expected[i]->name},
                                                  {"got", bundle::text_of(got)},
                                                  {"expected", bundle::text_of(expected[i]->type)}}));
    else if (Status bytes = check_bytes(expected[i]->name, got, inputs[i].bytes()); !bytes.ok())
      errors.push_back(bytes.error());
  }
  if (!errors.empty()) return errors;
  return Unit{};
}

Status Session::check_state() const {
  for (size_t i = 0; i < residents_.size(); ++i) {
    if (!is_replaced(signature_.arguments[i])) continue;
    TRY(bool is_deleted, residents_[i]->is_deleted());
    if (is_deleted) return diagnose(Kind::StateLost, {{"name", signature_.arguments[i].name}});
  }
  return Unit{};
}

Result<std::vector<pjrt::Buffer>> Session::place_inputs(std::span<const HostTensor> inputs) const {
  std::vector<pjrt::Buffer> out;
  out.reserve(inputs.size());
  for (const HostTensor& input : inputs) {
    pjrt::HostView view{.dtype = input.type().dtype, .sizes = input.type().shape, .bytes = input.bytes()};
    TRY(pjrt::Buffer buffer,
        pjrt::Buffer::from_host(*client_, client_->devices()[device_], view, pjrt::HostMemory::Borrowed));
    out.push_back(std::move(buffer));
  }
  return out;
}

Result<std::vector<HostTensor>> Session::run(std::span<const HostTensor> inputs, Fetch fetch) {
  if (failed_) TRY_OK(check_state());
  TRY_OK(check_inputs(inputs));
  TRY(std::vector<pjrt::Buffer> placed, place_inputs(inputs));
  std::vector<const pjrt::Buffer*> arguments;
  size_t next = 0;
  for (const auto& resident : residents_) arguments.push_back(resident ? &*resident : &placed[next++]);
  failed_ = true;
  TRY(std::vector<pjrt::Buffer> results, executable_->execute(arguments, non_donatable_));
  TRY(std::vector<HostTensor> out, fetch_results(results, fetch));
  failed_ = false;
  keep_state(results);
  return out;
}

Result<std::vector<HostTensor>> Session::fetch_results(const std::vector<pjrt::Buffer>& buffers, Fetch fetch) const {
  std::vector<HostTensor> out;
  out.reserve(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ProgramResult& result = signature_.results[i];
    if (fetch == Fetch::Outputs && result.role == ResultRole::BufferMutation) {
      // Not read now, but a failure belongs to this call.
      TRY(pjrt::Event ready, buffers[i].ready());
      TRY_OK(ready.wait());
      out.emplace_back();
      continue;
    }
    TRY(HostTensor tensor, fetch_one(buffers[i], result.type));
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<HostTensor> Session::fetch_one(const pjrt::Buffer& buffer, const TensorType& type) const {
  std::optional<uint64_t> size = byte_size(type);
  CHECK(size.has_value()) << bundle::text_of(type);
  std::vector<std::byte> bytes(*size);
  TRY_OK(buffer.to_host(bytes));
  return HostTensor::own(type, std::move(bytes));
}

void Session::keep_state(std::vector<pjrt::Buffer>& buffers) {
  for (size_t i = 0; i < residents_.size(); ++i)
    if (is_replaced(signature_.arguments[i])) residents_[i] = std::move(buffers[*signature_.arguments[i].result]);
}

Result<HostTensor> Session::read(size_t argument) const {
  CHECK(argument < residents_.size() && residents_[argument].has_value())
      << "argument " << argument << " is no resident";
  if (failed_) TRY_OK(check_state());
  return fetch_one(*residents_[argument], signature_.arguments[argument].type);
}

}  // namespace torchlift::run
