// SPDX-License-Identifier: BSD-3-Clause
//
// Where answers go and in which form: text, CSV, JSON, files, colours, quiet.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::check_refused;
using cli::operator+;
using cli::Result;
using cli::run;
using floplan::CsvTable;
using floplan::parse_csv;
using floplan::read_text_file;

namespace {

const Arguments plan = {"plan", "llama3_405b", "--runs", "100"};

// Every command that has a table.
const std::vector<Arguments> commands = {
    plan,
    {"predict", "--params", "8B", "--tokens", "15T"},
    {"model", "llama-3.1-8b"},
    {"catalog", "laws"},
    {"catalog", "models"},
    {"catalog", "accelerators"},
    {"catalog", "prices"},
    {"catalog", "interruptions"},
    {"catalog", "runs"},
    {"reliability", "interval", "--mtbf", "6h", "--write", "5min"},
    {"reliability", "interval", "--mtbf", "6h", "--write", "5min", "--restart", "10min"},
    {"reliability", "goodput", "--count", "16384", "--stall", "10s", "--restart", "5min", "--work", "80d"},
    {"export", "list"},
};

struct Word {
  std::size_t begin, end;
  std::string text;
};

// The cells of an aligned line: what two spaces or more separate.
std::vector<Word> words(const std::string& line) {
  std::vector<Word> out;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ') {
      ++i;
      continue;
    }
    const std::size_t end = std::min(line.find("  ", i), line.size());
    out.push_back({i, end, line.substr(i, end - i)});
    i = end;
  }
  return out;
}

}  // namespace

TEST_CASE("results go to the standard output, warnings to the standard error, and --quiet drops the warnings") {
  const Result text = run(plan);
  CHECK(text.status == 0);
  CHECK(text.out.find("wall-clock days") != std::string::npos);
  CHECK(text.out.find("warning") == std::string::npos);
  CHECK(text.err.find("warning [extrapolation]:") != std::string::npos);
  const Result quiet = run(plan + Arguments{"--quiet"});
  CHECK(quiet.out == text.out);
  CHECK(quiet.err.empty());
  const Result csv = run(plan + Arguments{"--csv"});
  CHECK(csv.err.find("warning [extrapolation]:") != std::string::npos);
  CHECK(run(plan + Arguments{"--json"}).err.empty());
}

TEST_CASE("every command answers in text, in one JSON object and in valid CSV, and all end in a line end") {
  for (const Arguments& command : commands) {
    INFO(cli::line(command));
    const Result text = run(command);
    CHECK(text.status == 0);
    REQUIRE_FALSE(text.out.empty());
    CHECK(text.out.back() == '\n');
    const cli::Json json = cli::ask(command);
    CHECK(json.at("command") == (command[0] == "reliability" ? command[0] + " " + command[1] : command[0]));
    for (const std::string key : {"version", "inputs", "result", "warnings"}) CHECK(json.contains(key));
    const Result csv = run(command + Arguments{"--csv", "--quiet"});
    CHECK(csv.status == 0);
    CHECK(csv.out.find('\r') == std::string::npos);
    CHECK(csv.out.back() == '\n');
    const CsvTable table = parse_csv(csv.out, "out.csv");
    CHECK(table.size() > 0);
    const std::set<std::string> titles(table.header().begin(), table.header().end());
    CHECK(titles.size() == table.header().size());
    // As a word, whatever else its cell holds: "maintenance" is none.
    static const std::regex no_number("\\b(nan|inf)\\b");
    for (const floplan::CsvRow row : table.rows()) {
      CHECK(row.size() == table.header().size());
      for (std::size_t i = 0; i < row.size(); ++i) CHECK_FALSE(std::regex_search(std::string(row[i]), no_number));
    }
  }
}

