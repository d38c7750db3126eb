#include "archive/pickle_builder.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr size_t kMaxArguments = 16;  // of a known constructor; none has more than 8

// What a call of a global makes. Constant: it is only named, never called.
enum class Constructor : uint8_t {
  Constant,
  Tensor,
  TensorV3,
  QuantizedTensor,
  Parameter,
  FromType,
  Dict,
  List,
  Size,
  Complex,
  Bytes,
  Device,
  Layout,
  IntList,
  DoubleList,
  BoolList,
  TensorList,
  TypeTag,
};

struct KnownGlobal {
  std::string_view module;
  std::string_view name;
  Constructor constructor;
};

// Everything that a pickle may name, apart from dtypes, storage classes and `__torch__` classes.
constexpr std::array kKnownGlobals = {
    KnownGlobal{"torch._utils", "_rebuild_tensor", Constructor::Tensor},
    KnownGlobal{"torch._utils", "_rebuild_tensor_v2", Constructor::Tensor},
    KnownGlobal{"torch._utils", "_rebuild_tensor_v3", Constructor::TensorV3},
    KnownGlobal{"torch._utils", "_rebuild_qtensor", Constructor::QuantizedTensor},
    KnownGlobal{"torch._utils", "_rebuild_parameter", Constructor::Parameter},
    KnownGlobal{"torch._utils", "_rebuild_parameter_with_state", Constructor::Parameter},
    KnownGlobal{"torch._tensor", "_rebuild_from_type_v2", Constructor::FromType},
    KnownGlobal{"torch", "Tensor", Constructor::Constant},
    KnownGlobal{"torch.nn.parameter", "Parameter", Constructor::Constant},
    KnownGlobal{"torch.nn.parameter", "Buffer", Constructor::Constant},
    KnownGlobal{"collections", "OrderedDict", Constructor::Dict},
    KnownGlobal{"builtins", "dict", Constructor::Dict},
    KnownGlobal{"__builtin__", "dict", Constructor::Dict},
    KnownGlobal{"builtins", "list", Constructor::List},
    KnownGlobal{"__builtin__", "list", Constructor::List},
    KnownGlobal{"builtins", "set", Constructor::List},
    KnownGlobal{"__builtin__", "set", Constructor::List},
    KnownGlobal{"builtins", "complex", Constructor::Complex},
    KnownGlobal{"__builtin__", "complex", Constructor::Complex},
    KnownGlobal{"_codecs", "encode", Constructor::Bytes},
    KnownGlobal{"builtins", "bytearray", Constructor::Bytes},
    KnownGlobal{"__builtin__", "bytearray", Constructor::Bytes},
    KnownGlobal{"torch", "Size", Constructor::Size},
    KnownGlobal{"torch", "device", Constructor::Device},
    KnownGlobal{"torch.serialization", "_get_layout", Constructor::Layout},
    KnownGlobal{"torch.jit._pickle", "build_intlist", Constructor::IntList},
    KnownGlobal{"torch.jit._pickle", "build_doublelist", Constructor::DoubleList},
    KnownGlobal{"torch.jit._pickle", "build_boollist", Constructor::BoolList},
    KnownGlobal{"torch.jit._pickle", "build_tensorlist", Constructor::TensorList},
    KnownGlobal{"torch.jit._pickle", "restore_type_tag", Constructor::TypeTag},
};

// Attributes of `torch` that are only named.
constexpr std::array<std::string_view, 26> kTorchConstants = {"per_tensor_affine",
                                                              "per_channel_affine",
                                                              "per_tensor_symmetric",
                                                              "per_channel_symmetric",
                                                              "per_channel_affine_float_qparams",
                                                              "strided",
                                                              "sparse_coo",
                                                              "sparse_csr",
                                                              "sparse_csc",
                                                              "sparse_bsr",
                                                              "sparse_bsc",
                                                              "_mkldnn",
                                                              "jagged",
                                                              "contiguous_format",
                                                              "preserve_format",
                                                              "channels_last",
                                                              "channels_last_3d",
                                                              "qint8",
                                                              "quint8",
                                                              "qint32",
                                                              "quint4x2",
                                                              "quint2x4",
                                                              "float4_e2m1fn_x2",
                                                              "bits8",
                                                              "bits16",
                                                              "int4"};

