// The entry of a TorchScript program: leaves become the arguments of a method.
#include "frontend/script/entry.hpp"

#include <gtest/gtest.h>

#include "frontend/small_script.hpp"
#include "torch/print.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::Operand;
using torch::Program;

ScriptLeaf f32(std::vector<int64_t> sizes, std::string path = "") {
  return {.value = TensorLeaf{DType::Float32, std::move(sizes)}, .path = std::move(path)};
}
ScriptLeaf literal(Operand value, std::string path = "") {
  return {.value = std::move(value), .path = std::move(path)};
}
ScriptLeaf number(int64_t value, std::string path = "") { return literal({value}, std::move(path)); }
ScriptLeaf none() { return literal({}); }

// A program whose root has the method `forward` with these parameters.
Program script(const std::string& parameters, const std::string& more = "") {
  SmallScript small;
  size_t at = small.code.find("  def forward");
  small.code = small.code.substr(0, at) + "  def forward(self: __torch__.M" + (parameters.empty() ? "" : ",\n    ") +
               parameters + ") -> NoneType:\n    return None\n" + more +
               "class P(NamedTuple):\n  a : Tensor\n  n : int\n";
  OpenedScript opened = open_script(small);
  EXPECT_TRUE(opened.file.ok()) << problems(opened.file);
  return opened.file ? std::move(opened.file->program) : Program();
}

// Of the entry, the instructions: "prim::TupleConstruct(%x, 2) -> %t; ...".
std::string calls(const Program& program) {
  std::string out;
  for (torch::InstId id : program.entry().insts) {
    const torch::Inst& inst = program.inst(id);
    out += inst.target.substr(inst.target.find(':') + 2) + "(";
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      const torch::NamedOperand& operand = inst.operands[i];
      out += (i > 0 ? ", " : "") + (operand.name.empty() ? "" : operand.name + "=") + print(program, operand.value);
    }
    out += ") ";
  }
  return out;
}

std::string bound(const std::string& parameters, const std::vector<ScriptLeaf>& leaves) {
  Result<Program> program = entry(script(parameters), "forward", leaves);
  return program ? calls(*program) : program.error().message();
}

std::vector<std::string> paths(const std::string& parameters, const std::vector<ScriptLeaf>& leaves) {
  Result<Program> program = entry(script(parameters), "forward", leaves);
  EXPECT_TRUE(program.ok()) << problems(program);
  return program ? torch::input_paths(*program) : std::vector<std::string>();
}

using Paths = std::vector<std::string>;

TEST(ScriptEntry, tensors_and_literals_are_arguments_in_order) {
  EXPECT_EQ(bound("x: Tensor, n: int", {f32({2, 3}), number(4)}), "CallMethod(object 0, \"forward\", %x, 4) ");
  Result<Program> program = entry(script("x: Tensor, n: int"), "forward", {f32({2, 3}), number(4)});
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(program->entry().inputs.size(), 1u);
  EXPECT_EQ(print(program->value(program->entry().inputs[0])).find("f32[2, 3]{3, 1}") != std::string::npos, true);
  ASSERT_EQ(program->inputs.size(), 2u);
  EXPECT_EQ(program->inputs[1].kind, torch::InputKind::Constant);
  EXPECT_EQ(program->inputs[1].target, "n");
  ASSERT_EQ(program->outputs.size(), 1u);
  EXPECT_EQ(program->argument_names, (Paths{"x", "n"}));
  EXPECT_EQ(torch::input_paths(*program), (Paths{"x", "n"}));
}

TEST(ScriptEntry, literals_become_what_the_parameter_wants) {
  EXPECT_EQ(bound("a: float, b: complex, c: Device, d: number, e: Optional[int], f: str",
                  {number(2), literal({0.5}), literal({std::string("cuda:1")}), number(3), none(),
                   literal({std::string("mean")})}),
            "CallMethod(object 0, \"forward\", 2.0, complex(0.5, 0.0), device(\"cuda\", 1), 3, none, \"mean\") ");
  EXPECT_EQ(bound("a: int", {literal({2.5})}), "argument `a` of `forward` is 2.5, expected `int`");
  EXPECT_EQ(bound("a: int", {literal({true})}), "argument `a` of `forward` is true, expected `int`");
  EXPECT_EQ(bound("a: int", {none()}), "argument `a` of `forward` is None, expected `int`");
  EXPECT_EQ(bound("a: int", {f32({})}), "argument `a` of `forward` is f32[], expected `int`");
  EXPECT_EQ(bound("a: Tensor", {number(1)}), "argument `a` of `forward` is 1, expected `Tensor`");
  EXPECT_EQ(bound("a: __torch__.M", {number(1)}), "argument `a` of `forward` is 1, expected `__torch__.M`");
  EXPECT_EQ(bound("a: Union[int, Tensor]", {f32({})}), "CallMethod(object 0, \"forward\", %a) ");
}

