// Results as a person wants to see them.
#pragma once

#include <string>

#include "cli/case_file.hpp"

namespace torchlift::cli {

// "f32[2,3]  min -0.5  max 1.25  mean 0.31" and the values, cut where there are many.
std::string show(const LeafValue& value);

// Element `index`, as a number; complex numbers have two.
std::complex<double> element(const run::HostTensor& tensor, size_t index);
size_t element_count(const run::HostTensor& tensor);

}  // namespace torchlift::cli
