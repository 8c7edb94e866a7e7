// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <thread>
#include <utility>

#include "command.hpp"
#include "floplan/catalog/user_catalog.hpp"
#include "floplan/core/file.hpp"
#include "floplan/version.hpp"

namespace floplan::cli {

CLI::App* Program::add(CLI::App& parent, const std::string& name, const std::string& help,
                       std::function<Answer(const Session&)> make, bool out_is_file) {
  CLI::App* sub = parent.add_subcommand(name, help);
  const auto as_json = sub->add_flag("--json", json, "Print the answer as one JSON object");
  sub->add_flag("--csv", csv, "Print the answer's table as CSV")->excludes(as_json);
  if (out_is_file)
    sub->add_option("--out", out, "Write the answer to this file instead of the standard output")->type_name("FILE");
  sub->add_flag("--quiet", quiet, "Print no warnings in text and CSV output");
  sub->add_option("--color", color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
  sub->add_option("--catalog", catalog_folder, "A folder of catalog files of your own")
      ->envname("FLOPLAN_CATALOG")
      ->type_name("DIR");
  const std::string full = parent.get_parent() == nullptr ? name : parent.get_name() + " " + name;
  sub->callback([this, full, make = std::move(make)] {
    command = full;
    answer = make;
  });
  return sub;
}

namespace {

// Turns SIGINT and SIGTERM into a stop request, so that long work ends with what it has. A second one ends the program.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::jthread([this](const std::stop_token& done) {
      const timespec pause{0, 50'000'000};
      while (!done.stop_requested()) {
        if (sigtimedwait(&signals_, nullptr, &pause) > 0) {
          source_.request_stop();
          pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
          return;
        }
      }
    });
  }
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::jthread watcher_;
};

bool colored(const Program& program) {
  if (program.color != "auto") return program.color == "always";
  return std::getenv("NO_COLOR") == nullptr && isatty(STDERR_FILENO) == 1;
}

void print_error(const Program& program, std::string_view code, const std::string& message, const std::string& where) {
  if (program.json) {
    std::cout << report::envelope(program.command, version, code, message, where).dump(2) << "\n";
  } else {
    std::cerr << (colored(program) ? "\033[1;31mfloplan:\033[0m " : "floplan: ") << message << "\n";
  }
}

int run(Program& program) {
  Session session;
  if (!program.catalog_folder.empty()) catalog::add_folder(session.catalog, program.catalog_folder);
  const Interrupts interrupts;
  session.stop = interrupts.token();
  Answer answer = program.answer(session);

  std::string text;
  if (program.json) {
    text =
        report::envelope(program.command, version, std::move(answer.inputs), std::move(answer.result), answer.warnings)
            .dump(2) +
        "\n";
  } else if (program.csv) {
    if (!answer.table) throw Error(Failure::usage, "no_table", "--csv", program.command + " has no table: use --json");
    text = answer.table->csv();
  } else {
    text = answer.text;
  }
  if (!program.json && !program.quiet) {
    for (const Warning& w : answer.warnings) {
      std::cerr << (colored(program) ? "\033[33mwarning\033[0m [" : "warning [") << w.code << "]: " << w.message
                << "\n";
    }
  }
  if (program.out.empty()) {
    std::cout << text << std::flush;
    if (!std::cout) throw Error(Failure::data, "unwritable_output", "standard output", "cannot be written");
  } else {
    write_text_file(program.out, text);
  }
  return answer.interrupted ? 130 : 0;
}

// The command as far as it was typed, for error envelopes before parsing has succeeded.
std::string typed_command(int argc, char** argv) {
  std::string out;
  for (int i = 1; i < argc && i < 3; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-") || (i == 2 && out != "reliability")) break;
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

int parse_and_run(int argc, char** argv) {
  Program program;
  program.app.name("floplan");
  program.app.set_version_flag("--version", std::string(version));
  program.app.require_subcommand(1);
  program.app.get_formatter()->column_width(34);
  add_plan(program);
  add_predict(program);
  add_model(program);
  add_catalog(program);
  add_reliability(program);
  add_export(program);
  program.command = typed_command(argc, argv);
  try {
    program.app.parse(argc, argv);
    return run(program);
  } catch (const CLI::Success& e) {  // --help, --version
    return program.app.exit(e);
  } catch (const CLI::ParseError& e) {
    for (int i = 1; i < argc; ++i) program.json = program.json || std::string_view(argv[i]) == "--json";
    print_error(program, "usage",
                std::string(e.what()) + (program.json ? "" : "\nRun with --help for what can be asked."),
                "command line");
    return static_cast<int>(Failure::usage);
  } catch (const Error& e) {
    print_error(program, e.code(), e.what(), e.where());
    return e.exit_status();
  } catch (const std::exception& e) {
    print_error(program, "internal", std::string("internal error: ") + e.what(), "");
    return static_cast<int>(Failure::internal);
  }
}

}  // namespace
}  // namespace floplan::cli

int main(int argc, char** argv) { return floplan::cli::parse_and_run(argc, argv); }
