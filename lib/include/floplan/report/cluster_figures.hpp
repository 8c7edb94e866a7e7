// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of training steps: where the time of a plan's step goes, what the size of the cluster does to it, what memory buys
// in time, and how predictions compare with measured steps.
//
//   for (const Figure& f : cluster_figures()) f.make({catalog, request}).csv()
//
// layout_frontier searches the layouts of the same stage. step_validation needs measured steps (FigureContext::steps).
// All are of the step-time model (cluster/step_time.hpp), of stages whose rate is given too: then the model's step stands
// beside the given one. mfu_by_count takes the layout of the stage with most accelerator-hours and changes DP alone: with
// the batch as it is, which DP must divide (strong scaling), and with a batch that grows with DP (weak scaling).
//
// Sources: cluster/step_terms.hpp; Llama 3's layouts are those of its Table 4.
// Cost: microseconds a row; a search too where a stage asks for one.
// Pitfall: a plan without layouts has none of its figures, which is Error(no_answer); a row that does not fit in memory is there,
// and says so in its last column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/training_memory.hpp"
#include "floplan/cluster/layout_search.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/plan/layout_choice.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/report/figure.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Error no_layout() {
  return {Failure::no_answer, "no_layout", "figure",
          "needs a plan with a stage that has a layout, a global batch and a model whose shape is known"};
}

[[nodiscard]] inline Table breakdown_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const plan::Plan p = plan::make_plan(context.request);
  for (const plan::StagePlan& s : p.stages) {
    if (!s.model || !s.model->step) continue;
    const cluster::StepTerms& t = s.model->step->terms;
    for (const auto& [term, seconds] :
         {std::pair("matrix products", t.products), std::pair("attention", t.attention),
          std::pair("elementwise", t.elementwise), std::pair("head and loss", t.head),
          std::pair("tensor parallel", t.tensor), std::pair("context parallel", t.context),
          std::pair("expert parallel", t.expert), std::pair("pipeline sends", t.sends),
          std::pair("pipeline bubble", t.bubble), std::pair("data parallel", t.data),
          std::pair("optimizer", t.optimizer), std::pair("stragglers", t.straggler),
          std::pair("waiting", t.waiting())}) {
      out.add({s.request.name,
               s.model->layout.describe(),
               {s.request.accelerators.value, 6},
               term,
               {seconds, 4},
               {100 * seconds / t.step, 3},
               {t.step, 4},
               s.request.predicted() ? Cell() : Cell(s.step_time, 4)});
    }
  }
  if (out.size() == 0) throw no_layout();
  return out;
}

// One row of mfu_by_count.
inline void add_size(Table& out, const char* scaling, const plan::Request& r, const plan::Stage& stage,
                     const plan::SettledLayout& layout) {
  const cluster::StepRequest request = plan::step_request(r, stage, layout);
  const cluster::StepReport step = cluster::step_time(request);
  const cluster::StepBand band = cluster::step_band(request);
  const Bytes memory = architecture::training_memory(*r.shape, layout.degrees, plan::memory_options(r, stage, layout))
                           .worst_stage()
                           .total();
  const double seconds = step.step.value;
  out.add({scaling,
           {step.accelerators.value, 7},
           {static_cast<double>(layout.degrees.data), 6},
           {stage.global_batch->value, 6},
           {step.terms.microbatches, 6},
           {seconds, 4},
           {seconds * band.low, 4},
           {seconds * band.high, 4},
           {step.tokens_per_second, 5},
           {step.model_rate.value / 1e12, 4},
           {step.mfu, 4},
           {step.hfu, 4},
           {step.bubble_fraction, 4},
           {step.terms.data / seconds, 4},
           {step.terms.straggler / seconds, 4},
           {memory.value / 1e9, 4},
           r.accelerator.memory ? Cell(memory <= *r.accelerator.memory ? "yes" : "no") : Cell()});
}

