// The words of the text form, for print.cpp and parse.cpp: one row each.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "torch/program.hpp"

namespace torchlift::torch {

template <typename T>
using Word = std::pair<std::string_view, T>;

inline constexpr auto kLayoutWords = std::to_array<Word<Layout>>({
    {"torch.strided", Layout::Strided},
    {"torch.sparse_coo", Layout::SparseCoo},
    {"torch.sparse_csr", Layout::SparseCsr},
    {"torch.sparse_csc", Layout::SparseCsc},
    {"torch.sparse_bsr", Layout::SparseBsr},
    {"torch.sparse_bsc", Layout::SparseBsc},
    {"torch.mkldnn", Layout::Mkldnn},
});

inline constexpr auto kMemoryFormatWords = std::to_array<Word<MemoryFormat>>({
    {"torch.contiguous_format", MemoryFormat::Contiguous},
    {"torch.preserve_format", MemoryFormat::Preserve},
    {"torch.channels_last", MemoryFormat::ChannelsLast},
    {"torch.channels_last_3d", MemoryFormat::ChannelsLast3d},
});

inline constexpr auto kValueKindWords = std::to_array<Word<ValueKind>>({
    {"tensor", ValueKind::Tensor},
    {"symint", ValueKind::SymInt},
    {"symfloat", ValueKind::SymFloat},
    {"symbool", ValueKind::SymBool},
    {"object", ValueKind::CustomObject},
    {"token", ValueKind::Token},
    {"any", ValueKind::Any},
});

inline constexpr auto kInputKindWords = std::to_array<Word<InputKind>>({
    {"user", InputKind::User},
    {"constant", InputKind::Constant},
    {"parameter", InputKind::Parameter},
    {"buffer", InputKind::Buffer},
    {"tensor_constant", InputKind::TensorConstant},
    {"custom_object", InputKind::CustomObject},
    {"token", InputKind::Token},
});

inline constexpr auto kOutputKindWords = std::to_array<Word<OutputKind>>({
    {"user", OutputKind::User},
    {"buffer_mutation", OutputKind::BufferMutation},
    {"parameter_mutation", OutputKind::ParameterMutation},
    {"user_input_mutation", OutputKind::UserInputMutation},
    {"loss", OutputKind::Loss},
    {"gradient_to_parameter", OutputKind::GradientToParameter},
    {"gradient_to_user_input", OutputKind::GradientToUserInput},
    {"token", OutputKind::Token},
});

inline constexpr auto kClassKindWords = std::to_array<Word<ClassKind>>({
    {"module", ClassKind::Module},
    {"plain", ClassKind::Plain},
    {"namedtuple", ClassKind::NamedTuple},
    {"enum", ClassKind::Enum},
    {"interface", ClassKind::Interface},
});

inline constexpr auto kObjectKindWords = std::to_array<Word<ObjectKind>>({
    {"instance", ObjectKind::Instance},
    {"enum", ObjectKind::Enum},
    {"list", ObjectKind::List},
    {"dict", ObjectKind::Dict},
    {"tuple", ObjectKind::Tuple},
});

template <typename Words, typename T>
std::string_view word_of(const Words& words, T value) {
  for (const auto& [word, each] : words)
    if (each == value) return word;
  return {};
}

template <typename Words>
auto value_of(const Words& words, std::string_view text) -> std::optional<decltype(words.front().second)> {
  for (const auto& [word, each] : words)
    if (word == text) return each;
  return std::nullopt;
}

}  // namespace torchlift::torch
