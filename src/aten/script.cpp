#include "aten/script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/kinds.hpp"

namespace torchlift::aten {

// ---- arguments

const IValue& argument(Arguments arguments, size_t i, std::string_view name) {
  static const IValue none;
  if (i < arguments.size() && arguments[i].name.empty()) return arguments[i].value;
  for (const NamedValue& a : arguments)
    if (!name.empty() && a.name == name) return a.value;
  return none;
}

ScriptResults refused(Lower& l, std::string message) {
  l.wrong(std::move(message));
  return IValues{};
}

ScriptResults unknown(Lower& l, std::string what) {
  l.refuse(Kind::DataDependent,
           {{"what", std::move(what)}, {"advice", "keep it a tensor, or compute it from sizes and constants"}});
  return IValues{};
}

// ---- numbers

std::optional<Number> python_number(Lower& l, const IValue& value) {
  if (auto n = value.number()) {
    DType dtype = n->is_bool()    ? DType::Bool
                  : n->is_int()   ? DType::Int64
                  : n->is_float() ? DType::Float64
                                  : DType::Complex128;
    return Number{.known = n, .device = {}, .dtype = dtype};
  }
  auto* t = value.get<Tensor>();
  if (!t || !t->is_device_number()) return std::nullopt;
  Number out{.known = l.known(*t), .device = *t, .dtype = t->dtype()};
  if (out.known) {
    // A folded element has the type of its bytes, the number has Python's.
    if (out.dtype == DType::Bool) out.known = Scalar(out.known->to_bool());
    else if (out.dtype == DType::Int64) out.known = Scalar(out.known->to_dim());
    else if (out.dtype == DType::Float64) out.known = Scalar(out.known->to_double());
    else out.known = Scalar(out.known->to_complex());
  }
  return out;
}

Value read(Lower& l, const Number& number, DType dtype) {
  if (number.known) return l.constant(dtype, *number.known);
  return l.convert(l.read(number.device), dtype);
}

DType common_type(const Number& a, const Number& b) {
  for (DType t : {DType::Complex128, DType::Float64, DType::Int64})
    if (a.dtype == t || b.dtype == t) return t;
  return DType::Bool;
}

IValue boxed(Lower&, const Number& number) { return number.known ? IValue(*number.known) : IValue(number.device); }

std::optional<Dim> int_argument(Lower& l, Arguments arguments, size_t i, std::string_view name,
                                std::optional<int64_t> fallback) {
  const IValue& value = argument(arguments, i, name);
  if (value.is_none() && fallback) return Dim(*fallback);
  auto n = python_number(l, value);
  if (!n || !n->is_integral()) {
    l.wrong("`" + std::string(name) + "` is " + describe(value) + ", expected an int");
    return std::nullopt;
  }
  if (!n->known) {
    unknown(l, "`" + std::string(name) + "`");
    return std::nullopt;
  }
  return n->known->to_dim();
}

std::optional<bool> bool_argument(Lower& l, Arguments arguments, size_t i, std::string_view name, bool fallback) {
  auto value = int_argument(l, arguments, i, name, fallback ? 1 : 0);
  if (!value) return std::nullopt;
  return *value != Dim(0);
}

// ---- containers

ListRef make_list(Lower& l, std::string element_type, std::vector<IValue> items) {
  auto list = std::make_shared<ScriptList>();
  list->element_type = std::move(element_type);
  list->items = std::move(items);
  list->region = l.region_depth();
  return list;
}

DictRef make_dict(Lower& l, std::string key_type, std::string value_type) {
  auto dict = std::make_shared<ScriptDict>();
  dict->key_type = std::move(key_type);
  dict->value_type = std::move(value_type);
  dict->region = l.region_depth();
  return dict;
}

IValue make_tuple(std::vector<IValue> items) {
  auto tuple = std::make_shared<ScriptTuple>();
  tuple->items = std::move(items);
  return TupleRef(std::move(tuple));
}

namespace {
bool made_here(Lower& l, size_t region, std::string_view what) {
  if (region >= l.region_depth()) return true;
  l.refuse(
      Kind::DataDependent,
      {{"what", "whether a " + std::string(what) + " of outside is changed"},
       {"advice", "change it outside of branches and loops that depend on tensors, or compute with tensors there"}});
  return false;
}
}  // namespace

bool can_change(Lower& l, const ScriptList& list) { return made_here(l, list.region, "list"); }
bool can_change(Lower& l, const ScriptDict& dict) { return made_here(l, dict.region, "dictionary"); }

bool small_enough(Lower& l, size_t count, size_t limit, std::string_view what) {
  if (count <= limit) return true;
  l.wrong("a " + std::string(what) + " of more than " + std::to_string(limit) + (what == "text" ? " bytes" : " items"));
  return false;
}

std::optional<size_t> index_in(Lower& l, int64_t index, size_t size, std::string_view what) {
  auto bound = static_cast<int64_t>(size);
  if (index >= -bound && index < bound) return static_cast<size_t>(index < 0 ? index + bound : index);
  l.wrong("IndexError: " + std::string(what) + " out of range: " + std::to_string(index) + " of " +
          std::to_string(size));
  return std::nullopt;
}

std::optional<std::vector<size_t>> sliced(Lower& l, Arguments arguments, size_t size) {
  auto step_dim = int_argument(l, arguments, 3, "step", 1);
  if (!step_dim) return std::nullopt;
  int64_t step = step_dim->concrete();
  if (step == 0) {
    l.wrong("ValueError: slice step cannot be zero");
    return std::nullopt;
  }
  auto bound = static_cast<int64_t>(size);
  int64_t low = step > 0 ? 0 : -1;
  int64_t high = step > 0 ? bound : bound - 1;
  auto start = int_argument(l, arguments, 1, "start", step > 0 ? INT64_MIN : INT64_MAX);
  auto end = int_argument(l, arguments, 2, "end", step > 0 ? INT64_MAX : INT64_MIN);
  if (!start || !end) return std::nullopt;
  auto clamped = [&](int64_t at) {
    if (at < 0) at = at < -bound ? low : at + bound;
    return std::min(std::max(at, low), high);
  };
  int64_t first = clamped(start->concrete());
  int64_t last = clamped(end->concrete());
  std::vector<size_t> out;
  if (step > 0) {
    for (int64_t at = first; at<last; at = step> last - at ? last : at + step) out.push_back(static_cast<size_t>(at));
  } else {
    for (int64_t at = first; at > last; at = step < last - at ? last : at + step)
      out.push_back(static_cast<size_t>(at));
  }
  return out;
}

// ---- comparing

namespace {

Answer yes_if(bool condition) { return condition ? Answer::Yes : Answer::No; }

Answer equal_items(Lower& l, const std::vector<IValue>& a, const std::vector<IValue>& b, int depth) {
  if (a.size() != b.size()) return Answer::No;
  Answer out = Answer::Yes;
  for (size_t i = 0; i < a.size(); ++i) {
    Answer one = equal(l, a[i], b[i], depth + 1);
    if (one == Answer::No) return Answer::No;
    if (one == Answer::Unknown) out = Answer::Unknown;
  }
  return out;
}

bool equal_scalars(const Scalar& a, const Scalar& b) {
  if (a.is_integral() && b.is_integral()) return a.to_int() == b.to_int();
  return a.to_complex() == b.to_complex();
}

}  // namespace

Answer equal(Lower& l, const IValue& a, const IValue& b, int depth) {
  if (depth > kMaxValueDepth) return Answer::Unknown;
  auto x = python_number(l, a), y = python_number(l, b);
  if (x && y) return x->known && y->known ? yes_if(equal_scalars(*x->known, *y->known)) : Answer::Unknown;
  if (a.is_tensor() && b.is_tensor()) return Answer::Unknown;
  if (a.data.index() != b.data.index()) return Answer::No;
  if (a.is_none()) return Answer::Yes;
  if (auto* s = a.get<std::string>()) return yes_if(*s == *b.get<std::string>());
  if (auto* d = a.get<torch::Device>()) return yes_if(*d == *b.get<torch::Device>());
  if (auto* d = a.get<DType>()) return yes_if(*d == *b.get<DType>());
  if (auto* m = a.get<torch::Layout>()) return yes_if(*m == *b.get<torch::Layout>());
  if (auto* m = a.get<torch::MemoryFormat>()) return yes_if(*m == *b.get<torch::MemoryFormat>());
  if (auto* list = a.get<ListRef>()) return equal_items(l, (*list)->items, (*b.get<ListRef>())->items, depth);
  if (auto* tuple = a.get<TupleRef>()) return equal_items(l, (*tuple)->items, (*b.get<TupleRef>())->items, depth);
  if (auto* dict = a.get<DictRef>()) {
    const auto& left = (*dict)->items;
    const auto& right = (*b.get<DictRef>())->items;
    if (left.size() != right.size()) return Answer::No;
    Answer out = Answer::Yes;
    for (auto& [key, value] : left) {
      Answer one = Answer::No;
      for (auto& [other_key, other] : right)
        if (equal(l, key, other_key, depth + 1) == Answer::Yes) one = equal(l, value, other, depth + 1);
      if (one == Answer::No) return Answer::No;
      if (one == Answer::Unknown) out = Answer::Unknown;
    }
    return out;
  }
  if (auto* object = a.get<ObjectRef>()) {
    const ObjectRef& other = *b.get<ObjectRef>();
    if (!(*object)->is_enum || !other->is_enum) return yes_if(*object == other);
    IValue *name = (*object)->find("name"), *other_name = other->find("name");
    return yes_if((*object)->type == other->type && name && other_name &&
                  equal(l, *name, *other_name, depth + 1) == Answer::Yes);
  }
  return Answer::Unknown;
}

std::optional<int> order(Lower& l, const IValue& a, const IValue& b) {
  auto x = python_number(l, a), y = python_number(l, b);
  if (x && y) {
    if (!x->known || !y->known || x->known->is_complex() || y->known->is_complex()) return std::nullopt;
    if (x->is_integral() && y->is_integral()) {
      int64_t p = x->known->to_int(), q = y->known->to_int();
      return p < q ? -1 : p > q ? 1 : 0;
    }
    double p = x->known->to_double(), q = y->known->to_double();
    return p < q ? -1 : p > q ? 1 : 0;  // NaN is before and after nothing
  }
  auto* s = a.get<std::string>();
  auto* t = b.get<std::string>();
  if (s && t) {
    int compared = s->compare(*t);
    return compared < 0 ? -1 : compared > 0 ? 1 : 0;
  }
  return std::nullopt;
}

// ---- printing

namespace {

// A whole number that fits 64 bits ends with a point; others have 17 digits.
std::string float_text(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0 && value == std::trunc(value))
    return std::to_string(static_cast<int64_t>(value)) + ".";
  std::array<char, 40> buffer{};
  auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 17);
  return std::string(buffer.data(), end);
}

