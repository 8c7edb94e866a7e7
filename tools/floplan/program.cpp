// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "floplan/catalog/user_catalog.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/names.hpp"
#include "floplan/version.hpp"
#include "progress_bar.hpp"

namespace floplan::cli {

struct Program::State {
  CLI::App app{"floplan: what a large training run reaches, takes and costs, as a distribution"};
  std::string command;  // the one that was chosen, as "reliability goodput"
  std::function<Answer(const Session&)> answer;
  bool json = false;
  bool csv = false;
  bool quiet = false;
  std::string out;
  std::string color = "auto";
  std::string catalog_folder;

  int answer_and_print();
  void refuse_output_over_input(int argc, char** argv) const;
  void print_error(std::string_view code, const std::string& message, const std::string& where) const;
};

Program::Program() : state_(std::make_unique<State>()) {
  CLI::App& app = state_->app;
  app.name("floplan");
  app.set_version_flag("--version", std::string(version));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
}

Program::~Program() = default;

Subcommand Program::add(const std::string& name, const std::string& help, std::function<Answer(const Session&)> make,
                        Out out_kind) {
  State& state = *state_;
  CLI::App* parent = &state.app;
  const auto space = name.find(' ');
  if (space != std::string::npos) {
    const std::string group = name.substr(0, space);
    const auto same_name = [&group](CLI::App* app) { return app->get_name() == group; };
    if (const auto groups = state.app.get_subcommands(same_name); !groups.empty()) {
      parent = groups.front();  // a group, or a command that also answers by itself
    } else {
      parent =
          state.app.add_subcommand(group, group == "law" ? "One scaling law of the catalog, or of a fit's file"
                                                         : "Interruptions, checkpoints and effective training time");
      parent->require_subcommand(1);
    }
  }
  CLI::App* sub = parent->add_subcommand(space == std::string::npos ? name : name.substr(space + 1), help);
  const auto as_json = sub->add_flag("--json", state.json, "Print the answer as one JSON object");
  sub->add_flag("--csv", state.csv, "Print the answer's table as CSV")->excludes(as_json);
  if (out_kind == Out::file) {
    sub->add_option("--out", state.out,
                    "Write the answer to this file; FILE.json and FILE.csv say the format where no flag does")
        ->type_name("FILE");
  }
  sub->add_flag("--quiet", state.quiet, "Print no warnings in text and CSV output, and no progress");
  sub->add_option("--color", state.color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
  sub->add_option("--catalog", state.catalog_folder, "A folder of catalog files of your own")
      ->envname("FLOPLAN_CATALOG")
      ->type_name("DIR");
  sub->callback([&state, sub, name, make = std::move(make)] {
    if (!sub->get_subcommands().empty()) return;  // "step calibrate" is not "step"
    state.command = name;
    state.answer = make;
  });
  return Subcommand(sub);
}

namespace {

void finish(CLI::Option* option, const Choices& choices, const std::string& group) {
  if (!choices.empty()) option->check(CLI::IsMember(choices));
  if (!group.empty()) option->group(group);
}

}  // namespace

void Subcommand::positional(const std::string& name, std::string& target, const std::string& help,
                            const Choices& choices) {
  finish(app_->add_option(name, target, help)->required(), choices, group_);
}
void Subcommand::positional(const std::string& name, Text& target, const std::string& help) {
  finish(app_->add_option(name, target, help), {}, group_);
}
void Subcommand::positional(const std::string& name, std::vector<std::string>& target, const std::string& help,
                            bool needed) {
  finish(app_->add_option(name, target, help)->required(needed), {}, group_);
}
void Subcommand::required(const std::string& name, std::string& target, const std::string& help) {
  finish(app_->add_option(name, target, help)->required(), {}, group_);
}
void Subcommand::option(const std::string& name, std::string& target, const std::string& help, const Choices& choices) {
  CLI::Option* option = app_->add_option(name, target, help);
  if (!target.empty()) option->capture_default_str();
  finish(option, choices, group_);
}
void Subcommand::option(const std::string& name, Text& target, const std::string& help) {
  finish(app_->add_option(name, target, help), {}, group_);
}
void Subcommand::option(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  // One value an occurrence, so that a positional argument after it is not swallowed.
  finish(app_->add_option(name, target, help)
             ->allow_extra_args(false)
             ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll),
         {}, group_);
}
void Subcommand::flag(const std::string& name, bool& target, const std::string& help) {
  finish(app_->add_flag(name, target, help), {}, group_);
}
void Subcommand::excludes(const std::string& name, const std::string& other) {
  app_->get_option(name)->excludes(app_->get_option(other));
}

namespace {

constexpr int interrupted_status = 130;  // as a shell has it: 128 + SIGINT

// Turns SIGINT and SIGTERM into a stop request, so that long work ends with what it has. A second one ends the program.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, done_}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    watcher_ = std::thread([this] {
      for (int signal = 0; sigwait(&signals_, &signal) == 0 && signal != done_;) {
        if (source_.stop_requested()) std::_Exit(interrupted_status);
        source_.request_stop();
      }
    });
  }
  ~Interrupts() {
    pthread_kill(watcher_.native_handle(), done_);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  static constexpr int done_ = SIGUSR1;
  sigset_t signals_{}, before_{};
  std::stop_source source_;
  std::thread watcher_;
};

