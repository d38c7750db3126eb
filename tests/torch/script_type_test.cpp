// Types of TorchScript as it writes them.
#include "torch/script_type.hpp"

#include <gtest/gtest.h>

namespace torchlift::torch {
namespace {

std::string problem(const std::string& text) {
  Result<ScriptType> type = parse_script_type(text);
  return type ? "" : type.error().message();
}

TEST(ScriptType, texts_are_read_back_equal) {
  for (const char* text :
       {"Tensor", "int", "NoneType", "List[int]", "Dict[str, List[int]]", "Optional[__torch__.a.___torch_mangle_1.M]",
        "Tuple[Tensor, Tuple[int, str]]", "Tuple[()]", "Union[int, float, NoneType]", "Future[Tuple[()]]"}) {
    Result<ScriptType> type = parse_script_type(text);
    ASSERT_TRUE(type.ok()) << to_text(type.error());
    EXPECT_EQ(print(*type), text);
  }
}

TEST(ScriptType, the_tree_has_names_and_arguments) {
  ScriptType type = parse_script_type(" Dict[ str,List[__torch__.M] , ] ").value();
  EXPECT_TRUE(type.is("Dict"));
  ASSERT_EQ(type.arguments.size(), 2u);
  EXPECT_TRUE(type.arguments[0].is("str"));
  EXPECT_FALSE(type.arguments[0].is_class());
  EXPECT_TRUE(type.arguments[1].arguments.at(0).is_class());
  EXPECT_EQ(parse_script_type("None").value().name, "NoneType");
  EXPECT_TRUE(parse_script_type("Tuple[()]").value().arguments.empty());
}

TEST(ScriptType, other_texts_are_refused_with_their_place) {
  EXPECT_EQ(problem(""), "the type `` has its end at column 1, expected a name");
  EXPECT_EQ(problem("List"), "the type `List` has its end at column 5, expected `[`");
  EXPECT_EQ(problem("List[int"), "the type `List[int` has its end at column 9, expected `,` or `]`");
  EXPECT_EQ(problem("List[int]]"), "the type `List[int]]` has \"]\" at column 10, expected the end of the type");
  EXPECT_EQ(problem("List[int, int]"),
            "the type `List[int, int]` has 2 type arguments for `List` at column 15, expected 1");
  EXPECT_EQ(problem("int[2]"), "the type `int[2]` has \"[\" at column 5, expected no type arguments for `int`");
  EXPECT_EQ(problem("a..b"), "the type `a..b` has \".\" at column 3, expected a name");
  EXPECT_FALSE(problem("Tuple[]").empty());
  EXPECT_FALSE(problem("Dict[()]").empty());
  EXPECT_FALSE(problem("Tuple[(int)]").empty());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "List[";
  EXPECT_NE(problem(deep).find("deeper levels"), std::string::npos);
  EXPECT_NE(problem(std::string(kMaxScriptTypeText + 1, 'a')).find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace torchlift::torch
