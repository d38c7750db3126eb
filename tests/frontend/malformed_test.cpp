// Programs that are not as the format says: one clear diagnostic each.
#include <gtest/gtest.h>

#include "base/kinds.hpp"
#include "frontend/small_archive.hpp"

namespace torchlift::frontend {
namespace {

// The kind and the text of the first diagnostic of the small program with one part replaced.
struct Refusal {
  Kind kind{};
  std::string message;
  size_t count = 0;
};

Refusal refusal(const SmallArchive& small, const LoadOptions& options = {}) {
  Opened opened = open_small(small, options);
  EXPECT_FALSE(opened.loaded.ok());
  if (opened.loaded.ok()) return {};
  return {opened.loaded.error().kind, opened.loaded.error().message(), opened.loaded.errors().size()};
}

Refusal with_program(std::string_view from, std::string_view to) {
  SmallArchive small;
  small.program = replaced(small.program, from, to);
  return refusal(small);
}

Refusal with_config(std::string_view from, std::string_view to) {
  SmallArchive small;
  small.weights_config = replaced(small.weights_config, from, to);
  return refusal(small);
}

TEST(MalformedProgram, the_small_program_itself_is_read) {
  Opened opened = open_small({});
  ASSERT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
  EXPECT_EQ(opened.loaded->program.insts.size(), 2u);
}

TEST(MalformedProgram, a_text_that_is_no_json_is_refused_with_its_member) {
  SmallArchive small;
  small.program.resize(small.program.size() / 2);
  Opened opened = open_small(small);
  ASSERT_FALSE(opened.loaded.ok());
  EXPECT_EQ(opened.loaded.error().kind, Kind::JsonSyntax);
  EXPECT_EQ(opened.loaded.error().place.member, "small/models/model.json");
  EXPECT_EQ(opened.loaded.error().place.file, "small.pt2");
}

TEST(MalformedProgram, a_missing_field_is_named_with_its_owner) {
  Refusal r = with_program(R"("target": "torch.ops.aten.relu.default",)", "");
  EXPECT_EQ(r.kind, Kind::ProgramFieldMissing);
  EXPECT_EQ(r.message, "`graph_module.graph.nodes[1]` has no field `target`");
  EXPECT_EQ(with_program(R"("graph_module")", R"("other")").kind, Kind::ProgramFieldMissing);
  EXPECT_EQ(with_program(R"("schema_version")", R"("other")").kind, Kind::ProgramFieldMissing);
  EXPECT_EQ(with_program(R"("signature")", R"("other")").kind, Kind::ProgramFieldMissing);
  EXPECT_EQ(with_program(R"("sizes")", R"("other")").kind, Kind::ProgramFieldMissing);
}

TEST(MalformedProgram, a_value_of_another_type_is_shown) {
  Refusal r = with_program(R"("target": "torch.ops.aten.relu.default")", R"("target": 5)");
  EXPECT_EQ(r.kind, Kind::ProgramField);
  EXPECT_EQ(r.message, "`graph_module.graph.nodes[1].target` is 5, expected a text");
  EXPECT_EQ(with_program(R"("nodes": [)", R"("nodes": {}, "rest": [)").kind, Kind::ProgramField);
  EXPECT_EQ(with_program(R"({"as_int": 2})", R"({"as_int": "2"})").kind, Kind::ProgramField);
  EXPECT_EQ(with_program(R"({"as_int": 2})", R"({"as_int": 99999999999999999999})").kind, Kind::ProgramField);
  EXPECT_EQ(with_program(R"("dtype": 7)", R"("dtype": 20)").kind, Kind::ProgramField);
  EXPECT_EQ(with_program(R"("layout": 7)", R"("layout": 0)").kind, Kind::ProgramField);
}

TEST(MalformedProgram, strides_are_as_many_as_sizes) {
  Refusal r = with_program(R"("strides": [{"as_int": 1}])", R"("strides": [{"as_int": 1}, {"as_int": 1}])");
  EXPECT_EQ(r.kind, Kind::ProgramField);
}

TEST(MalformedProgram, an_unknown_tag_is_an_error_and_an_unknown_field_is_not) {
  Refusal r = with_program(R"({"as_tensor": {"name": "add"}}, "kind")", R"({"as_wonder": {"name": "add"}}, "kind")");
  EXPECT_EQ(r.kind, Kind::ProgramTag);
  EXPECT_NE(r.message.find("`as_wonder`"), std::string::npos) << r.message;
  EXPECT_EQ(with_program(R"({"user_input": )", R"({"wonder_input": )").kind, Kind::ProgramTag);
  EXPECT_EQ(with_program(R"({"user_output": )", R"({"wonder_output": )").kind, Kind::ProgramTag);

  SmallArchive small;
  small.program = replaced(small.program, R"("verifiers")", R"("new_field": {"deep": [1]}, "verifiers")");
  EXPECT_TRUE(open_small(small).loaded.ok());
}

TEST(MalformedProgram, a_union_has_exactly_one_key) {
  EXPECT_EQ(with_program(R"({"as_int": 2})", R"({})").kind, Kind::ProgramField);
  EXPECT_EQ(with_program(R"({"as_int": 2})", R"({"as_int": 2, "as_expr": null})").kind, Kind::ProgramField);
}

TEST(MalformedProgram, other_major_versions_are_refused) {
  for (std::string_view version : {R"({"major": 9, "minor": 0})", R"({"major": 4, "minor": 1})", "2"}) {
    Refusal r = with_program(R"({"major": 8, "minor": 20})", version);
    EXPECT_EQ(r.kind, Kind::ProgramVersion) << version;
  }
  for (std::string_view version :
       {R"({"major": 8, "minor": 999})", R"({"major": 7, "minor": 3})", R"({"major": 5, "minor": 3})"}) {
    SmallArchive small;
    small.program = replaced(small.program, R"({"major": 8, "minor": 20})", version);
    EXPECT_TRUE(open_small(small).loaded.ok()) << version;
  }
}

TEST(MalformedProgram, deep_nesting_is_refused) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(with_program(R"("guards_code": [])", "\"guards_code\": " + deep).kind, Kind::JsonSyntax);
  std::string expr = "Integer(1)";
  for (int i = 0; i < 100; ++i) expr = "Identity(" + expr + ")";
  Refusal r = with_program(R"({"as_int": 2})", R"({"as_expr": {"expr_str": ")" + expr + R"(", "hint": null}})");
  EXPECT_EQ(r.kind, Kind::SymbolicSyntax);
}

TEST(MalformedProgram, graphs_nested_too_deep_are_refused) {
  std::string graph = R"({"inputs": [], "outputs": [], "nodes": []})";
  for (int i = 0; i < 25; ++i)
    graph =
        R"({"inputs": [], "outputs": [], "nodes": [{"target": "torch.ops.higher_order.strict_mode", "outputs": [], "inputs": [{"name": "", "arg": {"as_graph": {"name": "g", "graph": )" +
        graph + "}}}]}]}";
  std::string node =
      R"({"target": "torch.ops.higher_order.strict_mode", "outputs": [], "inputs": [{"name": "", "arg": {"as_graph": {"name": "g", "graph": )" +
      graph + "}}}]},\n";
  SmallArchive small;
  small.program = replaced(small.program, R"({"target": "torch.ops.aten.add.Tensor")",
                           node + R"({"target": "torch.ops.aten.add.Tensor")");
  Opened opened = open_small(small);
  EXPECT_TRUE(opened.loaded.ok()) << messages(opened.loaded);  // 26 levels
}

TEST(MalformedProgram, values_are_defined_once_and_before_their_use) {
  Refusal r = with_program(R"("arg": {"as_tensor": {"name": "add"}})", R"("arg": {"as_tensor": {"name": "later"}})");
  EXPECT_EQ(r.kind, Kind::ValueUndefined);
  EXPECT_NE(r.message.find("`later`"), std::string::npos) << r.message;
  EXPECT_EQ(
      with_program(R"("outputs": [{"as_tensor": {"name": "add"}}])", R"("outputs": [{"as_tensor": {"name": "x"}}])")
          .kind,
      Kind::ValueTwice);
}

TEST(MalformedProgram, the_signature_agrees_with_the_graph) {
  EXPECT_EQ(with_program(R"(,
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                         "")
                .kind,
            Kind::SignatureDiffers);
  EXPECT_EQ(with_program(R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                         R"({"user_input": {"arg": {"as_tensor": {"name": "p_w"}}}})")
                .kind,
            Kind::SignatureDiffers);
  EXPECT_EQ(with_program(R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}])",
                         R"("output_specs": [])")
                .kind,
            Kind::SignatureDiffers);
}