std::string scalar_text(const Scalar& number) {
  if (number.is_float()) return float_text(number.to_double());
  if (!number.is_complex()) return number.text();
  std::complex<double> c = number.to_complex();
  std::string imaginary = float_text(c.imag());
  return float_text(c.real()) + (imaginary.front() == '-' ? "" : "+") + imaginary + "j";
}

std::optional<std::string> items_text(Lower& l, const std::vector<IValue>& items, int depth) {
  std::string out;
  for (const IValue& item : items) {
    auto text = text_of(l, item, depth + 1);
    if (!text) return std::nullopt;
    if (&item != items.data()) out += ", ";
    out += *text;
    if (out.size() > kMaxTextSize) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<std::string> text_of(Lower& l, const IValue& value, int depth) {
  if (depth > kMaxValueDepth) return std::nullopt;
  if (auto n = python_number(l, value)) return n->known ? std::optional(scalar_text(*n->known)) : std::nullopt;
  if (value.is_none()) return "None";
  if (auto* s = value.get<std::string>()) return *s;
  if (auto* d = value.get<torch::Device>()) return d->index < 0 ? d->type : d->type + ":" + std::to_string(d->index);
  if (auto* list = value.get<ListRef>()) {
    auto text = items_text(l, (*list)->items, depth);
    return text ? std::optional("[" + *text + "]") : std::nullopt;
  }
  if (auto* tuple = value.get<TupleRef>()) {
    auto text = items_text(l, (*tuple)->items, depth);
    if (!text) return std::nullopt;
    return "(" + *text + ((*tuple)->items.size() == 1 ? ",)" : ")");
  }
  if (auto* dict = value.get<DictRef>()) {
    std::string out = "{";
    for (auto& [key, item] : (*dict)->items) {
      auto left = text_of(l, key, depth + 1), right = text_of(l, item, depth + 1);
      if (!left || !right) return std::nullopt;
      out += (out.size() > 1 ? ", " : "") + *left + ": " + *right;
      if (out.size() > kMaxTextSize) return std::nullopt;
    }
    return out + "}";
  }
  if (auto* object = value.get<ObjectRef>(); object && (*object)->is_enum) {
    IValue* name = (*object)->find("name");
    auto* text = name ? name->get<std::string>() : nullptr;
    if (text) return "Enum<" + (*object)->type.substr((*object)->type.rfind('.') + 1) + "." + *text + ">";
  }
  return std::nullopt;
}

}  // namespace torchlift::aten