struct StorageClass {
  std::string_view name;
  std::optional<DType> dtype;  // of the elements, raw if quantised; none: bytes, or narrower than a byte
  bool quantized = false;
};

constexpr std::array kStorageClasses = {
    StorageClass{"FloatStorage", DType::Float32},
    StorageClass{"DoubleStorage", DType::Float64},
    StorageClass{"HalfStorage", DType::Float16},
    StorageClass{"BFloat16Storage", DType::BFloat16},
    StorageClass{"ByteStorage", DType::UInt8},
    StorageClass{"CharStorage", DType::Int8},
    StorageClass{"ShortStorage", DType::Int16},
    StorageClass{"IntStorage", DType::Int32},
    StorageClass{"LongStorage", DType::Int64},
    StorageClass{"BoolStorage", DType::Bool},
    StorageClass{"ComplexFloatStorage", DType::Complex64},
    StorageClass{"ComplexDoubleStorage", DType::Complex128},
    StorageClass{"ComplexHalfStorage", DType::Complex32},
    StorageClass{"QInt8Storage", DType::Int8, true},
    StorageClass{"QUInt8Storage", DType::UInt8, true},
    StorageClass{"QInt32Storage", DType::Int32, true},
    StorageClass{"QUInt4x2Storage", std::nullopt, true},
    StorageClass{"QUInt2x4Storage", std::nullopt, true},
    StorageClass{"UntypedStorage", std::nullopt},
};

const KnownGlobal* find_known(std::string_view module, std::string_view name) {
  auto found = std::find_if(kKnownGlobals.begin(), kKnownGlobals.end(),
                            [&](const KnownGlobal& known) { return known.module == module && known.name == name; });
  return found == kKnownGlobals.end() ? nullptr : &*found;
}

const StorageClass* find_storage_class(std::string_view module, std::string_view name) {
  if (module != "torch" && module != "torch.storage" && module != "torch.cuda") return nullptr;
  auto found = std::find_if(kStorageClasses.begin(), kStorageClasses.end(),
                            [&](const StorageClass& row) { return row.name == name; });
  return found == kStorageClasses.end() ? nullptr : &*found;
}

bool is_script_class(std::string_view module) { return module == "__torch__" || module.starts_with("__torch__."); }

bool is_permitted(std::string_view module, std::string_view name) {
  if (is_script_class(module) || find_known(module, name) || find_storage_class(module, name)) return true;
  return module == "torch" && std::find(kTorchConstants.begin(), kTorchConstants.end(), name) != kTorchConstants.end();
}

}  // namespace

Diagnostic PickleBuilder::error(Kind kind, Arguments arguments) const {
  return diagnose(kind, std::move(arguments), options_.file, options_.member);
}

Diagnostic PickleBuilder::malformed(std::string what, std::string expected) const {
  return error(
      Kind::PickleMalformed,
      {{"what", std::move(what)}, {"offset", static_cast<int64_t>(offset_)}, {"expected", std::move(expected)}});
}

Status PickleBuilder::charge(uint64_t bytes) {
  used_ += bytes;
  if (used_ <= options_.max_tree_bytes) return Unit{};
  return error(Kind::PickleLimit, {{"what", std::string("values of more bytes")},
                                   {"limit", static_cast<int64_t>(options_.max_tree_bytes)}});
}

Result<PickleId> PickleBuilder::add(PickleValue value, size_t heap) {
  TRY_OK(charge(sizeof(PickleValue) + heap));
  pickle_.values.push_back(std::move(value));
  return PickleId(pickle_.values.size() - 1);
}

