// The unpickler: what each opcode and constructor gives, and what is refused.
#include "archive/pickle.hpp"

#include <gtest/gtest.h>

#include "archive/pickle_writer.hpp"
#include "base/kinds.hpp"

namespace torchlift::archive {
namespace {

using namespace pickled;
using namespace std::string_literals;

Result<Pickle> read_ops(const std::string& ops, UnknownGlobals unknown = UnknownGlobals::Refuse) {
  return read_pickle(bytes_of(whole(ops)), {.file = "t.pt", .member = "data.pkl", .unknown = unknown});
}

// Text of the root value, or the kind of the refusal.
std::string value(const std::string& ops, UnknownGlobals unknown = UnknownGlobals::Refuse) {
  Result<Pickle> pickle = read_ops(ops, unknown);
  return pickle ? pickle->text(pickle->root) : "refused: " + std::string(info(pickle.error().kind).id);
}

TEST(Pickle, scalars) {
  EXPECT_EQ(value("N"), "None");
  EXPECT_EQ(value("\x88"), "True");
  EXPECT_EQ(value("\x89"), "False");
  EXPECT_EQ(value("K\xff"), "255");
  EXPECT_EQ(value("M\xff\xff"), "65535");
  EXPECT_EQ(value("J\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(value("G\x3f\xf8\0\0\0\0\0\0"s), "1.5");
  EXPECT_EQ(value(text("caf\xc3\xa9")), "\"caf\xc3\xa9\"");
  EXPECT_EQ(value("\x8c\x02hi"), "\"hi\"");
  EXPECT_EQ(value("\x8d\x02\0\0\0\0\0\0\0hi"s), "\"hi\"");
  EXPECT_EQ(value("C\x02hi"), "b\"hi\"");
  EXPECT_EQ(value(global("builtins", "complex") + tuple("G\x3f\xf8\0\0\0\0\0\0"s + integer(2)) + "R"),
            "complex(1.5, 2.0)");
}

TEST(Pickle, long_integers_are_read_to_64_bits) {
  EXPECT_EQ(value("\x8a\0"s), "0");
  EXPECT_EQ(value("\x8a\x01\xff"), "-1");
  EXPECT_EQ(value("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), "9223372036854775807");
  EXPECT_EQ(value("\x8a\x08\0\0\0\0\0\0\0\x80"s), "-9223372036854775808");
  EXPECT_EQ(value("\x8a\x0a\x07\0\0\0\0\0\0\0\0\0"s), "7");
  EXPECT_EQ(value("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(value("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0"s), "refused: pickle-integer");
  EXPECT_EQ(value("\x8a\x09\0\0\0\0\0\0\0\0\xff"s), "refused: pickle-integer");
  EXPECT_EQ(value("\x8b\x02\0\0\0\x01\x02"s), "513");
}

TEST(Pickle, containers) {
  EXPECT_EQ(value(")"), "()");
  EXPECT_EQ(value("K\x01\x85"), "(1,)");
  EXPECT_EQ(value("K\x01K\x02\x86"), "(1, 2)");
  EXPECT_EQ(value("K\x01K\x02K\x03\x87"), "(1, 2, 3)");
  EXPECT_EQ(value("(K\x01K\x02t"), "(1, 2)");
  EXPECT_EQ(value("](K\x01K\x02"
                  "e"),
            "[1, 2]");
  EXPECT_EQ(value("]K\x01"
                  "a"),
            "[1]");
  EXPECT_EQ(value("(K\x01l"), "[1]");
  EXPECT_EQ(value("}" + text("a") + "Ns"), "{\"a\": None}");
  EXPECT_EQ(value(dict(text("a") + "K\x01" + text("b") + "K\x02")), "{\"a\": 1, \"b\": 2}");
  EXPECT_EQ(value("(" + text("a") + "Nd"), "{\"a\": None}");
  EXPECT_EQ(value("\x8f(K\x01\x90"), "[1]");
  EXPECT_EQ(value(global("collections", "OrderedDict") +
                  tuple("](](" + text("a") +
                        "K\x01"
                        "ee") +
                  "R"),
            "{\"a\": 1}");
}

TEST(Pickle, memoized_values_are_shared) {
  Result<Pickle> pickle = read_ops("]q\x05h\x05\x86");
  ASSERT_TRUE(pickle.ok());
  const auto& items = pickle->get_if<PickleTuple>(pickle->root)->items;
  EXPECT_EQ(items[0], items[1]);
  EXPECT_EQ(value("K\x01\x94K\x02\x94h\x01h\0\x86"s), "(2, 1)");
  EXPECT_EQ(value("h\x07"), "refused: pickle-malformed");
}

TEST(Pickle, a_list_may_contain_itself) {
  Result<Pickle> pickle = read_ops("]q\0h\0a"s);
  ASSERT_TRUE(pickle.ok());
  EXPECT_EQ(pickle->text(pickle->root, 3), "[[[[...]]]]");
}

TEST(Pickle, values_that_hold_each_other_print_in_bounded_text) {
  // Each list holds the one before it twice: two to the power of 60 leaves.
  std::string ops = "]";
  for (int i = 0; i < 60; ++i)
    ops +=
        "q\x01](h\x01h\x01"
        "e";
  Result<Pickle> pickle = read_ops(ops);
  ASSERT_TRUE(pickle.ok());
  EXPECT_LT(pickle->text(pickle->root, 100).size(), size_t{1} << 17);
}

TEST(Pickle, deep_nesting_needs_no_recursion) {
  EXPECT_TRUE(read_ops(std::string(1'000'000, ']') + std::string(999'999, 'a')).ok());
  EXPECT_TRUE(read_ops(")" + std::string(1'000'000, '\x85')).ok());
}

TEST(Pickle, tensors) {
  std::string weight = storage("FloatStorage", "0", 12);
  EXPECT_EQ(value(tensor(weight, 2, integer(2) + integer(3), integer(3) + integer(1))),
            "tensor(f32[2,3] strides 3,1 at 2 of storage(\"0\", FloatStorage, 12))");
  EXPECT_EQ(value(global("torch._utils", "_rebuild_parameter") +
                  tuple(tensor(weight, 0, integer(3), integer(1)) + "\x88" + hooks()) + "R"),
            "parameter(f32[3] strides 1 at 0 of storage(\"0\", FloatStorage, 12), requires_grad)");
  EXPECT_EQ(value(tensor(storage("BFloat16Storage", "1", 1), 0, "", "")),
            "tensor(bf16[] strides  at 0 of storage(\"1\", BFloat16Storage, 1))");
}

TEST(Pickle, newer_dtypes_come_with_untyped_storages) {
  std::string untyped =
      tuple(text("storage") + global("torch.storage", "UntypedStorage") + text("3") + text("cuda:0") + integer(8)) +
      "Q";
  auto ops = [&](const std::string& dtype) {
    return global("torch._utils", "_rebuild_tensor_v3") +
           tuple(untyped + integer(0) + tuple(integer(4)) + tuple(integer(1)) + "\x89" + hooks() + dtype) + "R";
  };
  EXPECT_EQ(value(ops(global("torch", "uint16"))),
            "tensor(u16[4] strides 1 at 0 of storage(\"3\", UntypedStorage, 8))");
  EXPECT_EQ(value(ops(global("torch", "quint8"))), "refused: tensor-layout");
  EXPECT_EQ(value(ops("N")), "refused: tensor-layout");
}

TEST(Pickle, quantised_tensors_keep_their_integers_and_quantizer) {
  std::string ops =
      global("torch._utils", "_rebuild_qtensor") +
      tuple(storage("QUInt8Storage", "0", 4) + integer(0) + tuple(integer(4)) + tuple(integer(1)) +
            tuple(global("torch", "per_tensor_affine") + "G\x3f\xe0\0\0\0\0\0\0"s + integer(3)) + "\x89" + hooks()) +
      "R";
  EXPECT_EQ(
      value(ops),
      "quantized(tensor(u8[4] strides 1 at 0 of storage(\"0\", QUInt8Storage, 4)), (torch.per_tensor_affine, 0.5, 3))");
  EXPECT_EQ(value(tensor(storage("QUInt8Storage", "0", 4), 0, integer(4), integer(1))), "refused: tensor-layout");
}

TEST(Pickle, tensors_with_attributes_are_tensors_and_subclasses_are_refused) {
  auto ops = [](const std::string& type) {
    return global("torch._tensor", "_rebuild_from_type_v2") +
           tuple(global("torch._utils", "_rebuild_tensor_v2") + type +
                 tuple(storage("FloatStorage", "0", 1) + integer(0) + ")" + ")" + "\x89" + hooks()) + dict("")) +
           "R";
  };
  EXPECT_EQ(value(ops(global("torch", "Tensor"))), "tensor(f32[] strides  at 0 of storage(\"0\", FloatStorage, 1))");
  EXPECT_EQ(value(ops(global("torchao.dtypes", "AffineQuantizedTensor"))), "refused: pickle-global");
}

TEST(Pickle, small_values_of_torch) {
  EXPECT_EQ(value(global("torch", "device") + tuple(text("cuda") + integer(1)) + "R"), "device(\"cuda:1\")");
  EXPECT_EQ(value(global("torch", "device") + tuple(text("cpu")) + "R"), "device(\"cpu\")");
  EXPECT_EQ(value(global("torch", "Size") + tuple(tuple(integer(2) + integer(3))) + "R"), "(2, 3)");
  EXPECT_EQ(value(global("torch", "bfloat16")), "torch.bfloat16");
  EXPECT_EQ(value(global("torch.serialization", "_get_layout") + tuple(text("torch.strided")) + "R"), "torch.strided");
  EXPECT_EQ(value(global("builtins", "bytearray") + "C\x02hi\x85R"), "b\"hi\"");
  EXPECT_EQ(value(global("_codecs", "encode") + tuple(text("a\xc3\xbf") + text("latin1")) + "R"), "b\"a\\xff\"");
}

TEST(Pickle, torchscript_objects_are_kept_by_name) {
  EXPECT_EQ(value(global("__torch__.a.b", "Net") + ")\x81" + dict(text("training") + "\x88") + "b"),
            "__torch__.a.b.Net(()).{\"training\": True}");
  EXPECT_EQ(value(global("__torch__.Mode", "MUL") + integer(3) + "R"), "__torch__.Mode.MUL(3)");
  Result<Pickle> pickle = read_ops(global("__torch__", "M") + ")\x81" + dict(text("n") + integer(4)) + "b");
  ASSERT_TRUE(pickle.ok());
  EXPECT_EQ(pickle->class_name(pickle->root), "__torch__.M");
  EXPECT_EQ(pickle->text(pickle->attribute(pickle->root, "n")), "4");
  EXPECT_FALSE(pickle->attribute(pickle->root, "m").has_value());
}

TEST(Pickle, torchscript_lists_and_dicts_have_their_type) {
  EXPECT_EQ(value(global("torch.jit._pickle", "build_intlist") + tuple("](" + integer(1) + "e") + "R"),
            "[1] as \"List[int]\"");
  EXPECT_EQ(value(global("torch.jit._pickle", "restore_type_tag") + tuple(dict("") + text("Dict[str, int]")) + "R"),
            "{} as \"Dict[str, int]\"");
}

TEST(Pickle, other_globals_are_refused_by_name) {
  Result<Pickle> pickle = read_ops(global("os", "system") + tuple(text("ls")) + "R");
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.error().message(), "the pickle names `os.system`, which is none of the constructors that are read");
  EXPECT_EQ(pickle.error().place.member, "data.pkl");
  EXPECT_EQ(value(global("builtins", "eval")), "refused: pickle-global");
  EXPECT_EQ(value(text("os") + text("system") + "\x93"), "refused: pickle-global");
  EXPECT_EQ(value(global("torch.__torch__", "x")), "refused: pickle-global");
  EXPECT_EQ(value(global("__torch__x", "x")), "refused: pickle-global");
}

TEST(Pickle, other_globals_can_be_kept_to_be_named) {
  EXPECT_EQ(value(global("models", "Net") + ")\x81" + dict(text("x") + "N") + "b", UnknownGlobals::Keep),
            "models.Net(()).{\"x\": None}");
  EXPECT_EQ(value(global("os", "system") + tuple(text("ls")) + "R", UnknownGlobals::Keep), "os.system((\"ls\",))");
}

TEST(Pickle, opcodes_that_pytorch_does_not_write_are_refused) {
  for (std::string ops : {"I1\n"s, "S'x'\n"s, "Vx\n"s, "F1.0\n"s, "L1L\n"s, "g0\n"s, "Pid\n"s, "ios\nsystem\n"s,
                          "\x82\x01"s, "(cos\nsystem\no"s, "\x97"s, "\xff"s, "2"s})
    EXPECT_TRUE(value(ops) == "refused: pickle-opcode" || value(ops) == "refused: pickle-global") << ops;
}

TEST(Pickle, malformed_pickles_are_refused) {
  EXPECT_EQ(value(""), "refused: pickle-malformed");        // nothing on the stack
  EXPECT_EQ(value("t"), "refused: pickle-malformed");       // no mark
  EXPECT_EQ(value("K\x01("), "refused: pickle-malformed");  // the value lies below a mark
  EXPECT_EQ(value("K\x01(K\x02\x86t"), "refused: pickle-malformed");
  EXPECT_EQ(value("K\x01K\x02"
                  "a"),
            "refused: pickle-malformed");
  EXPECT_EQ(value("}(K\x01u"), "refused: pickle-malformed");
  EXPECT_EQ(value("K\x01Q"), "refused: pickle-malformed");
  EXPECT_EQ(value("K\x01)R"), "refused: pickle-malformed");
  EXPECT_EQ(value("K\x01}b"), "refused: pickle-malformed");
  EXPECT_EQ(value(global("torch", "FloatStorage") + ")R"), "refused: pickle-malformed");
  EXPECT_EQ(value("X\xff\xff\xff\xff"), "refused: pickle-truncated");
  EXPECT_EQ(value("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "refused: pickle-truncated");
  EXPECT_EQ(value("\x95\xff\0\0\0\0\0\0\0"s), "refused: pickle-malformed");
}

TEST(Pickle, malformed_tensors_are_refused) {
  std::string good = storage("FloatStorage", "0", 4);
  EXPECT_EQ(value(tensor(good, -1, "", "")), "refused: pickle-malformed");
  EXPECT_EQ(value(tensor(good, 0, integer(-2), integer(1))), "refused: pickle-malformed");
  EXPECT_EQ(value(tensor(good, 0, integer(2), integer(-1))), "refused: pickle-malformed");
  EXPECT_EQ(value(tensor(good, 0, integer(2), "")), "refused: pickle-malformed");
  EXPECT_EQ(value(tensor(good, 0, text("2"), integer(1))), "refused: pickle-malformed");
  EXPECT_EQ(value(tensor("N", 0, "", "")), "refused: pickle-malformed");
  EXPECT_EQ(value(storage("FloatStorage", "", 4)), "refused: pickle-malformed");
  EXPECT_EQ(value(storage("FloatStorage", "0", -4)), "refused: pickle-malformed");
  EXPECT_EQ(value(storage("strided", "0", 4)), "refused: pickle-malformed");
  std::string many;
  for (int i = 0; i < 65; ++i) many += integer(1);
  EXPECT_EQ(value(tensor(good, 0, many, many)), "refused: pickle-malformed");
}

TEST(Pickle, other_protocols_are_refused) {
  auto kind = [](const std::string& bytes) {
    Result<Pickle> pickle = read_pickle(bytes_of(bytes), {});
    return pickle ? "" : std::string(info(pickle.error().kind).id);
  };
  EXPECT_EQ(kind("\x80\x05N."), "");
  EXPECT_EQ(kind("\x80\x06N."), "pickle-malformed");
  EXPECT_EQ(kind("\x80\x01N."), "pickle-malformed");
  EXPECT_EQ(kind("N."), "pickle-malformed");
  EXPECT_EQ(kind("N"), "pickle-truncated");
  EXPECT_EQ(kind(""), "pickle-truncated");
  EXPECT_EQ(kind("\x80\x02\x80\x02N."), "pickle-malformed");
}

TEST(Pickle, a_pickle_cut_at_any_byte_is_refused) {
  std::string bytes = whole(dict(text("w") + tensor(storage("FloatStorage", "0", 4), 0, integer(4), integer(1))));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_pickle(bytes_of(std::string_view(bytes).substr(0, size)), {}).ok()) << size;
}

TEST(Pickle, memory_is_bounded) {
  // A few bytes for each call, which copies a long list.
  std::string ops = "](" + std::string(10'000, 'N') + "eq\1" + global("builtins", "list") + "q\2";
  for (int i = 0; i < 100; ++i) ops += "h\2h\1\x85R";
  std::string bytes = whole(ops);
  EXPECT_TRUE(read_pickle(bytes_of(bytes), {.max_tree_bytes = 5'000'000}).ok());
  Result<Pickle> pickle = read_pickle(bytes_of(bytes), {.max_tree_bytes = 4'000'000});
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.error().kind, Kind::PickleLimit);
}

}  // namespace
}  // namespace torchlift::archive