TEST_CASE("the columns of a table stand under their headers, numbers to the right") {
  for (const Arguments& command : commands) {
    if (command[0] == "plan" || command[0] == "model" || command[0] == "export" || command[0] == "predict") continue;
    INFO(cli::line(command));
    std::vector<std::string> lines = cli::lines(run(command + Arguments{"--quiet"}).out);
    // A table is a run of lines with as many cells as the first of them; titles and remarks have one cell.
    std::vector<Word> header;
    for (const std::string& line : lines) {
      const std::vector<Word> row = words(line);
      if (row.size() != header.size()) {
        header = row;
        continue;
      }
      if (row.size() < 2) continue;
      for (std::size_t c = 0; c < row.size(); ++c) {
        INFO(line << "\ncolumn " << c + 1 << " \"" << row[c].text << "\"");
        // A name may be set in, to belong to the row above.
        const bool inside = c == 0 && line.starts_with("  ");
        CHECK((inside || row[c].begin == header[c].begin || row[c].end == header[c].end));
      }
    }
  }
}

TEST_CASE("the stages of a plan stand under their headers too") {
  const std::vector<std::string> lines = cli::lines(run(plan + Arguments{"--quiet"}).out);
  const auto title = std::find(lines.begin(), lines.end(), "Stages, expected");
  REQUIRE(lines.end() - title > 4);
  const std::vector<Word> header = words(title[1]);
  for (int stage = 2; stage <= 4; ++stage) {
    const std::vector<Word> row = words(title[stage]);
    REQUIRE(row.size() == header.size());
    for (std::size_t c = 0; c < row.size(); ++c) {
      INFO(title[stage] << "\n" << row[c].text);
      CHECK((row[c].begin == header[c].begin || row[c].end == header[c].end));
    }
  }
}

TEST_CASE("CSV and JSON hold the same numbers to the last bit") {
  const CsvTable stages = parse_csv(run(plan + Arguments{"--csv", "--quiet"}).out, "stages.csv");
  const cli::Json json = cli::ask(plan)["result"]["stages"];
  const std::vector<std::pair<std::string, std::string>> same = {{"tokens", "tokens"},
                                                                 {"accelerators", "accelerators"},
                                                                 {"MFU", "mfu"},
                                                                 {"step (s)", "step_time_s"},
                                                                 {"ideal days", "ideal_days"},
                                                                 {"days", "expected_wall_clock_days"},
                                                                 {"accelerator-hours", "expected_accelerator_hours"},
                                                                 {"MTBF (h)", "mtbf_hours"},
                                                                 {"checkpoint every (s)", "checkpoint_interval_s"},
                                                                 {"failures", "failures"},
                                                                 {"ETTR", "ettr"}};
  REQUIRE(stages.size() == json.size() + 1);  // and the whole run
  for (std::size_t i = 0; i < json.size(); ++i) {
    CHECK(stages.row(i)[stages.column("stage")] == json[i]["name"].get<std::string>());
    for (const auto& pair : same) {
      INFO(pair.first);
      const std::string cell(stages.row(i)[stages.column(pair.first)]);
      double value = 0;
      const auto end = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      CHECK(end.ptr == cell.data() + cell.size());
      CHECK(value == json[i][pair.second].get<double>());
    }
  }
}

TEST_CASE("--out writes the whole answer to the file and nothing to the standard output") {
  const TemporaryFolder folder;
  for (const Arguments& form : std::vector<Arguments>{{}, {"--json"}, {"--csv"}}) {
    const std::string file = (folder / "answer").string();
    const Result result = run(plan + form + Arguments{"--quiet", "--out", file});
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
    CHECK(read_text_file(file) == run(plan + form + Arguments{"--quiet"}).out);
  }
  // Nothing but the answer is left in the folder.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.exists() ? 1 : 0;
  CHECK(files == 1);
}

TEST_CASE("--out to where nothing can be written leaves things as they were and is unusable data") {
  const TemporaryFolder folder;
  const Arguments out = plan + Arguments{"--out"};
  check_refused(out + Arguments{(folder / "missing" / "x").string()}, 4, "missing");
  check_refused(out + Arguments{folder.path().string()}, 4, folder.path().string());
  check_refused(out + Arguments{"/proc/nothing/x"}, 4, "/proc/nothing/x");
  const auto file = folder.file("x", "old");
  // A failing command does not touch the file.
  check_refused({"plan", "llama3_405b", "--count", "0", "--out", file.string()}, 2, "--count");
  CHECK(read_text_file(file) == "old");
}