// The views may lie in values: they are copied before a value is added.
Result<PickleId> PickleBuilder::global(std::string_view module, std::string_view name) {
  if (module.size() > kMaxGlobalName || name.size() > kMaxGlobalName) {
    return error(Kind::PickleLimit,
                 {{"what", "a global name of " + std::to_string(module.size() + name.size()) + " bytes"},
                  {"limit", static_cast<int64_t>(kMaxGlobalName)}});
  }
  std::string key = std::string(module) + " " + std::string(name);
  if (auto found = globals_.find(key); found != globals_.end()) return found->second;
  PickleValue value;
  if (std::optional<DType> dtype; module == "torch" && (dtype = dtype_from_torch_name(name))) {
    value = *dtype;
  } else if (options_.unknown == UnknownGlobals::Keep || is_permitted(module, name)) {
    value = PickleGlobal{std::string(module), std::string(name)};
  } else {
    return error(Kind::PickleGlobal, {{"global", std::string(module) + "." + std::string(name)}});
  }
  TRY(PickleId id, add(std::move(value), 2 * key.size()));
  globals_.emplace(std::move(key), id);
  return id;
}

// ("storage", class, key, location, elements). The location is where it was; we read to the host.
Result<PickleId> PickleBuilder::persistent(PickleId id) {
  const auto* tuple = get_if<PickleTuple>(id);
  const char* expected = "(\"storage\", class, key, location, elements)";
  if (tuple == nullptr || tuple->items.size() != 5) return malformed("a persistent id of another form", expected);
  const auto* tag = get_if<std::string>(tuple->items[0]);
  const auto* type = get_if<PickleGlobal>(tuple->items[1]);
  const auto* key = get_if<std::string>(tuple->items[2]);
  const auto* elements = get_if<int64_t>(tuple->items[4]);
  if (tag == nullptr || *tag != "storage" || type == nullptr || key == nullptr || elements == nullptr)
    return malformed("a persistent id of another form", expected);
  const StorageClass* storage = find_storage_class(type->module, type->name);
  if (storage == nullptr) return malformed("a storage of class `" + type->qualified() + "`", "one of PyTorch's");
  if (*elements < 0) return malformed("a storage of " + std::to_string(*elements) + " elements", "a count");
  if (key->empty() || key->size() > kMaxStorageKey)
    return malformed("a storage key of " + std::to_string(key->size()) + " bytes",
                     "1 to " + std::to_string(kMaxStorageKey));
  return add(PickleStorage{.key = *key,
                           .storage_class = std::string(storage->name),
                           .dtype = storage->quantized ? std::nullopt : storage->dtype,
                           .elements = *elements},
             2 * kMaxStorageKey);
}

Result<PickleId> PickleBuilder::call(PickleId function, PickleId arguments) {
  if (const auto* named = get_if<PickleGlobal>(function)) return call_named(PickleGlobal(*named), function, arguments);
  if (options_.unknown == UnknownGlobals::Keep) return add(PickleObject{function, arguments, {}, {}});
  return malformed("a call of a value that is no constructor", "one of PyTorch's");
}

