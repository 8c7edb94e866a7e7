// SPDX-License-Identifier: BSD-3-Clause
//
// Turns a TOML document into a plan request, by the names of a catalog.
//
//   Request r = detail::RequestReader(document, catalog, folder).read();        (request_file.hpp's read_request does it)
//
// Every key of a plan file is asked for here, in request_stages.hpp, request_reliability.hpp or request_costs.hpp, and
// described in data/plans/README.md, which a test holds against what is asked for. The order in which things are read is the
// order in which mistakes are reported: the model, the accelerator, the stages, then what has a default.
//
// An option is the later word: it replaces what the file says, and where that leaves something of the file without meaning
// (a title, a layout, a total) the request's assumptions say so. Two options that contradict each other are refused.
// Pitfall: what stands in the catalog unverified is taken all the same, and remarked on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/catalog/stacks.hpp"
#include "floplan/cluster/efficiencies_file.hpp"
#include "floplan/cluster/known_stack.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/core/file.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_costs.hpp"
#include "floplan/plan/request_document.hpp"
#include "floplan/plan/request_reliability.hpp"
#include "floplan/plan/request_stages.hpp"
#include "floplan/plan/request_values.hpp"

namespace floplan::plan {

namespace detail {

class RequestReader {
 public:
  RequestReader(Document& document, const catalog::Catalog& catalog, std::filesystem::path folder)
      : top_(document.root()), catalog_(catalog), folder_(std::move(folder)) {}

  [[nodiscard]] Request read() {
    read_top();
    StageReader(top_, r_, assumed_, default_sequence_).read();
    read_software();
    read_machine();
    read_reliability(top_, catalog_, folder_, r_, assumed_);
    read_checkpoint(top_, r_, assumed_);
    read_price(top_, catalog_, r_, assumed_);
    read_power(top_, r_, assumed_);
    assumed_.name_in(r_);
    return std::move(r_);
  }

 private:
  void read_top() {
    const auto title = top_.value("title");
    const auto model = top_.value("model");
    const auto parameters = top_.quantity<Parameters>("parameters");
    const bool count_is_override = parameters && top_.value("parameters")->failure == Failure::usage;
    const bool model_is_override = model && model->failure == Failure::usage;
    // A file's title names the file's model, not one that an option put in its place.
    if (title && (title->failure == Failure::usage || !(count_is_override || model_is_override)))
      r_.title = title->text;
    if (model && parameters && count_is_override == model_is_override) {
      throw top_.value("parameters")
          ->refuse("contradicts " + model->where + ": a plan has a model or a number of parameters, and not both");
    }
    if (parameters && !model_is_override) {
      r_.parameters = parameters;
      if (model) {
        r_.assumptions.push_back({"model_dropped", "the number of parameters that was given replaces the model \"" +
                                                       model->text + "\", so its shape is not known"});
      }
    } else if (model) {
      const std::filesystem::path folder = folder_of(*model);
      catalog::FoundModel found =
          named(*model, [&](auto text, auto where) { return catalog::find_model(text, where, catalog_, folder); });
      r_.model = found.model.name;
      r_.shape = std::move(found.model.shape);
      default_sequence_ = found.model.sequence_length;
      for (Warning& w : found.warnings) r_.assumptions.push_back(std::move(w));
      remark_unverified(r_, "unverified_model", found.model.name, found.model.provenance);
    }
    r_.active_parameters = top_.quantity<Parameters>("active_parameters");
    if (r_.active_parameters && r_.shape) {
      const auto value = top_.value("active_parameters");
      if (value->failure == Failure::usage || !model_is_override)
        throw value->refuse("follows from the model " + r_.model + ", and is not given beside it");
      r_.active_parameters.reset();  // of the count that the model replaces
    }
    const auto law = top_.text("law");
    if (!law) {
      r_.law = catalog_.law("besiroglu-2024");
      assumed_.work.push_back("the law " + r_.law->name);
    } else if (*law != "none") {
      r_.law = read_law(*top_.value("law"));
    }
    r_.target_loss = top_.number("target_loss");
    if (r_.target_loss && !r_.law)
      throw top_.value("target_loss")->refuse("needs a law that says how many tokens it takes, and there is none");
    if (r_.shape && !top_.value("attention")) assumed_.work.push_back("causal attention in the FLOP");
    r_.flop_convention = choose<law::FlopConvention>(top_, "attention", law::FlopConvention::causal,
                                                     {{"none", law::FlopConvention::six_n},
                                                      {"causal", law::FlopConvention::causal},
                                                      {"full", law::FlopConvention::full}});
    const auto accelerator = top_.value("accelerator");
    if (!accelerator) throw top_.missing("accelerator", "an accelerator, such as h100-sxm");
    r_.accelerator = named(*accelerator, [this](auto text, auto where) { return catalog_.accelerator(text, where); });
    r_.precision = choose<catalog::Precision>(
        top_, "precision", catalog::Precision::bf16,
        {{"bf16", catalog::Precision::bf16}, {"fp8", catalog::Precision::fp8}, {"fp4", catalog::Precision::fp4}});
    r_.peak = top_.quantity<FlopPerSecond>("peak");
    if (const auto spread = top_.quantity<Fraction>("achieved_spread")) r_.achieved_spread = *spread;
    r_.deadline = top_.quantity<Seconds>("deadline");
    if (const auto draws = whole(top_, "draws", 1e7)) r_.draws = static_cast<std::size_t>(*draws);
    if (const auto seed = whole(top_, "seed", 9e15)) r_.seed = static_cast<std::uint64_t>(*seed);
    if (!model && !parameters) throw top_.missing("model", "a model or a number of parameters");
  }

