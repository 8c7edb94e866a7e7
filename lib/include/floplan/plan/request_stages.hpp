// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the stages of a plan: tokens, accelerators, how fast they go, and how they are laid out.
//
//   StageReader(top, request, assumed, default_sequence).read();
//
// How fast, in one way: achieved or mfu; a layout without either, whose step time is then predicted (achieved = "predicted"
// says so in words, and takes the file's rate away); layout = "search". Of an option and a file the option is the later word.
//
//   DP = count / (TP x CP x PP) where dp is not given, or where an option changes one of these and not dp
//
// Where that is not whole, or does not divide the batch, a layout that only describes a given rate is dropped, and said so;
// one that predicts the rate is refused (planner_checks.hpp), with the nearest counts that it can use.
//
// Source: data/plans/README.md. Pitfall: a total of tokens for several stages rescales them; each keeps its share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/nearest_counts.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"
#include "floplan/plan/request_values.hpp"

namespace floplan::plan::detail {

class StageReader {
 public:
  StageReader(const Section& top, Request& request, Assumed& assumed, std::optional<Tokens> default_sequence)
      : top_(top), r_(request), assumed_(assumed), default_sequence_(default_sequence) {}

  void read() {
    const std::vector<Section> sections = top_.sections("stage");
    if (sections.empty()) {
      for (const char* key : {"count", "achieved", "mfu", "sequence_length", "global_batch", "layout"}) {
        if (const auto place = top_.place_of(key))
          throw Error(place->failure, "misplaced_field", place->where,
                      "\"" + std::string(key) + "\" belongs to a stage: put it under [[stage]]");
      }
      throw top_.missing("stage", "a stage, with tokens, count, and achieved, mfu or a layout");
    }
    const std::optional<Tokens> total = read_total_tokens(sections);
    if (top_.value("tokens") && r_.target_loss) {
      throw top_.value("target_loss")
          ->refuse("contradicts " + top_.value("tokens")->where + ": the tokens in all follow from the loss");
    }
    for (const Section& s : sections) read_stage(s, sections.size() == 1 ? total : std::nullopt);
    if (total && sections.size() > 1) {
      // A total for several stages rescales them, so that one option moves the whole plan.
      double sum = 0;
      for (const Stage& stage : r_.stages) sum += stage.tokens.value;
      for (Stage& stage : r_.stages) stage.tokens = stage.tokens * (total->value / sum);
      r_.assumptions.push_back(
          {"stages_rescaled", print_short(*total) + " tokens in all: the stages keep their shares"});
    }
  }

 private:
  // The tokens of all stages together, unless an option gives those of one.
  [[nodiscard]] std::optional<Tokens> read_total_tokens(const std::vector<Section>& sections) {
    const auto total = top_.value("tokens");
    if (!total) return std::nullopt;
    const auto tokens = top_.quantity<Tokens>("tokens");
    for (const Section& s : sections) {
      const auto own = s.value("tokens");
      if (!own || own->failure != Failure::usage || own->where == total->where) continue;
      if (total->failure == Failure::usage)
        throw total->refuse("contradicts " + own->where + ": give the tokens in all, or those of the stages");
      r_.assumptions.push_back({"total_dropped", "the tokens that " + own->where +
                                                     " gives replace the file's total of " + print_short(*tokens)});
      return std::nullopt;
    }
    return tokens;
  }

  void read_stage(const Section& s, std::optional<Tokens> total) {
    Stage stage;
    stage.name = s.text("name").value_or("stage " + std::to_string(r_.stages.size() + 1));
    const auto need = [&s](bool there, const char* key, const char* what) {
      if (!there) throw s.missing(key, what);
    };
    const auto tokens = s.quantity<Tokens>("tokens");
    const bool only_share = r_.target_loss && r_.stages.empty() && !tokens && !total;  // all of what the loss takes
    need(tokens || total || only_share, "tokens", "tokens");
    stage.tokens = total ? *total : tokens.value_or(Tokens(1));
    const auto count = s.value("count");
    need(count.has_value(), "count", "count, the number of accelerators");
    stage.accelerators = *s.quantity<Count>("count");
    const auto sequence = s.quantity<Tokens>("sequence_length");
    stage.sequence_length = sequence.value_or(default_sequence_.value_or(defaults::sequence_length));
    if (!sequence) assumed_.work_once("sequences of " + print_short(stage.sequence_length) + " tokens");
    stage.global_batch = s.quantity<Count>("global_batch");
    const std::optional<Value> rate = read_rate(s, stage);
    need(!stage.predicted() || stage.global_batch, "global_batch",
         "global_batch, the sequences of a step: the step time of its layout is predicted");
    if (s.holds_table("layout") || !s.value("layout")) read_layout(s.section("layout"), stage, *count);
    if (!stage.predicted() && by_option(*count) && !by_option(*rate)) {
      r_.assumptions.push_back(
          {"rate_carried_over", "stage \"" + stage.name + "\" keeps its achieved rate on " +
                                    print_short(stage.accelerators) + " accelerators" +
                                    (stage.layout ? "" : "; no step-time model has checked that")});
      if (const auto before = s.replaced("count")) stage.rate_of = parse<Count>(*before, count->where);
    }
    r_.stages.push_back(std::move(stage));
  }

  template <class Pairs>
  [[nodiscard]] static auto words(const Pairs& pairs) {
    using Choice = typename Pairs::value_type::second_type;
    return std::vector<std::pair<std::string, Choice>>(pairs.begin(), pairs.end());
  }

  [[nodiscard]] static bool by_option(const Value& value) { return value.failure == Failure::usage; }

