// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "cluster_source.hpp"
#include "command.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/cluster/calibration.hpp"
#include "floplan/cluster/efficiencies_file.hpp"
#include "floplan/cluster/known_stack.hpp"
#include "floplan/cluster/layout_order.hpp"
#include "floplan/cluster/left_out.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/memory_text.hpp"
#include "floplan/report/step_text.hpp"
#include "layout_source.hpp"

namespace floplan::cli {
namespace {

struct StepOptions {
  std::vector<std::string> validate;
  Text model, accelerator, seq;
  bool left_out = false;
  std::string precision = "bf16";
  std::string attention_flop = "causal";
  LayoutOptions layout;
  ClusterOptions cluster;
};

// The rows of all files together.
cluster::MeasuredSteps measured_steps(const Session& session, const std::vector<std::string>& files) {
  cluster::MeasuredSteps out;
  for (const std::string& file : files) {
    cluster::MeasuredSteps rows = cluster::read_measured_steps(parse_csv(read_text_file(file), file), session.catalog);
    if (rows.steps.empty()) {
      throw Error(
          Failure::data, "no_usable_rows", file,
          "has no row that can be asked" +
              (rows.skipped.empty() ? "" : ": " + rows.skipped.front().place + ": " + rows.skipped.front().reason));
    }
    for (cluster::MeasuredStep& step : rows.steps) out.steps.push_back(std::move(step));
    for (cluster::SkippedStep& skipped : rows.skipped) out.skipped.push_back(std::move(skipped));
  }
  return out;
}

// What --validate does not use is refused: its rows say all of it.
void require_rows_alone(const StepOptions& o) {
  const auto refuse = [](const std::string& option) {
    throw Error(Failure::usage, "useless_option", option,
                "is of one step, and --validate asks each row as its columns say: put it into the rows");
  };
  for (const auto& [text, option] :
       {std::pair(&o.model, "--model"), std::pair(&o.accelerator, "--accelerator"), std::pair(&o.seq, "--seq")}) {
    if (*text) refuse(option);
  }
  if (const auto option = o.layout.given()) refuse(*option);
  if (const auto option = o.cluster.given()) refuse(*option);
  if (o.left_out && o.cluster.efficiencies) {
    throw Error(Failure::usage, "useless_option", "--efficiencies",
                "cannot be given with --left-out, which fits them to the other publishers' rows");
  }
}

Answer validate(const Session& session, const StepOptions& o) {
  require_rows_alone(o);
  cluster::MeasuredSteps rows = measured_steps(session, o.validate);
  for (cluster::MeasuredStep& step : rows.steps) step.request.efficiencies = efficiencies_of(o.cluster);
  const cluster::Validation v = cluster::validate(rows);
  const std::vector<cluster::OrderError> order = cluster::order_errors(cluster::layout_sets(rows, 5));
  Answer answer;
  answer.inputs = {{"validate", o.validate}, {"left_out", o.left_out}};
  answer.result = report::validation_json(v);
  answer.result["order"] = report::order_json(order);
  answer.table = report::validation_table(v);
  answer.text = "Predicted against measured steps, " + std::to_string(v.rows.size()) + " rows, " +
                std::to_string(v.skipped.size()) + " skipped; the efficiencies " +
                (o.cluster.efficiencies ? "are those of " + *o.cluster.efficiencies : "were fitted to published rows") +
                "\n\n" + answer.table->text();
  for (const cluster::ClassError& c : v.classes) {
    answer.text += c.error.group + ": " + print_number(100 * c.coverage, 3) + "% of rows inside the 90% band\n";
  }
  for (const cluster::OrderError& of : order) {
    if (of.ranked == 0) continue;
    answer.text += "order of layouts of one question, " + of.group + ": " + std::to_string(of.sets) +
                   (of.sets == 1 ? " set" : " sets") + ", Spearman " + print_number(of.spearman, 3) +
                   ", the predicted best costs " + print_number(100 * of.loss, 3) + "% over the true one\n";
  }
  // What was filled in, by how many rows it was.
  std::map<std::pair<std::string, std::string>, std::size_t> assumed;
  for (const cluster::MeasuredStep& step : rows.steps) {
    for (const Warning& w : step.assumptions) ++assumed[{w.code, w.message}];
  }
  for (const auto& [what, count] : assumed)
    answer.warnings.push_back(
        {"assumed_" + what.first,
         "in " + std::to_string(count) + " of " + std::to_string(rows.steps.size()) + " rows " + what.second});
  if (o.left_out) {
    cluster::CalibrationOptions options;
    options.start = cluster::calibrate(rows, options).efficiencies;
    const cluster::LeftOut left = cluster::leave_out(rows, options, cluster::publisher_of);
    if (left.fits < 2) {
      throw Error(Failure::data, "one_publisher", o.validate.front(),
                  "must have rows of at least two publishers to leave one out, got " + std::to_string(left.fits));
    }
    const cluster::Validation out = cluster::validate(rows, &left.log_errors);
    answer.result["left_out"] = report::validation_json(out);
    answer.text +=
        "\nEach publisher by a fit to the others' rows of this file\n\n" + report::validation_table(out).text();
    for (const cluster::ClassError& c : out.classes) {
      answer.text += c.error.group + ": " + print_number(100 * c.coverage, 3) + "% of rows inside the 90% band\n";
    }
  }
  for (const cluster::SkippedStep& s : v.skipped) answer.text += "skipped: " + s.place + ": " + s.reason + "\n";
  return answer;
}

struct CalibrateOptions {
  std::string rows;
  Text out;
  bool refit = false;
};

Answer calibrate(const Session& session, const CalibrateOptions& o) {
  const cluster::MeasuredSteps rows = measured_steps(session, std::vector<std::string>{o.rows});
  Answer answer;
  cluster::Calibration fit = o.refit ? cluster::calibrate(rows) : cluster::published_calibration();
  fit.efficiencies = cluster::anchored(rows, fit.efficiencies);
  if (o.refit) fit.efficiencies.measured_factor = 1;
  fit.rows = rows.steps.size();
  if (!o.refit && rows.steps.size() < 3) {
    answer.warnings.push_back(
        {"few_rows",
         "a row scatters by 7% around its like: give the median of a few runs, not one; " +
             std::to_string(rows.steps.size()) + " moves the answer by " +
             print_number(100.0 * static_cast<double>(rows.steps.size()) / static_cast<double>(rows.steps.size() + 2),
                          3) +
             "% of what it says"});
  }
  // How the rows scatter about what they give: a mix of clusters, or of units, is no calibration.
  std::vector<double> ratios;
  for (const cluster::MeasuredStep& s : rows.steps)
    ratios.push_back(s.measured.value / cluster::step_terms(s.request, fit.efficiencies).step);
  std::sort(ratios.begin(), ratios.end());
  if (ratios.back() > 1.5 * ratios.front()) {
    answer.warnings.push_back({"rows_scatter", "the rows lie from " + print_number(ratios.front(), 3) + " to " +
                                                   print_number(ratios.back(), 3) +
                                                   " times what the calibration gives: are they of one cluster?"});
  }
  const double factor = fit.efficiencies.measured_factor;
  if (!(factor > 0.1 && factor < 10)) {
    throw Error(Failure::data, "bad_rows", o.rows,
                "steps must be within 0.1 and 10 times the published model's, and are " + print_number(factor, 4) +
                    " times: are the times in seconds, and the rows of this accelerator?");
  }
  if (factor < 0.67 || factor > 1.5) {
    answer.warnings.push_back({"far_from_published", "steps of " + print_number(factor, 3) +
                                                         " times the published model's are not explained by any "
                                                         "measured stack: look at units, layout and software"});
  }
  if (o.refit && rows.steps.size() < 2 * fit.values.size()) {
    answer.warnings.push_back({"few_rows_to_refit", std::to_string(rows.steps.size()) + " rows for " +
                                                        std::to_string(fit.values.size()) +
                                                        " efficiencies: what they do not say is the prior"});
  }
  for (const cluster::CalibratedValue& v : fit.values) {
    if (o.refit && v.identified() == "no")
      answer.warnings.push_back({"not_identified", std::string(v.name) + " is its prior: the rows say nothing of it"});
  }
  answer.inputs = {{"rows", o.rows}, {"refit", o.refit}};
  answer.result = report::calibration_json(fit);
  answer.result["skipped"] = rows.skipped.size();
  answer.result["ratio_low"] = ratios.front();
  answer.result["ratio_high"] = ratios.back();
  answer.table = report::calibration_table(fit);
  if (o.out) {
    write_text_file(*o.out, cluster::efficiencies_toml(fit, "floplan step calibrate"));
    answer.result["out"] = *o.out;
  }
  answer.text =
      (o.refit ? fit.describe()
               : "the published efficiencies, and steps " + print_number(fit.efficiencies.measured_factor, 4) +
                     " times as long as they say, from the median of " + std::to_string(fit.rows) + " rows") +
      "\nmeasured steps lie from " + print_number(ratios.front(), 3) + " to " + print_number(ratios.back(), 3) +
      " times what the calibration gives\n\n" + answer.table->text();
  for (const cluster::SkippedStep& s : rows.skipped) answer.text += "skipped: " + s.place + ": " + s.reason + "\n";
  return answer;
}

// What the options leave open of the layout is as the publisher of the software has it.
void lay_out_as(const Session& session, const std::string& stack, const architecture::Transformer& shape,
                LayoutOptions& options, std::vector<Warning>& warnings) {
  const catalog::Stack record = catalog::stack_named(session.catalog, stack, "--stack");
  const cluster::StackLayout of = cluster::stack_layout(record, shape, whole_number(options.pp, "--pp", 1));
  std::string taken;
  const auto take = [&taken](const char* option, const std::string& word) {
    taken += (taken.empty() ? "" : ", ") + std::string(option) + " " + word;
    return word;
  };
  if (!options.vp && of.interleave) options.vp = take("--vp", std::to_string(*of.interleave));
  if (options.sharding.empty() && of.sharding) options.sharding = take("--sharding", to_text(*of.sharding));
  if (options.recompute.empty() && of.recompute) options.recompute = take("--recompute", to_text(*of.recompute));
  if (!taken.empty()) warnings.push_back({"laid_out_as", taken + " is as in " + record.title});
}

Answer answer_step(const Session& session, const StepOptions& o) {
  if (!o.validate.empty()) return validate(session, o);
  if (o.left_out) throw Error(Failure::usage, "missing_option", "--left-out", "needs --validate");
  if (!o.model) throw Error(Failure::usage, "missing_option", "--model", "is needed");
  if (!o.accelerator) throw Error(Failure::usage, "missing_option", "--accelerator", "is needed");
  Answer answer;
  catalog::FoundModel found = catalog::find_model(*o.model, "--model", session.catalog);
  for (Warning& w : found.warnings) answer.warnings.push_back(std::move(w));
  const catalog::Accelerator on = session.catalog.accelerator(*o.accelerator, "--accelerator");
  const Tokens sequence = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9))
                                : found.model.sequence_length.value_or(Tokens(8192));
  LayoutOptions options = o.layout;
  if (found.file) options.complete_from(*found.file);
  if (!options.global_batch) throw Error(Failure::usage, "missing_option", "--global-batch", "is needed");
  cluster::StepRequest r;
  r.shape = std::move(found.model.shape);
  if (o.cluster.stack) lay_out_as(session, *o.cluster.stack, r.shape, options, answer.warnings);
  if (!options.vp) {
    const std::int64_t chunks = o.cluster.schedule.value_or("") == "zero_bubble"
                                    ? 1
                                    : architecture::usual_interleave(r.shape, whole_number(options.pp, "--pp", 1));
    options.vp = std::to_string(chunks);
    if (chunks > 1) {
      answer.warnings.push_back({"assumed_interleaving", "no --vp is given, so each pipeline rank is taken to work " +
                                                             *options.vp +
                                                             " chunks of layers in turn: without them "
                                                             "the bubble would be " +
                                                             *options.vp + " times as long"});
    }
  }
  TrainingLayout cut = layout_of(options, sequence, answer.warnings);
  r.layout = cut.layout;
  r.microbatch = cut.memory.activation.microbatch;
  r.global_batch = whole_number(options.global_batch, "--global-batch", 1);
  r.sequence_length = cut.memory.activation.sequence_length;
  r.precision = catalog::precision_named(o.precision, "--precision");
  r.sharding = cut.memory.sharding;
  r.recompute = cut.memory.activation.recompute;
  const bool known = take_cluster(session, o.cluster, on, r);
  r.convention = attention_convention(o.attention_flop);
  const cluster::StepReport step = cluster::step_time(r);