bool colored(const std::string& color) {
  if (color != "auto") return color == "always";
  return std::getenv("NO_COLOR") == nullptr && isatty(STDERR_FILENO) == 1;
}

// What is wrong with the command line, in words better than CLI11's where it is a name that is not there.
Error usage_error(const CLI::App& root, int argc, char** argv, const std::string& said) {
  const CLI::App* app = &root;
  std::string typed = root.get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    const auto fail = [&](const std::string& code, const std::string& name, const std::string& rule,
                          const std::vector<std::string>& known) {
      return Error(Failure::usage, code, name, rule + nearest_names_text(name, known) + ": see " + typed + " --help");
    };
    if (word.starts_with("--") && word.size() > 2) {
      const std::string name = word.substr(0, word.find('='));
      if (app->get_option_no_throw(name) != nullptr) continue;
      std::vector<std::string> known;
      for (const CLI::Option* option : app->get_options()) known.push_back("--" + option->get_single_name());
      return fail("unknown_option", name, "is no option of " + typed, known);
    }
    if (word.starts_with("-") || app->get_subcommands({}).empty()) continue;
    std::vector<std::string> known;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : app->get_subcommands({})) {
      known.push_back(command->get_name());
      if (command->get_name() == word) next = command;
    }
    if (next == nullptr && i > 1 && std::string(argv[i - 1]).starts_with("--")) continue;  // an option's value
    if (next == nullptr) return fail("unknown_command", word, "is no command of " + typed, known);
    app = next;
    typed += " " + word;
  }
  const auto colon = said.find(": ");
  const std::string option = said.starts_with("--") && colon != std::string::npos ? said.substr(0, colon) : "";
  std::string rule = option.empty() ? said : said.substr(colon + 2);
  if (rule.starts_with("At Most 1 required")) rule = "must be given once";
  if (rule.starts_with("1 required")) rule = "needs a value";
  return {Failure::usage, "usage", option.empty() ? "command line" : option, rule + ": see " + typed + " --help"};
}

