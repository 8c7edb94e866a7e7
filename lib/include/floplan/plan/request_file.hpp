// SPDX-License-Identifier: BSD-3-Clause
//
// Reading a plan request from TOML, with overrides, by the names of a catalog.
//
//   Request r = read_request(text, "llama3_405b.toml", {{"stage[*].count", "100000", "--count"}}, catalog);
//
// Fields: title, model or parameters, tokens, law (a name, or a FIT.json beside the plan), attention, accelerator,
// precision, peak, achieved_spread, deadline, draws, seed; [[stage]] name, tokens, count, sequence_length, global_batch,
// achieved or mfu, layout.{tp, cp, pp, dp}; [reliability] rate_from or rate_per_node_day or mtbf with mtbf_count,
// restart, wait, manual_per_day, manual_wait, planned_per_day, planned_duration, unexplained_stops; [checkpoint] stall,
// interval; [price] accelerator_hour; [power] accelerator, node, pue, carbon, basis. data/plans/llama3_405b.toml shows
// them all with their meaning.
//
// What a request leaves out and a plan cannot do without is filled in and named in Request::assumptions.
// Pitfall: an override that contradicts the file (--params beside a model, --count beside a layout) wins, and says so.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/plan/planner_checks.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"

namespace floplan::plan {

struct Override {
  std::string path;  // as Document::set takes it
  std::string value;
  std::string origin;  // the option's name, for errors
};

namespace detail {

template <class Choice>
[[nodiscard]] Choice choose(const Section& section, std::string_view key, Choice fallback,
                            const std::vector<std::pair<std::string, Choice>>& choices) {
  const auto value = section.value(key);
  if (!value) return fallback;
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (value->text == name) return choice;
    names += (names.empty() ? "" : ", ") + name;
  }
  throw value->refuse("must be one of " + names + ", got \"" + value->text + "\"");
}

// Calls look_up(name, where) with the errors of a file's value.
template <class LookUp>
[[nodiscard]] auto named(const Value& value, LookUp look_up) {
  return value.as([&](std::string_view text, std::string_view where) { return look_up(text, where); });
}

class RequestReader {
 public:
  RequestReader(Document& document, const catalog::Catalog& catalog, std::filesystem::path folder)
      : top_(document.root()), catalog_(catalog), folder_(std::move(folder)) {}

  [[nodiscard]] Request read() {
    read_top();
    read_stages();
    read_reliability();
    read_checkpoint();
    read_price();
    read_power();
    return std::move(r_);
  }

