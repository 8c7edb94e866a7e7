// SPDX-License-Identifier: BSD-3-Clause
//
// The catalog's shapes against the counts that were published of them, to the last parameter where they are exact.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "catalog/printed.hpp"
#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/catalog.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using namespace floplan::catalog;
using architecture::parameter_count;
using architecture::ParameterCount;
using architecture::Transformer;

double quantity(Transformer shape, const std::string& name) {
  if (name == "total_if_tied") shape.tied_embeddings = true;
  if (name == "active_without_router_bias") shape.experts.value().router_bias = false;
  const ParameterCount count = parameter_count(shape);
  if (name == "active" || name == "active_without_router_bias") return count.active.value;
  if (name == "active_without_input_embedding") return count.active_without_input_embedding().value;
  if (name == "embedding") return count.embedding.value;
  if (name == "non_embedding") return count.non_embedding.value;
  REQUIRE((name == "total" || name == "total_if_tied"));
  return count.total.value;
}

// A layer of multi-token prediction: one layer of the model behind a matrix that joins two vectors of its width, with
// norms of both and one before the head (DeepSeek-V3, arXiv 2412.19437, section 2.2).
double prediction_layer(const Transformer& shape) {
  const double width = static_cast<double>(shape.width);
  return architecture::layer_parameters(shape, true).total() + 2 * width * width + 3 * width;
}

// Both conventions that are printed: with the input embedding, and without it.
bool active_agrees(const ParameterCount& count, Parameters published) {
  return printed::agrees(count.active.value, published.value) ||
         printed::agrees(count.active_without_input_embedding().value, published.value);
}

}  // namespace

TEST_CASE("published counts of models are met, to the last parameter where they are exact") {
  const Catalog catalog;
  std::size_t exact = 0;
  for (const reference::Row& row : reference::rows("model_totals.csv")) {
    const Model model = catalog.model(row.text("model"));
    reference::check(row, quantity(model.shape, row.text("quantity")));
    if (row.text("quantity") == "total" && row.tolerance() == 0) ++exact;
  }
  CHECK(exact >= 59);
}

TEST_CASE("every model has its published counts, or says why not, and says so only then") {
  for (const Model& model : Catalog().models()) {
    CAPTURE(model.name);
    CAPTURE(model.difference);
    REQUIRE(model.published_parameters.has_value());
    const ParameterCount count = parameter_count(model.shape);
    CAPTURE(count.total.value);
    CAPTURE(count.active.value);
    const bool total = printed::agrees(count.total.value, model.published_parameters->value);
    const bool active = !model.published_active_parameters || active_agrees(count, *model.published_active_parameters);
    CHECK((total && active) == model.difference.empty());
    if (model.published_active_parameters) CHECK(model.shape.experts.has_value());
  }
}

TEST_CASE("what a stored checkpoint has beside the model is its vision tower or its layer of multi-token prediction") {
  const Catalog catalog;
  for (const reference::Row& row : reference::rows("model_gaps.csv")) {
    const Transformer shape = catalog.model(row.text("model")).shape;
    const double gap = row.number("stored") - parameter_count(shape).total.value;
    reference::check(row, gap);
    const std::string kind = row.text("kind");
    if (kind == "prediction") CHECK(gap == prediction_layer(shape));
    if (kind == "prediction_with_tables") {
      CHECK(gap == prediction_layer(shape) + 2 * architecture::vocabulary_table(shape));
    }
  }
}

TEST_CASE("models keep the published bytes of keys and values, no more than a window's where they have one") {
  const Catalog catalog;
  for (const reference::Row& row : reference::rows("model_kv_bytes.csv")) {
    const Transformer shape = catalog.model(row.text("model")).shape;
    const double bytes = row.number("bytes_per_value");
    reference::check(row, (row.has("context") ? architecture::kv_bytes(shape, Tokens(row.number("context")), bytes)
                                              : architecture::kv_bytes_per_token(shape, bytes))
                              .value);
  }
}

TEST_CASE("a figure is compared by the digits that it prints") {
  CHECK(printed::agrees(12879925248, 12.9e9));
  CHECK_FALSE(printed::agrees(12879925248, 12.8e9));
  CHECK(printed::agrees(279.7e9, 280e9));
  CHECK_FALSE(printed::agrees(275.1e9, 280e9));
  CHECK_FALSE(printed::agrees(540356474880, 540.35e9));
  CHECK(printed::agrees(124439808, 124e6));
  CHECK_FALSE(printed::agrees(1557611201, 1557611200));
}
