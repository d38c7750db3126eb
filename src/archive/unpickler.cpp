// The opcodes of protocols 2 to 5 that Python's pickler and TorchScript's write. A stack machine without recursion.
#include <bit>
#include <optional>
#include <unordered_map>
#include <vector>

#include "archive/pickle.hpp"
#include "archive/pickle_builder.hpp"
#include "base/kinds.hpp"

namespace torchlift::archive {
namespace {

enum class Op : uint8_t {
  Mark = '(',
  Stop = '.',
  Pop = '0',
  PopMark = '1',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  None = 'N',
  BinPersId = 'Q',
  Reduce = 'R',
  BinString = 'T',
  ShortBinString = 'U',
  BinUnicode = 'X',
  Append = 'a',
  Build = 'b',
  Global = 'c',
  Dict = 'd',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  List = 'l',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  SetItems = 'u',
  BinBytes = 'B',
  ShortBinBytes = 'C',
  BinFloat = 'G',
  EmptyDict = '}',
  EmptyList = ']',
  EmptyTuple = ')',
  Proto = 0x80,
  NewObj = 0x81,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a,
  Long4 = 0x8b,
  ShortBinUnicode = 0x8c,
  BinUnicode8 = 0x8d,
  BinBytes8 = 0x8e,
  EmptySet = 0x8f,
  AddItems = 0x90,
  FrozenSet = 0x91,
  NewObjEx = 0x92,
  StackGlobal = 0x93,
  Memoize = 0x94,
  Frame = 0x95,
  ByteArray8 = 0x96,
};

constexpr int kMinProtocol = 2;
constexpr int kMaxProtocol = 5;
constexpr size_t kMemoEntryBytes = 32;

class Unpickler {
 public:
  Unpickler(ByteView bytes, const PickleOptions& options) : bytes_(bytes), builder_(options) {}
  Result<Pickle> read();

 private:
  Status run(Op op);
  Status run_container(Op op);
  Status run_call(Op op);

  // Operands.
  Result<ByteView> take(uint64_t size, const char* what);
  Result<uint64_t> number(size_t width, const char* what);  // little-endian
  Result<std::string_view> line(const char* what);
  Result<ByteView> counted(size_t width, const char* what);  // a length and as many bytes

  // The stack.
  Status push(PickleId id);
  Status push(Result<PickleId> id);
  Result<PickleId> pop();
  Result<PickleId> top();
  Result<std::vector<PickleId>> pop_to_mark();
  Result<PickleId> tuple_of(size_t count);

  Status integer(ByteView digits);  // little-endian
  Status real();
  Status text(size_t width);
  Status raw(size_t width);
  Status get(size_t width);
  Status put(uint64_t key);
  Status global();
  Status stack_global();

