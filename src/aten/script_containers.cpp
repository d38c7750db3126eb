// TorchScript's lists, dictionaries and tuples, and the children of module containers. A list or dictionary is shared:
// a change shows under every name of it.
#include <algorithm>

#include "aten/families.hpp"
#include "aten/script.hpp"
#include "aten/script_calls.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

const ListRef* list_at(Arguments arguments, size_t i, std::string_view name = "self") {
  return argument<ListRef>(arguments, i, name);
}
const DictRef* dict_at(Arguments arguments, size_t i, std::string_view name = "self") {
  return argument<DictRef>(arguments, i, name);
}

// ---- dictionaries: keys are found by equality; tensors by identity, as TorchScript has it

bool is_key(Lower& l, const IValue& key) {
  auto n = python_number(l, key);
  if (n && !n->known) {
    unknown(l, "a key of a dictionary");
    return false;
  }
  if (n || key.get<std::string>() || key.is_tensor()) return true;
  l.wrong("TypeError: a dictionary has no keys like " + describe(key));
  return false;
}

std::optional<size_t> find(Lower& l, const ScriptDict& dict, const IValue& key) {
  for (size_t i = 0; i < dict.items.size(); ++i) {
    const IValue& other = dict.items[i].first;
    auto *a = key.get<Tensor>(), *b = other.get<Tensor>();
    if (a && b ? a->node() == b->node() : equal(l, key, other) == Answer::Yes) return i;
  }
  return std::nullopt;
}

ScriptResults key_error(Lower& l, const IValue& key) { return refused(l, "KeyError: " + describe(key)); }

bool set_item(Lower& l, ScriptDict& dict, const IValue& key, const IValue& value) {
  if (!is_key(l, key) || !can_change(l, dict)) return false;
  if (auto at = find(l, dict, key)) {
    dict.items[*at].second = value;
    return true;
  }
  if (!small_enough(l, dict.items.size() + 1, kMaxListItems, "dictionary")) return false;
  dict.items.emplace_back(key, value);
  return true;
}

void erase(ScriptDict& dict, size_t at) { dict.items.erase(dict.items.begin() + static_cast<std::ptrdiff_t>(at)); }
void erase(ScriptList& list, size_t at) { list.items.erase(list.items.begin() + static_cast<std::ptrdiff_t>(at)); }

DictRef copied(Lower& l, const ScriptDict& dict) {
  DictRef out = make_dict(l, dict.key_type, dict.value_type);
  out->items = dict.items;
  return out;
}
ListRef copied(Lower& l, const ScriptList& list) { return make_list(l, list.element_type, list.items); }

// (dict, key) or (dict, key, default)
ScriptResults get(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  const IValue& key = argument(arguments, 1, "key");
  if (!is_key(l, key)) return IValues{};
  auto at = find(l, **dict, key);
  return IValues{at ? (*dict)->items[*at].second : argument(arguments, 2, "default_value")};
}

ScriptResults setdefault(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  const IValue &key = argument(arguments, 1, "key"), &value = argument(arguments, 2, "default_value");
  if (!is_key(l, key)) return IValues{};
  if (auto at = find(l, **dict, key)) return IValues{(*dict)->items[*at].second};
  if (!set_item(l, **dict, key, value)) return IValues{};
  return IValues{value};
}

ScriptResults update(Lower& l, Arguments arguments) {
  auto *dict = dict_at(arguments, 0), *other = dict_at(arguments, 1, "to_add");
  if (!dict || !other) return std::nullopt;
  auto items = (*other)->items;  // a copy: both may be one
  for (auto& [key, value] : items)
    if (!set_item(l, **dict, key, value)) break;
  return IValues{};
}

// The first pair that was put in, unlike Python's.
ScriptResults popitem(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  if ((*dict)->items.empty()) return refused(l, "KeyError: popitem(): dictionary is empty");
  if (!can_change(l, **dict)) return IValues{};
  auto [key, value] = (*dict)->items.front();
  erase(**dict, 0);
  return IValues{make_tuple({key, value})};
}

