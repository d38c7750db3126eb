#include "pjrt/executable.hpp"

#include <utility>

#include "base/check.hpp"

namespace torchlift::pjrt {
namespace {

constexpr std::string_view kFormat = "mlir";  // for all three forms of a StableHLO program

// The description of a loaded executable, which is an object of its own.
class Description {
 public:
  static Result<Description> of(const Api& api, abi::LoadedExecutable* loaded) {
    abi::LoadedExecutableGetExecutable args;
    args.loaded_executable = loaded;
    TRY_OK(api.call(args));
    return Description(&api, args.executable);
  }
  Description(Description&& other) noexcept : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Description& operator=(Description&&) = delete;
  ~Description() {
    if (handle_ == nullptr) return;
    abi::ExecutableDestroy args;
    args.executable = handle_;
    (void)api_->call(args);
  }
  abi::Executable* handle() const { return handle_; }

 private:
  Description(const Api* api, abi::Executable* handle) : api_(api), handle_(handle) {}
  const Api* api_;
  abi::Executable* handle_;
};

}  // namespace

Result<Executable> Executable::compile(const Client& client, ByteView program, const CompileOptions& options) {
  std::string option_bytes = options.bytes();
  std::string_view code = text_of(program);
  abi::Program form;
  form.struct_size = abi::kStructSize<abi::Program>;
  form.code = code.data();
  form.code_size = code.size();
  form.format = kFormat.data();
  form.format_size = kFormat.size();
  abi::ClientCompile args;
  args.client = client.handle();
  args.program = &form;
  args.compile_options = option_bytes.data();
  args.compile_options_size = option_bytes.size();
  TRY_OK(client.api().call(args));
  Executable out(&client.api(), args.executable);
  TRY(Description description, Description::of(*out.api_, out.handle_));
  abi::ExecutableNumOutputs outputs;
  outputs.executable = description.handle();
  TRY_OK(out.api_->call(outputs));
  out.output_count_ = outputs.num_outputs;
  return out;
}

Executable::Executable(Executable&& other) noexcept
    : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)), output_count_(other.output_count_) {}

Executable& Executable::operator=(Executable&& other) noexcept {
  if (this == &other) return *this;
  destroy();
  api_ = other.api_;
  handle_ = std::exchange(other.handle_, nullptr);
  output_count_ = other.output_count_;
  return *this;
}

Executable::~Executable() { destroy(); }

void Executable::destroy() {
  if (handle_ == nullptr) return;
  abi::LoadedExecutableDestroy args;
  args.executable = std::exchange(handle_, nullptr);
  (void)api_->call(args);
}

Result<std::vector<OutputType>> Executable::output_types() const {
  TRY(Description description, Description::of(*api_, handle_));
  abi::ExecutableOutputElementTypes types;
  types.executable = description.handle();
  TRY_OK(api_->call(types));
  abi::ExecutableOutputDimensions dimensions;
  dimensions.executable = description.handle();
  TRY_OK(api_->call(dimensions));
  CHECK(types.num_output_types == output_count_ && dimensions.num_outputs == output_count_)
      << api_->file() << " counts the outputs in different ways";
  std::vector<OutputType> out;
  const int64_t* dims = dimensions.dims;
  for (size_t i = 0; i < output_count_; ++i) {
    size_t rank = dimensions.dim_sizes[i];
    out.push_back({.dtype = dtype_of(types.output_types[i]), .sizes = std::vector<int64_t>(dims, dims + rank)});
    dims += rank;
  }
  return out;
}

Result<std::vector<Buffer>> Executable::execute(std::span<const Buffer* const> arguments,
                                                std::span<const int64_t> non_donatable) const {
  std::vector<abi::Buffer*> handles;
  handles.reserve(arguments.size());
  for (const Buffer* argument : arguments) {
    CHECK(argument != nullptr && argument->handle() != nullptr) << "argument " << handles.size() << " holds no buffer";
    handles.push_back(argument->handle());
  }
  abi::Buffer* const* argument_list = handles.data();
  std::vector<abi::Buffer*> outputs(output_count_);
  abi::Buffer** output_list = outputs.data();
  abi::ExecuteOptions options;
  options.struct_size = abi::kStructSize<abi::ExecuteOptions>;
  options.non_donatable_input_indices = non_donatable.data();
  options.num_non_donatable_input_indices = non_donatable.size();
  abi::LoadedExecutableExecute args;
  args.executable = handle_;
  args.options = &options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = handles.size();
  args.output_lists = &output_list;
  TRY_OK(api_->call(args));
  std::vector<Buffer> out;
  out.reserve(outputs.size());
  for (abi::Buffer* handle : outputs) out.emplace_back(api_, handle);
  return out;
}

}  // namespace torchlift::pjrt