Result<PickleId> PickleBuilder::call_named(const PickleGlobal& function, PickleId function_id, PickleId arguments_id) {
  const KnownGlobal* known = find_known(function.module, function.name);
  if (known == nullptr) {
    bool object = is_script_class(function.module) || options_.unknown == UnknownGlobals::Keep;
    if (object) return add(PickleObject{function_id, arguments_id, {}, {}});
    return malformed("a call of `" + function.qualified() + "`", "only its name");
  }
  const auto* tuple = get_if<PickleTuple>(arguments_id);
  if (tuple == nullptr || tuple->items.size() > kMaxArguments)
    return malformed("a call of `" + function.qualified() + "` with arguments of another form", "a short tuple");
  Items arguments = tuple->items;
  switch (known->constructor) {
    case Constructor::Constant: return malformed("a call of `" + function.qualified() + "`", "only its name");
    case Constructor::Tensor: return rebuild_tensor(arguments, SIZE_MAX);
    case Constructor::TensorV3: return rebuild_tensor(arguments, 6);
    case Constructor::QuantizedTensor: return rebuild_quantized(arguments);
    case Constructor::Parameter: return rebuild_parameter(arguments);
    case Constructor::FromType: return rebuild_from_type(arguments);
    case Constructor::Dict: return make_dict(arguments);
    case Constructor::List: return make_list(arguments);
    case Constructor::Size: return make_size(arguments);
    case Constructor::Complex: return make_complex(arguments);
    case Constructor::Bytes: return make_bytes(arguments);
    case Constructor::Device: return make_device(arguments);
    case Constructor::Layout: return make_layout(arguments);
    case Constructor::IntList: return typed_list(arguments, "List[int]");
    case Constructor::DoubleList: return typed_list(arguments, "List[float]");
    case Constructor::BoolList: return typed_list(arguments, "List[bool]");
    case Constructor::TensorList: return typed_list(arguments, "List[Tensor]");
    case Constructor::TypeTag: return restore_type_tag(arguments);
  }
  return malformed("a call of `" + function.qualified() + "`", "only its name");
}

Result<PickleId> PickleBuilder::make_object(PickleId type, PickleId arguments) {
  const auto* named = get_if<PickleGlobal>(type);
  if (named == nullptr) return malformed("an object whose class is no global", "a class");
  return call_named(PickleGlobal(*named), type, arguments);
}

Status PickleBuilder::build(PickleId value, PickleId state) {
  if (auto* object = std::get_if<PickleObject>(&pickle_.values[value.at()])) {
    object->state = state;
  } else if (auto* dict = std::get_if<PickleDict>(&pickle_.values[value.at()])) {
    dict->state = state;
  } else if (options_.unknown == UnknownGlobals::Refuse) {
    return malformed("a state for a value without attributes", "one for an object or a dict");
  }
  return Unit{};
}

Status PickleBuilder::append(PickleId list_id, const PickleId* items, size_t count) {
  TRY_OK(charge(2 * count * sizeof(PickleId)));
  if (auto* list = std::get_if<PickleList>(&pickle_.values[list_id.at()])) {
    list->items.insert(list->items.end(), items, items + count);
    return Unit{};
  }
  auto* object = std::get_if<PickleObject>(&pickle_.values[list_id.at()]);
  if (object == nullptr) return malformed("items for a value that is no list", "a list");
  TRY_OK(charge(2 * count * sizeof(PickleId)));
  for (size_t i = 0; i < count; ++i) object->items.emplace_back(PickleId(), items[i]);
  return Unit{};
}

Status PickleBuilder::set_items(PickleId dict_id, const PickleId* keys_and_values, size_t count) {
  if (count % 2 != 0) return malformed("a key without a value", "pairs");
  TRY_OK(charge(2 * count * sizeof(PickleId)));
  PickleValue& value = pickle_.values[dict_id.at()];
  auto* dict = std::get_if<PickleDict>(&value);
  auto* object = std::get_if<PickleObject>(&value);
  if (dict == nullptr && object == nullptr) return malformed("keys for a value that is no dict", "a dict");
  auto& items = dict != nullptr ? dict->items : object->items;
  for (size_t i = 0; i < count; i += 2) items.emplace_back(keys_and_values[i], keys_and_values[i + 1]);
  return Unit{};
}