  cut.memory.activation.sequence_parallel = r.stack.sequence_parallel.value;
  cut.memory.activation.attention = r.stack.attention.value == cluster::AttentionKernel::unfused
                                        ? architecture::AttentionKernel::materialised
                                        : architecture::AttentionKernel::fused;
  const auto memory = memory_of(r.shape, cut);
  for (const auto* list : {&step.warnings, &step.assumptions}) {
    answer.warnings.insert(answer.warnings.end(), list->begin(), list->end());
  }
  const cluster::StepBand band = cluster::step_band(r, known);
  answer.inputs = {{"model", found.model.name},
                   {"accelerator", on.name},
                   {"global_batch", r.global_batch},
                   {"sequence_length", r.sequence_length},
                   {"precision", o.precision}};
  answer.inputs.update(layout_inputs(cut));
  answer.inputs["layout"]["vp"] = r.layout.interleave;
  answer.inputs["stack"] = report::stack_json(r.stack);
  answer.inputs["efficiencies"] = report::efficiencies_json(r.efficiencies);
  answer.result = report::step_json(step, band);
  answer.result.update(report::memory_json(memory, on.memory));
  answer.table = report::step_table(step);
  answer.text = report::step_text(step, band) + "\n";
  if (on.memory) {
    const architecture::MemoryFit fit = memory.fits(*on.memory);
    answer.text += fit.text + "\n";
    if (!fit.fits) answer.warnings.push_back({"does_not_fit", "the layout " + fit.text});
    if (auto w = cluster::memory_caution(memory.worst_stage().total(), *on.memory))
      answer.warnings.push_back(std::move(*w));
  } else {
    answer.text += memory.describe() + "\n";
  }
  return answer;
}

}  // namespace

