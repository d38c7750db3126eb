// The text form of a Program, and what the verifier says of broken ones.
#include <gtest/gtest.h>

#include "base/kinds.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"
#include "torch/verify.hpp"

namespace torchlift::torch {
namespace {

const std::string kText = R"(# every kind of operand, value and spec
program "model" producer "torch 2.13.0" schema "8.20"
arguments ["x", "n"]
input_tree ("builtins.tuple" "null" [] ("builtins.tuple" "null" [] * *) ("builtins.dict" "[\"k\"]" ["k"] *))
output_tree *
range (s0) min 2
range (2*s0 + 1) max 9
hint s0 3
weight 0 "w" f32[2, 3] strides [3, 1] offset 1 record 0 elements 8 parameter
weight 1 "b" bf16[] strides [] offset 0 record 1 elements 1
input token "" = %token
input parameter "w" weight 0 = %p_w
input buffer "b" weight 1 transient = %b
input custom_object "thing" = %obj
input user "" = %x
input user "" = %n
input constant "k" = 0.5
output buffer_mutation "b" = %b
output user "" = %"odd name"
output user "" = 7

block 0 ""
  input %token: token f32[0]{1}
  input %p_w: f32[2, 3]{3, 1} grad
  input %b: bf16[]
  input %obj: object
  input %x: f32[s0, 2*s0]{2*s0, 1} offset (s0 - 1)
  input %n: symint (s0)
  %a: f32[s0], none, [%c: tensor, %d: f32[1] torch.sparse_coo] = aten::op.overload(self=%x, list=[%x, none, [1, -2]], flag=true) "op" @0
  %f: symfloat (0.5), %g: symbool (s0 > 3) = _operator::f(%n, 1, 0.5, -inf, "text \" \n") "f" @1
  ns::literals(a=complex(1.0, -2.5), b=torch.float32, c=torch.strided, d=torch.channels_last, e=device("cuda", 1)) @0
  higher_order::cond(%g, ^1, operator "aten::_print", object("o", "C")) @0
  %"odd name": bool[] = "no colons"("strange name"=%a) @0
  return %b, %"odd name", 7

block 1 "true_graph"
  input %x: f32[]
  return %x

location 0 "" ""
location 1 "encoder.fc" "torch.nn.Linear"
  frame "m.py" 12 "forward" "return \"x\""
  frame "main.py" 3 "<module>" ""
)";

Program parsed(const std::string& text) {
  Result<Program> program = parse_program(text, "test.torch");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : to_text(program.error()));
  return program.ok() ? std::move(program).value() : Program{};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The message of the first problem of the text with one part replaced.
std::string problem(std::string_view from, std::string_view to) {
  Result<Program> program = parse_program(replaced(kText, from, to), "test.torch");
  return program.ok() ? "none" : program.error().message();
}

const std::string kScript = R"(program "m" producer "torch 2.13.0" schema "3"
weight 0 "w" f32[] strides [] offset 0 record 0 elements 1 constant
class 0 module "__torch__.M"
  attribute "w" "Tensor"
  constant "n" = [1, object 1]
  parameter "w"
  buffer "b"
  forward_pre_hook "before"
  forward_hook "after"
method 0 "__torch__.M.forward" ^1 -> "Tensor"
  takes "self" "__torch__.M"
  takes "x" "Tensor" = weight 0
function 1 "__torch__.f" ^4 -> "NoneType"
object 0 instance "__torch__.M"
  item "w" = weight 0
object 1 dict "Dict[str, int]"
  item "k" = 1
root 0

block 0 ""
  return 

block 1 "__torch__.M.forward"
  input %self: any
  input %x: any
  %0: any = overloaded aten::neg(%x) @0
  %1: any = overloaded prim::If(true, ^2, ^3) @0
  return %1

block 2 "" branch
  %2: any = overloaded frame::add(%0, object 1, alpha=weight 0) @0
  return %2

block 3 "" branch
  return %self

block 4 "__torch__.f"
  return none

location 0 "" ""
)";

TEST(ProgramText, of_script_code) { EXPECT_EQ(print(parsed(kScript)), kScript); }

TEST(Verify, of_script_code) {
  auto first = [](std::string_view from, std::string_view to) {
    Result<Program> program = parse_program(replaced(kScript, from, to), "test.torch");
    return program.ok() ? "none" : program.error().message();
  };
  EXPECT_EQ(first("add(%0", "add(%1"), "`frame::add` uses `1`, which is not defined before it in its block");
  EXPECT_EQ(first("block 2 \"\" branch", "block 2 \"\""),
            "line 31 has \", object 1, alpha=weight\", expected a value that is defined before this");
  EXPECT_EQ(first("%2: any = overloaded frame::add(%0, object 1, alpha=weight 0) @0\n  return %2",
                  "%x: any = overloaded frame::add(%0) @0\n  return %x"),
            "`frame::add` defines a second value called `x`");
  EXPECT_EQ(first("^4", "^1"), "function `__torch__.f` has a block that another place holds too");
  EXPECT_EQ(first("^4", "^5"), "function `__torch__.f` has no block of its own");
  EXPECT_EQ(first("return none", "return"), "function `__torch__.f` has 0 outputs, not one");
  EXPECT_EQ(first("  takes \"self\" \"__torch__.M\"\n", ""),
            "function `__torch__.M.forward` has not as many inputs as parameters");
  EXPECT_EQ(first("item \"w\" = weight 0", "item \"w\" = weight 1"),
            "object 0 uses a weight that the program does not have");
  EXPECT_EQ(first("item \"w\" = weight 0", "item \"w\" = ^1"), "object 0 holds a value of a block");
  EXPECT_EQ(first("root 0", "root 2"), "the root uses an object that the program does not have");
  EXPECT_EQ(first("add(%0, object 1", "add(%0, object 7"),
            "`frame::add` uses an object that the program does not have");
}