// The stage with most accelerator-hours of those that have a layout.
[[nodiscard]] inline const plan::StagePlan& main_laid_out(const plan::Plan& p) {
  const plan::StagePlan* main = nullptr;
  for (const plan::StagePlan& s : p.stages) {
    if (s.model && s.model->step && (main == nullptr || s.expected_hours > main->expected_hours)) main = &s;
  }
  if (main == nullptr) throw no_layout();
  return *main;
}

[[nodiscard]] inline Table frontier_rows(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const plan::Plan p = plan::make_plan(context.request);
  const plan::StagePlan& main = main_laid_out(p);
  const cluster::LayoutSearch search = plan::layout_search(p.request, main.request);
  const auto add = [&](const char* of, const cluster::RankedLayout& l) {
    const auto degree = [](std::int64_t n) { return Cell(static_cast<double>(n), 9); };
    out.add({of,
             {l.step.value, 4},
             {l.memory.value / 1e9, 4},
             search.capacity ? Cell(search.capacity->value / 1e9, 4) : Cell(),
             search.capacity ? Cell(l.fits ? "yes" : "no") : Cell(),
             degree(l.layout.tensor),
             degree(l.layout.context),
             degree(l.layout.pipeline),
             degree(l.layout.interleave),
             degree(l.layout.data),
             degree(l.layout.expert),
             degree(l.microbatch),
             architecture::to_text(l.sharding),
             architecture::to_text(l.recompute)});
  };
  const plan::SettledLayout& own = main.model->layout;
  cluster::RankedLayout planned{own.degrees, own.microbatch, own.sharding, own.recompute, main.model->step->step, {}};
  planned.memory = main.model->memory->total();
  planned.fits = !search.capacity || planned.memory <= *search.capacity;
  add("plan", planned);
  for (const cluster::RankedLayout& l : cluster::search_layouts(search).frontier) add("frontier", l);
  return out;
}

[[nodiscard]] inline Table validation_rows(const Figure& figure, const FigureContext& context) {
  if (!context.steps || context.steps->steps.empty())
    throw Error(Failure::no_answer, "no_steps", "figure", "needs measured steps: --steps ROWS.csv");
  Table out(figure.header());
  for (const cluster::StepError& row : cluster::validate(*context.steps).rows) {
    const cluster::StepBand band = cluster::step_band(row.of);
    const double predicted = row.predicted.step;
    out.add({row.id,
             row.group,
             {row.measured.value, 4},
             {predicted, 4},
             {100 * row.error, 3},
             band.of,
             {predicted * band.low, 4},
             {predicted * band.high, 4},
             row.inside ? "yes" : "no"});
  }
  return out;
}