// (storage, offset, sizes, strides, requires_grad, hooks [, dtype] [, metadata]); the oldest form ends with the
// strides. Hooks and metadata do not matter for inference.
Result<PickleId> PickleBuilder::rebuild_tensor(const Items& arguments, size_t dtype_at) {
  TRY(PickleTensor tensor, strided(arguments));
  const PickleStorage& storage = *get_if<PickleStorage>(tensor.storage);
  std::optional<DType> dtype = storage.dtype;
  if (dtype_at != SIZE_MAX) {
    const auto* given = dtype_at < arguments.size() ? get_if<DType>(arguments[dtype_at]) : nullptr;
    dtype = given == nullptr ? std::nullopt : std::optional(*given);
  }
  if (!dtype) {
    return error(Kind::TensorLayout,
                 {{"name", "storage " + storage.key},
                  {"what", "elements of a dtype that is not read (" + storage.storage_class + ")"}});
  }
  tensor.dtype = *dtype;
  if (arguments.size() > 4) {
    const auto* requires_grad = get_if<bool>(arguments[4]);
    tensor.requires_grad = requires_grad != nullptr && *requires_grad;
  }
  size_t heap = 2 * tensor.sizes.size() * sizeof(int64_t);
  return add(std::move(tensor), heap);
}

// (storage, offset, sizes, strides, quantizer, requires_grad, hooks)
Result<PickleId> PickleBuilder::rebuild_quantized(const Items& arguments) {
  TRY(PickleTensor tensor, strided(arguments));
  const PickleStorage& storage = *get_if<PickleStorage>(tensor.storage);
  const StorageClass* type = find_storage_class("torch", storage.storage_class);
  if (type == nullptr || !type->quantized || !type->dtype) {
    return error(Kind::TensorLayout,
                 {{"name", "storage " + storage.key},
                  {"what", "quantised elements that are not read (" + storage.storage_class + ")"}});
  }
  if (arguments.size() < 5 || get_if<PickleTuple>(arguments[4]) == nullptr)
    return malformed("a quantised tensor without quantizer", "a tuple");
  tensor.dtype = *type->dtype;
  size_t heap = 2 * tensor.sizes.size() * sizeof(int64_t);
  TRY(PickleId raw, add(std::move(tensor), heap));
  return add(PickleQuantized{.raw = raw, .quantizer = arguments[4]});
}

// (tensor, requires_grad, hooks [, state])
Result<PickleId> PickleBuilder::rebuild_parameter(const Items& arguments) {
  if (arguments.size() < 2) return malformed("a parameter without a tensor", "a tensor and requires_grad");
  const auto* tensor = get_if<PickleTensor>(arguments[0]);
  if (tensor == nullptr) return arguments[0];  // a quantised tensor, or an object that was kept
  PickleTensor parameter = *tensor;
  const auto* requires_grad = get_if<bool>(arguments[1]);
  parameter.requires_grad = requires_grad != nullptr && *requires_grad;
  parameter.is_parameter = true;
  size_t heap = 2 * parameter.sizes.size() * sizeof(int64_t);
  return add(std::move(parameter), heap);
}

// (function, type, arguments, state): a tensor with attributes of its own, which do not matter here. A subclass of
// Tensor has been refused, or is kept as an object.
Result<PickleId> PickleBuilder::rebuild_from_type(const Items& arguments) {
  const char* expected = "(function, type, arguments, state)";
  if (arguments.size() != 4) return malformed("a tensor with attributes of another form", expected);
  const auto* function = get_if<PickleGlobal>(arguments[0]);
  const auto* type = get_if<PickleGlobal>(arguments[1]);
  if (function == nullptr || type == nullptr) return malformed("a tensor with attributes of another form", expected);
  const KnownGlobal* known = find_known(type->module, type->name);
  if (known == nullptr || known->constructor != Constructor::Constant)
    return add(PickleObject{arguments[1], arguments[2], arguments[3], {}});
  const KnownGlobal* rebuild = find_known(function->module, function->name);
  if (rebuild == nullptr || rebuild->constructor == Constructor::FromType)
    return malformed("a tensor made by `" + function->qualified() + "`", "one of PyTorch's constructors");
  return call_named(PickleGlobal(*function), arguments[0], arguments[2]);
}

