// SPDX-License-Identifier: BSD-3-Clause
//
// What the commands of the floplan program share: how they are declared, what they answer, and the options of all.
//
// A command is one function that adds a subcommand to the program and names the function that answers it. An answer is
// data in every form that may be asked for (JSON result, tidy table, text); main.cpp prints the one that is.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/error.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::cli {

struct Answer {
  report::Json inputs;
  report::Json result;
  std::vector<Warning> warnings;
  std::string text;                    // for people
  std::optional<report::Table> table;  // for --csv
  bool interrupted = false;
};

// What an answering function may use.
struct Session {
  catalog::Catalog catalog;
  std::stop_token stop;  // set when the user interrupts
};

struct Program {
  CLI::App app{"floplan: what a large training run reaches, takes and costs, as a distribution"};
  std::string command;  // the one that was chosen, as "reliability goodput"
  std::function<Answer(const Session&)> answer;
  bool json = false;
  bool csv = false;
  bool quiet = false;
  std::string out;
  std::string color = "auto";
  std::string catalog_folder;

  // A subcommand of `parent` with the output options; `make` answers it.
  CLI::App* add(CLI::App& parent, const std::string& name, const std::string& help,
                std::function<Answer(const Session&)> make, bool out_is_file = true);
};

// An option's text, or nothing when it was not given.
using Text = std::optional<std::string>;

void add_predict(Program& program);
void add_catalog(Program& program);
void add_model(Program& program);
void add_reliability(Program& program);
void add_plan(Program& program);
void add_export(Program& program);

}  // namespace floplan::cli