ScriptResults keys(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  ListRef out = make_list(l, (*dict)->key_type);
  for (auto& [key, value] : (*dict)->items) out->items.push_back(key);
  return IValues{out};
}
ScriptResults values(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  ListRef out = make_list(l, (*dict)->value_type);
  for (auto& [key, value] : (*dict)->items) out->items.push_back(value);
  return IValues{out};
}
ScriptResults items(Lower& l, Arguments arguments) {
  auto* dict = dict_at(arguments, 0);
  if (!dict) return std::nullopt;
  bool typed = !(*dict)->key_type.empty() && !(*dict)->value_type.empty();
  ListRef out = make_list(l, typed ? "Tuple[" + (*dict)->key_type + ", " + (*dict)->value_type + "]" : "");
  for (auto& [key, value] : (*dict)->items) out->items.push_back(make_tuple({key, value}));
  return IValues{out};
}

// (), (dict), or (list of pairs)
ScriptResults dict(Lower& l, Arguments arguments) {
  if (arguments.empty()) return IValues{make_dict(l, "str", "Tensor")};
  if (auto* from = dict_at(arguments, 0)) return IValues{copied(l, **from)};
  auto* pairs = list_at(arguments, 0);
  if (!pairs) return std::nullopt;
  DictRef out = make_dict(l, "", "");
  for (const IValue& pair : (*pairs)->items) {
    auto* tuple = pair.get<TupleRef>();
    if (!tuple || (*tuple)->items.size() != 2) return refused(l, "dict() of " + describe(pair) + ", expected pairs");
    if (!set_item(l, *out, (*tuple)->items[0], (*tuple)->items[1])) return IValues{};
  }
  return IValues{out};
}

// ---- what lists and dictionaries share

ScriptResults len(Lower& l, Arguments arguments) {
  const IValue& value = argument(arguments, 0);
  if (auto* list = value.get<ListRef>()) return IValues{Dim(static_cast<int64_t>((*list)->items.size()))};
  if (auto* dict = value.get<DictRef>()) return IValues{Dim(static_cast<int64_t>((*dict)->items.size()))};
  if (auto* tuple = value.get<TupleRef>()) return IValues{Dim(static_cast<int64_t>((*tuple)->items.size()))};
  if (auto* text = value.get<std::string>()) return IValues{Dim(static_cast<int64_t>(text->size()))};  // bytes
  auto* t = value.get<Tensor>();
  if (!t || t->is_poison()) return std::nullopt;
  if (t->rank() == 0) return refused(l, "TypeError: len() of a 0-d tensor");
  return IValues{t->dim(0)};
}

const std::vector<IValue>* sequence(const IValue& value) {
  if (auto* list = value.get<ListRef>()) return &(*list)->items;
  if (auto* tuple = value.get<TupleRef>()) return &(*tuple)->items;
  return nullptr;
}

// A ModuleList's or ModuleDict's child, by number or by key.
ScriptResults module_container_index(Lower& l, Arguments arguments) {
  auto* object = argument<ObjectRef>(arguments, 0);
  if (!object) return std::nullopt;
  std::string key;
  if (auto* text = argument<std::string>(arguments, 1)) {
    key = *text;
  } else {
    auto index = int_argument(l, arguments, 1, "ind");
    if (!index) return IValues{};
    int64_t count = 0;
    while (*index < Dim(0) && (*object)->find(std::to_string(count))) ++count;
    key = std::to_string(index->concrete() < 0 ? index->concrete() + count : index->concrete());
  }
  IValue* child = (*object)->find(key);
  if (!child) return refused(l, "KeyError: the container has no module " + describe(IValue(key)));
  return IValues{*child};
}

