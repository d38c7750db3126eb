// TorchScript archives: what is read of them, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "frontend/small_script.hpp"
#include "torch/verify.hpp"

namespace torchlift::frontend::script {
namespace {

using namespace archive::pickled;
using torch::ObjectKind;
using torch::Operand;
using torch::Program;

const std::string kFixtures = std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/fixtures/";

std::vector<std::string> weight_names(const Program& program) {
  std::vector<std::string> out;
  for (const torch::Weight& weight : program.weights) out.push_back(weight.name);
  return out;
}

using Names = std::vector<std::string>;

const Operand& attribute(const Program& program, torch::ObjectId object, std::string_view name) {
  for (const auto& [key, value] : program.object(object).items)
    if (key.get<std::string>() != nullptr && *key.get<std::string>() == name) return value;
  ADD_FAILURE() << "no attribute " << name;
  static const Operand none;
  return none;
}

const Operand& attribute(const Program& program, std::string_view name) {
  return attribute(program, program.root, name);
}

const torch::Object& object(const Program& program, std::string_view name) {
  const auto* id = attribute(program, name).get<torch::ObjectId>();
  EXPECT_NE(id, nullptr) << name;
  return program.object(id == nullptr ? program.root : *id);
}

TEST(ScriptLoad, every_fixture_is_read) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with("ts_") || entry.path().extension() != ".pt") continue;
    SCOPED_TRACE(name);
    OpenedScript script = opened(archive::Archive::open(entry.path().string()));
    ASSERT_TRUE(script.file.ok()) << problems(script.file);
    EXPECT_TRUE(torch::verify(script.file->program).ok());
    EXPECT_TRUE(script.file->program.root.has_value());
    ++count;
  }
  EXPECT_GE(count, 9u);
}

TEST(ScriptLoad, weights_are_named_by_their_paths_in_the_order_of_the_modules) {
  OpenedScript script = opened(archive::Archive::open(kFixtures + "ts_scripted_modules.pt"));
  ASSERT_TRUE(script.file.ok()) << problems(script.file);
  EXPECT_EQ(weight_names(script.file->program),
            (Names{"count", "seq.0.weight", "seq.0.bias", "seq.2.0.weight", "seq.2.0.bias", "lst.0.weight",
                   "lst.0.bias", "lst.1.weight", "lst.1.bias", "lst.2.weight", "lst.2.bias", "dct.p.weight", "pl.0",
                   "pl.1", "gru.weight_ih", "gru.weight_hh", "gru.bias_ih", "gru.bias_hh"}));
  const Program& program = script.file->program;
  EXPECT_FALSE(program.weights[0].is_parameter);
  EXPECT_TRUE(program.weights[1].is_parameter);
}

TEST(ScriptLoad, the_small_module_is_read) {
  OpenedScript script = open_script({});
  ASSERT_TRUE(script.file.ok()) << problems(script.file);
  const Program& program = script.file->program;
  EXPECT_EQ(script.file->version, 3);
  EXPECT_EQ(program.name, "small");
  ASSERT_EQ(program.weights.size(), 1u);
  EXPECT_EQ(program.weights[0].name, "w");
  EXPECT_TRUE(program.weights[0].is_parameter);
  EXPECT_FALSE(program.weights[0].is_constant);
  EXPECT_EQ(program.weights[0].record_elements, 2);
  EXPECT_EQ(script.file->records.at(0).member, "small/data/0");
  EXPECT_EQ(attribute(program, "training"), Operand{true});
  ASSERT_EQ(program.functions.size(), 1u);
  EXPECT_EQ(program.functions[0].name, "__torch__.M.forward");
}

