// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/serve_text.hpp"
#include "floplan/serving/efficiencies_file.hpp"

namespace floplan::cli {
namespace {

struct ServeOptions {
  Text model, accelerator, tp, kv_precision, arithmetic, batch, ttft, tpot, tokens_a_step, places, usable, memory;
  std::string precision = "bf16";
  std::string input_tokens = "1000", output_tokens = "1000";
  Text cached, acceptance, drafted, draft_cost;
  Text price, requests_a_day, peak_over_mean;
  Text efficiencies, validate;
  bool attention_data_parallel = false, ideal = false, frontier = false, left_out = false;
};

struct ServeCalibrateOptions {
  std::string rows;
  std::string from = "shipped";
};

template <class Q>
void take(const Text& text, const char* option, std::optional<Q>& to) {
  if (text) to = parse<Q>(*text, option);
}

double share(const std::string& text, const char* option) {
  return parse_between(text, option, Fraction(0), Fraction(1)).value;
}

double tokens(const std::string& text, const char* option) { return parse<Tokens>(text, option).value; }

serving::MeasuredServing measured_of(const Session& session, const std::string& file) {
  serving::MeasuredServing out = serving::read_measured_serving(parse_csv(read_text_file(file), file), session.catalog);
  if (out.rows.empty()) {
    throw Error(Failure::data, "no_usable_rows", file,
                "has no row that can be asked" + (out.skipped.empty() ? "" : ": " + out.skipped.front().reason));
  }
  return out;
}

std::string skipped_text(const std::vector<serving::SkippedRate>& skipped) {
  std::string out;
  for (const serving::SkippedRate& s : skipped) out += "skipped: " + s.reason + "\n";
  return out;
}

serving::Efficiencies efficiencies_of(const ServeOptions& o) {
  if (o.ideal && o.efficiencies) throw Error(Failure::usage, "conflict", "--ideal", "takes no efficiencies of a file");
  if (o.ideal) return serving::ideal();
  return o.efficiencies ? serving::read_efficiencies(read_text_file(*o.efficiencies), *o.efficiencies)
                        : serving::Efficiencies{};
}

Answer validate(const Session& session, const ServeOptions& o) {
  const serving::MeasuredServing measured = measured_of(session, *o.validate);
  const serving::ServingValidation v = serving::validate(measured.rows, o.left_out, efficiencies_of(o));
  Answer answer;
  answer.inputs = {{"validate", *o.validate}, {"left_out", o.left_out}};
  answer.result = report::serving_validation_json(v, measured.skipped);
  answer.table = report::serving_validation_table(v);
  answer.text = "Predicted against measured output tokens a second, " + std::to_string(v.rows.size()) + " rows, " +
                std::to_string(measured.skipped.size()) + " skipped; positive is too fast\n\n" + answer.table->text();
  for (const serving::BandCoverage& c : v.coverage)
    answer.text += "\n" + std::to_string(c.within) + " of " + std::to_string(c.rows) + " within the band of " + c.of;
  answer.text += "\n" + skipped_text(measured.skipped);
  return answer;
}

Answer calibrate(const Session& session, const ServeCalibrateOptions& o) {
  const serving::MeasuredServing measured = measured_of(session, o.rows);
  std::vector<const serving::MeasuredRate*> rows;
  for (const serving::MeasuredRate& row : measured.rows) rows.push_back(&row);
  const bool few = o.from == "shipped";
  const serving::Calibration c = serving::calibrate(rows, few ? serving::few_rows() : serving::CalibrationOptions{});
  const serving::ServingValidation before = serving::validate(measured.rows, false);
  const serving::ServingValidation after = serving::validate(measured.rows, false, c.efficiencies);
  Answer answer;
  answer.inputs = {{"rows", o.rows}, {"from", o.from}};
  answer.result = report::calibration_json(c);
  answer.result["mean_absolute_ln_error"] = {{"shipped", before.all.mean_absolute()},
                                             {"calibrated", after.all.mean_absolute()}};
  answer.table = report::calibration_table(c);
  answer.text = std::to_string(c.rows) + " rows, " + (c.converged ? "converged" : "not converged") + " after " +
                std::to_string(c.iterations) + " steps: mean |ln error| " +
                print_number(before.all.mean_absolute(), 3) + " by the shipped values, " +
                print_number(after.all.mean_absolute(), 3) + " by these, in-sample\n\n" + answer.table->text() +
                skipped_text(measured.skipped);
  if (!c.converged)
    answer.warnings.push_back(
        {"not_converged", "the fit stopped before it converged: its values are not to be trusted"});
  if (few && c.rows < 3)
    answer.warnings.push_back({"few_rows",
                               "one or two rows say little: a model left out of the fit was brought no nearer "
                               "by one of its rows"});
  std::string prior;
  for (const serving::CalibratedValue& v : c.values) {
    if (v.said == serving::Said::at_prior) prior += (prior.empty() ? "" : ", ") + v.name;
  }
  if (!prior.empty())
    answer.warnings.push_back({"at_prior", "the rows say nothing of " + prior + ": " +
                                               (few ? "the shipped values stand" : "the priors stand")});
  return answer;
}

// Accelerators of a replica where none are given: the fewest, doubling, that hold the model.
double fewest_that_fit(serving::ServingRequest r) {
  for (double n = 1; n <= r.device.scale_up_domain; n *= 2) {
    r.cut.accelerators = n;
    if (std::fmod(r.model.heads, n) == 0 &&
        serving::serving_memory(r.model, r.device, r.cut, r.formats, r.tokens, r.memory).fits())
      return n;
  }
  return std::max(1.0, r.device.scale_up_domain);
}

serving::ServingRequest request_of(const Session& session, const ServeOptions& o, const catalog::FoundModel& found,
                                   Answer& answer) {
  serving::ServingRequest r;
  r.model = serving::served_model(found.model.shape);
  serving::DeviceOptions device;
  take(o.memory, "--memory", device.memory);
  r.device = serving::device_of(session.catalog.accelerator(*o.accelerator, "--accelerator"), device);
  const catalog::Precision weights = catalog::precision_named(o.precision, "--precision");
  r.formats = serving::formats_of(weights, r.device);
  if (o.kv_precision)
    r.formats.cache_bytes = serving::stored_bytes(catalog::precision_named(*o.kv_precision, "--kv-precision"));
  if (o.arithmetic) {
    r.formats.arithmetic = catalog::precision_named(*o.arithmetic, "--arithmetic");
  } else if (r.formats.arithmetic != weights) {
    answer.warnings.push_back({"arithmetic", r.device.name + " has no products in " + to_text(weights) +
                                                 ": they are taken in " + to_text(r.formats.arithmetic)});
  }
  r.tokens = {tokens(o.input_tokens, "--input-tokens"), tokens(o.output_tokens, "--output-tokens")};
  if (o.batch && *o.batch != "max") r.batch = parse<Count>(*o.batch, "--batch").value;
  if (o.places) r.most_sequences = parse<Count>(*o.places, "--max-sequences").value;
  if (o.tokens_a_step) r.memory.tokens_a_step = parse<Count>(*o.tokens_a_step, "--tokens-per-step").value;
  if (o.usable) r.memory.usable = share(*o.usable, "--usable-memory");
  take(o.ttft, "--ttft", r.longest_ttft);
  take(o.tpot, "--tpot", r.longest_tpot);
  if (o.cached) r.cached_share = share(*o.cached, "--cached-share");
  if (o.acceptance || o.drafted || o.draft_cost) {
    if (!o.acceptance) throw Error(Failure::usage, "missing_option", "--draft-acceptance", "is needed with a draft");
    r.speculation.emplace();
    r.speculation->acceptance = share(*o.acceptance, "--draft-acceptance");
    if (o.drafted) r.speculation->drafted = parse<Count>(*o.drafted, "--draft-tokens").value;
    if (o.draft_cost) r.speculation->draft_cost = parse<Fraction>(*o.draft_cost, "--draft-cost").value;
  }
  r.efficiencies = efficiencies_of(o);
  r.cut.attention_data_parallel = o.attention_data_parallel;
  if (o.tp) {
    r.cut.accelerators = static_cast<double>(whole_number(o.tp, "--tp", 1));
  } else {
    check(r);
    r.cut.accelerators = fewest_that_fit(r);
    if (!o.frontier)
      answer.warnings.push_back(
          {"assumed_tp", "no --tp is given: the fewest accelerators that hold the model are taken, " +
                             print_number(r.cut.accelerators, 6)});
  }
  return r;
}

void add_demand(const ServeOptions& o, const serving::ServingRequest& r, const serving::ServingReport& s,
                const std::optional<DollarsPerHour>& price, Answer& answer) {
  if (!o.requests_a_day) {
    if (o.peak_over_mean)
      throw Error(Failure::usage, "conflict", "--peak-to-average", "belongs to --requests-per-day, which is not given");
    return;
  }
  serving::Demand demand;
  demand.requests_a_day = parse<Count>(*o.requests_a_day, "--requests-per-day").value;
  if (o.peak_over_mean) demand.peak_over_mean = parse<Fraction>(*o.peak_over_mean, "--peak-to-average").value;
  const double replicas = serving::replicas_for(demand, s.requests_per_second);
  const double accelerators = replicas * r.cut.accelerators;
  answer.result["replicas"] = report::count_json(replicas);
  answer.result["accelerators"] = report::count_json(accelerators);
  answer.text += "\n" + print_number(replicas, 9) + " replicas, " + print_number(accelerators, 9) +
                 " accelerators for " + *o.requests_a_day + " requests a day";
  if (price) {
    const Dollars day = cost(accelerator_hours(Count(accelerators), days(1)), *price);
    answer.result["usd_per_day"] = day.value;
    answer.text += ", " + print(day, 4) + " a day";
  }
  answer.text += "\n";
}

Answer answer_serve(const Session& session, const ServeOptions& o) {
  if (o.validate) return validate(session, o);
  if (o.left_out) throw Error(Failure::usage, "conflict", "--left-out", "belongs to --validate, which is not given");
  if (!o.model) throw Error(Failure::usage, "missing_option", "--model", "is needed");
  if (!o.accelerator) throw Error(Failure::usage, "missing_option", "--accelerator", "is needed");
  Answer answer;
  const catalog::FoundModel found = catalog::find_model(*o.model, "--model", session.catalog);
  answer.warnings = found.warnings;
  const serving::ServingRequest r = request_of(session, o, found, answer);
  answer.inputs = {{"model", found.model.name},
                   {"accelerator", r.device.name},
                   {"tp", report::count_json(r.cut.accelerators)},
                   {"attention_data_parallel", r.cut.attention_data_parallel},
                   {"precision", o.precision},
                   {"weight_bytes", r.formats.weight_bytes},
                   {"kv_bytes", r.formats.cache_bytes},
                   {"arithmetic", to_text(r.formats.arithmetic)},
                   {"input_tokens", report::count_json(r.tokens.input)},
                   {"output_tokens", report::count_json(r.tokens.output)},
                   {"tokens_per_step", report::count_json(r.memory.tokens_a_step)}};
  if (o.frontier) {
    std::vector<double> counts;
    for (double n = 1; n <= r.device.scale_up_domain && n <= 64; n *= 2) counts.push_back(n);
    if (o.tp) counts = {r.cut.accelerators};
    const auto points = serving::frontier(r, counts);
    if (points.empty()) {
      static_cast<void>(serving::serve(r));  // says why
    }
    answer.result = {{"frontier", report::frontier_json(points)}};
    answer.table = report::frontier_table(points);
    answer.text = answer.table->text();
    return answer;
  }
  const serving::ServingReport s = serving::serve(r);
  answer.warnings.insert(answer.warnings.end(), s.warnings.begin(), s.warnings.end());
  std::optional<DollarsPerHour> price;
  if (o.price) {
    price = parse<DollarsPerHour>(*o.price, "--price");
  } else if (const auto known = session.catalog.latest_price(r.device.name)) {
    price = known->typical;
    answer.warnings.push_back({"assumed_price", print(*price) + " is taken for " + r.device.name + ": " + known->name});
  }
  std::optional<serving::ServingCost> cost;
  if (price) {
    cost = serving::serving_cost(r, s, *price);
    answer.inputs["price_usd_per_hour"] = price->value;
  }
  answer.result = report::serve_json(r, s, cost);
  answer.table = report::serve_table(s);
  answer.text = report::serve_text(r, s, cost);
  add_demand(o, r, s, price, answer);
  return answer;
}

}  // namespace

void add_serve(Program& program) {
  const auto o = std::make_shared<ServeOptions>();
  Subcommand sub = program.add("serve", "Tokens a second, latency and cost of a model on accelerators that serve it",
                               [o](const Session& s) { return answer_serve(s, *o); });
  sub.option("--model", o->model, "A model of the catalog, as llama-3.1-405b, or a config.json");
  sub.option("--accelerator", o->accelerator, "An accelerator of the catalog, as h100-sxm");
  sub.option("--tp", o->tp, "Accelerators of a replica; the fewest that hold the model");
  sub.flag("--attention-data-parallel", o->attention_data_parallel,
           "Each of them serves requests of its own, and experts are spread over all");
  sub.option("--precision", o->precision, "Of weights and products; the cache has 8 bits beside fp8 and fp4",
             {"bf16", "fp8", "fp4"});
  sub.option("--kv-precision", o->kv_precision, "Of the cache: bf16, fp8 or fp4");
  sub.option("--arithmetic", o->arithmetic, "Of the products: bf16, fp8 or fp4");
  sub.option("--input-tokens", o->input_tokens, "Of a request");
  sub.option("--output-tokens", o->output_tokens, "Of a request");
  sub.option("--batch", o->batch, "Requests at a time; max, or as many as the limits allow");
  sub.option("--ttft", o->ttft, "Longest time to the first token beside the batch, as 500ms");
  sub.option("--tpot", o->tpot, "Longest time between tokens, as 50ms");
  sub.flag("--frontier", o->frontier, "Instead: every batch, and every number of accelerators");
  sub.group("The engine");
  sub.option("--max-sequences", o->places, "Requests at a time, at most; 4096");
  sub.option("--tokens-per-step", o->tokens_a_step, "Tokens of prompts and outputs in one step, at most; 8192");
  sub.option("--usable-memory", o->usable, "Share of the memory beside weights that the cache may take; .95");
  sub.option("--memory", o->memory, "Of an accelerator, as software is shown it, as 79.6GiB");
  sub.option("--cached-share", o->cached, "Of each prompt, found in a prefix cache");
  sub.option("--draft-acceptance", o->acceptance, "Speculative decoding: chance that a drafted token is accepted");
  sub.option("--draft-tokens", o->drafted, "Tokens drafted a step; 4");
  sub.option("--draft-cost", o->draft_cost, "Time of one draft step over one of the model; .1");
  sub.group("Cost");
  sub.option("--price", o->price, "Of an accelerator-hour, as 2.50USD/h; the catalog's");
  sub.option("--requests-per-day", o->requests_a_day, "A demand, for which accelerators are counted");
  sub.option("--peak-to-average", o->peak_over_mean, "Of that demand; 1");
  sub.group("The model of it");
  sub.option("--efficiencies", o->efficiencies, "What serve calibrate wrote, in place of the shipped values");
  sub.flag("--ideal", o->ideal, "Peaks and bandwidths reached in full: a bound");
  sub.option("--validate", o->validate, "Instead: a CSV of measured rates, and how far predictions are from them");
  sub.flag("--left-out", o->left_out, "With --validate: also with each model and each accelerator left out of the fit");
  sub.group("");

  const auto c = std::make_shared<ServeCalibrateOptions>();
  Subcommand calibrates = program.add("serve calibrate", "Fits the serving model's efficiencies to measured rates",
                                      [c](const Session& s) { return calibrate(s, *c); });
  calibrates.positional("rows", c->rows, "A CSV of measured rates, as serve --validate takes it");
  calibrates.option("--from", c->from, "What the fit starts from and holds to where rows say nothing",
                    {"shipped", "priors"});
}

}  // namespace floplan::cli