// Of a list, tuple, dictionary, text or container of modules.
ScriptResults getitem(Lower& l, Arguments arguments) {
  const IValue& self = argument(arguments, 0, "self");
  if (self.get<ObjectRef>()) return module_container_index(l, arguments);
  if (auto* dict = self.get<DictRef>()) {
    const IValue& key = argument(arguments, 1, "key");
    if (!is_key(l, key)) return IValues{};
    auto at = find(l, **dict, key);
    if (!at) return key_error(l, key);
    return IValues{(*dict)->items[*at].second};
  }
  auto* text = self.get<std::string>();
  const std::vector<IValue>* list = sequence(self);
  if (!list && !text) return std::nullopt;
  auto index = int_argument(l, arguments, 1, "idx");
  if (!index) return IValues{};
  std::string_view what = text ? "string index" : self.get<TupleRef>() ? "tuple index" : "list index";
  auto at = index_in(l, index->concrete(), list ? list->size() : text->size(), what);
  if (!at) return IValues{};
  if (text) return IValues{std::string(1, (*text)[*at])};
  return IValues{(*list)[*at]};
}

// A tensor's select is ATen's.
ScriptResults select(Lower& l, Arguments arguments) {
  return list_at(arguments, 0, "list") ? getitem(l, arguments) : std::nullopt;
}

ScriptResults set_item_row(Lower& l, Arguments arguments) {
  const IValue& value = argument(arguments, 2);
  if (auto* dict = dict_at(arguments, 0)) {
    set_item(l, **dict, argument(arguments, 1), value);
    return IValues{};
  }
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto index = int_argument(l, arguments, 1, "idx");
  if (!index || !can_change(l, **list)) return IValues{};
  auto at = index_in(l, index->concrete(), (*list)->items.size(), "list assignment index");
  if (!at) return IValues{};
  (*list)->items[*at] = value;
  return IValues{*list};
}

ScriptResults delete_item(Lower& l, Arguments arguments) {
  if (auto* dict = dict_at(arguments, 0)) {
    const IValue& key = argument(arguments, 1);
    if (!is_key(l, key) || !can_change(l, **dict)) return IValues{};
    auto at = find(l, **dict, key);
    if (!at) return key_error(l, key);
    erase(**dict, *at);
    return IValues{};
  }
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto index = int_argument(l, arguments, 1, "idx");
  if (!index || !can_change(l, **list)) return IValues{};
  if (auto at = index_in(l, index->concrete(), (*list)->items.size())) erase(**list, *at);
  return IValues{};
}

// list: (list) or (list, index); dictionary: (dict, key) or (dict, key, default)
ScriptResults pop(Lower& l, Arguments arguments) {
  if (auto* dict = dict_at(arguments, 0)) {
    const IValue& key = argument(arguments, 1, "key");
    if (!is_key(l, key) || !can_change(l, **dict)) return IValues{};
    auto at = find(l, **dict, key);
    if (!at && arguments.size() < 3) return key_error(l, key);
    if (!at) return IValues{argument(arguments, 2)};
    IValue out = (*dict)->items[*at].second;
    erase(**dict, *at);
    return IValues{out};
  }
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto index = int_argument(l, arguments, 1, "idx", -1);
  if (!index || !can_change(l, **list)) return IValues{};
  if ((*list)->items.empty()) return refused(l, "IndexError: pop from empty list");
  auto at = index_in(l, index->concrete(), (*list)->items.size(), "pop index");
  if (!at) return IValues{};
  IValue out = (*list)->items[*at];
  erase(**list, *at);
  return IValues{out};
}

ScriptResults clear(Lower& l, Arguments arguments) {
  if (auto* dict = dict_at(arguments, 0)) {
    if (can_change(l, **dict)) (*dict)->items.clear();
    return IValues{};
  }
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  if (can_change(l, **list)) (*list)->items.clear();
  return IValues{};
}

ScriptResults copy(Lower& l, Arguments arguments) {
  if (auto* dict = dict_at(arguments, 0)) return IValues{copied(l, **dict)};
  if (auto* list = list_at(arguments, 0)) return IValues{copied(l, **list)};
  return std::nullopt;
}

