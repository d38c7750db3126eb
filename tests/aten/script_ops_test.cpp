// TorchScript's operators on Python values. What is expected was measured with PyTorch 2.13's own interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aten/script.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Complex = std::complex<double>;

class ScriptOps : public testing::Test {
 protected:
  using Items = std::vector<IValue>;

  IValues call(std::string_view name, const Items& values) {
    std::vector<NamedValue> arguments;
    for (const IValue& v : values) arguments.push_back({"", v});
    const ScriptRow* row = table().script(name);
    EXPECT_TRUE(row) << name;
    auto results = row ? row->call(l, arguments) : std::nullopt;
    EXPECT_TRUE(results) << name << " is not for these values";
    return results.value_or(IValues{});
  }
  // The result as TorchScript prints it, texts in quotes; of several a tuple. Of what refuses: "error".
  std::string eval(std::string_view name, const Items& values) {
    IValues results = call(name, values);
    if (!l.take_refusals().empty()) return "error";
    if (results.size() == 1) return print(results[0]);
    return print(make_tuple(results));
  }
  std::string print(const IValue& value) {
    if (auto* text = value.get<std::string>()) return "'" + *text + "'";
    auto text = text_of(l, value);
    return text ? *text : describe(value);
  }
  bool declines(std::string_view name, const Items& values) {
    std::vector<NamedValue> arguments;
    for (const IValue& v : values) arguments.push_back({"", v});
    return !table().script(name)->call(l, arguments) && l.take_refusals().empty();
  }
  std::string refusal(std::string_view name, const Items& values) {
    call(name, values);
    auto refusals = l.take_refusals();
    return refusals.empty() ? "" : std::string(info(refusals[0].kind).id);
  }

  ListRef list(Items items, std::string type = "int") { return make_list(l, std::move(type), std::move(items)); }
  ListRef ints(const std::vector<int>& numbers) {
    ListRef out = list({});
    for (int n : numbers) out->items.emplace_back(i(n));
    return out;
  }
  DictRef dict(const std::vector<std::pair<std::string, int>>& items) {
    DictRef out = make_dict(l, "str", "int");
    for (auto& [key, value] : items) out->items.emplace_back(key, i(value));
    return out;
  }
  static IValue i(int64_t n) { return Dim(n); }
  static IValue s(std::string text) { return text; }
  IValue device(DType dtype) { return l.device_number(l.hlo.argument({dtype, {}})); }

  stablehlo::Module module;
  Lower l{module, stablehlo::Precision::Highest};
};

TEST_F(ScriptOps, arithmetic_keeps_ints_exact_and_divides_into_floats) {
  EXPECT_EQ(eval("aten::add", {i(1), i(2)}), "3");
  EXPECT_EQ(eval("aten::add", {i(1), 2.5}), "3.5");
  EXPECT_EQ(eval("aten::add", {Complex(0, 1), i(2)}), "2.+1.j");
  EXPECT_EQ(eval("aten::div", {i(7), i(2)}), "3.5");
  EXPECT_EQ(eval("aten::div", {i(7), i(0)}), "inf");
  EXPECT_EQ(eval("aten::floordiv", {i(7), i(-2)}), "-4");
  EXPECT_EQ(eval("aten::floordiv", {7.0, -2.0}), "-4.");
  EXPECT_EQ(eval("aten::floordiv", {7.0, 0.0}), "inf");
  EXPECT_EQ(eval("aten::floordiv", {i(7), i(0)}), "error");
  EXPECT_EQ(eval("aten::__round_to_zero_floordiv", {i(-7), i(2)}), "-3");
  EXPECT_EQ(eval("aten::remainder", {i(7), i(-2)}), "-1");
  EXPECT_EQ(eval("aten::remainder", {i(-7), i(3)}), "2");
  EXPECT_EQ(eval("aten::remainder", {7.5, i(-2)}), "-0.5");
  EXPECT_EQ(eval("aten::remainder", {-7.5, i(2)}), "0.5");
  EXPECT_EQ(eval("aten::remainder", {i(7), i(0)}), "error");
  EXPECT_EQ(eval("aten::fmod", {i(7), i(-2)}), "1.");
  EXPECT_EQ(eval("aten::mathremainder", {i(7), i(-2)}), "-1.");
  EXPECT_EQ(eval("aten::divmod", {i(-7), i(2)}), "(-4, 1)");
  EXPECT_EQ(eval("aten::divmod", {7.5, -2.0}), "(-4., -0.5)");
  EXPECT_EQ(eval("aten::divmod", {7.0, 0.0}), "error");
  EXPECT_EQ(eval("aten::pow", {i(2), i(3)}), "8.");
  EXPECT_EQ(eval("aten::pow", {i(2), i(-1)}), "0.5");
  EXPECT_EQ(eval("aten::pow", {i(0), i(-1)}), "error");
  EXPECT_EQ(eval("aten::neg", {Complex(0, 1)}), "0.-1.j");
}

