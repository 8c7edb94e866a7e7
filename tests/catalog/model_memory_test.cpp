// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of real models: every one of the catalog, over stages, tensor and expert parallel ranks.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/catalog/catalog.hpp"
#include "support/near.hpp"

namespace {

using namespace floplan;
using namespace floplan::architecture;

}  // namespace

TEST_CASE("every model of the catalog is whole over its stages and experts' ranks, at 18 bytes a parameter") {
  int with_experts = 0;
  for (const catalog::Model& model : catalog::Catalog().models()) {
    const Transformer& t = model.shape;
    CAPTURE(model.name);
    for (std::int64_t pipeline = 1; pipeline <= t.layers; ++pipeline) {
      if (t.layers % pipeline != 0 && (t.layers + 2) % pipeline != 0) continue;
      Layout layout{.pipeline = pipeline};
      if (t.experts) layout.expert = layout.data = std::gcd<std::int64_t>(t.experts->count, 32);
      with_experts += t.experts ? 1 : 0;
      TrainingMemoryOptions o;
      o.activation.sequence_length = 4096;
      o.microbatches = 2 * pipeline;
      o.sharding = Sharding::none;
      double parameters = 0, bytes = 0;
      for (const StageMemory& stage : training_memory(t, layout, o).stages) {
        const ParameterShare share = stage.parameters.all();
        parameters += share.common + static_cast<double>(layout.expert) * share.experts;
        bytes += stage.state().value;
        CHECK(stage.activations().value > 0);
        CHECK(stage.state().value == near(18 * share.total(), 1e-14));
      }
      const double copy = t.tied_embeddings && pipeline > 1 ? vocabulary_table(t) : 0;
      CHECK(parameters == parameter_count(t).total.value + copy);
      if (layout.expert == 1) CHECK(bytes == near(18 * parameters, 1e-12));
    }
  }
  CHECK(with_experts > 0);
}