// Whether an item of a list, a key of a dictionary, or a part of a text.
ScriptResults contains(Lower& l, Arguments arguments) {
  const IValue &self = argument(arguments, 0), &item = argument(arguments, 1);
  if (auto* dict = self.get<DictRef>()) {
    if (!is_key(l, item)) return IValues{};
    return IValues{find(l, **dict, item).has_value()};
  }
  auto *text = self.get<std::string>(), *part = item.get<std::string>();
  if (text && part) return IValues{text->find(*part) != std::string::npos};
  const std::vector<IValue>* list = sequence(self);
  if (!list) return std::nullopt;
  bool open = false;
  for (const IValue& other : *list) {
    Answer same = equal(l, other, item);
    if (same == Answer::Yes) return IValues{true};
    open = open || same == Answer::Unknown;
  }
  if (open) return unknown(l, "whether a list contains a value");
  return IValues{false};
}

// ---- lists

ScriptResults append(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  if (can_change(l, **list) && small_enough(l, (*list)->items.size() + 1, kMaxListItems, "list"))
    (*list)->items.push_back(argument(arguments, 1, "el"));
  return IValues{*list};
}

bool append_all(Lower& l, ScriptList& list, const ScriptList& other) {
  if (!can_change(l, list) || !small_enough(l, list.items.size() + other.items.size(), kMaxListItems, "list"))
    return false;
  size_t count = other.items.size();  // both may be one
  for (size_t i = 0; i < count; ++i) list.items.push_back(IValue(other.items[i]));
  return true;
}
ScriptResults extend(Lower& l, Arguments arguments) {
  auto *list = list_at(arguments, 0), *other = list_at(arguments, 1, "other");
  if (!list || !other) return std::nullopt;
  append_all(l, **list, **other);
  return IValues{};
}

ScriptResults insert(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto index = int_argument(l, arguments, 1, "idx");
  if (!index || !can_change(l, **list) || !small_enough(l, (*list)->items.size() + 1, kMaxListItems, "list"))
    return IValues{};
  auto size = static_cast<int64_t>((*list)->items.size());
  int64_t at = index->concrete();
  if (at < 0) at = at < -size ? 0 : at + size;
  (*list)->items.insert((*list)->items.begin() + std::min(at, size), argument(arguments, 2, "el"));
  return IValues{};
}

ScriptResults reverse(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  if (can_change(l, **list)) std::reverse((*list)->items.begin(), (*list)->items.end());
  return IValues{};
}

// The first item that equals a value; the list's size if none does. Nothing where that depends on the device.
std::optional<size_t> position(Lower& l, const ScriptList& list, const IValue& item) {
  for (size_t i = 0; i < list.items.size(); ++i) {
    Answer same = equal(l, list.items[i], item);
    if (same == Answer::Yes) return i;
    if (same == Answer::No) continue;
    unknown(l, "whether an item of a list equals a value");
    return std::nullopt;
  }
  return list.items.size();
}

ScriptResults remove(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto at = position(l, **list, argument(arguments, 1, "el"));
  if (!at || !can_change(l, **list)) return IValues{};
  if (*at == (*list)->items.size()) return refused(l, "ValueError: list.remove(x): x not in list");
  erase(**list, *at);
  return IValues{};
}

ScriptResults index(Lower& l, const ScriptList& list, const IValue& item) {
  auto at = position(l, list, item);
  if (!at) return IValues{};
  if (*at == list.items.size()) return refused(l, "ValueError: " + describe(item) + " is not in list");
  return IValues{Dim(static_cast<int64_t>(*at))};
}

ScriptResults count(Lower& l, const ScriptList& list, const IValue& item) {
  int64_t found = 0;
  for (const IValue& other : list.items) {
    Answer same = equal(l, other, item);
    if (same == Answer::Unknown) return unknown(l, "how often a list holds a value");
    found += same == Answer::Yes ? 1 : 0;
  }
  return IValues{Dim(found)};
}

