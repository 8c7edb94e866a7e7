// SPDX-License-Identifier: BSD-3-Clause
//
// What a training step takes on a given cluster and layout, where the time goes, and what was assumed.
//
//   const StepReport s = step_time(request);      s.step, s.terms.bubble, s.tokens_per_second, s.mfu, s.describe()
//
//   TFLOP/s per accelerator = FLOP a token (a named convention) x tokens / (accelerators x step)
//   MFU = that over the dense peak of the products' precision; HFU counts recomputed FLOP too
//   bubble fraction = bubble / (m microbatch + bubble)
//
// Sources and formulas: step_terms.hpp; the conventions: architecture/training_flop.hpp.
// Expected error, with each publisher left out of the fit: dense models with a known part and stack 6.6% mean, 12.7% at the
// 90th percentile; a guessed stack 19% mean; mixtures of experts 18%, of one publisher. When it is wrong, the real step is
// more often the slower (step_band.hpp).
// Pitfall: two MFU compare only under one convention and one peak; compare step times. Memory is not looked at here.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/architecture/training_flop.hpp"
#include "floplan/cluster/step_request.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::cluster {

struct StepReport {
  Seconds step;
  StepTerms terms;  // seconds
  Count accelerators;
  double tokens_per_second = 0;  // of all
  double tokens_per_second_per_accelerator = 0;
  law::FlopConvention convention = law::FlopConvention::causal;
  FlopPerToken model_flop_per_token;
  FlopPerToken hardware_flop_per_token;  // with what is recomputed
  FlopPerSecond model_rate;              // of one accelerator, by the convention
  FlopPerSecond hardware_rate;
  FlopPerSecond peak;  // what mfu and hfu divide by
  double mfu = 0;
  double hfu = 0;
  double bubble_fraction = 0;
  std::vector<Warning> assumptions;  // facts that were not given
  std::vector<Warning> warnings;     // what is possible, and worth a second look

  [[nodiscard]] std::string describe() const {
    return print(step, 4) + " a step, " + print_number(tokens_per_second_per_accelerator, 4) +
           " tokens/s an accelerator, " + print(model_rate, 4) + " (MFU " + print_number(100 * mfu, 3) + "%, " +
           law::to_text(convention) + "), bubble " + print_number(100 * bubble_fraction, 3) + "%";
  }
};

// What is possible and worth a second look.
[[nodiscard]] inline std::vector<Warning> cautions(const StepRequest& r) {
  std::vector<Warning> out;
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const double domain = r.machine.scale_up_domain.value;
  if (static_cast<double>(r.layout.tensor) > domain) {
    out.push_back({"tensor_beyond_domain", "TP of " + number(r.layout.tensor) + " leaves the scale-up domain of " +
                                               print_number(domain, 6) + ": its collectives run over the network"});
  }
  if (!r.shape.latent && r.layout.tensor > r.shape.kv_heads) {
    out.push_back({"kv_heads_copied", "TP of " + number(r.layout.tensor) + " exceeds the " + number(r.shape.kv_heads) +
                                          " key-value heads: they are copied on ranks that share one"});
  }
  if (r.shape.layers % r.layout.pipeline != 0) {
    out.push_back(
        {"uneven_stages",
         number(r.shape.layers) + " layers over " + number(r.layout.pipeline) +
             " stages are taken as (layers + 2) / PP = " +
             print_number(static_cast<double>(r.shape.layers + 2) / static_cast<double>(r.layout.pipeline), 4) +
             " a stage, embedding and head as one layer each"});
  }
  const double m = microbatches(r);
  if (r.layout.interleave > 1 && std::fmod(m, static_cast<double>(r.layout.pipeline)) != 0) {
    out.push_back({"interleaved_microbatches", "an interleaved schedule runs " + print_number(m, 9) +
                                                   " microbatches, which PP of " + number(r.layout.pipeline) +
                                                   " does not divide: some schedules refuse that"});
  }
  if (m < static_cast<double>(r.layout.pipeline)) {
    out.push_back({"few_microbatches", print_number(m, 9) + " microbatches do not fill " + number(r.layout.pipeline) +
                                           " stages: most of the step is bubble"});
  }
  if (r.shape.experts) {
    out.push_back(
        {"experts_are_rough",
         "step times of mixtures of experts are rough, 18% off on average and up to 60%: one publisher's runs of one "
         "model are all that is published"});
  }
  return out;
}

// needed: by the fullest stage. What runtime and buffers take is not in it, and published steps that were close to a full
// memory took 15 to 30% longer than predicted.
[[nodiscard]] inline std::optional<Warning> memory_caution(Bytes needed, Bytes capacity) {
  const double share = needed / capacity;
  if (!(share > 0.9) || share > 1) return std::nullopt;
  return Warning{"memory_nearly_full", "the layout fills " + print_number(100 * share, 3) +
                                           "% of the memory, before what runtime and communication buffers take: it "
                                           "may not run, and steps in a full memory took 15-30% longer than predicted"};
}

// Throws as check() does.
[[nodiscard]] inline StepReport step_time(const StepRequest& r) {
  check(r);
  StepReport out;
  out.terms = step_terms(r);
  out.step = Seconds(out.terms.step);
  out.accelerators = r.layout.accelerators();
  out.tokens_per_second = static_cast<double>(r.global_batch) * static_cast<double>(r.sequence_length) / out.terms.step;
  out.tokens_per_second_per_accelerator = out.tokens_per_second / out.accelerators.value;
  const Tokens sequence(static_cast<double>(r.sequence_length));
  out.convention = r.convention;
  out.model_flop_per_token = architecture::training_flop_per_token(r.shape, sequence).by(r.convention);
  // A fused attention kernel keeps no scores: what selective recomputation would do again is part of its backward pass.
  const bool core_again =
      r.recompute != architecture::Recompute::selective || r.stack.attention.value == AttentionKernel::unfused;
  out.hardware_flop_per_token = out.model_flop_per_token;
  if (core_again)
    out.hardware_flop_per_token +=
        architecture::recomputed_flop_per_token(r.shape, sequence, r.recompute, r.convention);
  out.model_rate = FlopPerSecond(out.model_flop_per_token.value * out.tokens_per_second_per_accelerator);
  out.hardware_rate = FlopPerSecond(out.hardware_flop_per_token.value * out.tokens_per_second_per_accelerator);
  out.peak = r.machine.peak(r.precision);
  out.mfu = out.model_rate / out.peak;
  out.hfu = out.hardware_rate / out.peak;
  out.bubble_fraction = out.terms.bubble / (out.terms.microbatches * out.terms.microbatch + out.terms.bubble);
  out.assumptions = r.machine.assumptions;
  const bool several = r.layout.tensor * r.layout.context * r.layout.expert * r.layout.pipeline > 1;
  for (Warning& w : assumptions(r.stack, {.tensor = r.layout.tensor > 1,
                                         .pipeline = r.layout.pipeline > 1,
                                         .communication = several,
                                         .data = r.layout.data > 1,
                                         .selective = r.recompute == architecture::Recompute::selective,
                                         .context = r.layout.context > 1}))
    out.assumptions.push_back(std::move(w));
  out.warnings = cautions(r);
  if (out.mfu > 1) {
    out.warnings.push_back({"mfu_above_one", "MFU of " + print_number(out.mfu, 4) +
                                                 " is impossible: look at the rates of " + r.machine.accelerator +
                                                 " and at the efficiencies"});
  }
  return out;
}

}  // namespace floplan::cluster