TEST(MalformedProgram, bare_nan_infinity_and_huge_numbers_are_read_where_floats_are_expected) {
  for (auto [token, is_expected] :
       {std::pair<std::string_view, bool (*)(double)>{"NaN", [](double v) { return v != v; }},
        {"-Infinity", [](double v) { return v < -1e308; }},
        {"\"Infinity\"", [](double v) { return v > 1e308; }},
        {"1e400", [](double v) { return v > 1e308; }}}) {
    SmallArchive small;
    small.program = replaced(small.program, R"("arg": {"as_tensor": {"name": "p_w"}})",
                             R"("arg": {"as_float": )" + std::string(token) + "}");
    Opened opened = open_small(small);
    ASSERT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
    const auto* value = opened.loaded->program.insts[0].operands[1].value.get<double>();
    ASSERT_NE(value, nullptr);
    EXPECT_TRUE(is_expected(*value)) << token;
  }
}

TEST(MalformedProgram, an_odd_number_inside_a_text_is_left_alone) {
  SmallArchive small;
  small.program = replaced(small.program, R"("arg": {"as_tensor": {"name": "p_w"}})",
                           R"("arg": {"as_floats": [NaN]}}, {"name": "text", "arg": {"as_string": "a \"NaN\\" })");
  Opened opened = open_small(small);
  ASSERT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
  EXPECT_EQ(opened.loaded->program.insts[0].operands[2].value, torch::Operand{std::string("a \"NaN\\")});
}