TEST_F(ScriptOps, an_int_that_leaves_64_bits_is_refused) {
  EXPECT_EQ(eval("aten::add", {i(INT64_MAX), i(1)}), "error");
  EXPECT_EQ(eval("aten::sub", {i(INT64_MIN), i(1)}), "error");
  EXPECT_EQ(eval("aten::mul", {i(INT64_MAX), i(2)}), "error");
  EXPECT_EQ(eval("aten::neg", {i(INT64_MIN)}), "error");
  EXPECT_EQ(eval("prim::abs", {i(INT64_MIN)}), "error");
  EXPECT_EQ(eval("aten::floordiv", {i(INT64_MIN), i(-1)}), "error");
  EXPECT_EQ(eval("aten::remainder", {i(INT64_MIN), i(-1)}), "error");
  EXPECT_EQ(eval("aten::__lshift__", {i(1), i(63)}), "error");
  EXPECT_EQ(eval("aten::__lshift__", {i(1), i(-1)}), "error");
  EXPECT_EQ(eval("aten::factorial", {i(21)}), "error");
}

TEST_F(ScriptOps, sizes_keep_their_symbols) {
  IValues sum = call("aten::add", {Dim::symbol("s0", 8), i(1)});
  EXPECT_EQ(sum.at(0).get<Dim>()->text(), "9 (s0 + 1)");
  IValues half = call("aten::floordiv", {sum.at(0), i(3)});
  EXPECT_EQ(half.at(0).get<Dim>()->concrete(), 3);
  EXPECT_TRUE(half.at(0).get<Dim>()->is_symbolic());
}

TEST_F(ScriptOps, rounding) {
  EXPECT_EQ(eval("aten::round", {2.5}), "2.");
  EXPECT_EQ(eval("aten::round", {3.5}), "4.");
  EXPECT_EQ(eval("aten::round", {i(3)}), "3.");
  EXPECT_EQ(eval("aten::floor", {-2.5}), "-3");
  EXPECT_EQ(eval("aten::ceil", {2.5}), "3");
  EXPECT_EQ(eval("aten::floor", {kInf}), "error");
  EXPECT_EQ(eval("aten::floor", {kNan}), "error");
}

TEST_F(ScriptOps, bits) {
  EXPECT_EQ(eval("aten::__and__", {i(6), i(3)}), "2");
  EXPECT_EQ(eval("aten::__or__", {true, false}), "True");
  EXPECT_EQ(eval("aten::__xor__", {i(6), i(3)}), "5");
  EXPECT_EQ(eval("aten::__rshift__", {i(-9), i(1)}), "-5");
  EXPECT_EQ(eval("aten::__lshift__", {i(1), i(3)}), "8");
  EXPECT_EQ(eval("aten::__not__", {true}), "False");
}

TEST_F(ScriptOps, comparisons) {
  EXPECT_EQ(eval("aten::eq", {i(1), 1.0}), "True");
  EXPECT_EQ(eval("aten::eq", {kNan, kNan}), "False");
  EXPECT_EQ(eval("aten::ne", {kNan, kNan}), "True");
  EXPECT_EQ(eval("aten::eq", {Complex(0, 1), 1.0}), "False");
  EXPECT_EQ(eval("aten::lt", {Complex(0, 1), 1.0}), "error");
  EXPECT_EQ(eval("aten::lt", {s("a"), s("b")}), "True");
  EXPECT_EQ(eval("aten::eq", {ints({1, 2}), ints({1, 2})}), "True");
  EXPECT_EQ(eval("aten::ne", {ints({1, 2}), ints({1})}), "True");
  EXPECT_EQ(eval("aten::eq", {torch::Device{"cuda", 1}, torch::Device{"cuda", 0}}), "False");
  EXPECT_EQ(eval("aten::__is__", {IValue(), IValue()}), "True");
  EXPECT_EQ(eval("aten::__is__", {i(1), 1.0}), "False");
  EXPECT_EQ(eval("aten::__is__", {ints({1}), ints({1})}), "False");
  IValue shared = ints({1});
  EXPECT_EQ(eval("aten::__is__", {shared, shared}), "True");
  EXPECT_EQ(eval("aten::__isnot__", {i(1), IValue()}), "True");
  EXPECT_EQ(eval("aten::__is__", {s("a"), s("a")}), "error");
}