TEST(ScriptLoad, attributes_of_all_kinds_are_read) {
  std::string device = global("torch", "device") + tuple(text("cuda:1")) + "R";
  std::string list = global("torch.jit._pickle", "build_intlist") + tuple("](" + integer(1) + integer(2) + "e") + "R";
  std::string tagged = global("torch.jit._pickle", "restore_type_tag") +
                       tuple(dict(text("k") + pickled_tensor("0", 2)) + text("Dict[str, Tensor]")) + "R";
  std::string untagged = "](" + tuple(integer(3) + pickled_tensor("0", 1)) + "e";
  std::string mode = global("__torch__", "Mode") + integer(2) + "R";
  SmallScript small = SmallScript::with(
      "  i : int\n  s : str\n  n : Optional[int]\n  dev : Device\n  c : complex\n  l : List[int]\n"
      "  d : Dict[str, Tensor]\n  p : __torch__.P\n  ps : List[__torch__.P]\n  t : Tuple[int, str]\n"
      "  m : __torch__.Mode\n",
      text("i") + integer(-7) + text("s") + text("h\xc3\xa9") + text("n") + "N" + text("dev") + device + text("c") +
          global("builtins", "complex") + tuple(integer(1) + integer(2)) + "R" + text("l") + list + text("d") + tagged +
          text("p") + tuple(integer(4) + pickled_tensor("0", 2)) + text("ps") + untagged + text("t") +
          tuple(integer(5) + text("x")) + text("m") + mode,
      "class P(NamedTuple):\n  a : int\n  b : Tensor\nclass Mode(Enum):\n  ADD = 1\n  MUL = 2\n");
  OpenedScript script = open_script(small);
  ASSERT_TRUE(script.file.ok()) << problems(script.file);
  const Program& program = script.file->program;
  EXPECT_EQ(attribute(program, "i"), Operand{int64_t{-7}});
  EXPECT_EQ(attribute(program, "s"), Operand{std::string("h\xc3\xa9")});
  EXPECT_TRUE(attribute(program, "n").is_none());
  EXPECT_EQ(attribute(program, "dev"), (Operand{torch::Device{.type = "cuda", .index = 1}}));
  EXPECT_EQ(attribute(program, "c"), (Operand{std::complex<double>(1, 2)}));
  EXPECT_EQ(object(program, "l").type, "List[int]");
  EXPECT_EQ(object(program, "l").items.at(1).second, Operand{int64_t{2}});
  EXPECT_EQ(object(program, "d").type, "Dict[str, Tensor]");
  EXPECT_EQ(object(program, "p").kind, ObjectKind::Tuple);
  EXPECT_EQ(object(program, "p").type, "__torch__.P");
  EXPECT_EQ(object(program, "ps").type, "List[__torch__.P]");
  EXPECT_EQ(program.object(*object(program, "ps").items.at(0).second.get<torch::ObjectId>()).type, "__torch__.P");
  EXPECT_EQ(object(program, "t").type, "");
  EXPECT_EQ(object(program, "m").kind, ObjectKind::Enum);
  EXPECT_EQ(object(program, "m").items.at(0).second, Operand{std::string("MUL")});
  EXPECT_EQ(weight_names(program), (Names{"w", "d.k", "p.b", "ps.0.b"}));
  for (const torch::Weight& weight : program.weights) EXPECT_EQ(weight.record, program.weights[0].record);
}

TEST(ScriptLoad, a_value_that_is_held_twice_is_one_object_and_its_first_path_counts) {
  std::string inner = pickled_object("In", text("v") + pickled_tensor("0", 2)) + "q\x07";
  OpenedScript script =
      open_script(SmallScript::with("  a : __torch__.In\n  b : __torch__.In\n", text("a") + inner + text("b") + "h\x07",
                                    "class In(Module):\n  __parameters__ = []\n  v : Tensor\n"));
  ASSERT_TRUE(script.file.ok()) << problems(script.file);
  const Program& program = script.file->program;
  EXPECT_EQ(attribute(program, "a"), attribute(program, "b"));
  EXPECT_EQ(weight_names(program), (Names{"w", "a.v"}));
}

TEST(ScriptLoad, constants_are_weights_and_literals_of_the_code) {
  SmallScript small;
  small.constants = whole(tuple(pickled_tensor("0", 1) + text("h\xc3\xa9")));
  small.more = {{.name = "small/constants/0", .data = std::string(4, '\1')}};
  size_t at = small.code.find("(x, w)");
  small.code.replace(at, 6, "(x, CONSTANTS.c0)");
  OpenedScript script = open_script(small);
  ASSERT_TRUE(script.file.ok()) << problems(script.file);
  const Program& program = script.file->program;
  EXPECT_EQ(weight_names(program), (Names{"CONSTANTS.c0", "w"}));
  EXPECT_TRUE(program.weights[0].is_constant);
  EXPECT_EQ(script.file->records.at(program.weights[0].record.at()).member, "small/constants/0");
}

TEST(ScriptLoad, versions_that_are_not_read_are_refused) {
  SmallScript small;
  for (const char* version : {"1\n", "2\n", "11\n", "0\n", "-3\n", "x", "", "99999999999999999999"}) {
    small.version = version;
    EXPECT_EQ(refusal(small).id, "script-version") << version;
  }
  small.version = "2\n";
  small.more = {{.name = "small/.data/version", .data = "10\n"}};
  EXPECT_EQ(refusal(small).id, "");
  small.more = {};
  small.without = {"version"};
  EXPECT_EQ(refusal(small).id, "member-missing");
}

