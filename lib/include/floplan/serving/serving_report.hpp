// SPDX-License-Identifier: BSD-3-Clause
//
// What a replica serves: tokens a second, time to the first token and between tokens, the batch and what keeps it there.
//
//   const ServingReport s = serve(request);      s.output_tokens_per_second, s.ttft, s.tpot, s.batch, s.describe()
//
//   rate = B E / step      TPOT = step / E      step of a full engine in steady state (engine_load.hpp), E tokens a step and
//   request: 1 without speculation. TTFT is of a prompt on an idle engine; ttft_beside_batch of one that finds a place beside
//   the others, in pieces of what tokens a step are left. Waiting for a place is queueing and not in it.
//
//   B is the least of what the memory holds, the engine's places, the tokens of a step T >= B (1 + i/o), and the largest that
//   keep the limits asked for.
//
// Source: as engine_step.hpp. Errors: as serving_request.hpp; infeasible for a model that does not fit, a batch that does
// not, and a limit that not even one request keeps, each with both numbers. Cost: 2 microseconds, 4 with limits.
// Pitfall: this is a ceiling: uneven arrivals and lengths leave places empty, and more requests a second only wait.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/confidence.hpp"
#include "floplan/serving/serving_request.hpp"

namespace floplan::serving {

enum class BatchLimit { memory, places, tokens_a_step, tpot, ttft, given };

[[nodiscard]] inline const char* to_text(BatchLimit limit) {
  switch (limit) {
    case BatchLimit::memory: return "memory";
    case BatchLimit::places: return "places of the engine";
    case BatchLimit::tokens_a_step: return "tokens a step";
    case BatchLimit::tpot: return "TPOT";
    case BatchLimit::ttft: return "TTFT";
    case BatchLimit::given: break;
  }
  return "given";
}

// What a step waits for most: the share of its time that goes with each.
struct StepBounds {
  double memory = 0, arithmetic = 0, links = 0, latency = 0;
  [[nodiscard]] const char* largest() const {
    const double most = std::max({memory, arithmetic, links, latency});
    return most == memory       ? "memory bandwidth"
           : most == arithmetic ? "arithmetic"
           : most == links      ? "links"
                                : "latency";
  }
};

struct ServingReport {
  double batch = 0;  // of the replica
  BatchLimit limit = BatchLimit::memory;
  ServingMemory memory;
  EngineStep<double> step;
  StepBounds bounds;
  double output_tokens_per_second = 0;  // of the replica
  double requests_per_second = 0;
  Seconds tpot;
  Seconds ttft;
  Seconds ttft_beside_batch;
  double decoding_share = 0;  // of the step's time, that remains without prompts
  Confidence confidence;
  std::vector<Warning> warnings;

  [[nodiscard]] double rate_low() const { return output_tokens_per_second / confidence.factor_low; }
  [[nodiscard]] double rate_high() const { return output_tokens_per_second * confidence.factor_high; }
  [[nodiscard]] std::string describe() const {
    return print_number(output_tokens_per_second, 4) + " output tokens/s at a batch of " + print_number(batch, 6) +
           " (limit: " + to_text(limit) + "), " + print(tpot, 3) + " a token, first token after " + print(ttft, 3) +
           " on an idle engine";
  }
};

namespace detail {

class Server {
 public:
  explicit Server(const ServingRequest& r) : r_(r) {
    if (r.speculation) {
      drafted_ = r.speculation->drafted;
      yielded_ = r.speculation->tokens();
    }
  }

  [[nodiscard]] double yielded() const { return yielded_; }
  // Of a rank; the replica's batch over its ranks.
  [[nodiscard]] EngineLoad load(double batch) const {
    return steady_load(batch / ranks(), r_.tokens, r_.model, r_.cached_tokens(), drafted_, yielded_);
  }
  [[nodiscard]] EngineStep<double> step(const EngineLoad& load, const Device& d) const {
    return engine_step(r_.model, d, r_.cut, r_.formats, load, r_.efficiencies);
  }
  [[nodiscard]] EngineStep<double> step(const EngineLoad& load) const { return step(load, r_.device); }
  // Of a step and the drafts before it.
  [[nodiscard]] double seconds(double batch) const { return step(load(batch)).seconds() + drafting(batch); }
  [[nodiscard]] double seconds_without_prompts(double batch) const {
    EngineLoad without = load(batch);
    const double finishing = batch / ranks() * yielded_ / r_.tokens.output;
    without.prompt_tokens -= finishing * (r_.tokens.input - r_.cached_tokens());
    without.scores = drafted_ * without.context;
    without.local_scores = drafted_ * without.local_context;
    without.logits -= finishing;
    return step(without).seconds() + drafting(batch);
  }
  [[nodiscard]] double tpot(double batch) const { return seconds(batch) / yielded_; }