TEST_F(ScriptOps, casts_also_of_texts) {
  EXPECT_EQ(eval("aten::Int", {-2.7}), "-2");
  EXPECT_EQ(eval("aten::Int", {kNan}), "error");
  EXPECT_EQ(eval("aten::Int", {s(" +12")}), "12");
  EXPECT_EQ(eval("aten::Int", {s("12 ")}), "error");
  EXPECT_EQ(eval("aten::Int", {s("99999999999999999999")}), "error");
  EXPECT_EQ(eval("aten::Float", {s("1e5")}), "100000.");
  EXPECT_EQ(eval("aten::Float", {s("inf")}), "inf");
  EXPECT_EQ(eval("aten::Float", {s("1.5abc")}), "error");
  EXPECT_EQ(eval("aten::Float", {i(3)}), "3.");
  EXPECT_EQ(eval("aten::Bool", {kNan}), "True");
  EXPECT_EQ(eval("aten::Complex", {1.5, true}), "1.5+1.j");
  EXPECT_EQ(eval("aten::Int", {l.wrap(Scalar(4))}), "4");
}

TEST_F(ScriptOps, functions_of_math_give_what_c_gives) {
  EXPECT_EQ(eval("aten::sqrt", {i(4)}), "2.");
  EXPECT_TRUE(std::isnan(*call("aten::sqrt", {-1.0})[0].get<double>()));
  EXPECT_EQ(eval("aten::sqrt", {Complex(-1, 0)}), "0.+1.j");
  EXPECT_EQ(eval("aten::log", {i(0)}), "-inf");
  EXPECT_EQ(eval("aten::log", {8.0, 2.0}), "3.");
  EXPECT_EQ(eval("aten::exp", {1000.0}), "inf");
  EXPECT_EQ(eval("aten::gcd", {i(12), i(-18)}), "6");
  EXPECT_EQ(eval("aten::factorial", {i(5)}), "120");
  EXPECT_EQ(eval("aten::copysign", {i(1), -0.0}), "-1.");
  EXPECT_EQ(eval("aten::degrees", {i(1)}), "57.295779513082323");
  EXPECT_EQ(eval("aten::frexp", {8.0}), "(0.5, 4)");
  EXPECT_EQ(eval("aten::modf", {-2.5}), "(-0.5, -2.)");
  EXPECT_EQ(eval("aten::ldexp", {1.5, i(3)}), "12.");
  EXPECT_EQ(eval("aten::isinf", {Complex(1, kInf)}), "True");
  EXPECT_EQ(eval("aten::isfinite", {kNan}), "False");
  EXPECT_EQ(eval("aten::angle", {i(-1)}), "3.1415926535897931");
}

TEST_F(ScriptOps, minimum_maximum_sum) {
  EXPECT_EQ(eval("prim::min", {i(1), 2.5}), "1.");
  EXPECT_EQ(eval("prim::max", {kNan, 1.0}), "1.");
  EXPECT_EQ(eval("prim::max", {1.0, kNan}), "nan");
  EXPECT_EQ(eval("prim::max", {ints({1, 2}), ints({1, 3})}), "[1, 3]");
  EXPECT_EQ(eval("prim::min", {ints({1, 3})}), "1");
  EXPECT_EQ(eval("prim::max", {ints({})}), "error");
  EXPECT_EQ(eval("prim::abs", {Complex(3, 4)}), "5.");
  EXPECT_EQ(eval("aten::sum", {list({true, true}, "bool")}), "2");
  EXPECT_EQ(eval("aten::sum", {list({}, "float")}), "0.");
  EXPECT_EQ(eval("aten::all", {ints({1, 0})}), "False");
  EXPECT_EQ(eval("aten::any", {list({s("")}, "str")}), "False");
}

