// SPDX-License-Identifier: BSD-3-Clause
//
// Everything of floplan::floplan that answers questions: laws, shapes, catalogs, steps, serving, failures, plans.
//
//   #include <floplan/floplan.hpp>
//
// Not in here, because of what they cost to compile or need: reading TOML (plan/request_file.hpp), a user's catalog folder
// (catalog/user_catalog.hpp), JSON and tables (report/), and the compiled estimators (fit/, target floplan::fit).
//
// Pitfall: nothing here reads a file or the environment; catalogs are compiled in.
#pragma once

#include "floplan/architecture/inference_memory.hpp"
#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/realise.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/reliability/best_checkpoints.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/closed_form.hpp"
#include "floplan/reliability/cluster_size.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/completion_draw.hpp"
#include "floplan/reliability/control_variates.hpp"
#include "floplan/reliability/expected_maximum.hpp"
#include "floplan/reliability/fleet.hpp"
#include "floplan/reliability/improvement.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/one_tier.hpp"
#include "floplan/reliability/process.hpp"
#include "floplan/reliability/restart_time.hpp"
#include "floplan/reliability/run_simulator.hpp"
#include "floplan/reliability/run_summary.hpp"
#include "floplan/reliability/simulated_run.hpp"
#include "floplan/reliability/simulation.hpp"
#include "floplan/reliability/spares.hpp"
#include "floplan/reliability/time_law.hpp"
#include "floplan/reliability/two_tiers.hpp"
#include "floplan/reliability/unexplained_loss.hpp"
#include "floplan/reliability/whole_run.hpp"
#include "floplan/serving/benchmark_run.hpp"
#include "floplan/serving/frontier.hpp"
#include "floplan/serving/ideal_time.hpp"
#include "floplan/serving/lifetime_purchase.hpp"
#include "floplan/serving/serving_cost.hpp"
#include "floplan/serving/serving_report.hpp"
