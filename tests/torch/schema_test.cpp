#include "torch/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/kinds.hpp"

namespace torchlift::torch {
namespace {

const SchemaArgument& argument(const Schema& schema, std::string_view name) {
  for (const SchemaArgument& a : schema.arguments)
    if (a.name == name) return a;
  ADD_FAILURE() << "no argument " << name;
  return schema.arguments.front();
}

std::string partner_of(std::string_view full_name) {
  const Schema* schema = find_schema(full_name);
  if (!schema) return "unknown";
  const Schema* partner = functional_partner(*schema);
  return partner ? partner->full_name() : "none";
}

TEST(Schema, every_line_of_the_tables_is_readable_and_found_by_its_name) {
  std::vector<std::string_view> names = schema_names();
  EXPECT_GT(names.size(), 3800u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (std::string_view name : names) {
    const Schema* schema = find_schema(name);
    ASSERT_NE(schema, nullptr) << name;
    EXPECT_EQ(schema->full_name(), name);
  }
}

TEST(Schema, arguments_hold_names_types_defaults_and_keyword_only) {
  const Schema* schema = find_schema("aten::addmm");
  ASSERT_NE(schema, nullptr);
  ASSERT_EQ(schema->arguments.size(), 5u);
  EXPECT_EQ(schema->arguments[0].name, "self");
  EXPECT_EQ(schema->arguments[0].type.base, SchemaBase::Tensor);
  EXPECT_FALSE(schema->arguments[0].default_value);
  const SchemaArgument& beta = argument(*schema, "beta");
  EXPECT_TRUE(beta.keyword_only);
  EXPECT_EQ(beta.type.base, SchemaBase::Scalar);
  EXPECT_EQ(beta.default_value, Operand{int64_t{1}});
}

TEST(Schema, suffixes_are_read_from_left_to_right) {
  auto type = [](std::string_view text) {
    Result<Schema> schema = parse_schema("x::y(" + std::string(text) + " a) -> ()");
    EXPECT_TRUE(schema.ok()) << text;
    return schema.ok() ? schema->arguments[0].type : SchemaType{};
  };
  EXPECT_EQ(type("Tensor?[]"), (SchemaType{.base = SchemaBase::Tensor, .list = true, .element_optional = true}));
  EXPECT_EQ(type("int[]?"), (SchemaType{.base = SchemaBase::Int, .list = true, .optional = true}));
  EXPECT_EQ(type("SymInt[2]"), (SchemaType{.base = SchemaBase::SymInt, .list = true, .list_size = 2}));
  EXPECT_EQ(type("Tensor(a!)[]"), (SchemaType{.base = SchemaBase::Tensor, .list = true}));
  EXPECT_EQ(type("Tensor(c!)?"), (SchemaType{.base = SchemaBase::Tensor, .optional = true}));
  EXPECT_EQ(type("(Tensor, t)[]").base, SchemaBase::Other);
  EXPECT_EQ(type("Dict(str, Tensor)(a!)").base, SchemaBase::Other);
}

TEST(Schema, alias_marks_say_who_writes_and_who_views) {
  const Schema* add = find_schema("aten::add_.Tensor");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->arguments[0].alias, (AliasMark{.set = "a", .write = true}));
  EXPECT_EQ(add->returns[0].alias, (AliasMark{.set = "a", .write = true}));
  const Schema* split = find_schema("aten::split.Tensor");
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(split->arguments[0].alias, (AliasMark{.set = "a", .wildcard = true}));
  EXPECT_EQ(find_schema("aten::relu")->arguments[0].alias, std::nullopt);
}

TEST(Schema, enumeration_defaults_are_decoded_by_c10s_numbers) {
  EXPECT_EQ(argument(*find_schema("aten::randperm"), "dtype").default_value, Operand{DType::Int64});
  EXPECT_EQ(argument(*find_schema("aten::contiguous"), "memory_format").default_value,
            Operand{MemoryFormat::Contiguous});
}

TEST(Schema, defaults_of_fixed_lists_floats_and_strings_have_the_arguments_type) {
  Operand ones{Operand::List{Operand{int64_t{1}}, Operand{int64_t{1}}}};
  EXPECT_EQ(argument(*find_schema("aten::conv2d"), "stride").default_value, ones);
  EXPECT_EQ(argument(*find_schema("aten::max_pool2d"), "stride").default_value, Operand{Operand::List{}});
  EXPECT_EQ(argument(*find_schema("aten::pad"), "mode").default_value, Operand{std::string("constant")});
  EXPECT_EQ(argument(*find_schema("aten::normal_"), "std").default_value, Operand{1.0});
  Result<Schema> one = parse_schema("x::y(float a=1, int[2] b=0, str c=\"\\\"\\'\\n\") -> ()");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->arguments[0].default_value, Operand{1.0});
  EXPECT_EQ(one->arguments[1].default_value, (Operand{Operand::List{Operand{int64_t{0}}, Operand{int64_t{0}}}}));
  EXPECT_EQ(one->arguments[2].default_value, Operand{std::string("\"'\n")});
}

TEST(Schema, tags_and_named_results_are_kept) {
  const Schema* max = find_schema("aten::max.dim");
  ASSERT_NE(max, nullptr);
  ASSERT_EQ(max->returns.size(), 2u);
  EXPECT_EQ(max->returns[1].name, "indices");
  const Schema* relu = find_schema("aten::relu");
  EXPECT_NE(std::find(relu->tags.begin(), relu->tags.end(), "pointwise"), relu->tags.end());
}

TEST(Schema, an_unknown_name_has_no_schemas) {
  EXPECT_TRUE(schemas_named("aten::no_such_operator").empty());
  EXPECT_EQ(find_schema("aten::relu.no_such_overload"), nullptr);
  EXPECT_EQ(find_schema(""), nullptr);
}

TEST(Schema, the_overload_default_is_the_empty_one) {
  EXPECT_EQ(find_schema("aten::relu.default"), find_schema("aten::relu"));
}

TEST(Schema, the_functional_partner_is_found_by_its_parameters) {
  EXPECT_EQ(partner_of("aten::add_.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(partner_of("aten::pow_.Tensor"), "aten::pow.Tensor_Tensor");
  EXPECT_EQ(partner_of("aten::__iand__.Tensor"), "aten::__and__.Tensor");
  EXPECT_EQ(partner_of("aten::max.dim_max"), "aten::max.dim");
  EXPECT_EQ(partner_of("aten::add.out"), "aten::add.Tensor");
  EXPECT_EQ(partner_of("aten::normal_"), "aten::normal_functional");
  EXPECT_EQ(partner_of("aten::dropout_"), "aten::dropout");
  EXPECT_EQ(partner_of("aten::arange.start_out"), "aten::arange.start_step");
  EXPECT_EQ(partner_of("aten::zeros.out"), "aten::zeros");
  EXPECT_EQ(partner_of("aten::relu"), "none");
  EXPECT_EQ(partner_of("aten::fill_diagonal_"), "none");
}

TEST(Schema, malformed_text_says_where_and_what_was_expected) {
  for (std::string_view text :
       {"", "aten", "aten::", "aten::x", "aten::x(", "aten::x(int", "aten::x(int a", "aten::x(int a=) -> ()",
        "aten::x(int a)", "aten::x(int a) -> () rest", "aten::x(ScalarType a=12) -> ()", "aten::x(int a=\"open) -> ()",
        "aten::x(Dict(int a) -> ()"}) {
    Result<Schema> schema = parse_schema(text);
    ASSERT_FALSE(schema.ok()) << text;
    EXPECT_EQ(schema.error().kind, Kind::SchemaSyntax);
  }
  std::string deep = "aten::x(" + std::string(1000, '(') + ") -> ()";
  EXPECT_FALSE(parse_schema(deep).ok());
}

TEST(Schema, two_threads_may_ask_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (std::string_view name : schema_names()) EXPECT_NE(find_schema(name), nullptr);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace torchlift::torch