TEST_F(ScriptOps, lists_are_shared_and_changed_in_place) {
  ListRef one = ints({1, 2});
  call("aten::append", {one, i(3)});
  call("aten::insert", {one, i(-1), i(9)});
  EXPECT_EQ(print(one), "[1, 2, 9, 3]");
  EXPECT_EQ(eval("aten::pop", {one}), "3");
  EXPECT_EQ(eval("aten::pop", {one, i(0)}), "1");
  call("aten::extend", {one, one});
  EXPECT_EQ(print(one), "[2, 9, 2, 9]");
  call("aten::remove", {one, i(9)});
  call("aten::sort", {one, true});
  EXPECT_EQ(print(one), "[9, 2, 2]");
  call("aten::_set_item", {one, i(-1), i(5)});
  call("aten::reverse", {one});
  EXPECT_EQ(print(one), "[5, 2, 9]");
  EXPECT_EQ(eval("aten::sorted", {one}), "[2, 5, 9]");
  EXPECT_EQ(print(one), "[5, 2, 9]");
  call("aten::Delete", {one, i(1)});
  EXPECT_EQ(print(one), "[5, 9]");
  call("aten::mul_", {one, i(2)});
  EXPECT_EQ(print(one), "[5, 9, 5, 9]");
  call("aten::clear", {one});
  EXPECT_EQ(print(one), "[]");
  EXPECT_EQ(eval("aten::pop", {one}), "error");
}

TEST_F(ScriptOps, list_items_and_slices) {
  IValue four = ints({1, 2, 3, 4});
  EXPECT_EQ(eval("aten::__getitem__", {four, i(-1)}), "4");
  EXPECT_EQ(eval("aten::__getitem__", {four, i(4)}), "error");
  EXPECT_EQ(eval("aten::__getitem__", {four, i(-5)}), "error");
  EXPECT_EQ(eval("aten::slice", {four, i(1), i(3), i(1)}), "[2, 3]");
  EXPECT_EQ(eval("aten::slice", {four, IValue(), IValue(), i(-1)}), "[4, 3, 2, 1]");
  EXPECT_EQ(eval("aten::slice", {four, i(3), i(0), i(-1)}), "[4, 3, 2]");
  EXPECT_EQ(eval("aten::slice", {four, i(-2), i(INT64_MAX), i(1)}), "[3, 4]");
  EXPECT_EQ(eval("aten::slice", {four, i(0), i(100), i(0)}), "error");
  EXPECT_EQ(eval("aten::add", {ints({1}), ints({2})}), "[1, 2]");
  EXPECT_EQ(eval("aten::mul", {i(2), ints({1})}), "[1, 1]");
  EXPECT_EQ(eval("aten::mul", {four, i(INT64_MAX)}), "error");
  EXPECT_EQ(eval("aten::index", {four, i(2)}), "1");
  EXPECT_EQ(eval("aten::index", {four, i(9)}), "error");
  EXPECT_EQ(eval("aten::count", {ints({1, 2, 1}), i(1)}), "2");
  EXPECT_EQ(eval("aten::__contains__", {four, i(2)}), "True");
  EXPECT_EQ(eval("aten::len", {four}), "4");
  EXPECT_EQ(eval("prim::TupleIndex", {make_tuple({i(1), i(2)}), i(-1)}), "2");
  EXPECT_EQ(eval("aten::__range_length", {i(10), i(0), i(-3)}), "4");
  EXPECT_EQ(eval("aten::__range_length", {i(0), i(10), i(0)}), "error");
  EXPECT_EQ(eval("aten::__derive_index", {i(2), i(1), i(3)}), "7");
  EXPECT_EQ(eval("prim::rangelist", {i(3)}), "[0, 1, 2]");
}

