// SPDX-License-Identifier: BSD-3-Clause
#include "demand_source.hpp"

#include "floplan/optimum/choose.hpp"
#include "floplan/report/lifetime_text.hpp"
#include "floplan/serving/lifetime_purchase.hpp"

namespace floplan::cli {

std::optional<std::string> DemandOptions::given() const {
  for (const auto& [text, option] : {std::pair(&requests, "--demand"),
                                     {&input, "--request-input"},
                                     {&output, "--request-output"},
                                     {&samples, "--samples"},
                                     {&ttft, "--ttft"},
                                     {&tpot, "--tpot"}}) {
    if (*text) return option;
  }
  return std::nullopt;
}

void add_demand(Subcommand& sub, DemandOptions& o) {
  sub.option("--demand", o.requests, "Requests of a lifetime, as 1e10: serving is priced by its model, not by an MFU");
  sub.option("--request-input", o.input, "Tokens read in one; 1000");
  sub.option("--request-output", o.output, "Tokens written in one; 250");
  sub.option("--samples", o.samples, "Answers to each request; 1");
  sub.option("--ttft", o.ttft, "Longest time to the first token beside the batch, as 500ms");
  sub.option("--tpot", o.tpot, "Longest time between tokens, as 50ms");
}

Answer answer_demand(const law::AnyLaw& law, const DemandOptions& o, const DemandMachines& on,
                     std::optional<Flop> budget, std::optional<double> loss) {
  const optimum::Surface surface = optimum::surface(law, optimum::Setting{});
  serving::LifetimeQuestion q;
  q.loss = loss ? *loss : optimum::loss_of(surface, optimum::for_budget(surface, *budget));
  q.training_peak = *on.train.dense_peak(on.train_precision);
  q.training_utilisation = on.train_mfu;
  q.training_price = on.train_price;
  q.serving_price = on.serve_price;
  q.serving.device = serving::device_of(on.serve);
  q.serving.formats = serving::formats_of(on.serve_precision, q.serving.device);
  q.serving.tokens = {o.input ? parse<Tokens>(*o.input, "--request-input").value : 1000,
                      o.output ? parse<Tokens>(*o.output, "--request-output").value : 250};
  q.requests = parse<Count>(*o.requests, "--demand").value;
  if (o.samples) q.samples = parse<Count>(*o.samples, "--samples").value;
  if (o.ttft) q.serving.longest_ttft = parse<Seconds>(*o.ttft, "--ttft");
  if (o.tpot) q.serving.longest_tpot = parse<Seconds>(*o.tpot, "--tpot");
  const serving::LifetimePurchase p = serving::buy_for_lifetime(surface, q);
  const optimum::Split unserved = optimum::for_loss(surface, q.loss);
  const auto unserved_cost = serving::lifetime_point(surface, q, unserved.parameters);
  Answer answer;
  answer.inputs = {{"law", law.name},
                   {"demand", report::count_json(q.requests)},
                   {"request_input", report::count_json(q.serving.tokens.input)},
                   {"request_output", report::count_json(q.serving.tokens.output)},
                   {"samples", report::count_json(q.samples)},
                   {"train_accelerator", on.train.name},
                   {"serve_accelerator", on.serve.name},
                   {"serve_precision", to_text(on.serve_precision)},
                   {"train_price_usd_per_hour", on.train_price.value},
                   {"serve_price_usd_per_hour", on.serve_price.value},
                   {"train_mfu", on.train_mfu.value}};
  answer.result = report::lifetime_json(q, p, unserved, unserved_cost);
  answer.table = report::lifetime_table(p);
  answer.text = report::lifetime_text(p, unserved, unserved_cost) + "\n" + answer.table->text();
  answer.warnings.push_back(
      {"assumed_family",
       "sizes have Llama 3's proportions, 8 key-value heads of 128 and 128,256 words, and replicas 1, "
       "2, 4 or 8 accelerators that are always full"});
  return answer;
}

}  // namespace floplan::cli