[[nodiscard]] inline Table size_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const plan::Plan p = plan::make_plan(context.request);
  const plan::StagePlan* main = &main_laid_out(p);
  const plan::SettledLayout& base = main->model->layout;
  const double group = base.degrees.accelerators().value / static_cast<double>(base.degrees.data);
  const auto add = [&](const char* scaling, std::int64_t data, double batch) {
    plan::Stage stage = main->request;
    plan::SettledLayout layout = base;
    layout.degrees.data = data;
    stage.accelerators = Count(group * static_cast<double>(data));
    stage.global_batch = Count(batch);
    // As in a plan (layout_model.hpp): the bubble of interleaved chunks is not known with fewer microbatches than stages.
    if (layout.degrees.interleave > 1 &&
        plan::microbatches_of(stage, layout) < static_cast<double>(layout.degrees.pipeline))
      return;
    if (stage.accelerators.value <= 1e6) add_size(out, scaling, p.request, stage, layout);
  };
  const double batch = main->request.global_batch->value;
  const auto microbatches = static_cast<std::int64_t>(batch / static_cast<double>(base.microbatch));
  for (std::int64_t data = 1; data <= microbatches && data <= 1000000; ++data) {
    if (microbatches % data == 0) add("fixed batch", data, batch);
  }
  const double each = batch / static_cast<double>(base.degrees.data);  // sequences of one data rank
  std::int64_t smallest = base.degrees.data;
  while (smallest % 2 == 0) smallest /= 2;
  for (std::int64_t data = smallest; group * static_cast<double>(data) <= 1e6; data *= 2)
    add("batch grows", data, each * static_cast<double>(data));
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> cluster_figures() {
  std::vector<Figure> out;
  out.push_back(make_figure(
      "step_breakdown", FigureInput::plan,
      "Where the time of a training step goes, term by term, for each stage that has a layout",
      {{"stage", "name"},
       {"layout", "with what was taken where the plan says nothing"},
       {"accelerators", "count"},
       {"term", "what the time goes to; communication is what is not hidden behind work"},
       {"seconds", "of one step, on the slowest pipeline stage; waiting is what remains and may be negative"},
       {"share_percent", "of the predicted step"},
       {"predicted_step_s", "the whole step, by the model"},
       {"given_step_s", "the step that follows from the rate that is given; blank where the rate is predicted"}},
      detail::breakdown_table));
  out.push_back(make_figure(
      "mfu_by_count", FigureInput::plan,
      "Model FLOP utilisation against the size of the cluster: the main stage's layout with more or fewer "
      "data-parallel "
      "ranks",
      {{"scaling", "fixed batch: the plan's, which DP divides; batch grows: in proportion to DP"},
       {"accelerators", "TP x CP x PP x DP, up to a million, and while interleaved chunks have a microbatch a stage"},
       {"dp", "data-parallel degree"},
       {"global_batch", "sequences a step"},
       {"microbatches", "of one pipeline in a step"},
       {"step_s", "predicted"},
       {"step_low_s", "lower end of the band that holds 90% of measured steps of this class"},
       {"step_high_s", "its upper end"},
       {"tokens_per_s", "of all accelerators"},
       {"tflops_per_accelerator", "by the plan's FLOP convention"},
       {"mfu", "share of the dense peak, by the same convention"},
       {"hfu", "with recomputed FLOP"},
       {"bubble_fraction", "share of the pipeline's time in which a stage idles"},
       {"data_parallel_share", "exposed communication of data parallelism over the step"},
       {"straggler_share", "waiting for the slowest node over the step"},
       {"memory_gb", "of the pipeline stage that needs most, 1e9 bytes"},
       {"fits", "whether that is at most the accelerator's memory; blank where this is not known"}},
      detail::size_table));
  out.push_back(
      make_figure("layout_frontier", FigureInput::plan,
                  "What memory buys in time: of all layouts of the main stage, those that no other beats in both",
                  {{"of", "frontier: of all that can be run, whether they fit or not; plan: the plan's own layout"},
                   {"step_s", "predicted"},
                   {"memory_gb", "of the pipeline stage that needs most, 1e9 bytes"},
                   {"capacity_gb", "of one accelerator, 1e9 bytes; blank where it is not known"},
                   {"fits", "whether the one is at most the other"},
                   {"tp", "tensor-parallel degree"},
                   {"cp", "context-parallel degree"},
                   {"pp", "pipeline-parallel degree"},
                   {"vp", "chunks of layers a pipeline rank"},
                   {"dp", "data-parallel degree"},
                   {"ep", "expert-parallel degree"},
                   {"microbatch", "sequences"},
                   {"sharding", "what data-parallel ranks share"},
                   {"recompute", "what the backward pass computes again"}},
                  detail::frontier_rows));
  out.push_back(make_figure("step_validation", FigureInput::steps,
                            "Predicted against measured training steps, with the band of each row's class",
                            {{"id", "of the row"},
                             {"publisher", "its group"},
                             {"measured_s", "of one step"},
                             {"predicted_s", "of one step, by the shipped efficiencies"},
                             {"error_percent", "predicted over measured, less one"},
                             {"class", "how well part and software are known"},
                             {"low_s", "lower end of the band that holds 90% of measured steps of this class"},
                             {"high_s", "its upper end"},
                             {"inside", "whether the measured step lies in it"}},
                            detail::validation_rows));
  return out;
}

}  // namespace floplan::report
