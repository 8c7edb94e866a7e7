// SPDX-License-Identifier: BSD-3-Clause
//
// Which shapes have about so many parameters, and come out even on the machine?
//
//   const RealiseReport report = realise({.target = Parameters(405e9), .given = {.kv_heads = 8}, .ffn_ratio = 3.25});
//   report.proposals[0].shape                    width, layers, heads and feed-forward width on a grid; gap and reason beside
//
//   gap       count / target - 1, of the count that was asked for (total, active, ...), exact by parameter_count
//   distance  |ln(aspect / asked)| + |ln(feed-forward width / that of the ratio, rounded up)|
//
// Proposals within the tolerance (1%) come first, by distance; then the others, by gap. There is one for each width, or one
// for each number of layers where the width is given: neighbours that differ in a layer would say the same thing.
// realise_request.hpp has the defaults and their sources, shape_grid.hpp the search, which is exhaustive over its grid.
//
// Llama 3 405B: pipelines of 16 ranks x 8 have 128 slots, and embedding and head take one each, which leaves 126 layers
// (arXiv 2407.21783, section 3.3.2). The sentence `why` of a proposal does this sum.
// Errors: Error(infeasible) if embeddings alone exceed the target, or what is given does not divide; Error(usage) otherwise.
// Pitfall: nothing here says which shape learns best. Within the usual aspects it hardly matters; a step's time does.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/realise_request.hpp"
#include "floplan/architecture/shape_grid.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture {

struct Realised {
  Transformer shape{};
  ParameterCount count{};
  double relative_gap = 0;  // count / target - 1
  double aspect = 0;        // width / layers
  double ffn_ratio = 0;     // of all blocks that a token goes through
  double distance = 0;      // from the aspect and the ratio that were asked for
  std::int64_t slots = 0;   // of the pipeline: layers, and embedding and head where they take one each
  std::string why{};
  std::vector<Warning> warnings{};
};

struct RealiseReport {
  std::vector<Realised> proposals;  // best first, at least one
  RealiseRequest request;           // with its defaults and its padded vocabulary in place
  std::uint64_t examined = 0;       // shapes
};