TEST_CASE("--out through a link writes the link's target, and to a device writes to the device") {
  const TemporaryFolder folder;
  const auto target = folder.file("target", "old");
  std::filesystem::create_symlink(target, folder / "link");
  CHECK(run(plan + Arguments{"--quiet", "--out", (folder / "link").string()}).status == 0);
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_text_file(target) == run(plan + Arguments{"--quiet"}).out);
  // Devices of the test's own: a mistake must not cost the machine its /dev/null.
  const std::string full = (folder / "full").string();
  if (::mknod(full.c_str(), S_IFCHR | 0666, 0x107) != 0) {
    MESSAGE("skipped: making a device needs root");
    return;
  }
  const Result result = run(plan + Arguments{"--quiet", "--out", full});
  struct stat status {};
  CHECK(::stat(full.c_str(), &status) == 0);
  CHECK(S_ISCHR(status.st_mode));
  if (result.status != 0) CHECK(result.status == 4);
}

TEST_CASE("a standard output that cannot be written to is reported, for answers and for help") {
  if (!std::filesystem::is_character_file("/dev/full")) return;
  const cli::Setting full{.out_to = "/dev/full"};
  CHECK(run(plan, full).status == 4);
  CHECK(run(plan + Arguments{"--json"}, full).status == 4);
  CHECK(run({"catalog", "models", "--csv"}, full).status == 4);
  CHECK(run({"--help"}, full).status == 4);
  CHECK(run(plan, {.out_closed = true}).status == 4);
  // The usage error stays what it was.
  CHECK(run(plan + Arguments{"--count", "0", "--json"}, full).status == 2);
}

TEST_CASE("colours are for diagnostics only: never in a pipe, by --color always, and not against NO_COLOR") {
  const auto colored = [](const Result& r) { return r.err.find('\x1b') != std::string::npos; };
  const Arguments wrong = {"plan", "llama3_405b", "--count", "0"};
  CHECK_FALSE(colored(run(plan)));
  CHECK_FALSE(colored(run(wrong)));
  CHECK(colored(run(plan + Arguments{"--color", "always"})));
  CHECK(colored(run(wrong + Arguments{"--color", "always"})));
  CHECK_FALSE(colored(run(plan + Arguments{"--color", "never"})));
  CHECK_FALSE(colored(run(plan, {.environment = {{"NO_COLOR", "1"}}})));
  for (const std::string when : {"auto", "always", "never"}) {
    CHECK(run(plan + Arguments{"--color", when}).out.find('\x1b') == std::string::npos);
    CHECK(run(plan + Arguments{"--color", when, "--json"}).out.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("--json and --csv exclude each other, and JSON reports even that") {
  const Result result = run(plan + Arguments{"--json", "--csv"});
  CHECK(result.status == 2);
  REQUIRE(cli::Json::accept(result.out));
  CHECK(cli::Json::parse(result.out)["error"]["message"].get<std::string>().find("--csv") != std::string::npos);
}

TEST_CASE("help and version exit with 0 on the standard output") {
  for (const Arguments& command : std::vector<Arguments>{{"--help"},
                                                         {"plan", "--help"},
                                                         {"reliability", "--help"},
                                                         {"reliability", "goodput", "--help"},
                                                         {"--version"}}) {
    const Result result = run(command);
    CHECK(result.status == 0);
    CHECK_FALSE(result.out.empty());
    CHECK(result.err.empty());
  }
}

TEST_CASE("an interrupt ends long draws early, with what there is and status 130") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Result result = run({"plan", "llama3_405b", "--runs", "5000000", "--threads", "1", "--json"},
                              {.signal = signal, .signal_after = std::chrono::milliseconds(600)});
    CHECK(result.signal == 0);
    CHECK(result.status == 130);
    REQUIRE(cli::Json::accept(result.out));
    const cli::Json answer = cli::Json::parse(result.out);
    if (answer.contains("error")) {  // a busy machine: interrupted before the first draw
      CHECK(answer["error"]["code"] == "interrupted");
      continue;
    }
    CHECK(answer["result"]["complete"] == false);
    CHECK(answer["result"]["draws"] > 0);
    CHECK(answer["result"]["draws"] < 5000000);
    CHECK(cli::warns(answer, "interrupted"));
  }
}

TEST_CASE("an interrupt ends a program that waits for its file") {
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const Result result = run({"plan", pipe}, {.signal = signal, .signal_after = std::chrono::milliseconds(100)});
    CHECK(result.signal == signal);
  }
}
