// SPDX-License-Identifier: BSD-3-Clause
//
// What the commands of the floplan program share: how they are declared, what they answer, and the options of all.
//
// A command is one function that adds a Subcommand to the program and names the function that answers it. An answer is
// data in every form that may be asked for (JSON result, tidy table, text); main.cpp prints the one that is.
//
// CLI11 stands behind Subcommand, in program.cpp alone: it costs seconds a file to compile.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace CLI {
class App;
}

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
  // To be called where long work begins: from then on the first interrupt is a request to stop with what there is. Before,
  // it ends the program, which may be waiting for a file.
  std::function<std::stop_token()> interruptible;
  // Told how far work has come, (done, of): draws a bar where standard error is a terminal, and is empty where it is not.
  std::function<void(std::size_t, std::size_t)> progress;
};

// An option's text, or nothing when it was not given.
using Text = std::optional<std::string>;
using Choices = std::vector<std::string>;

// An option's value, which must lie in a range.
template <class Q>
[[nodiscard]] Q parse_between(const std::string& text, std::string_view option, Q low, Q high) {
  const Q out = parse<Q>(text, option);
  if (out >= low && out <= high) return out;
  throw Error(Failure::usage, "out_of_range", std::string(option),
              "must be from " + print(low, 6) + " to " + print(high, 6) + ", got " + print(out));
}

// An option's whole number from 1 on, or what stands where it was not given.
[[nodiscard]] inline std::int64_t whole_number(const Text& text, std::string_view option, std::int64_t otherwise) {
  if (!text) return otherwise;
  const Count n = parse<Count>(*text, option);
  if (n.value >= 1 && n.value <= 2147483647 && n.value == std::floor(n.value))
    return static_cast<std::int64_t>(n.value);
  throw Error(Failure::usage, "out_of_range", std::string(option),
              "must be a whole number from 1 to 2147483647, got " + *text);
}

// Declares the options of one command. A reference must outlive the program; std::string targets hold their default.
class Subcommand {
 public:
  explicit Subcommand(CLI::App* app) : app_(app) {}
  void positional(const std::string& name, std::string& target, const std::string& help, const Choices& choices = {});
  void positional(const std::string& name, Text& target, const std::string& help);
  void positional(const std::string& name, std::vector<std::string>& target, const std::string& help,
                  bool needed = true);  // one or more values, or none where it is not needed
  void required(const std::string& name, std::string& target, const std::string& help);
  void option(const std::string& name, std::string& target, const std::string& help, const Choices& choices = {});
  void option(const std::string& name, Text& target, const std::string& help);
  void option(const std::string& name, std::vector<std::string>& target, const std::string& help);
  void flag(const std::string& name, bool& target, const std::string& help);
  // Two options of this command, declared before, that cannot be given together.
  void excludes(const std::string& name, const std::string& other);
  // The options declared from now on stand under this title in --help.
  void group(std::string title) { group_ = std::move(title); }

 private:
  CLI::App* app_;
  std::string group_;
};

class Program {
 public:
  enum class Out { file, folder };  // --out is the program's (a file for the answer), or the command's own

  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // name may have two words, "reliability goodput"; `make` answers the command.
  Subcommand add(const std::string& name, const std::string& help, std::function<Answer(const Session&)> make,
                 Out out_kind = Out::file);

  // Parses, answers and prints. Returns the exit status.
  [[nodiscard]] int run(int argc, char** argv);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void add_predict(Program& program);
void add_catalog(Program& program);
void add_hyperparameters(Program& program);
void add_law(Program& program);
void add_model(Program& program);
void add_reliability(Program& program);
void add_reliability_project(Program& program);
void add_reliability_simulate(Program& program);
void add_fit(Program& program);
void add_isoflop(Program& program);
void add_coverage(Program& program);
void add_optimum(Program& program);
void add_plan(Program& program);
void add_step(Program& program);
void add_layout_search(Program& program);
void add_serve(Program& program);
void add_export(Program& program);

}  // namespace floplan::cli