 private:
  void assume(const std::string& what) { r_.assumptions.push_back({"assumed", what}); }
  void remark_unverified(const char* code, const std::string& name, const Provenance& from) {
    if (!from.verified)
      r_.assumptions.push_back({code, name + " is not verified" + (from.note.empty() ? "" : ": " + from.note)});
  }

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
      throw top_.value("parameters")->refuse("a plan has a model or a number of parameters, and not both");
    }
    if (parameters && !model_is_override) {
      r_.parameters = parameters;
      if (model) {
        r_.assumptions.push_back({"model_dropped", "the number of parameters that was given replaces the model \"" +
                                                       model->text + "\", so its shape is not known"});
      }
    } else if (model) {
      const catalog::Model found = named(*model, [this](auto text, auto where) { return catalog_.model(text, where); });
      r_.model = found.name;
      r_.shape = found.shape;
      default_sequence_ = found.sequence_length;
      remark_unverified("unverified_model", found.name, found.provenance);
    }
    const auto law = top_.text("law");
    if (!law || *law != "none") {
      r_.law = law ? read_law(*top_.value("law")) : catalog_.law("besiroglu-2024");
    }
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
  }

  // A fit's file that the plan names lies relative to the plan; one that an option names, to where the user is.
  [[nodiscard]] catalog::Law read_law(const Value& value) const {
    const std::filesystem::path folder = value.failure == Failure::usage ? std::filesystem::path() : folder_;
    return named(value, [&](auto text, auto where) { return fit::find_law(text, where, catalog_, folder); });
  }

  void read_stages() {
    const auto total_tokens = top_.quantity<Tokens>("tokens");
    const std::vector<Section> sections = top_.sections("stage");
    if (sections.empty()) throw top_.missing("stage", "a stage, with tokens, count, and achieved or mfu");
    for (const Section& s : sections) read_stage(s, sections.size() == 1 ? total_tokens : std::nullopt);
    if (total_tokens && sections.size() > 1) {
      // A total for several stages rescales them, so that one option moves the whole plan.
      double sum = 0;
      for (const Stage& stage : r_.stages) sum += stage.tokens.value;
      for (Stage& stage : r_.stages) stage.tokens = stage.tokens * (total_tokens->value / sum);
      r_.assumptions.push_back(
          {"stages_rescaled", print(*total_tokens) + " tokens in all: the stages keep their shares"});
    }
  }

  void read_stage(const Section& s, std::optional<Tokens> total) {
    Stage stage;
    stage.name = s.text("name").value_or("stage " + std::to_string(r_.stages.size() + 1));
    const auto need = [&s](bool there, const char* key, const char* what) {
      if (!there) throw s.missing(key, what);
    };
    const auto tokens = s.quantity<Tokens>("tokens");
    need(tokens || total, "tokens", "tokens");
    stage.tokens = total ? *total : *tokens;
    const auto count = s.value("count");
    need(count.has_value(), "count", "count, the number of accelerators");
    stage.accelerators = *s.quantity<Count>("count");
    stage.sequence_length = s.quantity<Tokens>("sequence_length").value_or(default_sequence_.value_or(Tokens(8192)));
    stage.global_batch = s.quantity<Count>("global_batch");
    stage.achieved = s.quantity<FlopPerSecond>("achieved");
    stage.mfu = s.quantity<Fraction>("mfu");
    need(stage.achieved || stage.mfu, "achieved", "achieved, the steady rate of one accelerator, or mfu");
    if (stage.achieved && stage.mfu) {
      // One from the file and one from an option: the option is the later word.
      const bool mfu_overrides = s.value("mfu")->failure == Failure::usage;
      if (mfu_overrides == (s.value("achieved")->failure == Failure::usage))
        throw s.value("mfu")->refuse("a stage has achieved or mfu, and not both");
      (mfu_overrides ? stage.achieved.reset() : stage.mfu.reset());
    }
    read_layout(s.section("layout"), stage, *count);
    if (count->failure == Failure::usage && s.value(stage.achieved ? "achieved" : "mfu")->failure != Failure::usage) {
      r_.assumptions.push_back({"rate_carried_over", "stage \"" + stage.name + "\" keeps its achieved rate on " +
                                                         print(stage.accelerators) +
                                                         " accelerators; no step-time model has checked that"});
    }
    r_.stages.push_back(std::move(stage));
  }

  void read_layout(const Section& s, Stage& stage, const Value& count) {
    if (!s.present()) return;
    Layout layout;
    bool overridden = false;
    const auto read = [&](const char* key, std::int64_t& into) {
      if (const auto n = whole(s, key, 1e9)) {
        into = static_cast<std::int64_t>(*n);
        overridden = overridden || s.value(key)->failure == Failure::usage;
      }
    };
    read("tp", layout.tensor);
    read("cp", layout.context);
    read("pp", layout.pipeline);
    read("dp", layout.data);
    if (count.failure == Failure::usage && !overridden && layout.accelerators() != stage.accelerators) {
      r_.assumptions.push_back({"layout_dropped", "stage \"" + stage.name + "\" has a layout for " +
                                                      print(layout.accelerators()) + " accelerators; on " +
                                                      print(stage.accelerators) + " none is planned"});
      return;
    }
    stage.layout = layout;
  }

  void read_reliability() {
    const Section s = top_.section("reliability");
    Reliability& out = r_.reliability;
    const Count per_node = r_.accelerator.accelerators_per_node.value_or(Count(8));
    const auto from = s.value("rate_from");
    const auto rate = s.number("rate_per_node_day");
    const auto mtbf = s.quantity<Seconds>("mtbf");
    const auto mtbf_count = s.quantity<Count>("mtbf_count");
    if (mtbf_count && !mtbf)
      throw s.value("mtbf_count")->refuse("is the size of the job that an mtbf was observed on: needs mtbf beside it");
    if (mtbf_count && mtbf_count->value < 1)
      throw s.value("mtbf_count")->refuse("must be at least 1, got " + print(*mtbf_count));
    // The last word among the three is an option's; two from the same place contradict each other.
    const auto rank = [&s](std::string_view key) {
      const auto value = s.value(key);
      return !value ? 0 : value->failure == Failure::usage ? 2 : 1;
    };
    const int best = std::max({rank("rate_from"), rank("rate_per_node_day"), rank("mtbf")});
    if ((rank("rate_from") == best) + (rank("rate_per_node_day") == best) + (rank("mtbf") == best) > 1 && best > 0) {
      throw s.value(rank("mtbf") == best ? "mtbf" : "rate_per_node_day")
          ->refuse("a rate of failures is given once: rate_from, rate_per_node_day or mtbf");
    }
    const auto guarded = [&](const char* key, auto make) {
      return s.value(key)->as([&](std::string_view, std::string_view) { return make(); });
    };
    if (best > 0 && rank("mtbf") == best) {
      if (!mtbf_count)
        throw s.value("mtbf")->refuse(
            "needs mtbf_count beside it: the accelerators of the job that it was observed on");
      out.rate = guarded("mtbf", [&] { return reliability::rate_from_mtbf(*mtbf, *mtbf_count, per_node); });
      out.observed_on = mtbf_count;
      out.rate_source = "MTBF of " + print(*mtbf, 3) + " on " + print(*mtbf_count);
    } else if (best > 0 && rank("rate_per_node_day") == best) {
      out.rate = guarded("rate_per_node_day", [&] { return reliability::rate_from_node_days(*rate, per_node); });
      out.rate_source = print_number(*rate, 4) + " a node-day";
    } else {
      const catalog::InterruptionWindow window =
          from ? named(*from, [this](auto text, auto where) { return catalog_.interruption_window(text, where); })
               : catalog_.interruption_window("llama3-2024");
      if (!from) assume("the failure rate of " + window.title + " (" + window.name + ")");
      const Count node = window.accelerators_per_node.value_or(per_node);
      out.rate = window.rate_per_node_day ? reliability::rate_from_node_days(*window.rate_per_node_day, node)
                                          : reliability::rate_from_events(window.unexpected.value_or(0),
                                                                          *window.accelerators, *window.duration, node);
      out.observed_on = window.accelerators;
      out.rate_source = window.name;
      if (window.accelerator != r_.accelerator.name) {
        r_.assumptions.push_back(
            {"rate_of_another_accelerator",
             "the failure rate was counted on " + window.accelerator + " and is used for " + r_.accelerator.name});
      }
      remark_unverified("unverified_rate", window.name, window.provenance);
    }
    if (const auto restart = s.range<Seconds>("restart")) {
      out.restart = *restart;
    } else {
      out.restart = Uncertain<Seconds>::range(Seconds(300), Seconds(600));
      assume("a restart of 5 to 10 min");
    }
    out.wait = s.range<Seconds>("wait").value_or(Seconds(0));
    out.manual_per_day = s.number("manual_per_day").value_or(0);
    out.manual_wait = s.quantity<Seconds>("manual_wait").value_or(Seconds(0));
    out.planned_per_day = s.number("planned_per_day").value_or(0);
    out.planned_duration = s.quantity<Seconds>("planned_duration").value_or(Seconds(0));
    if (const auto share = s.quantity<Fraction>("unexplained_stops")) out.unexplained_stops = share->value;
  }

  void read_checkpoint() {
    const Section s = top_.section("checkpoint");
    if (const auto stall = s.range<Seconds>("stall")) {
      r_.checkpoint.stall = *stall;
    } else {
      r_.checkpoint.stall = Seconds(30);
      assume("a checkpoint that stalls the job 30 s");
    }
    const auto interval = s.value("interval");
    if (interval && interval->text != "auto") r_.checkpoint.interval = s.quantity<Seconds>("interval");
  }

  void read_price() {
    const Section s = top_.section("price");
    const std::vector<Value> given = s.values("accelerator_hour");
    const bool is_name = given.size() == 1 && given[0].text.find('/') == std::string::npos &&
                         given[0].text.find_first_of("0123456789.+-") != 0 && !given[0].text.starts_with('$');
    if (is_name) {
      const catalog::Price price =
          named(given[0], [this](auto text, auto where) { return catalog_.price(text, where); });
      if (!price.typical && !(price.low && price.high))
        throw given[0].refuse(price.name + " has neither a typical price nor a range");
      Price out;
      if (price.typical) {
        out.accelerator_hour = *price.typical;
      } else {
        out.accelerator_hour = Uncertain<DollarsPerHour>::range(*price.low, *price.high);
      }
      out.source = price.name;
      r_.price = out;
      if (price.accelerator != r_.accelerator.name) {
        r_.assumptions.push_back({"price_of_another_accelerator", price.name + " is a price of " + price.accelerator +
                                                                      " and is used for " + r_.accelerator.name});
      }
      remark_unverified("unverified_price", price.name, price.provenance);
    } else if (!given.empty()) {
      r_.price = Price{*s.range<DollarsPerHour>("accelerator_hour"), "given"};
    } else if (const auto latest = catalog_.latest_price(r_.accelerator.name)) {
      r_.price = Price{*latest->typical, latest->name};
      assume("the price " + latest->name + ", " + print(*latest->typical) + " (" + latest->kind + ", " +
             latest->provenance.date + ")");
      remark_unverified("unverified_price", latest->name, latest->provenance);
    } else {
      r_.assumptions.push_back(
          {"no_price", "no price is known for " + r_.accelerator.name + ": give one to have a cost"});
    }
  }

  void read_power() {
    const Section s = top_.section("power");
    const auto accelerator = s.quantity<Watts>("accelerator");
    const auto node = s.quantity<Watts>("node");
    const auto pue = s.number("pue");
    const auto carbon = s.quantity<KilogramsPerKwh>("carbon");
    const auto basis =
        choose<EnergyBasis>(s, "basis", EnergyBasis::node, {{"tdp", EnergyBasis::tdp}, {"node", EnergyBasis::node}});
    const auto rated = accelerator ? accelerator : r_.accelerator.power;
    if (!rated) {
      r_.assumptions.push_back({"no_power", "no power is published for " + r_.accelerator.name +
                                                ": give power.accelerator to have energy and CO2e"});
      return;
    }
    Power out;
    out.accelerator = *rated;
    out.basis = basis;
    if (node) {
      out.node = *node;
    } else {
      // An 8 x H100 node measured 76% of its rating under training, 0.97 kW a 700 W accelerator (arXiv 2506.14551).
      out.node = *rated * (970.0 / 700.0);
      assume("node power of " + print(out.node, 3) + " an accelerator, in proportion to a measured 8 x H100 node");
    }
    out.pue = pue.value_or(1.2);
    if (!pue) assume("a PUE of 1.2");
    out.grid = carbon.value_or(KilogramsPerKwh(0.385));
    if (!carbon) assume("a grid of 0.385 kg CO2e a kWh, the US average that LLaMA's card used");
    r_.power = out;
  }

  [[nodiscard]] static std::optional<double> whole(const Section& s, std::string_view key, double most) {
    const auto count = s.quantity<Count>(key);
    if (count && (count->value != std::floor(count->value) || count->value > most)) {
      throw s.value(key)->refuse("must be a whole number up to " + print_number(most) + ", got " + print(*count));
    }
    return count ? std::optional(count->value) : std::nullopt;
  }

  Section top_;
  const catalog::Catalog& catalog_;
  std::filesystem::path folder_;
  Request r_;
  std::optional<Tokens> default_sequence_;
};

}  // namespace detail

// place: the file's name, for errors; empty where there is none, and overrides give the whole request.
[[nodiscard]] inline Request read_request(std::string_view text, const std::string& place,
                                          const std::vector<Override>& overrides, const catalog::Catalog& catalog) {
  Document document(text, place);
  for (const Override& o : overrides) document.set(o.path, o.value, o.origin);
  Request request = detail::RequestReader(document, catalog, std::filesystem::path(place).parent_path()).read();
  document.refuse_unknown_keys();
  // make_plan() checks again; here a wrong value still has its place.
  const bool total_given = document.root().value("tokens").has_value();
  check(request, [&](std::string_view path) {
    return document.place(total_given && path.ends_with(".tokens") ? "tokens" : path);
  });
  return request;
}

}  // namespace floplan::plan
