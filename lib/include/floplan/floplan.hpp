// SPDX-License-Identifier: BSD-3-Clause
//
// Everything of floplan::floplan that answers questions: laws, shapes, catalogs, steps, serving, failures, plans.
//
//   #include <floplan/floplan.hpp>
//
// Not in here, because of what they cost to compile or need: reading TOML (plan/request_file.hpp), a user's catalog folder
// (catalog/user_catalog.hpp), JSON and tables (report/), processes of failures beyond the plan's and their simulation
// (reliability/process.hpp, closed_form.hpp, simulation.hpp, spares.hpp and what is built on them), failure logs
// (reliability/failure_log_reader.hpp), calibrations (cluster/calibration.hpp, serving/calibration.hpp), the model to buy for a
// lifetime of requests (serving/lifetime_purchase.hpp), and the compiled estimators (fit/, target floplan::fit).
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
#include "floplan/cluster/layout_search.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/completion_draw.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/serving/serving_cost.hpp"
#include "floplan/serving/serving_report.hpp"