TEST_F(ScriptOps, dictionaries_keep_the_order_of_insertion) {
  DictRef one = dict({{"b", 1}, {"a", 2}});
  EXPECT_EQ(eval("aten::__getitem__", {one, s("a")}), "2");
  EXPECT_EQ(eval("aten::__getitem__", {one, s("x")}), "error");
  EXPECT_EQ(eval("aten::get", {one, s("x")}), "None");
  EXPECT_EQ(eval("aten::get", {one, s("x"), i(3)}), "3");
  call("aten::_set_item", {one, s("b"), i(7)});
  EXPECT_EQ(eval("aten::setdefault", {one, s("c"), i(3)}), "3");
  EXPECT_EQ(print(one), "{b: 7, a: 2, c: 3}");
  call("aten::update", {one, dict({{"a", 5}, {"d", 6}})});
  EXPECT_EQ(eval("aten::keys", {one}), "[b, a, c, d]");
  EXPECT_EQ(eval("aten::values", {one}), "[7, 5, 3, 6]");
  EXPECT_EQ(eval("aten::items", {dict({{"a", 1}})}), "[(a, 1)]");
  EXPECT_EQ(eval("aten::popitem", {one}), "(b, 7)");
  EXPECT_EQ(eval("aten::pop", {one, s("a")}), "5");
  EXPECT_EQ(eval("aten::pop", {one, s("a")}), "error");
  EXPECT_EQ(eval("aten::pop", {one, s("a"), i(0)}), "0");
  call("aten::Delete", {one, s("c")});
  EXPECT_EQ(eval("aten::__contains__", {one, s("c")}), "False");
  EXPECT_EQ(eval("aten::len", {one}), "1");
  EXPECT_EQ(eval("aten::_set_item", {one, device(DType::Int64), i(1)}), "error");
}

TEST_F(ScriptOps, texts_are_bytes) {
  EXPECT_EQ(eval("aten::len", {s("\xC3\xA9")}), "2");
  EXPECT_EQ(eval("aten::upper", {s("a\xC3\xA9")}), "'A\xC3\xA9'");
  EXPECT_EQ(eval("aten::ord", {s("\xC3\xA9")}), "error");
  EXPECT_EQ(eval("aten::chr", {i(300)}), "','");
  EXPECT_EQ(eval("aten::chr", {i(-1)}), "error");
  EXPECT_EQ(eval("aten::hex", {i(-255)}), "'-0xff'");
  EXPECT_EQ(eval("aten::bin", {i(0)}), "'0b0'");
  EXPECT_EQ(eval("aten::oct", {i(INT64_MIN)}), "'-0o1000000000000000000000'");
  EXPECT_EQ(eval("aten::title", {s("hello wORLD 1a")}), "'Hello World 1A'");
  EXPECT_EQ(eval("aten::capitalize", {s("hELLO")}), "'Hello'");
  EXPECT_EQ(eval("aten::center", {s("ab"), i(5)}), "'  ab '");
  EXPECT_EQ(eval("aten::center", {s("abc"), i(6)}), "' abc  '");
  EXPECT_EQ(eval("aten::center", {s("ab"), i(5), s("xy")}), "error");
  EXPECT_EQ(eval("aten::ljust", {s("ab"), i(INT64_MAX)}), "error");
  EXPECT_EQ(eval("aten::zfill", {s("-42"), i(5)}), "'00-42'");
  EXPECT_EQ(eval("aten::expandtabs", {s("a\nbb\tc"), i(4)}), "'a\nbb  c'");
  EXPECT_EQ(eval("aten::strip", {s("xxaxx"), s("x")}), "'a'");
  EXPECT_EQ(eval("aten::strip", {s("\ra ")}), "'\ra'");
  EXPECT_EQ(eval("aten::replace", {s("aaa"), s("a"), s("b"), i(2)}), "'bba'");
  EXPECT_EQ(eval("aten::replace", {s("aaa"), s(""), s("b")}), "error");
  EXPECT_EQ(eval("aten::islower", {s("ab1")}), "True");
  EXPECT_EQ(eval("aten::isalpha", {s("")}), "False");
  EXPECT_EQ(eval("aten::istitle", {s("HEllo")}), "False");
  EXPECT_EQ(eval("aten::slice", {s("hello"), IValue(), IValue(), i(-1)}), "'olleh'");
  EXPECT_EQ(eval("aten::__getitem__", {s("hello"), i(-1)}), "'o'");
  EXPECT_EQ(eval("aten::add", {s("a"), s("b")}), "'ab'");
  EXPECT_EQ(eval("aten::list", {s("ab")}), "[a, b]");
}

TEST_F(ScriptOps, searching_in_texts) {
  EXPECT_EQ(eval("aten::find", {s("hello"), s("l"), i(-2)}), "3");
  EXPECT_EQ(eval("aten::find", {s("hello"), s("lo"), i(0), i(4)}), "-1");
  EXPECT_EQ(eval("aten::find", {s("hello"), s("o"), i(0), i(-1)}), "4");
  EXPECT_EQ(eval("aten::rfind", {s("hello"), s("")}), "5");
  EXPECT_EQ(eval("aten::index", {s("hello"), s("x")}), "error");
  EXPECT_EQ(eval("aten::count", {s("banana"), s("ana")}), "1");
  EXPECT_EQ(eval("aten::count", {s("banana"), s("a"), i(0), i(-2)}), "2");
  EXPECT_EQ(eval("aten::startswith", {s("hello"), s("he"), i(0), i(1)}), "False");
  EXPECT_EQ(eval("aten::endswith", {s("hello"), s("l"), i(0), i(4)}), "True");
}

