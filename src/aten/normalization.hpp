// Normalisations that other families use.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

Tensor layer_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight, Optional<Tensor> bias,
                  double eps, bool cudnn_enable);
Tensor rms_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight, Optional<double> eps);

}  // namespace torchlift::aten
