// Text of attributes and constants, for the printer.
#pragma once

#include <string>

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

void append_integer(std::string& out, int64_t value);
std::string list_text(const Ints& values);  // "[0, 1]"
std::string list_text(const Dims& values);
std::string quoted_string(std::string_view text);  // MLIR's string literal; other bytes than printable ASCII as \XX
std::string symbol(std::string_view name);         // "@main"

// "dense<...>" without the type. More than `hex_elements` elements that are not equal are raw bytes in hex.
void append_dense(std::string& out, const Constant& constant, const Type& type, size_t hex_elements);

std::string_view text_of(ComparisonDirection direction);
std::string_view text_of(ComparisonType type);
std::string_view text_of(Precision precision);

// Attributes of the generic form, "a = 1 : i64, b = true"; empty if there are none.
std::string generic_attributes(const Module& module, const Inst& inst);
// Attributes of the pretty form, ", dims = [0]"; empty if there are none.
std::string pretty_attributes(const Module& module, const Inst& inst);
// "dim_numbers = ..., window = {...} {batch_group_count = ...}"
std::string convolution_attributes(const Convolution& c);

}  // namespace torchlift::stablehlo