Result<PickleTensor> PickleBuilder::strided(const Items& arguments) const {
  if (arguments.size() < 4)
    return malformed("a tensor of " + std::to_string(arguments.size()) + " arguments", "4 or more");
  if (get_if<PickleStorage>(arguments[0]) == nullptr) return malformed("a tensor without a storage", "a persistent id");
  PickleTensor tensor;
  tensor.storage = arguments[0];
  TRY(tensor.offset, count(arguments[1], "storage offset"));
  TRY(tensor.sizes, extents(arguments[2], "size"));
  TRY(tensor.strides, extents(arguments[3], "stride"));
  if (tensor.sizes.size() != tensor.strides.size())
    return malformed(std::to_string(tensor.strides.size()) + " strides", std::to_string(tensor.sizes.size()));
  return tensor;
}

Result<std::vector<int64_t>> PickleBuilder::extents(PickleId id, std::string_view what) const {
  const auto* tuple = get_if<PickleTuple>(id);
  if (tuple == nullptr) return malformed("a " + std::string(what) + " that is no tuple", "a tuple of integers");
  if (tuple->items.size() > kMaxTensorRank)
    return malformed("a tensor of rank " + std::to_string(tuple->items.size()),
                     "at most " + std::to_string(kMaxTensorRank));
  std::vector<int64_t> values;
  values.reserve(tuple->items.size());
  for (PickleId item : tuple->items) {
    TRY(int64_t value, count(item, what));
    values.push_back(value);
  }
  return values;
}

Result<int64_t> PickleBuilder::count(PickleId id, std::string_view what) const {
  const auto* value = get_if<int64_t>(id);
  if (value == nullptr) return malformed("a " + std::string(what) + " that is no integer", "an integer");
  if (*value < 0) return malformed("a " + std::string(what) + " of " + std::to_string(*value), "none below zero");
  return *value;
}

Result<PickleId> PickleBuilder::typed_list(const Items& arguments, std::string_view type) {
  if (arguments.size() != 1) return malformed("a typed list of another form", "one list");
  auto [found, is_new] = types_.try_emplace(std::string(type));
  if (is_new) {
    TRY(found->second, add_text(type));
  }
  auto* list = std::get_if<PickleList>(&pickle_.values[arguments[0].at()]);
  if (list == nullptr) return malformed("a typed list of another form", "one list");
  list->type = found->second;
  return arguments[0];
}

// (value, "Dict[str, Tensor]")
Result<PickleId> PickleBuilder::restore_type_tag(const Items& arguments) {
  if (arguments.size() != 2 || get_if<std::string>(arguments[1]) == nullptr)
    return malformed("a type tag of another form", "a value and a text");
  PickleValue& value = pickle_.values[arguments[0].at()];
  if (auto* list = std::get_if<PickleList>(&value)) list->type = arguments[1];
  if (auto* dict = std::get_if<PickleDict>(&value)) dict->type = arguments[1];
  return arguments[0];
}

Result<PickleId> PickleBuilder::make_complex(const Items& arguments) {
  if (arguments.size() != 2) return malformed("a complex number of another form", "two numbers");
  std::array<double, 2> parts{};
  for (size_t i = 0; i < 2; ++i) {
    const auto* real = get_if<double>(arguments[i]);
    const auto* integer = get_if<int64_t>(arguments[i]);
    if (real == nullptr && integer == nullptr) return malformed("a complex number of another form", "two numbers");
    parts[i] = real != nullptr ? *real : static_cast<double>(*integer);
  }
  return add(std::complex<double>(parts[0], parts[1]));
}

