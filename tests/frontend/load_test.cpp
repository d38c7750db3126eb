// The fixtures, decoded: every file, and in some what is said in it.
#include "frontend/export/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "frontend/small_archive.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"
#include "torch/schema.hpp"

namespace torchlift::frontend {
namespace {

using torch::Operand;
using torch::Program;

const std::string kFixtures = std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/fixtures/";

Opened open_fixture(const std::string& name) {
  auto archive = archive::Archive::open(kFixtures + name + ".pt2");
  if (!archive) return {nullptr, std::move(archive.errors())};
  std::unique_ptr<archive::Archive> opened = std::move(archive).value();
  Result<Loaded> loaded = load(*opened);
  EXPECT_TRUE(loaded.ok()) << messages(loaded);
  return {std::move(opened), std::move(loaded)};
}

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures))
    if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The n-th instruction with that target.
const torch::Inst* inst(const Program& program, std::string_view target, size_t n = 0) {
  for (const torch::Inst& each : program.insts)
    if (each.target == target && n-- == 0) return &each;
  return nullptr;
}

const Operand& operand(const torch::Inst& inst, std::string_view name) {
  for (const torch::NamedOperand& each : inst.operands)
    if (each.name == name) return each.value;
  static const Operand none;
  ADD_FAILURE() << inst.name << " has no operand " << name;
  return none;
}

const torch::Weight* weight(const Program& program, std::string_view name) {
  for (const torch::Weight& each : program.weights)
    if (each.name == name) return &each;
  return nullptr;
}

TEST(Load, every_fixture_is_decoded_and_its_text_form_is_read_back_equal) {
  std::vector<std::string> names = fixture_names();
  ASSERT_GE(names.size(), 20u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Opened opened = open_fixture(name);
    ASSERT_TRUE(opened.loaded.ok());
    std::string text = torch::print(opened.loaded->program);
    Result<Program> again = torch::parse_program(text);
    ASSERT_TRUE(again.ok()) << to_text(again.error());
    EXPECT_EQ(torch::print(*again), text);
  }
}

TEST(Load, every_aten_target_of_the_fixtures_has_a_schema) {
  for (const std::string& name : fixture_names()) {
    Opened opened = open_fixture(name);
    ASSERT_TRUE(opened.loaded.ok());
    for (const torch::Inst& each : opened.loaded->program.insts) {
      if (each.target.starts_with("higher_order::") || each.target.starts_with("_operator::") ||
          each.target.starts_with("torch::"))
        continue;
      const torch::Schema* schema = torch::find_schema(each.target);
      ASSERT_NE(schema, nullptr) << each.target;
      for (const torch::NamedOperand& named : each.operands)
        EXPECT_TRUE(std::any_of(schema->arguments.begin(), schema->arguments.end(),
                                [&](const torch::SchemaArgument& argument) { return argument.name == named.name; }))
            << each.target << " " << named.name;
    }
  }
}

TEST(Load, scalars_keep_every_bit) {
  Opened opened = open_fixture("scalars");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(operand(*inst(program, "aten::add.Tensor", 0), "other"), Operand{0.1});
  EXPECT_EQ(operand(*inst(program, "aten::mul.Tensor", 1), "other"), (Operand{std::complex<double>(2, 3)}));
  EXPECT_EQ(operand(*inst(program, "aten::clamp"), "min"), Operand{-std::numeric_limits<double>::infinity()});
  const auto* nan = operand(*inst(program, "aten::where.ScalarOther"), "other").get<double>();
  ASSERT_NE(nan, nullptr);
  EXPECT_NE(*nan, *nan);
  EXPECT_EQ(operand(*inst(program, "aten::add.Tensor", 2), "other"), Operand{int64_t{9007199254740993}});
  EXPECT_EQ(operand(*inst(program, "aten::bitwise_and.Scalar"), "other"), Operand{INT64_MAX});
  EXPECT_EQ(operand(*inst(program, "aten::add.Tensor", 3), "other"), Operand{INT64_MIN});
  EXPECT_EQ(operand(*inst(program, "aten::add.Tensor", 5), "other"), Operand{5e-324});
  EXPECT_EQ(operand(*inst(program, "aten::to.dtype"), "dtype"), Operand{DType::Float64});
  const torch::Inst& check = *inst(program, "aten::_assert_tensor_metadata");
  EXPECT_EQ(operand(check, "layout"), Operand{torch::Layout::Strided});
  EXPECT_EQ(operand(check, "device"), (Operand{torch::Device{.type = "cpu", .index = -1}}));
  EXPECT_TRUE(check.results.empty());
  EXPECT_EQ(weight(program, "d")->dtype, DType::Float64);
  EXPECT_TRUE(weight(program, "d")->sizes.empty());
  EXPECT_EQ(weight(program, "u64")->dtype, DType::UInt64);
  EXPECT_EQ(program.schema_version, "8.20");
  EXPECT_TRUE(program.producer.starts_with("torch 2.13.0"));
}