void add_step(Program& program) {
  const auto o = std::make_shared<StepOptions>();
  Subcommand sub = program.add("step", "Time of a training step on a cluster and layout, term by term, and its memory",
                               [o](const Session& s) { return answer_step(s, *o); });
  sub.option("--model", o->model, "A model of the catalog, as llama-3.1-405b, or a config.json");
  sub.option("--accelerator", o->accelerator, "An accelerator of the catalog, as h100-sxm");
  sub.option("--seq", o->seq, "Sequence length in tokens; the model's own, or 8192");
  sub.option("--precision", o->precision, "Of the layers' matrix products", {"bf16", "fp8", "fp4"});
  sub.option("--attention-flop", o->attention_flop, "Attention FLOP that TFLOP/s and MFU count",
             {"none", "causal", "full"});
  sub.option("--validate", o->validate,
             "Instead: a CSV of measured steps (once a file), and how far predictions are from them");
  add_layout(sub, o->layout, "The parallel layout");
  sub.flag("--left-out", o->left_out, "With --validate: also by fits without the publisher of each row");
  add_cluster(sub, o->cluster);

  const auto c = std::make_shared<CalibrateOptions>();
  sub = program.add(
      "step calibrate", "Efficiencies of your own cluster, from its measured steps",
      [c](const Session& s) { return calibrate(s, *c); }, Program::Out::folder);
  sub.positional("ROWS", c->rows, "A CSV of measured steps, in the columns that step --validate reads");
  sub.option("--out", c->out, "A TOML file for step --efficiencies");
  sub.flag("--refit", c->refit, "Fit every efficiency, as many rows of several clusters allow, not their median alone");
}

}  // namespace floplan::cli