TEST(MalformedProgram, an_unknown_model_is_refused_with_the_known_ones) {
  Refusal r = refusal({}, {.model = "other"});
  EXPECT_EQ(r.kind, Kind::ModelMissing);
  EXPECT_EQ(r.message, "the archive has no model `other`, it has `model`");
}

// ---- weights

TEST(MalformedWeights, a_missing_weight_is_named_and_all_are_listed) {
  Refusal r = with_config(R"("w": )", R"("v": )");
  EXPECT_EQ(r.kind, Kind::WeightNotSaved);
  EXPECT_EQ(r.message,
            "the program declares the parameter `w`, but neither the weights nor the constants of the archive hold it");

  SmallArchive small;
  small.program = replaced(small.program, R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                           R"({"buffer": {"arg": {"name": "x"}, "buffer_name": "b", "persistent": true}})");
  small.weights_config = R"({"config": {}})";
  EXPECT_EQ(refusal(small).count, 2u);
}

TEST(MalformedWeights, weights_stand_in_the_constants_too) {
  SmallArchive small;
  small.constants_config = small.weights_config;
  small.weights_config = R"({"config": {}})";
  small.more = {{.name = "small/data/constants/weight_0", .data = small.record}};
  EXPECT_TRUE(open_small(small).loaded.ok());
}

TEST(MalformedWeights, a_tensor_stays_inside_its_record) {
  EXPECT_EQ(with_config(R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": 1})").kind,
            Kind::TensorBounds);
  EXPECT_EQ(with_config(R"("strides": [{"as_int": 1}])", R"("strides": [{"as_int": 9223372036854775807}])").kind,
            Kind::TensorBounds);
  EXPECT_FALSE(
      open_small({.weights_config = replaced(small_config(), R"("as_int": 0)", R"("as_int": -1)")}).loaded.ok());
}

TEST(MalformedWeights, shape_and_dtype_are_those_of_the_program) {
  Refusal r = with_config(R"("sizes": [{"as_int": 2}])", R"("sizes": [{"as_int": 1}])");
  EXPECT_EQ(r.kind, Kind::WeightShape);
  EXPECT_EQ(r.message, "`w` is f32[1] in the file, the program declares f32[2]");
  EXPECT_EQ(with_config(R"("dtype": 7)", R"("dtype": 4)").kind, Kind::WeightShape);
}

TEST(MalformedWeights, weights_without_bytes_were_not_saved) {
  SmallArchive small;
  small.record.clear();
  EXPECT_EQ(refusal(small).kind, Kind::WeightsNotSaved);
}

TEST(MalformedWeights, other_layouts_and_pickled_tensors_are_refused_by_name) {
  EXPECT_EQ(with_config(R"("layout": 7)", R"("layout": 1)").kind, Kind::TensorLayout);
  Refusal r = with_config(R"("use_pickle": false)", R"("use_pickle": true)");
  EXPECT_EQ(r.kind, Kind::WeightPickled);
  EXPECT_NE(r.message.find("`w`"), std::string::npos);
}

TEST(MalformedWeights, a_missing_record_is_named) {
  Refusal r = with_config(R"("weight_0")", R"("weight_7")");
  EXPECT_EQ(r.kind, Kind::MemberMissing);
  EXPECT_NE(r.message.find("small/data/weights/weight_7"), std::string::npos) << r.message;
}

TEST(MalformedWeights, a_size_that_is_no_number_is_refused) {
  EXPECT_EQ(with_config(R"({"as_int": 2})", R"-({"as_expr": {"expr_str": "Symbol('s0')", "hint": null}})-").kind,
            Kind::TensorLayout);
}

TEST(CustomObjects, a_used_one_is_refused_and_an_unused_one_is_not) {
  SmallArchive small;
  small.program =
      replaced(small.program, R"({"as_tensor": {"name": "x"}}],
    "outputs")",
               R"({"as_tensor": {"name": "x"}}, {"as_custom_obj": {"name": "obj", "class_fqn": "my.Class"}}],
    "outputs")");
  small.program = replaced(small.program, R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                           R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                              {"custom_obj": {"arg": {"name": "obj", "class_fqn": "my.Class"}, "custom_obj_name": "thing"}})");
  Opened opened = open_small(small);
  EXPECT_TRUE(opened.loaded.ok()) << messages(opened.loaded);
  small.program = replaced(small.program, R"("arg": {"as_tensor": {"name": "p_w"}})",
                           R"("arg": {"as_custom_obj": {"name": "obj", "class_fqn": "my.Class"}})");
  EXPECT_EQ(refusal(small).kind, Kind::CustomObject);
}

}  // namespace
}  // namespace torchlift::frontend
