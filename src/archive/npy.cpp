#include "archive/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/kinds.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = size_t{1} << 20;
constexpr size_t kMaxRank = 64;  // numpy's own limit
constexpr size_t kAlignment = 64;

struct NpyType {
  DType dtype;
  std::string_view code;
};
constexpr std::array kTypes = {
    NpyType{DType::Bool, "|b1"},      NpyType{DType::UInt8, "|u1"},       NpyType{DType::UInt16, "<u2"},
    NpyType{DType::UInt32, "<u4"},    NpyType{DType::UInt64, "<u8"},      NpyType{DType::Int8, "|i1"},
    NpyType{DType::Int16, "<i2"},     NpyType{DType::Int32, "<i4"},       NpyType{DType::Int64, "<i8"},
    NpyType{DType::Float16, "<f2"},   NpyType{DType::Float32, "<f4"},     NpyType{DType::Float64, "<f8"},
    NpyType{DType::Complex64, "<c8"}, NpyType{DType::Complex128, "<c16"},
};

Diagnostic problem(const std::string& path, std::string text) {
  return diagnose(Kind::NpyFormat, {{"problem", std::move(text)}}, path);
}

// The header is a Python dict of three keys, written by numpy in one known form.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string_view> string() {
    char quote = take("'") ? '\'' : take("\"") ? '"' : '\0';
    size_t end = quote == '\0' ? std::string_view::npos : text_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view out = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return out;
  }
  std::optional<bool> boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }
  std::optional<std::vector<int64_t>> tuple() {
    if (!take("(")) return std::nullopt;
    std::vector<int64_t> out;
    while (!take(")")) {
      auto size = integer();
      if (!size || out.size() == kMaxRank) return std::nullopt;
      out.push_back(*size);
      if (!take(",") && !text_.starts_with(")")) return std::nullopt;
    }
    return out;
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  std::optional<int64_t> integer() {
    skip_space();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  std::string_view text_;
};

Result<NpyHeader> read_dict(std::string_view text, const std::string& path) {
  NpyHeader out;
  DictReader reader(text);
  bool has_dtype = false, has_order = false, has_shape = false;
  if (!reader.take("{")) return problem(path, "the header does not begin with {");
  while (!reader.take("}")) {
    auto key = reader.string();
    if (!key || !reader.take(":")) return problem(path, "the header is no dict of strings");
    if (*key == "descr") {
      auto code = reader.string();
      if (!code) return problem(path, "it holds a structured array; an array of one plain type was expected");
      auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](auto& t) { return t.code == *code; });
      if (type == kTypes.end())
        return problem(path,
                       "dtype " + torchlift::quoted(*code) + " is not one of the little-endian number types or bool");
      out.dtype = type->dtype;
      has_dtype = true;
    } else if (*key == "fortran_order") {
      auto value = reader.boolean();
      if (!value) return problem(path, "`fortran_order` is neither True nor False");
      out.column_major = *value;
      has_order = true;
    } else if (*key == "shape") {
      auto value = reader.tuple();
      if (!value) return problem(path, "`shape` is no tuple of sizes");
      out.shape = std::move(*value);
      has_shape = true;
    } else {
      return problem(path, "the header has the unknown key " + torchlift::quoted(*key));
    }
    reader.take(",");
  }
  if (!has_dtype || !has_order || !has_shape)
    return problem(path, "the header lacks one of `descr`, `fortran_order`, `shape`");
  return out;
}

std::optional<uint64_t> dense_bytes(DType dtype, const std::vector<int64_t>& shape) {
  auto total = static_cast<uint64_t>(info(dtype).bytes);
  for (int64_t size : shape) {
    if (size != 0 && total > std::numeric_limits<uint64_t>::max() / static_cast<uint64_t>(size)) return std::nullopt;
    total *= static_cast<uint64_t>(size);
  }
  return total;
}

// Column-major elements, put in row-major order.
std::vector<std::byte> ordered(const NpyHeader& header) {
  std::vector<std::byte> out(header.bytes.size());
  auto width = static_cast<size_t>(info(header.dtype).bytes);
  std::vector<size_t> index(header.shape.size(), 0);
  std::vector<size_t> strides;
  size_t stride = width;
  for (int64_t size : header.shape) {
    strides.push_back(stride);
    stride *= static_cast<size_t>(size);
  }
  size_t from = 0;
  for (size_t to = 0; to < out.size(); to += width) {
    std::copy_n(header.bytes.begin() + static_cast<ptrdiff_t>(from), width, out.begin() + static_cast<ptrdiff_t>(to));
    for (size_t axis = index.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < static_cast<size_t>(header.shape[axis])) break;
      from -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace

Result<NpyHeader> read_npy_header(ByteView bytes, const std::string& path) {
  if (bytes.empty()) return diagnose(Kind::EmptyFile, {}, path);
  if (!text_of(bytes).starts_with(kMagic)) return problem(path, "it does not begin with numpy's mark");
  constexpr size_t kVersionAt = kMagic.size();
  constexpr size_t kLengthAt = kVersionAt + 2;
  if (bytes.size() < kLengthAt + 4) return problem(path, "it ends within its header");
  auto version = std::to_integer<int>(bytes[kVersionAt]);
  if (version < 1 || version > 3)
    return problem(path, "its version is " + std::to_string(version) + ", 1 to 3 are known");
  size_t length = version == 1 ? read_u16(bytes, kLengthAt) : read_u32(bytes, kLengthAt);
  if (length > kMaxHeader)
    return problem(path, "its header of " + std::to_string(length) + " bytes is longer than 1048576");
  size_t begin = kLengthAt + (version == 1 ? 2 : 4);
  auto header = slice(bytes, begin, length);
  if (!header) return problem(path, "it ends within its header");
  TRY(auto out, read_dict(text_of(*header), path));
  auto expected = dense_bytes(out.dtype, out.shape);
  size_t available = bytes.size() - begin - length;
  if (!expected || *expected > available)
    return problem(path, "its shape and dtype take " + (expected ? std::to_string(*expected) : "more than 2^64") +
                             " bytes, " + std::to_string(available) + " are there");
  out.bytes = bytes.subspan(begin + length, *expected);
  return out;
}

Result<NpyFile> NpyFile::open(const std::string& path) {
  TRY(auto file, File::open(path));
  NpyFile out(std::move(file));
  TRY(out.header_, read_npy_header(out.file_.bytes(), path));
  if (out.header_.column_major) out.ordered_ = ordered(out.header_);
  return out;
}

Status write_npy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, ByteView bytes) {
  auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](auto& t) { return t.dtype == dtype; });
  if (type == kTypes.end())
    return problem(
        path, "numpy has no type for " + std::string(info(dtype).torch_name) + "; write a safetensors file instead");
  std::string sizes = join(shape, ", ", [](int64_t size) { return std::to_string(size); });
  if (shape.size() == 1) sizes += ",";
  std::string dict = "{'descr': '" + std::string(type->code) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr size_t kPrefix = kMagic.size() + 4;
  while ((kPrefix + dict.size() + 1) % kAlignment != 0) dict += ' ';
  dict += '\n';
  if (dict.size() > std::numeric_limits<uint16_t>::max())
    return problem(path, "its shape does not fit a version 1 header");
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  TRY(auto file, OutputFile::create(path));
  TRY_OK(file.write(bytes_of(header + dict)));
  TRY_OK(file.write(bytes));
  return file.finish();
}

}  // namespace torchlift::archive