  // A file that the plan names lies relative to the plan; one that an option names, to where the user is.
  [[nodiscard]] std::filesystem::path folder_of(const Value& value) const {
    return value.failure == Failure::usage ? std::filesystem::path() : folder_;
  }
  [[nodiscard]] catalog::Law read_law(const Value& value) const {
    const std::filesystem::path folder = folder_of(value);
    return named(value, [&](auto text, auto where) { return fit::find_law(text, where, catalog_, folder); });
  }

  // What the layout of a stage leaves open is as the publisher of the software has it.
  void lay_out_as(const catalog::Stack& record, Stage& stage) {
    if (!stage.layout || !r_.shape) return;
    const cluster::StackLayout of = cluster::stack_layout(record, *r_.shape, stage.layout->degrees.pipeline);
    std::string taken;
    const auto take = [&taken](auto& open, const auto& known, auto text) {
      if (open || !known) return;
      open = known;
      taken += (taken.empty() ? "" : ", ") + text(*known);
    };
    take(stage.layout->interleave, of.interleave, [](std::int64_t n) { return "VP " + std::to_string(n); });
    take(stage.layout->sharding, of.sharding, [](Sharding s) { return "sharding " + to_text(s); });
    take(stage.layout->recompute, of.recompute, [](Recompute c) { return "recomputation " + to_text(c); });
    if (!taken.empty())
      r_.assumptions.push_back({"laid_out_as", "stage \"" + stage.name + "\": " + taken + " as in " + record.title});
  }

  [[nodiscard]] bool any_stage(bool (*holds)(const Stage&)) const {
    return std::any_of(r_.stages.begin(), r_.stages.end(), holds);
  }
  [[nodiscard]] static bool is_laid_out(const Stage& s) { return s.layout || s.search; }

  // What bears on given rates, and what on layouts; said where it bears on nothing.
  void read_software() {
    const Section stack = top_.section("stack");
    if (const auto name = stack.value("name")) {
      const catalog::Stack record =
          named(*name, [this](auto text, auto where) { return catalog::stack_named(catalog_, text, where); });
      r_.stack = cluster::known_stack(record);
      r_.known_stack = record.is_publishers();
      for (Stage& stage : r_.stages) lay_out_as(record, stage);
    }
    for (const cluster::StackWord& fact : cluster::words_of(r_.stack)) {
      const auto value = stack.value(fact.name);
      if (!value) continue;
      (void)named(*value, [&](auto, auto where) {
        cluster::give(r_.stack, fact.name, value->text, where);
        return true;
      });
    }
    const bool given = any_stage([](const Stage& s) { return !s.predicted(); });
    if (given && !top_.value("achieved_spread"))
      assumed_.work.push_back("a spread of the achieved rate of " + print_number(100 * r_.achieved_spread.value, 3) +
                              "%");
    if (!given && top_.value("achieved_spread")) {
      r_.assumptions.push_back({"spread_unused",
                                "achieved_spread is of rates that are given, and every stage's is predicted: its "
                                "spread is the band of the step-time model"});
    }
    if (stack.present() && !any_stage(is_laid_out)) {
      r_.assumptions.push_back(
          {"stack_unused",
           "the facts of the software bear on layouts, and no stage has one: the rate stands as given"});
    }
  }

  // What is not as the catalog or the published efficiencies say, for predicted steps.
  void read_machine() {
    const Section s = top_.section("machine");
    cluster::MachineOptions& out = r_.machine;
    out.gemm_ceiling = s.quantity<FlopPerSecond>("gemm_ceiling");
    out.memory_bandwidth = s.quantity<BytesPerSecond>("memory_bandwidth");
    out.scale_up = s.quantity<BytesPerSecond>("scale_up");
    out.network = s.quantity<BytesPerSecond>("network");
    if (const auto n = whole(s, "scale_up_domain", 1e6)) out.scale_up_domain = Count(*n);
    if (const auto n = whole(s, "pod", 1e8)) out.pod = Count(*n);
    if (const auto ratio = s.number("oversubscription")) {
      if (!s.value("pod"))
        throw s.value("oversubscription")->refuse("is of what lies above a pod: needs pod beside it");
      if (!(*ratio >= 1 && *ratio <= 1000))
        throw s.value("oversubscription")->refuse("must be from 1 to 1000, got " + print_number(*ratio, 6));
      out.oversubscription = *ratio;
    }
    const auto file = top_.value("efficiencies");
    if (file) {
      r_.efficiencies = named(*file, [&](auto text, auto) {
        const std::string path = (folder_of(*file) / text).string();
        return cluster::read_efficiencies(read_text_file(path), path);
      });
    }
    if ((s.present() || file) && !any_stage(is_laid_out)) {
      r_.assumptions.push_back({"machine_unused",
                                "the machine's links and the efficiencies bear on layouts, and no stage has one: the "
                                "rate stands as given"});
    }
  }

  Section top_;
  const catalog::Catalog& catalog_;
  std::filesystem::path folder_;
  Request r_;
  Assumed assumed_;
  std::optional<Tokens> default_sequence_;
};

}  // namespace detail

}  // namespace floplan::plan