TEST(ScriptEntry, tuples_take_their_parts_in_order) {
  EXPECT_EQ(bound("s: Tuple[Tensor, Tensor], x: Tensor", {f32({1}), f32({2}), f32({3})}),
            "TupleConstruct(%s_0, %s_1) CallMethod(object 0, \"forward\", %s, %x) ");
  EXPECT_EQ(bound("p: __torch__.P", {f32({1}), number(2)}),
            "NamedTupleConstruct(\"__torch__.P\", %p_a, 2) CallMethod(object 0, \"forward\", %p) ");
  EXPECT_EQ(bound("s: Optional[Tuple[Tensor, Tensor]], x: Tensor", {none(), f32({3})}),
            "CallMethod(object 0, \"forward\", none, %x) ");
  EXPECT_EQ(paths("s: Tuple[Tensor, Tuple[Tensor]], p: __torch__.P", {f32({1}), f32({2}), f32({3}), number(2)}),
            (Paths{"s[0]", "s[1][0]", "p.a", "p.n"}));
}

TEST(ScriptEntry, one_list_takes_the_leaves_that_no_other_parameter_wants) {
  EXPECT_EQ(bound("xs: List[Tensor], y: Tensor", {f32({1}), f32({2}), f32({3})}),
            "ListConstruct(\"List[Tensor]\", %xs_0, %xs_1) CallMethod(object 0, \"forward\", %xs, %y) ");
  EXPECT_EQ(bound("xs: List[Tensor], n: int=2", {f32({1}), f32({2})}),
            "ListConstruct(\"List[Tensor]\", %xs_0, %xs_1) CallMethod(object 0, \"forward\", %xs) ");
  EXPECT_EQ(bound("xs: List[Tensor], y: Optional[Tensor]=None", {f32({1}), f32({2})}),
            "argument `xs` of `forward` is a list or follows one, and the leaves can be divided in several ways");
  EXPECT_EQ(bound("xs: List[Tensor], ys: List[Tensor]", {f32({1}), f32({2})}),
            "argument `ys` of `forward` is a second list whose length is not known");
  EXPECT_EQ(bound("d: Dict[str, Tensor]", {f32({1})}), "argument `d` of `forward` is a dict, whose keys are not known");
}

TEST(ScriptEntry, a_list_of_literals_is_one_leaf) {
  EXPECT_EQ(bound("s: List[int], x: Tensor", {literal({Operand::List{{int64_t{4}}, {int64_t{5}}}}), f32({1})}),
            "ListConstruct(\"List[int]\", 4, 5) CallMethod(object 0, \"forward\", %s, %x) ");
  EXPECT_EQ(bound("s: List[float]", {literal({Operand::List{}})}),
            "ListConstruct(\"List[float]\") CallMethod(object 0, \"forward\", %s) ");
  EXPECT_EQ(bound("s: Tuple[int, int]", {literal({Operand::List{{int64_t{4}}}})}),
            "argument `s` of `forward` is [4], expected `Tuple[int, int]`");
}

TEST(ScriptEntry, paths_say_where_leaves_stand) {
  EXPECT_EQ(
      bound("d: Dict[str, Tensor], xs: List[Tensor], ys: List[Tensor]",
            {f32({1}, "ys[0]"), f32({2}, "xs[1]"), f32({3}, "xs[0]"), f32({4}, "d['k a']"), f32({5}, "d[\"b\"]")}),
      "DictConstruct(\"Dict[str, Tensor]\", \"k a\", %d_k_a, \"b\", %d_b) "
      "ListConstruct(\"List[Tensor]\", %xs_0, %xs_1) ListConstruct(\"List[Tensor]\", %ys_0) "
      "CallMethod(object 0, \"forward\", %d, %xs, %ys) ");
  EXPECT_EQ(paths("d: Dict[str, Tensor], p: __torch__.P", {f32({1}, "d['k']"), f32({2}, "p.a"), number(3, "p.n")}),
            (Paths{"d['k']", "p.a", "p.n"}));
  auto message = [](const std::string& parameters, const std::vector<ScriptLeaf>& leaves) {
    return bound(parameters, leaves);
  };
  EXPECT_EQ(message("x: Tensor", {f32({}, "y")}), "argument `y` of `forward` is none of its parameters");
  EXPECT_EQ(message("x: Tensor", {f32({}, "x[")}), "argument `x[` of `forward` is not written as a path");
  EXPECT_EQ(message("x: Tensor", {f32({}, "x"), f32({}, "x")}), "argument `x` of `forward` is given twice");
  EXPECT_EQ(message("x: Tensor", {f32({}), f32({}, "x")}),
            "argument `x` of `forward` is given by position and by name");
  EXPECT_EQ(message("x: Tensor, y: Tensor", {f32({}, "y"), f32({})}),
            "argument `0` of `forward` has no name and follows arguments with names");
  EXPECT_EQ(message("x: Tensor", {f32({}, "x[0]")}), "argument `x` of `forward` is given in parts, expected `Tensor`");
  EXPECT_EQ(message("x: List[Tensor]", {f32({}, "x[1]")}), "argument `x` of `forward` has no part `[0]`");
  EXPECT_EQ(message("x: List[Tensor]", {f32({}, "x"), f32({}, "x[1]")}),
            "argument `x[1]` of `forward` is a part of an argument that is given as a whole");
  EXPECT_EQ(message("x: Tuple[Tensor, int]", {f32({}, "x[0]")}), "argument `x` of `forward` has 1 parts, expected 2");
}

