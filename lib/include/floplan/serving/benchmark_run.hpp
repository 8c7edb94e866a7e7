// SPDX-License-Identifier: BSD-3-Clause
//
// What a throughput benchmark really ran: its engine's limits and, step by step, its schedule.
//
//   const BenchmarkRun run = trtllm_bench_run(model, parameters, device, cut, formats, {1000, 1000}, 3000);
//   const std::vector<EngineLoad> steps = schedule(run, model);
//   const double rate = 3000 * 1000 / seconds_of(steps, ...);                            output tokens a second
//
// The schedule admits first come first served while places and tokens of a step allow, cuts prompts into pieces at the
// limit of tokens, and a request's last token frees its place. It knows no times, so it is made once and priced with any
// efficiencies. Steps without a prompt differ in their context alone and are taken together up to the next end.
//
// Source of the limits: TensorRT-LLM, tensorrt_llm/bench/build/tuning.py (2025): requests that fit .95 of the memory beside
// the weights, at most 4096, rounded up to 32, 128 or 256; tokens to match the mix, from 2048 to 32768.
// Holds: all requests are there at the start and all have the same length. Cost: linear in steps with a prompt.
// Pitfall: few requests over many places leave a long tail; steady state is then up to a tenth too fast.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/serving_memory.hpp"

namespace floplan::serving {

struct EngineLimits {
  double sequences = 0;      // at a time, of one rank
  double tokens_a_step = 0;  // of one rank
};

// parameters: of the whole model, as the rule counts weights.
[[nodiscard]] inline EngineLimits trtllm_bench_limits(const ServedModel& m, double parameters, const Device& d,
                                                      const Cut& cut, const NumberFormats& f, const RequestTokens& r) {
  const auto up_to = [](double value, double multiple) { return multiple * std::ceil(value / multiple); };
  const double n = cut.accelerators;
  const double counted = f.weight_bytes < 1 ? 0.5 : f.weight_bytes;  // without the scales of blocks
  const double room = 0.95 * (d.memory * n - parameters * counted);
  const double copies = std::max(1.0, n / m.kv_heads);
  const double a_request = m.cache_width * m.layers * copies * f.cache_bytes * (r.input + r.output);
  const double raw = std::min(room / a_request, 4096.0);
  EngineLimits out;
  out.sequences = raw < 256 ? std::max(64.0, up_to(raw, 32)) : raw < 1024 ? up_to(raw, 128) : up_to(raw, 256);
  const double tokens = std::min(raw * (1 + r.input / r.output), 32768.0);
  out.tokens_a_step = tokens < 4096   ? std::max(2048.0, up_to(tokens, 256))
                      : tokens < 8192 ? up_to(tokens, 512)
                                      : up_to(tokens, 1024);
  return out;
}

struct BenchmarkRun {
  double requests = 0;  // of one rank; a part of one is run whole
  RequestTokens tokens{};
  EngineLimits limits{};
};

// `requests` of the whole replica, spread over its ranks, under trtllm-bench's limits and those of the memory.
[[nodiscard]] inline BenchmarkRun trtllm_bench_run(const ServedModel& m, double parameters, const Device& d,
                                                   const Cut& cut, const NumberFormats& f, const RequestTokens& r,
                                                   double requests) {
  BenchmarkRun out{requests / cut.ranks(), r, trtllm_bench_limits(m, parameters, d, cut, f, r)};
  const ServingMemory memory = serving_memory(m, d, cut, f, r, {.tokens_a_step = out.limits.tokens_a_step});
  out.limits.sequences = std::min(out.limits.sequences, std::floor(memory.sequences / cut.ranks()));
  return out;
}

namespace detail {

struct Cohort {
  double requests = 0;
  double left = 0;  // tokens to decode
};

class Schedule {
 public:
  Schedule(const BenchmarkRun& run, const ServedModel& m) : run_(run), m_(m), waiting_(std::ceil(run.requests)) {}

  [[nodiscard]] std::vector<EngineLoad> steps() {
    while (waiting_ > 0 || at_ > 0 || decoding_ > 0) step();
    return std::move(out_);
  }

 private:
  void step() {
    double finished = 0;
    EngineLoad load = prompts(finished);
    const double alike = load.prompt_tokens > 0 ? 1 : cohorts_.front().left;
    for (const Cohort& c : cohorts_) {
      const double context = run_.tokens.input + run_.tokens.output - c.left + (alike - 1) / 2;
      load += decode_load(c.requests, context, m_);
    }
    load.steps = alike;
    out_.push_back(load);
    decode(alike);
    if (finished > 0 && run_.tokens.output > 1) {
      cohorts_.push_back({finished, run_.tokens.output - 1});
      decoding_ += finished;
    }
  }

