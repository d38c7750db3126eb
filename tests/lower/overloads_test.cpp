// TorchScript's choice of an overload, against what PyTorch chose (tools/record_overloads.py).
#include "lower/overloads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include "base/kinds.hpp"
#include "lower/numbers.hpp"
#include "lower/script_type.hpp"

namespace torchlift::lower {
namespace {

class Overloads : public testing::Test {
 protected:
  // A value of a type, as it is written in the recorded lines.
  IValue value(std::string_view text) {
    if (text == "Tensor0") return l.make(l.constant(DType::Int64, Scalar(3)));
    return value(parse_script_type(text).value_or(ScriptType{"?", {}, false}));
  }
  IValue value(const ScriptType& type) {
    if (type.name == "Tensor") return l.make(l.hlo.argument({DType::Float32, {Dim(2), Dim(3)}}));
    if (type.name == "int") return Dim(1);
    if (type.name == "float") return 1.5;
    if (type.name == "bool") return true;
    if (type.name == "complex") return std::complex<double>(1, 2);
    if (type.name == "str") return std::string("cpu");
    if (type.name == "NoneType") return IValue();
    if (type.name == "Device") return torch::Device{"cpu", -1};
    if (type.name == "Optional") return value(type.items[0]);
    if (type.name == "List") {
      auto list = std::make_shared<ScriptList>();
      list->element_type = text_of(type.items[0]);
      list->items = {value(type.items[0]), value(type.items[0])};
      return ListRef(list);
    }
    auto tuple = std::make_shared<ScriptTuple>();
    EXPECT_EQ(type.name, "Tuple");
    for (const ScriptType& item : type.items) tuple->items.push_back(value(item));
    return TupleRef(tuple);
  }
  std::optional<Overload> choose(std::string_view name, std::vector<NamedValue> arguments) {
    return choose_overload(l, name, std::move(arguments));
  }
  Kind refusal() {
    auto refusals = l.take_refusals();
    return refusals.empty() ? Kind::Internal : refusals[0].kind;
  }
  ListRef ints(std::vector<int64_t> values) {
    auto list = std::make_shared<ScriptList>();
    list->element_type = "int";
    for (int64_t v : values) list->items.emplace_back(Dim(v));
    return list;
  }