TEST_F(ScriptOps, taking_texts_apart) {
  EXPECT_EQ(eval("aten::split", {s(" a  b ")}), "[a, b]");
  EXPECT_EQ(eval("aten::split", {s("a b c"), IValue(), i(1)}), "[a, b, c]");
  EXPECT_EQ(eval("aten::split", {s("a,b,,c"), s(","), i(1)}), "[a, b,,c]");
  EXPECT_EQ(eval("aten::split", {s("abc"), s("")}), "error");
  EXPECT_EQ(eval("aten::rsplit", {s("a,b,c"), s(","), i(1)}), "[a,b, c]");
  EXPECT_EQ(eval("aten::splitlines", {s("a\nb\r\nc")}), "[a, b, , c]");
  EXPECT_EQ(eval("aten::partition", {s("a-b-c"), s("-")}), "(a, -, b-c)");
  EXPECT_EQ(eval("aten::rpartition", {s("abc"), s("-")}), "(, , abc)");
  EXPECT_EQ(eval("aten::join", {s(","), list({s("a"), s("b")}, "str")}), "'a,b'");
}

TEST_F(ScriptOps, values_are_printed_as_torchscript_prints_them) {
  EXPECT_EQ(eval("aten::str", {0.1}), "'0.10000000000000001'");
  EXPECT_EQ(eval("aten::str", {1e16}), "'10000000000000000.'");
  EXPECT_EQ(eval("aten::str", {1e20}), "'1e+20'");
  EXPECT_EQ(eval("aten::str", {1e-5}), "'1.0000000000000001e-05'");
  EXPECT_EQ(eval("aten::str", {-0.0}), "'0.'");
  EXPECT_EQ(eval("aten::str", {Complex(1.5, -2)}), "'1.5-2.j'");
  EXPECT_EQ(eval("aten::str", {make_tuple({i(1)})}), "'(1,)'");
  EXPECT_EQ(eval("aten::str", {list({s("a'")}, "str")}), "'[a']'");
  EXPECT_EQ(eval("aten::str", {torch::Device{"cuda", 1}}), "'cuda:1'");
  EXPECT_EQ(eval("aten::format", {s("a{}b{}"), i(1), s("x")}), "'a1bx'");
  EXPECT_EQ(eval("aten::format", {s("{{}}"), i(1)}), "'{1}'");
  EXPECT_EQ(eval("aten::format", {s("{}")}), "error");
  EXPECT_EQ(eval("aten::percentFormat", {s("100%% %d"), i(1)}), "'100% 1'");
  EXPECT_EQ(eval("aten::percentFormat", {s("%s %f"), make_tuple({i(1), 1.5})}), "'1 1.500000'");
  EXPECT_EQ(eval("aten::percentFormat", {s("%e"), 1234.5}), "'1.234500e+03'");
  EXPECT_EQ(eval("aten::percentFormat", {s("%.2f"), 1.5}), "error");
  EXPECT_EQ(eval("aten::percentFormat", {s("%d"), make_tuple({i(1), i(2)})}), "error");
}

TEST_F(ScriptOps, what_is_asked_of_the_interpreter) {
  EXPECT_EQ(eval("aten::_unwrap_optional", {IValue()}), "error");
  EXPECT_EQ(eval("aten::_unwrap_optional", {i(1)}), "1");
  EXPECT_EQ(eval("aten::_infer_size", {ints({2, 1}), ints({1, 3})}), "[2, 3]");
  EXPECT_EQ(eval("aten::_size_if_not_equal", {ints({1}), ints({1})}), "None");
  EXPECT_EQ(eval("aten::is_scripting", {}), "True");
  EXPECT_EQ(eval("aten::is_grad_enabled", {}), "False");
  EXPECT_EQ(eval("prim::TimePoint", {}), "error");
  EXPECT_TRUE(call("prim::Print", {i(1)}).empty());
}