  // Pieces of prompts that this step has room for.
  [[nodiscard]] EngineLoad prompts(double& finished) {
    EngineLoad load;
    double room = run_.limits.tokens_a_step - decoding_;
    while (room > 0) {
      if (at_ == 0) {
        const double places = run_.limits.sequences - decoding_ - finished;
        if (waiting_ < 1 || places < 1) break;
        const double whole = std::min({std::floor(room / run_.tokens.input), waiting_, places});
        if (whole >= 1) {
          const EngineLoad one = prompt_load(run_.tokens.input, 0, true, m_);
          load.prompt_tokens += whole * one.prompt_tokens;
          load.scores += whole * one.scores;
          load.local_scores += whole * one.local_scores;
          load.logits += whole;
          room -= whole * run_.tokens.input;
          waiting_ -= whole;
          finished += whole;
          continue;
        }
        waiting_ -= 1;
      }
      const double piece = std::min(room, run_.tokens.input - at_);
      const bool ends = at_ + piece >= run_.tokens.input;
      load += prompt_load(piece, at_, ends, m_);
      room -= piece;
      at_ = ends ? 0 : at_ + piece;
      if (ends) finished += 1;
      if (!ends) break;
    }
    return load;
  }

  void decode(double steps) {
    for (Cohort& c : cohorts_) c.left -= steps;
    while (!cohorts_.empty() && cohorts_.front().left <= 0) {
      decoding_ -= cohorts_.front().requests;
      cohorts_.pop_front();
    }
  }

  const BenchmarkRun& run_;
  const ServedModel& m_;
  double waiting_;
  double at_ = 0;  // tokens done of the prompt that a limit cut; 0: none is open
  double decoding_ = 0;
  std::deque<Cohort> cohorts_;
  std::vector<EngineLoad> out_;
};

}  // namespace detail

// Throws Error(usage) for a run without requests, places or tokens, and for one of more than 10 million steps with prompts.
[[nodiscard]] inline std::vector<EngineLoad> schedule(const BenchmarkRun& run, const ServedModel& m) {
  const auto require = [](bool holds, const char* rule, double got) {
    if (!holds) throw Error(Failure::usage, "out_of_range", "schedule", rule + (", got " + print_number(got, 6)));
  };
  require(run.requests > 0, "requests must be positive", run.requests);
  require(run.tokens.input >= 1, "input tokens must be at least 1", run.tokens.input);
  require(run.tokens.output >= 1, "output tokens must be at least 1", run.tokens.output);
  require(run.limits.sequences >= 1, "sequences at a time must be at least 1", run.limits.sequences);
  require(run.limits.tokens_a_step >= 1, "tokens a step must be at least 1", run.limits.tokens_a_step);
  const double steps = run.requests * std::ceil(run.tokens.input / run.limits.tokens_a_step);
  require(steps <= 1e7, "requests times steps of a prompt must be at most 1e7", steps);
  return detail::Schedule(run, m).steps();
}

// The same work in fewer steps: a step's time is linear in its context and scores while its tokens and logits stay, so that
// alike steps may share their mean. Exact but for latent attention, whose products may outlast its reading in some of them.
[[nodiscard]] inline std::vector<EngineLoad> merged(std::vector<EngineLoad> steps) {
  const auto key = [](const EngineLoad& a) { return std::pair(a.tokens(), a.logits); };
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const EngineLoad& a, const EngineLoad& b) { return key(a) < key(b); });
  std::vector<EngineLoad> out;
  for (const EngineLoad& load : steps) {
    if (out.empty() || key(out.back()) != key(load)) {
      out.push_back(load);
      continue;
    }
    EngineLoad& to = out.back();
    const double all = to.steps + load.steps;
    const auto mean = [&](double EngineLoad::*member) {
      to.*member += (load.*member - to.*member) * (load.steps / all);
    };
    for (double EngineLoad::*member : {&EngineLoad::decoding, &EngineLoad::prompt_tokens, &EngineLoad::context,
                                       &EngineLoad::scores, &EngineLoad::local_context, &EngineLoad::local_scores})
      mean(member);
    to.steps = all;
  }
  return out;
}

// Of a whole schedule, its steps one after another.
template <class T>
[[nodiscard]] T seconds_of(const std::vector<EngineLoad>& steps, const ServedModel& m, const Device& d, const Cut& cut,
                           const NumberFormats& f, const BasicEfficiencies<T>& e) {
  T out{0.0};
  for (const EngineLoad& load : steps) out = out + load.steps * engine_step(m, d, cut, f, load, e).seconds();
  return out;
}

}  // namespace floplan::serving