TEST(ScriptLoad, layouts_that_are_not_read_are_refused_by_name) {
  SmallScript json;
  json.more = {{.name = "small/model.json", .data = "{}"}};
  EXPECT_EQ(refusal(json).id, "script-json-layout");
  SmallScript mobile;
  mobile.more = {{.name = "small/bytecode.pkl", .data = whole(")")}};
  EXPECT_EQ(refusal(mobile).id, "") << "code is there as well";
  mobile.without = {"code/__torch__.py"};
  EXPECT_EQ(refusal(mobile).id, "script-bytecode");
  SmallScript package;
  package.more = {{.name = "small/.data/ts_code/code/__torch__.py", .data = ""}};
  EXPECT_EQ(refusal(package).id, "torch-package-file");
  SmallScript big;
  big.without = {"byteorder"};
  big.more = {{.name = "small/byteorder", .data = "big"}};
  EXPECT_EQ(refusal(big).id, "big-endian");
}

TEST(ScriptLoad, members_that_are_missing_are_named) {
  for (const char* name : {"data.pkl", "data/0"}) {
    SmallScript small;
    small.without = {name};
    EXPECT_EQ(refusal(small).id, "member-missing") << name;
  }
  SmallScript no_code;
  no_code.without = {"code/__torch__.py"};
  EXPECT_EQ(refusal(no_code).id, "script-class-missing");
}

TEST(ScriptLoad, objects_that_only_cpp_or_code_can_make_are_refused_by_name) {
  auto with = [](const std::string& module, const std::string& name, const std::string& code) {
    return SmallScript::with("  q : Any\n", text("q") + global(module, name) + ")\x81" + tuple(integer(1)) + "b", code);
  };
  EXPECT_EQ(refusal(with("__torch__.torch.classes.quantized", "LinearPackedParamsBase", "")).id, "script-quantized");
  ScriptRefusal cpp = refusal(with("__torch__.torch.classes.mine", "Stack", ""));
  EXPECT_EQ(cpp.id, "script-cpp-class");
  EXPECT_EQ(cpp.message,
            "`q` is an object of the C++ class `__torch__.torch.classes.mine.Stack`, whose code is not in the archive");
  EXPECT_EQ(refusal(with("__torch__", "Other", "")).id, "script-class-missing");
  EXPECT_EQ(refusal(with("__torch__", "G",
                         "class G(Module):\n  __parameters__ = []\n  n : int\n"
                         "  def __setstate__(self: __torch__.G,\n    st: Tuple[int]) -> NoneType:\n"
                         "    self.n = (st)[0]\n    return None\n"))
                .id,
            "script-set-state");
}

TEST(ScriptLoad, quantised_and_sparse_tensors_are_refused_by_name) {
  std::string quantizer = tuple(global("torch", "per_tensor_affine") + integer(1) + integer(0));
  std::string quantized = global("torch._utils", "_rebuild_qtensor") +
                          tuple(storage("QInt8Storage", "0", 4) + integer(0) + tuple(integer(4)) + tuple(integer(1)) +
                                quantizer + "\x89" + hooks()) +
                          "R";
  EXPECT_EQ(refusal(SmallScript::with("  q : Tensor\n", text("q") + quantized)).id, "script-quantized");
  ScriptRefusal sparse = refusal(SmallScript::with(
      "  q : Tensor\n", text("q") + global("torch._utils", "_rebuild_sparse_tensor") + tuple(integer(0)) + "R"));
  EXPECT_EQ(sparse.id, "pickle-global");
  EXPECT_NE(sparse.message.find("_rebuild_sparse_tensor"), std::string::npos);
}

TEST(ScriptLoad, values_that_are_not_as_their_class_says_are_refused) {
  const std::string classes =
      "class P(NamedTuple):\n  a : int\nclass Mode(Enum):\n  ADD = 1\n"
      "class I(ModuleInterface):\n  def forward(self, x: Tensor) -> Tensor:\n    pass\n";
  auto id = [&](const std::string& type, const std::string& value) {
    return refusal(SmallScript::with("  v : " + type + "\n", text("v") + value, classes)).id;
  };
  EXPECT_EQ(id("__torch__.P", tuple(integer(1) + integer(2))), "script-value");
  EXPECT_EQ(id("__torch__.Mode", tuple(integer(1))), "script-value");
  EXPECT_EQ(id("__torch__.Mode", global("__torch__", "Mode") + integer(7) + "R"), "script-value");
  EXPECT_EQ(id("__torch__.Mode", global("__torch__", "Mode") + tuple("") + "R"), "script-value");
  EXPECT_EQ(id("__torch__.I", pickled_object("I", "")), "script-value");
  EXPECT_EQ(id("__torch__.M", global("__torch__", "M") + ")\x81"), "script-value") << "no state";
  EXPECT_EQ(id("__torch__.M", pickled_object("M", "")), "script-value") << "no attributes";
  EXPECT_EQ(id("Any", global("torch", "float32")), "script-value");
  EXPECT_EQ(id("Any", global("__torch__", "M")), "script-value");
  EXPECT_EQ(id("Dict[int, int]", dict(tuple(integer(1)) + integer(1))), "script-value");
  auto tagged = [](const std::string& type) {
    return global("torch.jit._pickle", "restore_type_tag") + tuple("](e" + text(type)) + "R";
  };
  EXPECT_EQ(id("Any", tagged("Dict[str, int]")), "script-value");
  EXPECT_EQ(id("Any", tagged("List[int")), "script-type");
  SmallScript missing;
  missing.data = whole(pickled_object("M", text("training") + "\x88"));
  EXPECT_EQ(refusal(missing).message, "`w` is missing, expected an attribute that `__torch__.M` declares");
}