  // Of a prompt whose pieces share their steps with `batch` decoding requests. A piece's time is linear in its place, so
  // the whole pieces together take their number times that of the one in the middle.
  [[nodiscard]] double ttft(double batch) const {
    const double own = batch / ranks();
    const double room = std::max(1.0, r_.memory.tokens_a_step - own * (1 + drafted_));
    const double start = r_.cached_tokens();
    const double length = r_.tokens.input - start;
    const double whole = std::ceil(length / room) - 1;
    EngineLoad others = decode_load(own, r_.tokens.input + r_.tokens.output / 2, r_.model);
    double out = 0;
    if (whole > 0) {
      EngineLoad piece = prompt_load(room, start + (whole - 1) / 2 * room, false, r_.model);
      piece += others;
      out += whole * step(piece).seconds();
    }
    EngineLoad last = prompt_load(length - whole * room, start + whole * room, true, r_.model);
    last += others;
    return out + step(last).seconds();
  }

  [[nodiscard]] double most_for_tokens() const {
    const double a_request = 1 + drafted_ + yielded_ * (r_.tokens.input - r_.cached_tokens()) / r_.tokens.output;
    return r_.memory.tokens_a_step / a_request * ranks();
  }
  [[nodiscard]] double ranks() const { return r_.cut.ranks(); }

 private:
  [[nodiscard]] double drafting(double batch) const {
    if (!r_.speculation) return 0;
    const EngineLoad plain = decode_load(batch / ranks(), r_.tokens.input + r_.tokens.output / 2, r_.model);
    return drafted_ * r_.speculation->draft_cost * step(plain).seconds();
  }