// ("cuda:0",) or ("cuda", 0)
Result<PickleId> PickleBuilder::make_device(const Items& arguments) {
  const auto* type = arguments.empty() || arguments.size() > 2 ? nullptr : get_if<std::string>(arguments[0]);
  if (type == nullptr || type->size() > kMaxStorageKey) return malformed("a device of another form", "a short text");
  std::string text = *type;
  if (arguments.size() == 2) {
    TRY(int64_t index, count(arguments[1], "device number"));
    text += ":" + std::to_string(index);
  }
  return add(PickleDevice{std::move(text)}, 2 * kMaxStorageKey);
}

// (text, "latin1"), as protocol 2 of Python 3 writes bytes: each character is one byte. Or (bytes,).
Result<PickleId> PickleBuilder::make_bytes(const Items& arguments) {
  if (arguments.size() == 1 && get_if<PickleBytes>(arguments[0]) != nullptr) return arguments[0];
  const auto* text = arguments.size() != 2 ? nullptr : get_if<std::string>(arguments[0]);
  const auto* encoding = arguments.size() != 2 ? nullptr : get_if<std::string>(arguments[1]);
  if (text == nullptr || encoding == nullptr || (*encoding != "latin1" && *encoding != "latin-1"))
    return malformed("bytes of another form", "latin1");
  TRY_OK(charge(text->size()));
  std::string bytes;
  for (std::string_view rest = *text; !rest.empty();) {
    size_t length = utf8_length(rest);
    auto lead = static_cast<unsigned char>(rest[0]);
    if (length == 0 || lead > 0xC3) return malformed("bytes of another form", "characters below U+0100");
    bytes += length == 1 ? rest[0] : static_cast<char>((lead & 3) << 6 | (static_cast<unsigned char>(rest[1]) & 0x3F));
    rest.remove_prefix(length);
  }
  return add(PickleBytes{std::move(bytes)});
}

// ("torch.strided",)
Result<PickleId> PickleBuilder::make_layout(const Items& arguments) {
  const auto* text = arguments.size() != 1 ? nullptr : get_if<std::string>(arguments[0]);
  constexpr std::string_view kPrefix = "torch.";
  if (text == nullptr || !text->starts_with(kPrefix)) return malformed("a layout of another form", "a text");
  return global("torch", std::string_view(*text).substr(kPrefix.size()));
}

// (tuple,): torch.Size is a tuple.
Result<PickleId> PickleBuilder::make_size(const Items& arguments) {
  if (arguments.size() != 1 || get_if<PickleTuple>(arguments[0]) == nullptr)
    return malformed("a size of another form", "a tuple");
  return arguments[0];
}

// () or (list,)
Result<PickleId> PickleBuilder::make_list(const Items& arguments) {
  if (arguments.empty()) return add(PickleList{});
  const auto* list = get_if<PickleList>(arguments[0]);
  if (arguments.size() != 1 || list == nullptr) return malformed("a list of another form", "one list");
  Items items = list->items;
  size_t heap = items.size() * sizeof(PickleId);
  return add(PickleList{std::move(items), {}}, heap);
}

// () or (list of pairs,)
Result<PickleId> PickleBuilder::make_dict(const Items& arguments) {
  if (arguments.empty()) return add(PickleDict{});
  const auto* list = get_if<PickleList>(arguments[0]);
  if (arguments.size() != 1 || list == nullptr) return malformed("a dict of another form", "a list of pairs");
  PickleDict dict;
  TRY_OK(charge(list->items.size() * 2 * sizeof(PickleId)));
  for (PickleId id : list->items) {
    const auto* as_tuple = get_if<PickleTuple>(id);
    const auto* as_list = get_if<PickleList>(id);
    const Items* pair = as_tuple != nullptr ? &as_tuple->items : as_list != nullptr ? &as_list->items : nullptr;
    if (pair == nullptr || pair->size() != 2) return malformed("a dict of another form", "a list of pairs");
    dict.items.emplace_back((*pair)[0], (*pair)[1]);
  }
  return add(std::move(dict));
}

}  // namespace torchlift::archive