namespace detail {

// "0.21% above", "exactly".
[[nodiscard]] inline std::string gap_text(double gap) {
  if (gap == 0) return "exactly";
  return print_number(100 * std::abs(gap), 3) + "% " + (gap > 0 ? "above" : "below");
}

[[nodiscard]] inline std::string sum_of_slots(const Realised& p, const RealiseRequest& r) {
  const std::int64_t ranks = r.layout.pipeline;
  const std::int64_t each = p.slots / ranks;
  const std::string cut = std::to_string(ranks) + " pipeline ranks x " + std::to_string(each);
  if (p.slots == p.shape.layers) return std::to_string(p.slots) + " layers are " + cut;
  std::string out = std::to_string(p.shape.layers) + " layers are the " + std::to_string(p.slots) + " slots of " + cut +
                    " less one for the embedding and one for the head";
  // The same model without such slots, on whose count the two layers weigh.
  Transformer full = p.shape;
  full.layers = p.slots;
  if (full.experts) {
    full.experts->layers = r.expert_period > 1 ? LayerPattern::every(r.expert_period, full.layers)
                                               : LayerPattern::from(r.first_dense_layers, full.layers);
  }
  const Parameters count = parameter_count(full).as(r.count);
  return out + "; " + std::to_string(full.layers) + " layers would have " + print(count, 4) + ", " +
         gap_text(count / r.target - 1) + " the target, and need " + std::to_string(p.slots + 2) + " slots";
}

[[nodiscard]] inline std::string reason(const Realised& p, const RealiseRequest& r) {
  const std::string counted = law::to_text(r.count);
  std::string out = print(p.count.as(r.count), 4) + " parameters (" + counted + "), " + gap_text(p.relative_gap) +
                    (p.relative_gap == 0 ? " the target" : " the target of " + print_short(r.target)) + ", at " +
                    print_number(p.aspect, 3) + " of width a layer (" + print_number(r.aspect, 3) + " asked) and " +
                    print_number(p.ffn_ratio, 3) + " x width feed-forward (" + print_number(r.ffn_ratio, 3) + ")";
  if (r.layout.pipeline > 1) return out + "; " + sum_of_slots(p, r);
  // A depth that looks odd may be a round one less two.
  const auto halvings = [](std::int64_t n) { return n & -n; };
  if (halvings(p.shape.layers + 2) >= 16 && halvings(p.shape.layers) < 16) {
    RealiseRequest cut = r;
    cut.layout.pipeline = 16;
    Realised in_slots = p;
    in_slots.slots = p.shape.layers + 2;
    out += "; in a pipeline, " + sum_of_slots(in_slots, cut);
  }
  return out;
}

inline void remark(Realised& p, const RealiseRequest& r, std::int64_t asked_vocabulary) {
  const auto say = [&p](const char* code, std::string text) { p.warnings.push_back({code, std::move(text)}); };
  const double tables = p.count.embedding / p.count.total;
  if (tables > 0.5) {
    say("embedding_heavy",
        "embeddings are " + print_number(100 * tables, 2) + "% of the parameters: a smaller vocabulary" +
            (p.shape.tied_embeddings ? "" : " or tied embeddings") + " would leave more to the layers");
  }
  if (std::abs(p.relative_gap) > r.tolerance) {
    say("far_from_target", "the count is " + gap_text(p.relative_gap) + " the target, beyond the tolerance of " +
                               print_number(100 * r.tolerance, 3) + "%, and the grid has none nearer here");
  }
  // Where Kaplan 2020 (figure 5) measured that a loss hardly tells one aspect from another.
  if (p.aspect < 30 || p.aspect > 200) {
    say("unusual_aspect", "width / layers is " + print_number(p.aspect, 3) +
                              ", outside 30 to 200, where the loss hardly depends on it (Kaplan 2020)");
  }
  if (!p.shape.latent && r.layout.tensor > p.shape.kv_heads) {
    say("copied_kv_heads", "TP " + std::to_string(r.layout.tensor) + " keeps each of the " +
                               std::to_string(p.shape.kv_heads) + " key-value heads more than once");
  }
  if (p.shape.vocabulary != asked_vocabulary) {
    say("padded_vocabulary", "the vocabulary of " + std::to_string(asked_vocabulary) + " is padded to " +
                                 std::to_string(p.shape.vocabulary));
  }
}

}  // namespace detail

[[nodiscard]] inline RealiseReport realise(const RealiseRequest& asked) {
  const RealiseRequest full = with_defaults(asked);
  detail::ShapeGrid grid(full);
  RealiseReport report;
  report.request = grid.request();
  for (const detail::Candidate& c : grid.best()) {
    Realised p;
    p.shape = *grid.at(c.width, c.layers, c.block);
    p.count = parameter_count(p.shape);
    p.relative_gap = p.count.as(full.count) / full.target - 1;
    p.aspect = static_cast<double>(c.width) / static_cast<double>(c.layers);
    p.ffn_ratio = grid.block_ratio(c.width, c.block);
    p.distance = c.distance;
    p.slots = c.layers + grid.extra_slots();
    p.why = detail::reason(p, report.request);
    detail::remark(p, report.request, full.given.vocabulary);
    report.proposals.push_back(std::move(p));
  }
  report.examined = grid.examined();
  return report;
}

// One line: "405.9B: 126 layers x 16384, 128 heads (8 key-value), feed-forward 53248, vocabulary 128256".
[[nodiscard]] inline std::string describe(const Realised& p) {
  const Transformer& t = p.shape;
  std::string out = print(p.count.total, 4) + ": " + std::to_string(t.layers) + " layers x " + std::to_string(t.width) +
                    ", " + std::to_string(t.heads) + " heads";
  if (!t.latent) out += " (" + std::to_string(t.kv_heads) + " key-value)";
  if (t.dense_layers() > 0) out += ", feed-forward " + std::to_string(t.ffn_width);
  if (t.experts) {
    out += ", " + std::to_string(t.experts->count) + " experts of " + std::to_string(t.experts->width) + " (" +
           std::to_string(t.experts->active) + " active)";
  }
  return out + ", vocabulary " + std::to_string(t.vocabulary);
}

}  // namespace floplan::architecture