TEST(ScriptEntry, parameters_with_defaults_may_be_left_out) {
  const std::string parameters = "x: Tensor, n: int=2, name: Optional[str]=None";
  EXPECT_EQ(bound(parameters, {f32({1})}), "CallMethod(object 0, \"forward\", %x) ");
  EXPECT_EQ(bound(parameters, {f32({1}), literal({std::string("a")}, "name")}),
            "CallMethod(object 0, \"forward\", %x, name=\"a\") ");
  EXPECT_EQ(paths(parameters, {f32({1}), literal({std::string("a")}, "name")}), (Paths{"x", "name"}));
  EXPECT_EQ(bound(parameters, {}), "argument `x` of `forward` has no value, expected `Tensor`");
  EXPECT_EQ(bound("", {}), "CallMethod(object 0, \"forward\") ");
  EXPECT_EQ(bound("x: Tensor", {f32({1}), f32({2})}),
            "argument `1` of `forward` is f32[2], for which no parameter is left");
}

TEST(ScriptEntry, limits_are_kept) {
  EXPECT_EQ(bound("x: Tensor", {f32({INT64_MAX, 3})}), "argument `x` of `forward` has sizes that 64 bits cannot count");
  EXPECT_EQ(bound("x: Tensor", {f32({-1})}), "argument `x` of `forward` has sizes that 64 bits cannot count");
  std::vector<ScriptLeaf> many(kMaxLeaves + 1, f32({1}));
  Result<Program> program = entry(script("xs: List[Tensor]"), "forward", many);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, Kind::ScriptArgument);
  many.pop_back();
  EXPECT_TRUE(entry(script("xs: List[Tensor]"), "forward", many).ok());
}

TEST(ScriptEntry, hooks_of_the_root_run_around_forward) {
  SmallScript small;
  small.code =
      "class M(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  __buffers__ = []\n"
      "  __forward_pre_hooks__ = [\"pre\", \"look\", ]\n"
      "  __forward_hooks__ = [\"post\", ]\n"
      "  w : Tensor\n"
      "  training : bool\n"
      "  def forward(self: __torch__.M,\n    x: Tensor,\n    n: int=3) -> Tensor:\n    return torch.mul(x, n)\n"
      "  def other(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return x\n"
      "  def pre(self: __torch__.M,\n    input: Tuple[Tensor, int]) -> Tuple[Tensor, int]:\n    return input\n"
      "  def look(self: __torch__.M,\n    input: Tuple[Tensor, int]) -> NoneType:\n    return None\n"
      "  def post(self: __torch__.M,\n    input: Tuple[Tensor, int],\n    output: Tensor) -> Tensor:\n"
      "    return output\n";
  OpenedScript opened = open_script(small);
  ASSERT_TRUE(opened.file.ok()) << problems(opened.file);
  const Program& script = opened.file->program;
  Result<Program> program = entry(script, "forward", {f32({2})});
  ASSERT_TRUE(program.ok()) << problems(program);
  EXPECT_EQ(calls(*program),
            "TupleConstruct(%x, 3) CallMethod(object 0, \"pre\", %args) Unpack(%pre, 2) "
            "TupleConstruct(%pre_1, %pre_2) CallMethod(object 0, \"look\", %args_1) "
            "CallMethod(object 0, \"forward\", %pre_1, %pre_2) TupleConstruct(%pre_1, %pre_2) "
            "CallMethod(object 0, \"post\", %args_2, %forward) ");
  EXPECT_EQ(print(*program, program->outputs[0].argument), "%post");
  EXPECT_EQ(torch::input_paths(*program), (Paths{"x"}));
  Result<Program> other = entry(script, "other", {f32({2})});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(calls(*other), "CallMethod(object 0, \"other\", %x) ");
  std::vector<MethodInfo> all = methods(script);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "forward");
  EXPECT_EQ(all[1].name, "other");
  ASSERT_EQ(all[0].parameters.size(), 2u);
  EXPECT_EQ(all[0].parameters[1].default_value, Operand{int64_t{3}});
}

TEST(ScriptEntry, a_method_that_is_missing_is_answered_with_those_there_are) {
  Result<Program> program = entry(script("x: Tensor"), "encode", {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, Kind::MethodMissing);
  EXPECT_EQ(program.error().message(), "the program has no method `encode`, it has `forward`");
}

TEST(ScriptEntry, training_is_a_flag_of_every_module) {
  Program program = script("x: Tensor");
  EXPECT_TRUE(is_training(program));
  set_training(program, false);
  EXPECT_FALSE(is_training(program));
}

}  // namespace
}  // namespace torchlift::frontend::script