TEST(ScriptLoad, a_root_that_is_no_object_is_refused) {
  SmallScript small;
  for (const std::string& root : {integer(1), dict(""), tuple(""), std::string("N")}) {
    small.data = whole(root);
    EXPECT_EQ(refusal(small).id, "script-value");
  }
  small.data = whole(pickled_tensor("0", 2));
  EXPECT_EQ(refusal(small).id, "script-value");
  small.data = SmallScript().data;
  small.constants = whole(integer(1));
  EXPECT_EQ(refusal(small).id, "script-value");
}

TEST(ScriptLoad, values_that_hold_themselves_or_too_many_levels_are_refused) {
  // A list that is its own item; an object that is its own attribute.
  EXPECT_EQ(refusal(SmallScript::with("  v : Any\n", text("v") + "]q\x07(h\x07" + "e")).id, "script-cycle");
  SmallScript self = SmallScript::with("  v : Any\n", "");
  self.data = whole(global("__torch__", "M") + ")\x81q\x07" + dict(small_attributes() + text("v") + "h\x07") + "b");
  EXPECT_EQ(refusal(self).id, "script-cycle");
  std::string deep = "N";
  for (int i = 0; i < 200; ++i) deep += "\x85";  // a tuple of the value before
  EXPECT_EQ(refusal(SmallScript::with("  v : Any\n", text("v") + deep)).id, "pickle-limit");
  // 2^60 paths, but few objects.
  std::string shared = "N";
  for (int i = 0; i < 60; ++i) shared += "\x85q\x07" + std::string("0h\x07h\x07\x86");
  EXPECT_EQ(refusal(SmallScript::with("  v : Any\n", text("v") + shared)).id, "");
}

TEST(ScriptLoad, hostile_tensors_and_opcodes_are_refused) {
  auto id = [](const std::string& ops) { return refusal(SmallScript::with("  v : Tensor\n", text("v") + ops)).id; };
  EXPECT_EQ(id(tensor(storage("FloatStorage", "0", 2), 0, integer(2), integer(-1))), "pickle-malformed");
  EXPECT_EQ(id(tensor(storage("FloatStorage", "0", 2), 0, integer(2), integer(7))), "tensor-bounds");
  EXPECT_EQ(id(tensor(storage("FloatStorage", "0", 2), INT32_MAX, integer(1), integer(1))), "tensor-bounds");
  EXPECT_EQ(id(tensor(storage("FloatStorage", "../x", 2), 0, integer(2), integer(1))), "member-missing");
  EXPECT_EQ(id(global("os", "system") + tuple(text("true")) + "R"), "pickle-global");
  EXPECT_EQ(id("i"), "pickle-opcode");
  // Two tensors whose attributes give one name.
  EXPECT_EQ(refusal(SmallScript::with("  a : Dict[str, Tensor]\n",
                                      text("a") + dict(text("b.c") + pickled_tensor("0", 1) + text("b") +
                                                       dict(text("c") + pickled_tensor("0", 2)))))
                .id,
            "script-value");
  EXPECT_EQ(refusal(SmallScript::with("  a : Dict[str, Tensor]\n",
                                      text("a") + dict(text(std::string(5000, 'x')) + pickled_tensor("0", 1))))
                .id,
            "script-value");
}

TEST(ScriptLoad, all_problems_of_the_objects_are_listed) {
  std::string other = global("__torch__.torch.classes.mine", "Stack") + ")\x81" + tuple("") + "b";
  OpenedScript script = open_script(SmallScript::with("  a : Any\n  b : Any\n", text("a") + other + text("b") + other));
  ASSERT_FALSE(script.file.ok());
  EXPECT_EQ(script.file.errors().size(), 2u);
}

}  // namespace
}  // namespace torchlift::frontend::script