  // The value that says how fast the stage goes; nothing where its layout does.
  std::optional<Value> read_rate(const Section& s, Stage& stage) {
    const auto word = s.holds_table("layout") ? std::nullopt : s.value("layout");
    if (word && word->text != "search") {
      throw word->refuse("must be \"search\", or a table of degrees as { tp = 8, pp = 16 }, got \"" + word->text +
                         "\"");
    }
    std::optional<Value> said;
    for (const auto& way : {s.value("achieved"), s.value("mfu"), word}) {
      if (!way) continue;
      if (said && by_option(*said) == by_option(*way)) {
        throw way->refuse("contradicts " + said->where +
                          ": a stage has achieved or mfu, and not both, or a layout that is searched");
      }
      if (!said || by_option(*way)) said = way;
    }
    if (!said && !s.holds_table("layout"))
      throw s.missing("achieved",
                      "achieved, the steady rate of one accelerator, or mfu, or a layout whose step time is predicted");
    if (!said) return std::nullopt;
    const auto is = [&said](const std::optional<Value>& way) { return way && way->where == said->where; };
    if (is(word)) {
      stage.search = true;
      if (s.value("achieved") || s.value("mfu")) {
        r_.assumptions.push_back({"rate_replaced", "stage \"" + stage.name +
                                                       "\": the layout that is searched gives the rate instead of the "
                                                       "file"});
      }
      return std::nullopt;
    }
    if (is(s.value("mfu"))) {
      stage.mfu = s.quantity<Fraction>("mfu");
    } else if (said->text != "predicted") {
      stage.achieved = s.quantity<FlopPerSecond>("achieved");
    } else if (!s.holds_table("layout")) {
      throw said->refuse("needs a layout whose step time is predicted, and stage \"" + stage.name + "\" has none");
    }
    if (word)
      r_.assumptions.push_back(
          {"layout_dropped", "stage \"" + stage.name + "\": the rate that is given replaces the search for a layout"});
    return stage.predicted() ? std::nullopt : said;
  }

  void read_layout(const Section& s, Stage& stage, const Value& count) {
    StageLayout out;
    Layout& layout = out.degrees;
    bool degrees_by_option = false;
    const auto read_whole = [&](const char* key) -> std::optional<std::int64_t> {
      const auto n = whole(s, key, 1e9);
      return n ? std::optional(static_cast<std::int64_t>(*n)) : std::nullopt;
    };
    const auto read_degree = [&](const char* key, std::int64_t& into) {
      if (const auto n = read_whole(key)) {
        into = *n;
        degrees_by_option = degrees_by_option || by_option(*s.value(key));
      }
    };
    read_degree("tp", layout.tensor);
    read_degree("cp", layout.context);
    read_degree("pp", layout.pipeline);
    const auto dp = read_whole("dp");
    layout.expert = read_whole("ep").value_or(1);
    out.interleave = read_whole("vp");
    out.microbatch = read_whole("microbatch");
    if (s.value("sharding"))
      out.sharding = choose<Sharding>(s, "sharding", Sharding::none, words(architecture::sharding_words));
    if (s.value("recompute"))
      out.recompute = choose<Recompute>(s, "recompute", Recompute::none, words(architecture::recompute_words));
    if (!s.present()) return;
    layout.data = dp.value_or(1);
    const bool follows = !dp || (!by_option(*s.value("dp")) && (by_option(count) || degrees_by_option));
    if (follows && !follow_count(stage, out, dp, degrees_by_option, count)) return;
    stage.layout = out;
  }

  // Data parallelism is what the others leave. False where the layout is dropped.
  bool follow_count(const Stage& stage, StageLayout& out, std::optional<std::int64_t> dp, bool degrees_by_option,
                    const Value& count) {
    Layout& layout = out.degrees;
    layout.data = 1;
    const Count group = layout.accelerators();
    layout.data = dp.value_or(1);
    const double rest = stage.accelerators / group;
    const std::int64_t each = out.microbatch.value_or(1);
    const bool is_whole = rest >= 1 && rest <= 1e9 && rest == std::floor(rest);
    const bool divides =
        !stage.global_batch || std::fmod(stage.global_batch->value, rest * static_cast<double>(each)) == 0;
    if (is_whole && (divides || !dp || stage.predicted())) {
      layout.data = static_cast<std::int64_t>(rest);
      if (dp && *dp != layout.data) {
        r_.assumptions.push_back(
            {"layout_follows_count", "stage \"" + stage.name + "\" on " + print_short(stage.accelerators) +
                                         " accelerators has DP " + std::to_string(layout.data) + " instead of " +
                                         std::to_string(*dp) + ", and its other degrees as before"});
      }
      return true;
    }
    if (stage.predicted() || degrees_by_option || !by_option(count)) return true;  // which is refused as it stands
    const double whole_group = group.value < 1e15 ? group.value : 1;
    r_.assumptions.push_back(
        {"layout_dropped",
         "stage \"" + stage.name + "\" has a layout for " + print_short(layout.accelerators()) + " accelerators; on " +
             print_short(stage.accelerators) + " none is planned, for DP would be " + print_number(rest, 6) +
             (is_whole ? " and not divide the batch of " + print(*stage.global_batch) : "") +
             nearest_counts(stage.accelerators.value, static_cast<std::int64_t>(whole_group),
                            stage.global_batch ? std::optional(stage.global_batch->value) : std::nullopt, each)
                 .describe()});
    return false;
  }

  const Section& top_;
  Request& r_;
  Assumed& assumed_;
  std::optional<Tokens> default_sequence_;
};

}  // namespace floplan::plan::detail