  const ServingRequest& r_;
  double drafted_ = 0;
  double yielded_ = 1;
};

// The largest whole batch up to `most` at which `seconds`, which rises with the batch, is at most `limit`; 0 for none.
template <class Seconds>
[[nodiscard]] double largest_within(double most, double limit, Seconds seconds) {
  if (!(seconds(1.0) <= limit)) return 0;
  double low = 1, high = most + 1;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (seconds(middle) <= limit ? low : high) = middle;
  }
  return low;
}

[[nodiscard]] inline Error does_not_fit(const ServingRequest& r, const ServingMemory& m) {
  const std::string cut = print_number(r.cut.accelerators, 9) + " x " + r.device.name;
  return Error(Failure::infeasible, "does_not_fit", "serve",
               "the model must fit " + cut + " with the cache of one request: " + m.describe() + ", of which " +
                   print_number(100 * r.memory.usable, 4) + "% of what weights and runtime leave may be cache: " +
                   print_number(m.needed() / m.capacity, 3) + " times over");
}

[[nodiscard]] inline StepBounds bounds_of(const Server& server, const ServingRequest& r, const EngineLoad& load) {
  constexpr double faster = 1.01;
  const double seconds = server.step(load).seconds();
  const auto gains = [&](auto change) {
    Device d = r.device;
    change(d);
    return std::max(0.0, (seconds / server.step(load, d).seconds() - 1) / (faster - 1));
  };
  StepBounds out;
  out.memory = gains([](Device& d) { d.memory_bandwidth *= faster; });
  out.arithmetic = gains([](Device& d) {
    d.bf16_peak *= faster;
    d.fp8_peak *= faster;
    d.fp4_peak *= faster;
  });
  out.links = gains([](Device& d) {
    d.scale_up *= faster;
    d.network *= faster;
  });
  out.latency = std::max(0.0, 1 - out.memory - out.arithmetic - out.links);
  return out;
}

inline void set_batch(const ServingRequest& r, const Server& server, ServingReport& out) {
  const double memory = std::floor(out.memory.sequences);
  const double tokens = std::floor(server.most_for_tokens());
  if (r.batch) {
    const double batch = *r.batch;
    const auto refuse = [batch](const char* code, const std::string& why) {
      return Error(Failure::infeasible, code, "serve", why + ", got " + print_number(batch, 9));
    };
    if (batch > memory)
      throw refuse("batch_does_not_fit", "the batch must be at most " + print_number(memory, 9) + ", which is what " +
                                             print(out.memory.room, 4) + " of each accelerator hold at " +
                                             print(out.memory.a_sequence, 4) + " a request");
    if (batch > r.most_sequences * server.ranks())
      throw refuse("beyond_places", "the batch must be at most the engine's " +
                                        print_number(r.most_sequences * server.ranks(), 9) + " places");
    if (batch > tokens)
      throw refuse("beyond_tokens_a_step", "the batch must be at most " + print_number(tokens, 9) +
                                               ", whose prompts "
                                               "and tokens fill steps of " +
                                               print_number(r.memory.tokens_a_step, 9) + " tokens");
    out.batch = batch;
    out.limit = BatchLimit::given;
  } else {
    out.batch = memory;
    out.limit = BatchLimit::memory;
    const auto lower = [&out](double most, BatchLimit limit) {
      if (most >= out.batch) return;
      out.batch = most;
      out.limit = limit;
    };
    lower(r.most_sequences * server.ranks(), BatchLimit::places);
    lower(std::max(1.0, tokens), BatchLimit::tokens_a_step);
  }
  const auto keep = [&](const std::optional<Seconds>& limit, BatchLimit kind, auto seconds) {
    if (!limit) return;
    const double most = r.batch && seconds(*r.batch) <= limit->value ? *r.batch
                        : r.batch                                    ? 0
                                                                     : largest_within(out.batch, limit->value, seconds);
    if (most >= out.batch) return;
    const double least = r.batch ? *r.batch : 1;
    if (most < 1) {
      throw Error(Failure::infeasible, "too_slow", "serve",
                  std::string(to_text(kind)) + " must be at most " + print(*limit, 4) + ", and at a batch of " +
                      print_number(least, 9) + " it is " + print(Seconds(seconds(least)), 4) + ", " +
                      print_number(seconds(least) / limit->value, 3) + " times that");
    }
    out.batch = most;
    out.limit = kind;
  };
  keep(r.longest_tpot, BatchLimit::tpot, [&](double batch) { return server.tpot(batch); });
  keep(r.longest_ttft, BatchLimit::ttft, [&](double batch) { return server.ttft(batch - 1); });
}

inline void add_warnings(const ServingRequest& r, ServingReport& out) {
  const auto text = [](double x) { return print_number(x, 6); };
  if (!r.cut.attention_data_parallel && r.cut.accelerators > r.model.kv_heads) {
    out.warnings.push_back({"copied_cache", "the cache is cut over " + text(r.model.kv_heads) + " of " +
                                                text(r.cut.accelerators) + " accelerators and copied on the others: " +
                                                (r.model.latent() ? "its latent has no heads to cut"
                                                                  : "the model has no more key-value heads")});
  }
  if (r.cut.accelerators > r.device.scale_up_domain) {
    out.warnings.push_back(
        {"beyond_scale_up", "a replica of " + text(r.cut.accelerators) +
                                " accelerators crosses "
                                "scale-up domains of " +
                                text(r.device.scale_up_domain) +
                                ": each of its collectives waits for the network, which was not measured"});
  }
  for (const Warning& w : out.confidence.warnings) out.warnings.push_back(w);
}

}  // namespace detail

// Throws as said above; serving_memory() says whether a model fits without throwing.
[[nodiscard]] inline ServingReport serve(const ServingRequest& r) {
  check(r);
  ServingReport out;
  out.memory = serving_memory(r.model, r.device, r.cut, r.formats, r.tokens, r.memory);
  if (!out.memory.fits()) throw detail::does_not_fit(r, out.memory);
  const detail::Server server(r);
  detail::set_batch(r, server, out);
  const EngineLoad load = server.load(out.batch);
  out.step = server.step(load);
  const double seconds = server.seconds(out.batch);
  out.bounds = detail::bounds_of(server, r, load);
  out.output_tokens_per_second = out.batch * server.yielded() / seconds;
  out.requests_per_second = out.output_tokens_per_second / r.tokens.output;
  out.tpot = Seconds(seconds / server.yielded());
  out.ttft = Seconds(server.ttft(0));
  out.ttft_beside_batch = Seconds(server.ttft(out.batch - 1));
  out.decoding_share = server.seconds_without_prompts(out.batch) / seconds;
  out.confidence = confidence_of(r.model, r.device, r.cut, r.formats);
  detail::add_warnings(r, out);
  return out;
}

}  // namespace floplan::serving