// The command as far as it was typed, for error envelopes before parsing has succeeded.
std::string typed_command(int argc, char** argv) {
  std::string out;
  for (int i = 1; i < argc && i < 3; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-") || (i == 2 && out != "reliability" && word != "calibrate")) break;
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

}  // namespace

void Program::State::print_error(std::string_view code, const std::string& message, const std::string& where) const {
  if (json) {
    std::cout << report::json_text(report::envelope(command, version, code, message, where)) << std::flush;
  } else {
    std::cerr << (colored(color) ? "\033[1;31mfloplan:\033[0m " : "floplan: ") << report::printable(message, true)
              << "\n";
  }
}

// The words of the command line that name the file which --out names, or a folder that it is read from: an input that
// would be lost.
void Program::State::refuse_output_over_input(int argc, char** argv) const {
  std::error_code error;
  if (out.empty() || !std::filesystem::is_regular_file(out, error)) return;
  const std::filesystem::path folder = std::filesystem::absolute(out, error).parent_path();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--out") {
      ++i;
      continue;
    }
    const auto names = [&](const std::filesystem::path& what) {
      return std::filesystem::equivalent(word, what, error) && !error;
    };
    if (!word.starts_with("-") && (names(out) || names(folder))) {
      throw Error(Failure::usage, "output_is_input", "--out", "would overwrite what is read from, " + out);
    }
  }
}

int Program::State::answer_and_print() {
  Session session;
  if (!catalog_folder.empty()) catalog::add_folder(session.catalog, catalog_folder);
  std::optional<Interrupts> interrupts;
  session.interruptible = [&interrupts] { return interrupts.emplace().token(); };
  std::optional<ProgressBar> bar;
  if (!quiet && isatty(STDERR_FILENO) == 1) {
    session.progress = [&bar](std::size_t done, std::size_t of) {
      if (!bar) bar.emplace("done");
      bar->show(done, of);
    };
  }
  Answer given = answer(session);
  bar.reset();
  interrupts.reset();

  // A file's name says its format where no flag does; people then still see the answer.
  const bool named_json = !json && !csv && out.ends_with(".json");
  const bool named_csv = !json && !csv && out.ends_with(".csv");
  std::string data;
  if (json || named_json) {
    data = report::json_text(
        report::envelope(command, version, std::move(given.inputs), std::move(given.result), given.warnings));
  } else if (csv || named_csv) {
    if (!given.table) {
      throw Error(Failure::usage, "no_table", csv ? "--csv" : "--out", command + " has no table: use --json");
    }
    data = given.table->csv();
  }
  const std::string text = json || csv ? "" : report::printable(std::move(given.text), true);
  if (!json && !quiet) {
    for (const Warning& w : given.warnings) {
      std::cerr << (colored(color) ? "\033[33mwarning\033[0m [" : "warning [") << w.code
                << "]: " << report::printable(w.message) << "\n";
    }
  }
  if (!out.empty()) write_text_file(out, data.empty() ? text : data);
  if (out.empty() || named_json || named_csv) {
    std::cout << (json || csv ? data : text) << std::flush;
    if (!std::cout) throw Error(Failure::data, "unwritable_output", "standard output", "cannot be written");
  }
  return given.interrupted ? interrupted_status : 0;
}

int Program::run(int argc, char** argv) {
  State& state = *state_;
  state.command = typed_command(argc, argv);
  try {
    state.app.parse(argc, argv);
    state.refuse_output_over_input(argc, argv);
    return state.answer_and_print();
  } catch (const CLI::Success& e) {  // --help, --version
    const int status = state.app.exit(e);
    return std::cout.flush() ? status : static_cast<int>(Failure::data);
  } catch (const CLI::ParseError& e) {
    for (int i = 1; i < argc; ++i) state.json = state.json || std::string_view(argv[i]) == "--json";
    const Error error = usage_error(state.app, argc, argv, e.what());
    state.print_error(error.code(), error.what(), error.where());
    return error.exit_status();
  } catch (const Error& e) {
    state.print_error(e.code(), e.what(), e.where());
    return e.code() == "interrupted" ? interrupted_status : e.exit_status();
  } catch (const std::exception& e) {
    state.print_error("internal", std::string("internal error: ") + e.what(), "");
    return static_cast<int>(Failure::internal);
  }
}

}  // namespace floplan::cli