// Sorts items that all have an order; NaN has none.
bool sort_items(Lower& l, std::vector<IValue>& items, bool reverse) {
  for (const IValue& item : items) {
    auto n = python_number(l, item);
    if (n && !n->known) {
      unknown(l, "the order of a list");
      return false;
    }
    if (n && n->dtype == DType::Float64 && n->known->to_double() != n->known->to_double()) {
      l.wrong("the order of a list that holds NaN");
      return false;
    }
    if (!order(l, item, items.front())) {
      l.wrong("the order of " + describe(item) + " and " + describe(items.front()));
      return false;
    }
  }
  std::stable_sort(items.begin(), items.end(), [&](const IValue& a, const IValue& b) {
    int compared = *order(l, a, b);
    return reverse ? compared > 0 : compared < 0;
  });
  return true;
}
ScriptResults sort(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0);
  if (!list) return std::nullopt;
  auto reverse = bool_argument(l, arguments, 1, "reverse", false);
  if (!reverse || !can_change(l, **list)) return IValues{};
  std::vector<IValue> items = (*list)->items;
  if (sort_items(l, items, *reverse)) (*list)->items = std::move(items);
  return IValues{};
}
ScriptResults sorted(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0, "input");
  if (!list) return std::nullopt;
  ListRef out = copied(l, **list);
  if (!sort_items(l, out->items, false)) return IValues{};
  return IValues{out};
}

// Of a list a copy, of a text its bytes.
ScriptResults list_row(Lower& l, Arguments arguments) {
  if (auto* list = list_at(arguments, 0, "l")) return IValues{copied(l, **list)};
  auto* text = argument<std::string>(arguments, 0, "t");
  if (!text || !small_enough(l, text->size(), kMaxListItems, "list"))
    return text ? ScriptResults(IValues{}) : std::nullopt;
  ListRef out = make_list(l, "str");
  for (char c : *text) out->items.emplace_back(std::string(1, c));
  return IValues{out};
}

ScriptResults slice(Lower& l, Arguments arguments) {
  const IValue& self = argument(arguments, 0, "l");
  auto* list = self.get<ListRef>();
  auto* text = self.get<std::string>();
  if (!list && !text) return std::nullopt;
  auto at = sliced(l, arguments, list ? (*list)->items.size() : text->size());
  if (!at) return IValues{};
  if (list) {
    ListRef out = make_list(l, (*list)->element_type);
    for (size_t i : *at) out->items.push_back((*list)->items[i]);
    return IValues{out};
  }
  std::string out;
  for (size_t i : *at) out += (*text)[i];
  return IValues{out};
}

// ---- + and * of lists and texts, and of numbers

ScriptResults add(Lower& l, Arguments arguments) {
  auto *a = list_at(arguments, 0, "a"), *b = list_at(arguments, 1, "b");
  if (a && b) {
    ListRef out = copied(l, **a);
    if (out->element_type.empty()) out->element_type = (*b)->element_type;
    if (!append_all(l, *out, **b)) return IValues{};
    return IValues{out};
  }
  auto *x = argument<std::string>(arguments, 0, "a"), *y = argument<std::string>(arguments, 1, "b");
  if (!x || !y) {
    auto sum = add_numbers(l, arguments);
    return sum ? std::move(sum) : with_constant_number(l, "aten::add", arguments);
  }
  if (!small_enough(l, x->size() + y->size(), kMaxTextSize, "text")) return IValues{};
  return IValues{*x + *y};
}
ScriptResults add_in_place(Lower& l, Arguments arguments) {
  auto *a = list_at(arguments, 0), *b = list_at(arguments, 1, "b");
  if (!a || !b) return std::nullopt;
  append_all(l, **a, **b);
  return IValues{*a};
}