TEST(ProgramText, printing_and_parsing_are_inverse) {
  Program program = parsed(kText);
  std::string text = print(program);
  EXPECT_EQ("# every kind of operand, value and spec\n" + text, kText);
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(ProgramText, what_is_written_is_what_is_read) {
  Program program = parsed(kText);
  EXPECT_EQ(program.name, "model");
  ASSERT_EQ(program.blocks.size(), 2u);
  ASSERT_EQ(program.insts.size(), 5u);
  const Inst& op = program.insts[0];
  EXPECT_EQ(op.target, "aten::op.overload");
  EXPECT_EQ(op.results.size(), 3u);
  EXPECT_TRUE(op.results[1].is_none());
  EXPECT_EQ(op.operands[1].name, "list");
  const auto* list = op.operands[1].value.get<Operand::List>();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ((*list)[2], (Operand{Operand::List{Operand{int64_t{1}}, Operand{int64_t{-2}}}}));
  const Inst& literals = program.insts[2];
  EXPECT_EQ(literals.operands[0].value, (Operand{std::complex<double>(1, -2.5)}));
  EXPECT_EQ(literals.operands[1].value, Operand{DType::Float32});
  EXPECT_EQ(literals.operands[2].value, Operand{Layout::Strided});
  EXPECT_EQ(literals.operands[3].value, Operand{MemoryFormat::ChannelsLast});
  EXPECT_EQ(literals.operands[4].value, (Operand{Device{.type = "cuda", .index = 1}}));
  EXPECT_EQ(program.insts[4].target, "no colons");
  EXPECT_EQ(program.insts[4].operands[0].name, "strange name");
  EXPECT_EQ(program.locations[1].frames[0].text, "return \"x\"");
  EXPECT_FALSE(program.inputs[2].persistent);
  EXPECT_EQ(program.ranges[1].max, 9);
  EXPECT_EQ(input_paths(program), (std::vector<std::string>{"x", "n", "k"}));
}

TEST(ProgramText, names_that_look_like_other_words_are_read_back) {
  Program program = parsed(kText);
  for (std::string_view name : {"return", "input", "none::x", "frame", "\"", "a\nb", "%x", "\xFF"}) {
    program.insts[4].target = name;
    program.insts[4].operands[0].name = name;
    program.insts[4].name = name;
    program.values.back().name = name;
    std::string text = print(program);
    EXPECT_EQ(print(parsed(text)), text) << name;
    EXPECT_EQ(parsed(text).insts[4].target, name);
  }
}

TEST(ProgramText, a_malformed_line_is_named_by_its_number) {
  EXPECT_EQ(problem("hint s0 3", "hint s0 three"), "line 8 has \"three\", expected a 64-bit integer");
  for (auto [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"program \"model\"", "programme \"model\""},
           {"weight 1", "weight 3"},
           {"location 1", "location 5"},
           {"block 1", "block 2"},
           {"f32[s0]", "f33[s0]"},
           {"f32[s0]", "f32[s0"},
           {"self=%x", "self=%unknown"},
           {"@1", "1"},
           {"%f: symfloat", "%a: symfloat"},
           {"complex(1.0", "complex(1"},
           {"torch.float32", "torch.float33"},
           {"device(", "devise("},
           {"input buffer", "input buffet"},
           {"output user", "output usher"},
           {"range (s0)", "range (s0"},
           {"  return %x", "  return %x rest"},
           {"frame \"m.py\" 12", "frame \"m.py\" -1"},
           {"output_tree *", "output_tree (\"t\""},
       }) {
    Result<Program> program = parse_program(replaced(kText, from, to), "test.torch");
    ASSERT_FALSE(program.ok()) << to;
    EXPECT_TRUE(program.error().kind == Kind::ProgramText || program.error().kind == Kind::SymbolicSyntax)
        << to_text(program.error());
  }
}

TEST(ProgramText, nesting_is_bounded) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_NE(problem("flag=true", "flag=" + deep).find("nested"), std::string::npos);
  std::string tree;
  for (int i = 0; i < 10000; ++i) tree += "(\"t\" \"\" [] ";
  EXPECT_NE(problem("output_tree *", "output_tree " + tree).find("nested"), std::string::npos);
}