  stablehlo::Module module;
  Lower l{module, Precision::Highest};
};

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : line) {
    depth += (c == '[') - (c == ']');
    if (c == separator && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

// Twins of TorchScript are replaced by what they are twins of, and its own functions by what they call.
std::string served_name(std::string name) {
  for (std::string_view suffix : {".hacked_twin", "_hacked_twin"})
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

TEST_F(Overloads, are_those_that_pytorch_chose) {
  std::ifstream file(TORCHLIFT_SOURCE_DIR "/tests/data/overloads.txt");
  std::string line;
  size_t calls = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> columns = split(line, '\t');
    ASSERT_EQ(columns.size(), 3u) << line;
    std::vector<NamedValue> arguments;
    for (const std::string& argument : split(columns[1], ' ')) {
      size_t sign = argument.find('=');
      std::string name = sign == std::string::npos ? "" : argument.substr(0, sign);
      arguments.push_back({name, value(sign == std::string::npos ? argument : argument.substr(sign + 1))});
    }
    ++calls;
    auto chosen = choose(columns[0], std::move(arguments));
    Kind kind = refusal();
    // A choice by the types alone may be refused for the values that this test has.
    if (!chosen && kind != Kind::NoOverload) continue;
    std::string got = chosen ? chosen->schema->full_name() : "none";
    if (columns[2].starts_with("instead ")) {
      std::string_view instead = std::string_view(columns[2]).substr(8);
      EXPECT_TRUE(got.starts_with(instead) || (instead == "aten::add" && got == "aten::rsub.Scalar"))
          << line << ": " << got;
    } else {
      EXPECT_EQ(got, served_name(columns[2])) << line;
    }
  }
  EXPECT_GT(calls, 350u);
}

TEST_F(Overloads, containers_become_what_atens_rows_take) {
  auto chosen = choose("aten::permute", {{"", value("Tensor")}, {"", ints({1, 0})}});
  ASSERT_TRUE(chosen);
  auto* dims = chosen->arguments[1].value.get<IValue::List>();
  ASSERT_NE(dims, nullptr);
  EXPECT_EQ(*(*dims)[0].get<Dim>(), Dim(1));
  chosen = choose("aten::conv2d", {{"", value("Tensor")}, {"", value("Tensor")}, {"", IValue()}, {"", Dim(2)}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(describe(chosen->arguments[3].value), "[2, 2]");
  EXPECT_EQ(chosen->arguments[3].name, "stride");
}

TEST_F(Overloads, the_rest_of_the_arguments_becomes_a_list) {
  auto chosen = choose("aten::reshape", {{"", value("Tensor")}, {"", Dim(3)}, {"", Dim(2)}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(describe(chosen->arguments[1].value), "[3, 2]");
}

TEST_F(Overloads, enumerations_are_decoded_from_their_numbers) {
  auto chosen = choose("aten::zeros", {{"", ints({2})}, {"dtype", Dim(15)}, {"device", std::string("cuda:1")}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen->arguments[1].value.get<DType>(), DType::BFloat16);
  EXPECT_EQ(*chosen->arguments[2].value.get<torch::Device>(), (torch::Device{"cuda", 1}));
  EXPECT_FALSE(choose("aten::zeros", {{"", ints({2})}, {"dtype", Dim(12)}}));
  EXPECT_EQ(refusal(), Kind::UnsupportedMode);
}

TEST_F(Overloads, tensors_stand_for_numbers) {
  auto chosen = choose("aten::select", {{"", value("Tensor")}, {"", Dim(0)}, {"", value("Tensor0")}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen->arguments[2].value.get<Dim>(), Dim(3)) << "it follows from constants";
  Tensor asked = l.make(l.hlo.argument(stablehlo::scalar(DType::Int32)));
  chosen = choose("aten::select", {{"", value("Tensor")}, {"", Dim(0)}, {"", asked}});
  ASSERT_TRUE(chosen);
  auto* number = chosen->arguments[2].value.get<Tensor>();
  ASSERT_NE(number, nullptr);
  EXPECT_TRUE(number->is_device_number());
  EXPECT_EQ(number->dtype(), DType::Int64);
  EXPECT_FALSE(choose("aten::select", {{"", value("Tensor")}, {"", Dim(0)}, {"", value("Tensor")}}));
  EXPECT_EQ(refusal(), Kind::WrongArgument) << "of two dimensions";
  // And numbers of the device are numbers.
  chosen = choose("aten::add", {{"", value("Tensor")}, {"", *number}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->schema->full_name(), "aten::add.Scalar");
}

TEST_F(Overloads, what_does_not_fit_is_refused_with_the_candidates) {
  EXPECT_FALSE(choose("aten::softmax", {{"", value("Tensor")}, {"", std::string("x")}}));
  auto refusals = l.take_refusals();
  ASSERT_EQ(refusals.size(), 1u);
  Diagnostic d = diagnose(refusals[0].kind, refusals[0].arguments);
  EXPECT_EQ(d.kind, Kind::NoOverload);
  EXPECT_NE(d.message().find("takes (Tensor, str), expected one of: softmax.int(Tensor, int, Optional[int])"),
            std::string::npos)
      << d.message();
  EXPECT_FALSE(choose("aten::no_such_operator", {}));
  EXPECT_EQ(refusal(), Kind::UnknownOperator);
  EXPECT_FALSE(choose("quantized::linear", {}));
  EXPECT_EQ(refusal(), Kind::UnsupportedOperator);
}

TEST(ScriptTypes, both_spellings_are_read) {
  auto text = [](std::string_view from) {
    auto type = parse_script_type(from);
    return type ? text_of(*type) : "none";
  };
  EXPECT_EQ(text("int[2]?"), "Optional[List[int]]");
  EXPECT_EQ(text("Dict(str, t)(a!)"), "Dict[str, t]");
  EXPECT_EQ(text("Tensor(a!)[](b -> *)"), "List[Tensor]");
  EXPECT_EQ(text("((int, t)[])"), "Tuple[List[Tuple[int, t]]]");
  EXPECT_EQ(text("Dict[str, Tuple[int, __torch__.a.B]]"), "Dict[str, Tuple[int, __torch__.a.B]]");
  EXPECT_EQ(text("Tuple[()]"), "Tuple");
  EXPECT_EQ(text("List[Optional[Tensor]]"), "List[Optional[Tensor]]");
  EXPECT_EQ(text("List[int"), "none");
  EXPECT_EQ(text("Dict[int]"), "none");
  EXPECT_EQ(text(std::string(4000, '(')), "none");
}

TEST_F(Overloads, shape_arithmetic_on_tensors_is_known) {
  auto of = [&](DType dtype, Scalar s) { return l.make(l.constant(dtype, s)); };
  Tensor seven = of(DType::Int64, Scalar(7)), two = of(DType::Int64, Scalar(2));
  EXPECT_EQ(l.known(l.mul(seven, two))->to_int(), 14);
  Tensor half = l.div(seven, two);  // float32
  EXPECT_EQ(l.known(half)->to_double(), 3.5);
  EXPECT_EQ(l.known(l.to(half, DType::Int64))->to_int(), 3) << "cut, past the select of what does not fit";
  EXPECT_EQ(l.known(l.make(l.hlo.floor(l.read(half))))->to_double(), 3);
  Value sevens = l.full({Dim(3)}, DType::Int64, Scalar(7));
  EXPECT_EQ(l.known(l.make(l.hlo.reduce(sevens, {0}, stablehlo::Reducer::Add)))->to_int(), 21);
  EXPECT_EQ(l.known(l.make(l.hlo.remainder(l.read(seven), l.read(two))))->to_int(), 1);
  EXPECT_EQ(l.known(l.make(l.hlo.power(l.read(two), l.read(seven))))->to_int(), 128);
  EXPECT_FALSE(l.known(l.make(l.hlo.divide(l.read(two), l.constant(DType::Int64, Scalar(0))))));
  EXPECT_FALSE(l.known(l.make(l.hlo.argument(stablehlo::scalar(DType::Int64)))));
  EXPECT_EQ(l.known_elements(l.make(sevens))->size(), 3u);
  Tensor chain = two;
  for (int i = 0; i < 1000; ++i) {
    chain = l.add(chain, seven);
    EXPECT_TRUE(l.known(chain)) << i;
  }
}

TEST_F(Overloads, numbers_of_tensors) {
  EXPECT_EQ(describe(*number_of(l, l.make(l.constant(DType::Float32, Scalar(2.5))), NumberKind::Int)), "2");
  EXPECT_EQ(describe(*number_of(l, l.make(l.constant(DType::Bool, Scalar(true))))), "True");
  Tensor asked = l.make(l.hlo.argument({DType::Float32, {Dim(1), Dim(1)}}));
  auto number = number_of(l, asked);
  ASSERT_TRUE(number && number->get<Tensor>());
  EXPECT_EQ(number->get<Tensor>()->dtype(), DType::Float64);
  EXPECT_EQ(number->get<Tensor>()->rank(), 0);
  EXPECT_FALSE(number_of(l, l.make(l.hlo.argument({DType::Float32, {Dim(2)}}))));
  // A device's float counts as a Python float: float16 stays float16, integers become float32.
  std::array<Tensor, 2> halves{l.make(l.hlo.argument({DType::Float16, {Dim(2)}})), *number->get<Tensor>()};
  EXPECT_EQ(result_type(halves), DType::Float16);
  std::array<Tensor, 2> integers{l.make(l.hlo.argument({DType::Int32, {Dim(2)}})), *number->get<Tensor>()};
  EXPECT_EQ(result_type(integers), DType::Float32);
}

}  // namespace
}  // namespace torchlift::lower