TEST(Load, weights_keep_sharing_offsets_and_strides) {
  Opened opened = open_fixture("weights_layout");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(weight(program, "emb.weight")->record, weight(program, "head.weight")->record);
  const torch::Weight& row = *weight(program, "row");
  const torch::Weight& col = *weight(program, "col");
  EXPECT_EQ(row.record, col.record);
  EXPECT_EQ(row.storage_offset, 4);
  EXPECT_EQ(col.strides, std::vector<int64_t>{4});
  EXPECT_EQ(row.record_elements, 24);
  EXPECT_EQ(weight(program, "tr")->strides, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(weight(program, "exp")->strides, std::vector<int64_t>{0});
  EXPECT_EQ(weight(program, "exp")->record_elements, 1);
  EXPECT_EQ(weight(program, "empty")->record_elements, 0);
  EXPECT_TRUE(weight(program, "pt")->is_parameter);
  EXPECT_FALSE(row.is_parameter);
  EXPECT_EQ(opened.loaded->records.size(), 13u);
  for (const archive::Record& record : opened.loaded->records) EXPECT_TRUE(record.is_stored());
  EXPECT_EQ(opened.loaded->records[row.record.at()].size, 96u);
}

TEST(Load, pytrees_name_inputs_and_outputs) {
  Opened opened = open_fixture("pytree_io");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(torch::input_paths(program),
            (std::vector<std::string>{"d['b']", "d['a']", "pair[0]", "pair[1][0]", "pair[1][1]", "flag", "scale",
                                      "mode", "p.x", "p.y"}));
  EXPECT_EQ(torch::output_paths(program),
            (std::vector<std::string>{"['y']", "['n']", "['k']", "['l'][0]", "['l'][1][0]", "['l'][1][1]", "['p'].x",
                                      "['p'].y"}));
  ASSERT_EQ(program.inputs.size(), 10u);
  EXPECT_EQ(program.inputs[4].kind, torch::InputKind::Constant);
  EXPECT_EQ(program.inputs[4].argument, Operand{int64_t{4}});
  EXPECT_EQ(program.inputs[5].argument, Operand{true});
  EXPECT_EQ(program.inputs[7].argument, Operand{std::string("up")});
  EXPECT_EQ(program.entry().inputs.size(), 6u);
}

TEST(Load, dynamic_sizes_are_expressions_with_hints_and_ranges) {
  Opened opened = open_fixture("dynamic_shapes");
  const Program& program = opened.loaded->program;
  const torch::Value& x = program.value(program.entry().inputs[0]);
  ASSERT_EQ(x.meta->sizes.size(), 2u);
  EXPECT_EQ(torch::to_text(x.meta->sizes[0]), "s77");
  EXPECT_EQ(torch::to_text(x.meta->sizes[1]), "2*s60");
  EXPECT_EQ(program.hints, (std::vector<std::pair<std::string, int64_t>>{{"s60", 4}, {"s77", 3}, {"s86", 5}}));
  ASSERT_EQ(program.ranges.size(), 5u);
  EXPECT_EQ(torch::to_text(program.ranges[2].expr), "s77 + 1");
  EXPECT_EQ(program.ranges[2].max, 101);
  EXPECT_EQ(program.ranges[3].max, std::nullopt);
  const torch::Inst& floordiv = *inst(program, "_operator::floordiv");
  EXPECT_EQ(floordiv.operands[0].name, "");
  EXPECT_EQ(floordiv.operands[1].value, Operand{int64_t{2}});
  EXPECT_NE(inst(program, "torch::sym_max"), nullptr);
  EXPECT_EQ(operand(*inst(program, "aten::slice.Tensor"), "start"), Operand{torch::None{}});
  const auto* sizes = operand(*inst(program, "aten::expand"), "size").get<Operand::List>();
  ASSERT_NE(sizes, nullptr);
  EXPECT_EQ((*sizes)[1], Operand{int64_t{-1}});
  EXPECT_NE((*sizes)[2].get<torch::ValueId>(), nullptr);
  const torch::Value& n = program.value(program.entry().inputs[2]);
  EXPECT_EQ(n.kind, torch::ValueKind::SymInt);
  EXPECT_EQ(torch::to_text(*n.expr), "s86");
}

TEST(Load, nested_graphs_are_blocks_with_their_own_values) {
  Opened opened = open_fixture("cond");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(program.blocks.size(), 5u);
  const torch::Inst& cond = *inst(program, "higher_order::cond");
  const auto* first = cond.operands[1].value.get<torch::BlockId>();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(program.block(*first).name, "true_graph_0");
  EXPECT_EQ(program.block(*first).inputs.size(), 2u);
  EXPECT_EQ(cond.results.size(), 2u);
  EXPECT_EQ(cond.operands[3].value.get<Operand::List>()->size(), 2u);
}

TEST(Load, lists_of_results_and_unused_results_keep_their_places) {
  Opened opened = open_fixture("multi_output");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(inst(program, "aten::topk")->results.size(), 2u);
  const torch::Inst* split = inst(program, "aten::split_with_sizes");
  ASSERT_NE(split, nullptr);
  ASSERT_EQ(split->results.size(), 1u);
  EXPECT_NE(split->results[0].get<Operand::List>(), nullptr);
}

TEST(Load, the_innermost_line_of_the_users_code_comes_first) {
  Opened opened = open_fixture("cond");
  const Program& program = opened.loaded->program;
  const torch::Location& location = program.location(inst(program, "aten::sin")->location);
  ASSERT_FALSE(location.frames.empty());
  EXPECT_EQ(location.frames[0].file, "/fixtures/make_fixtures.py");
  EXPECT_EQ(location.frames[0].line, 169);
  EXPECT_EQ(location.frames[0].function, "forward");
  EXPECT_EQ(location.frames[0].text, "a, b = torch.cond(flag, t, f, (x,))");
}

TEST(Load, the_older_layouts_hold_the_same_program) {
  Opened oldest = open_fixture("layout26");
  Opened middle = open_fixture("layout28");
  Opened newest = open_fixture("mlp_dynamic");
  EXPECT_EQ(oldest.loaded->program.schema_version, "8.2");
  for (const Opened* opened : {&oldest, &middle, &newest}) {
    const Program& program = opened->loaded->program;
    EXPECT_EQ(program.weights.size(), 9u);
    EXPECT_EQ(weight(program, "fc1.weight")->dtype, DType::Float32);
    EXPECT_EQ(program.insts.size(), 5u);
    EXPECT_EQ(torch::input_paths(program), std::vector<std::string>{"x"});
    EXPECT_EQ(opened->loaded->model_names, std::vector<std::string>{"model"});
    const torch::Location& location = program.location(inst(program, "aten::batch_norm")->location);
    EXPECT_EQ(location.module_path, "bn");
    EXPECT_EQ(location.module_type, "torch.nn.modules.batchnorm.BatchNorm1d");
  }
}

TEST(Load, buffers_say_whether_they_persist_and_mutations_what_they_change) {
  Opened opened = open_fixture("mutation_functional");
  const Program& program = opened.loaded->program;
  EXPECT_TRUE(std::any_of(program.inputs.begin(), program.inputs.end(), [](const torch::InputSpec& input) {
    return input.kind == torch::InputKind::Buffer && !input.persistent;
  }));
  EXPECT_TRUE(std::any_of(program.inputs.begin(), program.inputs.end(), [](const torch::InputSpec& input) {
    return input.kind == torch::InputKind::TensorConstant;
  }));
  EXPECT_TRUE(std::any_of(program.outputs.begin(), program.outputs.end(), [](const torch::OutputSpec& output) {
    return output.kind == torch::OutputKind::UserInputMutation;
  }));
}

TEST(Load, tokens_and_operators_as_values_are_kept) {
  Opened opened = open_fixture("effect_token");
  const Program& program = opened.loaded->program;
  EXPECT_EQ(program.inputs[0].kind, torch::InputKind::Token);
  EXPECT_EQ(program.value(program.entry().inputs[0]).kind, torch::ValueKind::Token);
  const torch::Inst& effects = *inst(program, "higher_order::with_effects");
  EXPECT_EQ(effects.operands[1].value, Operand{torch::OperatorName{"aten::_print"}});
  EXPECT_EQ(torch::input_paths(program).size(), 1u);
}

TEST(Load, one_of_several_models_is_chosen_by_its_name) {
  SmallArchive small;
  std::string config = replaced(small_config(), "weight_0", "weight_1");
  small.more = {{.name = "small/models/second.json", .data = replaced(small_program(), "aten.relu", "aten.neg")},
                {.name = "small/data/weights/second_weights_config.json", .data = config},
                {.name = "small/data/weights/weight_1", .data = std::string(8, '\1')}};
  Opened first = open_small(small);
  ASSERT_TRUE(first.loaded.ok()) << messages(first.loaded);
  EXPECT_EQ(first.loaded->program.name, "model");
  EXPECT_EQ(first.loaded->model_names, (std::vector<std::string>{"model", "second"}));
  Opened second = open_small(small, {.model = "second"});
  ASSERT_TRUE(second.loaded.ok()) << messages(second.loaded);
  EXPECT_EQ(second.loaded->program.insts[1].target, "aten::neg");
  EXPECT_EQ(second.loaded->records[0].member, "small/data/weights/weight_1");
}

TEST(Load, schema_seven_writes_infix_sizes_bare_infinities_and_none_as_a_list) {
  SmallArchive small;
  std::string& program = small.program;
  program = replaced(program, R"({"major": 8, "minor": 20})", R"({"major": 7, "minor": 3})");
  program = replaced(program, R"("x": {"dtype": 7, "sizes": [{"as_int": 2}])",
                     R"("x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "2*s0 + 1", "hint": {"as_int": 5}}}])");
  program = replaced(program, R"("range_constraints": {})",
                     R"("range_constraints": {"s0": {"min_val": 2, "max_val": Infinity}})");
  program = replaced(program, R"({"as_tensor": {"name": "p_w"}}, "kind": 1})",
                     R"({"as_tensor": {"name": "p_w"}}}, {"name": "alpha", "arg": {"as_none": []}})");
  Opened opened = open_small(small);
  ASSERT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
  const Program& read = opened.loaded->program;
  EXPECT_EQ(torch::to_text(read.value(read.entry().inputs[1]).meta->sizes[0]), "2*s0 + 1");
  EXPECT_EQ(read.hints, (std::vector<std::pair<std::string, int64_t>>{{"s0", 2}}));
  EXPECT_EQ(read.ranges[0].min, 2);
  EXPECT_EQ(read.ranges[0].max, std::nullopt);
  EXPECT_TRUE(read.insts[0].operands[2].value.is_none());
}

TEST(Load, literals_among_the_inputs_of_a_nested_graph_keep_their_places) {
  SmallArchive small;
  small.program =
      replaced(small.program, R"({"target": "torch.ops.aten.relu.default")",
               R"({"target": "torch.ops.higher_order.strict_mode", "outputs": [{"as_tensors": [{"name": "one"}]}],
                               "inputs": [{"name": "", "arg": {"as_graph": {"name": "g", "graph": {
                                 "inputs": [{"as_int": 3}, {"as_tensor": {"name": "x"}}, {"as_none": true}], "nodes": [],
                                 "outputs": [{"as_tensor": {"name": "x"}}]}}}}]},
                              {"target": "torch.ops.aten.relu.default")");
  Opened opened = open_small(small);
  ASSERT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
  const Program& program = opened.loaded->program;
  ASSERT_EQ(program.blocks[1].inputs.size(), 3u);
  EXPECT_EQ(program.value(program.blocks[1].inputs[1]).name, "x");
  EXPECT_EQ(program.insts[1].results.size(), 1u);  // a tuple of one, written as a list
  EXPECT_NE(program.insts[1].results[0].get<torch::ValueId>(), nullptr);
}

}  // namespace
}  // namespace torchlift::frontend
