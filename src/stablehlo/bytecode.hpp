// The container of MLIR's bytecode, format 6: tables of strings, dialects, attributes and types, and the operations
// with their regions and values. What an attribute, a type or a property says is the business of its dialect: here each
// is a piece of bytes. Read are files of single-block regions; every size is checked against the bytes that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift::stablehlo::bytecode {

constexpr uint64_t kFormat = 6;
constexpr size_t kMaxDepth = 128;  // of regions in regions

class Encoder {
 public:
  void byte(uint8_t value) { out_ += static_cast<char>(value); }
  // A value of up to 7n bits takes n bytes, n <= 8; the zero bits at the end of the first byte say how many follow.
  void varint(uint64_t value);
  void signed_varint(int64_t value);  // zigzag
  void flagged(uint64_t value, bool flag) { varint(value << 1 | (flag ? 1 : 0)); }
  void bytes(std::string_view bytes) { out_ += bytes; }
  void section(uint8_t id, const Encoder& content);
  const std::string& data() const { return out_; }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

// After the first problem everything that is read is zero, so that loops over counts end by themselves.
class Decoder {
 public:
  // `offset`: of the bytes in the file, by which sections are aligned.
  explicit Decoder(ByteView bytes, size_t offset = 0) : bytes_(bytes), offset_(offset) {}

  uint8_t byte();
  uint64_t varint();
  int64_t signed_varint();
  std::pair<uint64_t, bool> flagged();
  std::string_view bytes(uint64_t size);
  std::string_view terminated();  // up to a zero byte, which is taken
  // How many items follow, each of which takes a byte at least.
  uint64_t count();
  uint64_t index(size_t size, const char* what);  // below `size`
  struct Section {
    uint8_t id = 0;
    ByteView bytes;
    size_t offset = 0;
  };
  Section section();

  bool at_end() const { return at_ == bytes_.size(); }
  size_t left() const { return bytes_.size() - at_; }
  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  void fail(std::string problem);

 private:
  ByteView bytes_;
  size_t offset_ = 0;
  size_t at_ = 0;
  std::string problem_;
};

// An attribute or a type.
struct Entry {
  uint32_t dialect = 0;
  bool encoded = true;  // by its dialect; else `bytes` is its text
  std::string bytes;
};

struct Region;

// Attributes, types and properties by number in the tables of the file; values by a number that no other value has.
struct Operation {
  uint32_t name = 0;
  uint32_t location = 0;
  std::optional<uint32_t> attributes;  // a dictionary
  std::optional<uint32_t> properties;
  std::vector<uint32_t> result_types;
  uint32_t first_result = 0;  // the results are numbered in a row
  std::vector<uint32_t> operands;
  bool isolated = false;  // its regions see no values from outside
  std::vector<Region> regions;
};

struct BlockArgument {
  uint32_t type = 0;
  std::optional<uint32_t> location;
};

struct Region {
  bool empty = false;  // no block at all, as that of a function which is only declared
  std::vector<BlockArgument> arguments;
  uint32_t first_argument = 0;  // the arguments are numbered in a row
  std::vector<Operation> operations;
};

struct OperationName {
  uint32_t dialect = 0;
  std::string name;  // without the dialect's
};

struct File {
  std::string producer;
  std::vector<std::string> strings;
  std::vector<std::string> dialects;
  std::vector<OperationName> names;
  std::vector<Entry> attributes;
  std::vector<Entry> types;
  std::vector<std::string> properties;
  Operation root;
  uint32_t values = 0;  // in the whole file
};

bool is_bytecode(ByteView bytes);

// `path` names the file in messages. Numbers are checked against the tables, operands against the values in sight.
Result<File> read(ByteView bytes, const std::string& path);

// Names of dialects and operations are entered behind the strings that are there.
std::string write(const File& file);

// What is wrong with the file at `path`.
Diagnostic wrong_file(std::string problem, const std::string& path);

}  // namespace torchlift::stablehlo::bytecode
