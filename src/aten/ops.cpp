#include "aten/ops.hpp"

#include <array>

#include "aten/attention.hpp"
#include "aten/fake_quantize.hpp"
#include "aten/families.hpp"

namespace torchlift::aten {

const lower::OpTable& table() {
  static const std::array families = {
      activation_ops(),
      attention_ops(),
      comparison_ops(),
      control_flow_ops(),
      convolution_ops(),
      creation_ops(),
      embedding_ops(),
      indexing_ops(),
      linear_algebra_ops(),
      loss_ops(),
      normalization_ops(),
      pointwise_ops(),
      pooling_ops(),
      python_scalar_ops(),
      random_ops(),
      recurrent_ops(),
      reduction_ops(),
      scan_ops(),
      shaping_ops(),
      sorting_ops(),
      spectral_ops(),
      vision_ops(),
      backward_ops(),
      bitwise_ops(),
      classification_loss_ops(),
      elementary_ops(),
      iterated_ops(),
      special_ops(),
      statistics_ops(),
      grouped_ops(),
      dropout_ops(),
      linear_cross_entropy_ops(),
      fake_quantize_ops(),
      transformer_ops(),
      script_overload_ops(),
  };
  static const std::array script = {
      script_control_flow_ops(), script_container_ops(), script_language_ops(),
      script_math_ops(),         script_number_ops(),    script_runtime_ops(),
      script_tensor_ops(),       script_text_ops(),      script_upgrader_ops(),
  };
  static const lower::OpTable table(families, script);
  return table;
}

}  // namespace torchlift::aten
