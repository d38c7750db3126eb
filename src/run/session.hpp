// A program on a device, ready to be called: compiled code, weights that stay in the device's memory between calls, and
// the state that the program writes, which one call hands to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bundle/manifest.hpp"
#include "pjrt/executable.hpp"
#include "run/host_tensor.hpp"

namespace torchlift::run {

enum class Fetch : uint8_t {
  Outputs,  // written states stay on the device alone; their places in the answer hold no elements
  All,
};

// Not for several threads at once: a call changes the state. (Sessions over one Executable may run side by side.) XLA's
// CPU plugins start about as many threads as there are cores, whatever we ask for; bind the process to fewer cores to
// use fewer.
class Session {
 public:
  // `signature` describes the arguments and results of `executable`, in order; both are checked against what the plugin
  // says it compiled. `residents` are the weights and states, in the order of the arguments that are no inputs; their
  // memory outlives the session and is not written: plugins for the CPU read weights in place where they begin at a
  // multiple of 64 bytes. There must be one for each of those arguments. `client` and `executable` outlive the session.
  static Result<Session> create(const pjrt::Client& client, const pjrt::Executable& executable,
                                bundle::Program signature, std::span<const HostTensor> residents, size_t device = 0);

  // `inputs` in the order of the arguments that are inputs; types and shapes must be the program's. Answers the results
  // in the program's order. After an error the state is as before the call; if a failing plugin has taken it, every
  // further call says so (StateLost).
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs, Fetch fetch = Fetch::Outputs);

  // The present value of a weight or state, by number of the argument.
  Result<HostTensor> read(size_t argument) const;

  const bundle::Program& signature() const { return signature_; }

 private:
  Session(const pjrt::Client& client, const pjrt::Executable& executable, bundle::Program signature, size_t device)
      : client_(&client), executable_(&executable), signature_(std::move(signature)), device_(device) {}
  Status check_program() const;
  Status place_residents(std::span<const HostTensor> residents);
  Status check_inputs(std::span<const HostTensor> inputs) const;
  Status check_state() const;
  Result<std::vector<pjrt::Buffer>> place_inputs(std::span<const HostTensor> inputs) const;
  Result<std::vector<HostTensor>> fetch_results(const std::vector<pjrt::Buffer>& buffers, Fetch fetch) const;
  void keep_state(std::vector<pjrt::Buffer>& buffers);
  Result<HostTensor> fetch_one(const pjrt::Buffer& buffer, const TensorType& type) const;

  const pjrt::Client* client_;
  const pjrt::Executable* executable_;
  bundle::Program signature_;
  size_t device_;
  std::vector<std::optional<pjrt::Buffer>> residents_;  // one per argument; inputs have none
  std::vector<int64_t> non_donatable_;                  // all arguments but states that a result replaces
  bool failed_ = false;                                 // the last call; it may have cost the state
};

}  // namespace torchlift::run