TEST(ProgramText, an_empty_text_is_no_program) {
  Result<Program> program = parse_program("");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, Kind::ProgramStructure);
}

// ---- verify

std::string verified(Program program) {
  Status status = verify(program);
  return status.ok() ? "sound" : status.error().message();
}

TEST(Verify, a_sound_program_passes) { EXPECT_EQ(verified(parsed(kText)), "sound"); }

TEST(Verify, values_are_defined_once_and_before_use) {
  Program program = parsed(kText);
  program.insts[0].operands[0].value = program.insts[1].results[0];
  EXPECT_EQ(verified(program), "`op` uses `f`, which is not defined before it in its block");
  program = parsed(kText);
  program.insts[1].results[0] = program.insts[0].results[0];
  EXPECT_EQ(verified(program), "`f` defines `a` a second time");
  program = parsed(kText);
  program.insts[0].operands[0].value = Operand{ValueId(1000)};
  EXPECT_EQ(verified(program), "`op` uses a value that the program does not have");
  program = parsed(kText);
  program.insts[0].results[0] = Operand{ValueId()};
  EXPECT_EQ(verified(program), "`op` defines a value that the program does not have");
  program = parsed(kText);
  program.values.push_back({.name = "orphan", .kind = ValueKind::Tensor, .meta = {}, .expr = {}});
  EXPECT_EQ(verified(program), "`orphan` is a value that nothing defines");
}

TEST(Verify, a_nested_graph_sees_nothing_of_the_outer_one) {
  Program program = parsed(kText);
  program.blocks[1].outputs[0] = Operand{program.entry().inputs[1]};
  EXPECT_EQ(verified(program), "block `true_graph` uses `p_w`, which is not defined before it in its block");
}

TEST(Verify, blocks_are_held_once_and_never_by_themselves) {
  Program program = parsed(kText);
  program.insts[3].operands[1].value = Operand{BlockId(0)};
  EXPECT_EQ(verified(program), "`higher_order::cond` holds a block that does not come after its own");
  program = parsed(kText);
  program.insts[3].operands[2].value = Operand{BlockId(1)};
  EXPECT_EQ(verified(program), "`higher_order::cond` holds a block that another place holds too");
  program = parsed(kText);
  program.insts[3].operands[1].value = Operand{BlockId(7)};
  EXPECT_EQ(verified(program), "`higher_order::cond` holds a block that the program does not have");
  program = parsed(kText);
  program.insts[3].operands.erase(program.insts[3].operands.begin() + 1);
  EXPECT_EQ(verified(program), "block `true_graph` is held by no instruction before it");
}

TEST(Verify, the_signature_matches_the_entry) {
  Program program = parsed(kText);
  program.outputs.pop_back();
  EXPECT_EQ(verified(program), "the signature has another number of outputs than the entry");
  program = parsed(kText);
  program.outputs[0].argument = program.outputs[1].argument;
  EXPECT_EQ(verified(program), "output 0 of the signature is not what the entry returns there");
  program = parsed(kText);
  program.inputs.erase(program.inputs.begin());
  EXPECT_EQ(verified(program), "the signature names other inputs than the entry has");
  program = parsed(kText);
  program.inputs[1].weight = WeightId();
  EXPECT_EQ(verified(program), "input `w` has no weight");
}

TEST(Verify, weights_stay_inside_their_records) {
  Program program = parsed(kText);
  program.weights[0].storage_offset = 3;
  EXPECT_EQ(verified(program), "weight `w` reaches beyond its record");
  program.weights[0].storage_offset = 0;
  program.weights[0].strides[0] = INT64_MAX;
  program.weights[0].sizes[0] = INT64_MAX;
  EXPECT_EQ(verified(program), "weight `w` reaches beyond its record");
  program.weights[0].sizes[1] = 0;
  program.weights[0].strides[0] = 3;
  program.weights[0].sizes[0] = 2;
  EXPECT_EQ(verified(program), "sound");
}

TEST(Verify, locations_exist) {
  Program program = parsed(kText);
  program.insts[0].location = LocId();
  EXPECT_EQ(verified(program), "`op` has no location");
}

TEST(Paths, leaves_are_named_as_python_would) {
  TreeSpec leaf;
  auto node = [](std::string type, std::vector<std::string> keys, std::vector<TreeSpec> children) {
    return TreeSpec{.type = std::move(type), .context = "", .keys = std::move(keys), .children = std::move(children)};
  };
  EXPECT_EQ(leaf_paths(leaf), std::vector<std::string>{""});
  TreeSpec tree = node("builtins.list", {},
                       {leaf, node("builtins.dict", {"it's"}, {leaf}), node("collections.namedtuple", {"x"}, {leaf}),
                        node("builtins.tuple", {}, {}), node("my.Cache", {}, {leaf, leaf})});
  EXPECT_EQ(leaf_paths(tree), (std::vector<std::string>{"[0]", "[1]['it\\'s']", "[2].x", "[4][0]", "[4][1]"}));
}

}  // namespace
}  // namespace torchlift::torch