  ByteView bytes_;
  size_t at_ = 0;
  PickleBuilder builder_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleId> memo_;
  PickleId none_, true_, false_, empty_tuple_;
};

Result<Pickle> Unpickler::read() {
  if (bytes_.size() > kMaxPickleBytes) {
    return builder_.error(Kind::PickleLimit, {{"what", std::to_string(bytes_.size()) + " bytes"},
                                              {"limit", static_cast<int64_t>(kMaxPickleBytes)}});
  }
  TRY(uint64_t first, number(1, "protocol"));
  TRY(uint64_t protocol, number(1, "protocol"));
  if (static_cast<Op>(first) != Op::Proto || protocol < kMinProtocol || protocol > kMaxProtocol)
    return builder_.malformed("no protocol number from 2 to 5", "one at its start");
  TRY(none_, builder_.add(PickleNone{}));
  TRY(true_, builder_.add(true));
  TRY(false_, builder_.add(false));
  TRY(empty_tuple_, builder_.add(PickleTuple{}));
  for (;;) {
    builder_.at(at_);
    TRY(uint64_t op, number(1, "opcodes (no STOP)"));
    if (static_cast<Op>(op) == Op::Stop) break;
    TRY_OK(run(static_cast<Op>(op)));
  }
  TRY(PickleId root, pop());
  return std::move(builder_).take(root);
}

Status Unpickler::run(Op op) {
  switch (op) {
    case Op::None: return push(none_);
    case Op::NewTrue: return push(true_);
    case Op::NewFalse: return push(false_);
    case Op::EmptyTuple: return push(empty_tuple_);
    case Op::BinInt: {
      TRY(uint64_t bits, number(4, "integer"));
      return push(builder_.add(int64_t{static_cast<int32_t>(bits)}));
    }
    case Op::BinInt1: {
      TRY(uint64_t value, number(1, "integer"));
      return push(builder_.add(static_cast<int64_t>(value)));
    }
    case Op::BinInt2: {
      TRY(uint64_t value, number(2, "integer"));
      return push(builder_.add(static_cast<int64_t>(value)));
    }
    case Op::Long1:
    case Op::Long4: {
      TRY(ByteView digits, counted(op == Op::Long1 ? 1 : 4, "integer"));
      return integer(digits);
    }
    case Op::BinFloat: return real();
    case Op::ShortBinString:
    case Op::ShortBinUnicode: return text(1);
    case Op::BinString:
    case Op::BinUnicode: return text(4);
    case Op::BinUnicode8: return text(8);
    case Op::ShortBinBytes: return raw(1);
    case Op::BinBytes: return raw(4);
    case Op::BinBytes8:
    case Op::ByteArray8: return raw(8);
    case Op::BinGet: return get(1);
    case Op::LongBinGet: return get(4);
    case Op::BinPut:
    case Op::LongBinPut: {
      TRY(uint64_t key, number(op == Op::BinPut ? 1 : 4, "memo number"));
      return put(key);
    }
    case Op::Memoize: return put(memo_.size());
    case Op::Frame: {
      TRY(uint64_t size, number(8, "frame"));
      if (size > bytes_.size() - at_)
        return builder_.malformed("a frame of " + std::to_string(size) + " bytes", "at most the bytes that follow");
      return Unit{};
    }
    case Op::Proto: return builder_.malformed("a second protocol number", "one at its start");
    case Op::Stop: break;
    case Op::Mark:
    case Op::Pop:
    case Op::PopMark:
    case Op::Append:
    case Op::Dict:
    case Op::Appends:
    case Op::List:
    case Op::SetItem:
    case Op::Tuple:
    case Op::SetItems:
    case Op::EmptyDict:
    case Op::EmptyList:
    case Op::Tuple1:
    case Op::Tuple2:
    case Op::Tuple3:
    case Op::EmptySet:
    case Op::AddItems:
    case Op::FrozenSet: return run_container(op);
    case Op::BinPersId:
    case Op::Reduce:
    case Op::Build:
    case Op::Global:
    case Op::NewObj:
    case Op::NewObjEx:
    case Op::StackGlobal: return run_call(op);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto code = static_cast<uint8_t>(op);
  return builder_.error(Kind::PickleOpcode, {{"opcode", std::string{'0', 'x', kDigits[code >> 4], kDigits[code & 15]}},
                                             {"offset", static_cast<int64_t>(at_ - 1)}});
}

// Tuples, lists, dicts; sets become lists.
Status Unpickler::run_container(Op op) {
  switch (op) {
    case Op::Mark: marks_.push_back(stack_.size()); return builder_.charge(sizeof(size_t));
    case Op::Pop: {
      // Python: POP on a fresh mark takes the mark.
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return Unit{};
      }
      TRY_OK(pop());
      return Unit{};
    }
    case Op::PopMark: TRY_OK(pop_to_mark()); return Unit{};
    case Op::EmptyDict: return push(builder_.add(PickleDict{}));
    case Op::EmptyList:
    case Op::EmptySet: return push(builder_.add(PickleList{}));
    case Op::Tuple1: return push(tuple_of(1));
    case Op::Tuple2: return push(tuple_of(2));
    case Op::Tuple3: return push(tuple_of(3));
    case Op::Append: {
      TRY(PickleId item, pop());
      TRY(PickleId list, top());
      return builder_.append(list, &item, 1);
    }
    case Op::SetItem: {
      TRY(PickleId value, pop());
      TRY(PickleId key, pop());
      TRY(PickleId dict, top());
      PickleId pair[] = {key, value};
      return builder_.set_items(dict, pair, 2);
    }
    default: break;
  }
  TRY(std::vector<PickleId> items, pop_to_mark());
  size_t heap = items.size() * sizeof(PickleId);
  if (op == Op::Tuple) return push(builder_.add(PickleTuple{std::move(items)}, heap));
  if (op == Op::List || op == Op::FrozenSet) return push(builder_.add(PickleList{std::move(items), {}}, heap));
  if (op == Op::Dict) TRY_OK(push(builder_.add(PickleDict{})));
  TRY(PickleId container, top());
  if (op == Op::Appends || op == Op::AddItems) return builder_.append(container, items.data(), items.size());
  return builder_.set_items(container, items.data(), items.size());
}

Status Unpickler::run_call(Op op) {
  if (op == Op::Global) return global();
  if (op == Op::StackGlobal) return stack_global();
  TRY(PickleId argument, pop());
  if (op == Op::BinPersId) return push(builder_.persistent(argument));
  if (op == Op::NewObjEx) {
    const auto* keywords = builder_.get_if<PickleDict>(argument);
    if (keywords == nullptr || !keywords->items.empty())
      return builder_.malformed("keyword arguments of a class", "none");
    TRY(argument, pop());
  }
  if (op == Op::Build) {
    TRY(PickleId value, top());
    return builder_.build(value, argument);
  }
  TRY(PickleId function, pop());
  if (op == Op::Reduce) return push(builder_.call(function, argument));
  return push(builder_.make_object(function, argument));
}

Result<ByteView> Unpickler::take(uint64_t size, const char* what) {
  std::optional<ByteView> bytes = slice(bytes_, at_, size);
  if (!bytes) {
    return builder_.error(Kind::PickleTruncated, {{"what", std::string(what)}, {"offset", static_cast<int64_t>(at_)}});
  }
  at_ += bytes->size();
  return *bytes;
}

Result<uint64_t> Unpickler::number(size_t width, const char* what) {
  TRY(ByteView bytes, take(width, what));
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= uint64_t{std::to_integer<uint8_t>(bytes[i])} << (8 * i);
  return value;
}

Result<std::string_view> Unpickler::line(const char* what) {
  std::string_view rest = text_of(bytes_.subspan(at_));
  size_t end = rest.find('\n');
  TRY(ByteView bytes, take(end == std::string_view::npos ? rest.size() + 1 : end + 1, what));
  return text_of(bytes.first(bytes.size() - 1));
}

Result<ByteView> Unpickler::counted(size_t width, const char* what) {
  TRY(uint64_t size, number(width, what));
  return take(size, what);
}

Status Unpickler::push(PickleId id) {
  stack_.push_back(id);
  return builder_.charge(sizeof(PickleId));
}

Status Unpickler::push(Result<PickleId> id) {
  TRY(PickleId value, std::move(id));
  return push(value);
}

Result<PickleId> Unpickler::top() {
  size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= bottom) return builder_.malformed("an empty stack", "a value on it");
  return stack_.back();
}

Result<PickleId> Unpickler::pop() {
  TRY(PickleId id, top());
  stack_.pop_back();
  return id;
}

Result<std::vector<PickleId>> Unpickler::pop_to_mark() {
  if (marks_.empty()) return builder_.malformed("no mark on the stack", "one");
  auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleId> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

Result<PickleId> Unpickler::tuple_of(size_t count) {
  std::vector<PickleId> items(count);
  for (size_t i = count; i-- > 0;) {
    TRY(items[i], pop());
  }
  return builder_.add(PickleTuple{std::move(items)}, count * sizeof(PickleId));
}

// Two's complement of any length, if its value fits 64 bits.
Status Unpickler::integer(ByteView digits) {
  bool negative = !digits.empty() && std::to_integer<uint8_t>(digits.back()) >= 0x80;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    uint64_t digit = std::to_integer<uint8_t>(digits[i]);
    if (i < 8) value = (value & ~(uint64_t{0xFF} << (8 * i))) | digit << (8 * i);
    bool fits = i < 8 || digit == (negative ? 0xFFu : 0u);
    if (!fits || (i >= 8 && (value >> 63 != 0) != negative)) {
      return builder_.error(Kind::PickleInteger, {{"bytes", static_cast<int64_t>(digits.size())},
                                                  {"offset", static_cast<int64_t>(at_ - digits.size())}});
    }
  }
  return push(builder_.add(static_cast<int64_t>(value)));
}

Status Unpickler::real() {
  TRY(ByteView bytes, take(8, "number"));
  uint64_t bits = 0;
  for (std::byte byte : bytes) bits = bits << 8 | std::to_integer<uint8_t>(byte);
  return push(builder_.add(std::bit_cast<double>(bits)));
}

Status Unpickler::text(size_t width) {
  TRY(ByteView bytes, counted(width, "text"));
  return push(builder_.add_text(text_of(bytes)));
}

Status Unpickler::raw(size_t width) {
  TRY(ByteView bytes, counted(width, "bytes"));
  return push(builder_.add(PickleBytes{std::string(text_of(bytes))}, bytes.size()));
}

Status Unpickler::get(size_t width) {
  TRY(uint64_t key, number(width, "memo number"));
  auto found = memo_.find(key);
  if (found == memo_.end()) return builder_.malformed("memo number " + std::to_string(key), "one that was stored");
  return push(found->second);
}

Status Unpickler::put(uint64_t key) {
  TRY(PickleId id, top());
  TRY_OK(builder_.charge(kMemoEntryBytes));
  memo_[key] = id;
  return Unit{};
}

Status Unpickler::global() {
  TRY(std::string_view module, line("global"));
  TRY(std::string_view name, line("global"));
  return push(builder_.global(module, name));
}

Status Unpickler::stack_global() {
  TRY(PickleId name_id, pop());
  TRY(PickleId module_id, pop());
  const auto* module = builder_.get_if<std::string>(module_id);
  const auto* name = builder_.get_if<std::string>(name_id);
  if (module == nullptr || name == nullptr)
    return builder_.malformed("a global without a text as its name", "two texts");
  return push(builder_.global(*module, *name));
}

}  // namespace

Result<Pickle> read_pickle(ByteView bytes, const PickleOptions& options) { return Unpickler(bytes, options).read(); }

}  // namespace torchlift::archive