TEST_F(ScriptOps, tensors_are_left_to_aten) {
  IValue tensor = l.make(l.hlo.argument({DType::Float32, {2}}));
  for (std::string_view name : {"aten::add", "aten::mul", "aten::eq", "aten::slice", "aten::select", "aten::pow",
                                "aten::sum", "aten::index", "aten::sort", "aten::floor", "aten::neg"})
    EXPECT_TRUE(declines(name, {tensor, i(1)})) << name;
}

TEST_F(ScriptOps, numbers_of_the_device_are_computed_there) {
  IValue n = device(DType::Int64), x = device(DType::Float64), b = device(DType::Bool);
  auto dtype = [&](std::string_view name, const Items& values) {
    IValues results = call(name, values);
    EXPECT_TRUE(l.take_refusals().empty()) << name;
    auto* t = results.empty() ? nullptr : results[0].get<Tensor>();
    return t && t->is_device_number() ? std::string(torchlift::info(t->dtype()).short_name) : "none";
  };
  EXPECT_EQ(dtype("aten::add", {n, i(1)}), "i64");
  EXPECT_EQ(dtype("aten::add", {n, 1.5}), "f64");
  EXPECT_EQ(dtype("aten::div", {n, n}), "f64");
  EXPECT_EQ(dtype("aten::floordiv", {n, i(2)}), "i64");
  EXPECT_EQ(dtype("aten::remainder", {x, n}), "f64");
  EXPECT_EQ(dtype("aten::pow", {n, i(2)}), "f64");
  EXPECT_EQ(dtype("aten::lt", {n, x}), "bool");
  EXPECT_EQ(dtype("aten::__and__", {b, true}), "bool");
  EXPECT_EQ(dtype("aten::__not__", {b}), "bool");
  EXPECT_EQ(dtype("aten::floor", {x}), "i64");
  EXPECT_EQ(dtype("aten::sqrt", {n}), "f64");
  EXPECT_EQ(dtype("prim::min", {n, i(3)}), "i64");
  EXPECT_EQ(dtype("aten::sum", {list({n, i(1)})}), "i64");
  EXPECT_EQ(dtype("aten::any", {list({b}, "bool")}), "bool");
  EXPECT_EQ(dtype("aten::Float", {n}), "f64");
  EXPECT_EQ(dtype("aten::Int", {l.make(l.hlo.argument({DType::Float32, {1}}))}), "i64");
}

TEST_F(ScriptOps, what_needs_a_number_of_the_device_is_refused) {
  IValue n = device(DType::Int64);
  EXPECT_EQ(refusal("aten::__getitem__", {ints({1}), n}), "data-dependent");
  EXPECT_EQ(refusal("aten::__range_length", {i(0), n, i(1)}), "data-dependent");
  EXPECT_EQ(refusal("aten::str", {n}), "data-dependent");
  EXPECT_EQ(refusal("aten::eq", {list({n}), ints({1})}), "data-dependent");
  EXPECT_EQ(refusal("aten::__contains__", {ints({1}), n}), "data-dependent");
  EXPECT_EQ(refusal("aten::sort", {list({n, i(1)})}), "data-dependent");
  EXPECT_EQ(refusal("aten::gamma", {n}), "data-dependent");
}

TEST_F(ScriptOps, a_container_of_outside_is_not_changed_in_a_region) {
  IValue outer = ints({1}), outer_dict = dict({});
  Lower::Region region(l);
  EXPECT_EQ(refusal("aten::append", {outer, i(2)}), "data-dependent");
  EXPECT_EQ(refusal("aten::_set_item", {outer_dict, s("a"), i(2)}), "data-dependent");
  EXPECT_EQ(print(outer), "[1]");
  IValue inner = call("aten::copy", {outer}).at(0);
  EXPECT_EQ(refusal("aten::append", {inner, i(2)}), "");
  EXPECT_EQ(print(inner), "[1, 2]");
}

TEST_F(ScriptOps, nesting_is_bounded) {
  IValue deep = i(1), other = i(1);
  for (int n = 0; n < 3 * kMaxValueDepth; ++n) {
    deep = list({deep}, "");
    other = list({other}, "");
  }
  EXPECT_EQ(refusal("aten::eq", {deep, other}), "data-dependent");
  EXPECT_EQ(refusal("aten::str", {deep}), "data-dependent");
}

}  // namespace
}  // namespace torchlift::aten