// The items `times` times; refuses more than there may be.
std::optional<std::vector<IValue>> repeated(Lower& l, const std::vector<IValue>& items, int64_t times) {
  std::vector<IValue> out;
  if (times <= 0 || items.empty()) return out;
  if (static_cast<uint64_t>(times) > kMaxListItems / items.size()) {
    small_enough(l, kMaxListItems + 1, kMaxListItems, "list");
    return std::nullopt;
  }
  for (int64_t i = 0; i < times; ++i) out.insert(out.end(), items.begin(), items.end());
  return out;
}
ScriptResults mul(Lower& l, Arguments arguments) {
  bool swapped = list_at(arguments, 1, "l") != nullptr;
  auto* list = list_at(arguments, swapped ? 1 : 0, "l");
  if (!list) {
    auto product = mul_numbers(l, arguments);
    return product ? std::move(product) : with_constant_number(l, "aten::mul", arguments);
  }
  auto times = int_argument(l, arguments, swapped ? 0 : 1, "n");
  if (!times) return IValues{};
  auto items = repeated(l, (*list)->items, times->concrete());
  if (!items) return IValues{};
  return IValues{make_list(l, (*list)->element_type, std::move(*items))};
}
ScriptResults mul_in_place(Lower& l, Arguments arguments) {
  auto* list = list_at(arguments, 0, "l");
  if (!list) return std::nullopt;
  auto times = int_argument(l, arguments, 1, "n");
  if (!times || !can_change(l, **list)) return IValues{};
  auto items = repeated(l, (*list)->items, times->concrete());
  if (items) (*list)->items = std::move(*items);
  return IValues{*list};
}

// Rows that run on what stands for failed results: where it stands for the container itself, it is the result.
template <lower::ScriptFunction kFn>
ScriptResults tolerant(Lower& l, Arguments arguments) {
  auto* t = argument<Tensor>(arguments, 0);
  if (t && t->is_poison()) return IValues{Tensor()};
  return kFn(l, arguments);
}

}  // namespace

ScriptResults index_in_list(Lower& l, const ListRef& list, const IValue& item) { return index(l, *list, item); }
ScriptResults count_in_list(Lower& l, const ListRef& list, const IValue& item) { return count(l, *list, item); }

std::span<const lower::ScriptRow> script_container_ops() {
  // Containers hold what stands for failed results, too: it counts where it is used. What ATen has too does not.
  static constexpr ScriptRow rows[] = {
      {"aten::Delete", tolerant<delete_item>, true},
      {"aten::__contains__", contains},
      {"aten::__getitem__", tolerant<getitem>, true},
      {"aten::_set_item", tolerant<set_item_row>, true},
      {"aten::add", add},
      {"aten::add_", tolerant<add_in_place>, true},
      {"aten::append", tolerant<append>, true},
      {"aten::clear", tolerant<clear>, true},
      {"aten::copy", tolerant<copy>, true},
      {"aten::dict", tolerant<dict>, true},
      {"aten::extend", tolerant<extend>, true},
      {"aten::get", tolerant<get>, true},
      {"aten::insert", tolerant<insert>, true},
      {"aten::items", tolerant<items>, true},
      {"aten::keys", tolerant<keys>, true},
      {"aten::len", tolerant<len>, true},
      {"aten::list", tolerant<list_row>, true},
      {"aten::mul", mul},
      {"aten::mul_", tolerant<mul_in_place>, true},
      {"aten::pop", tolerant<pop>, true},
      {"aten::popitem", tolerant<popitem>, true},
      {"aten::remove", remove},
      {"aten::reverse", tolerant<reverse>, true},
      {"aten::select", select},
      {"aten::setdefault", tolerant<setdefault>, true},
      {"aten::slice", slice},
      {"aten::sort", sort},
      {"aten::sorted", sorted},
      {"aten::update", tolerant<update>, true},
      {"aten::values", tolerant<values>, true},
      {"prim::ModuleContainerIndex", module_container_index},
      {"prim::StringIndex", getitem},
      {"prim::TupleIndex", tolerant<getitem>, true},
  };
  return rows;
}

}  // namespace torchlift::aten
