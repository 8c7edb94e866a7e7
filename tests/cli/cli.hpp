// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the floplan program as a user's shell would, and reads what it printed.
//
//   const cli::Result r = cli::run({"plan", "llama3_405b", "--json"});     r.status, r.out, r.err
//   const cli::Json result = cli::ask({"plan", "llama3_405b"})["result"];  with --json added, exit status 0 required
//   cli::check_refused({"plan", "--params", "nan"}, 2, "--params");        exit status, and a place in the message
//
// The environment is the caller's without FLOPLAN_CATALOG and NO_COLOR. A run that takes longer than a minute is killed,
// and its signal fails the test: nothing here may hang.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace cli {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

#ifdef FLOPLAN_CLI
inline constexpr const char* program = FLOPLAN_CLI;
#else
inline constexpr const char* program = nullptr;
#endif

inline const std::string source_folder = FLOPLAN_SOURCE_DIR;
inline const std::string plan_405b = source_folder + "/data/plans/llama3_405b.toml";

struct Result {
  int status = -1;  // exit status; -1 when a signal ended the program
  int signal = 0;
  std::string out;
  std::string err;
};

struct Setting {
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string folder{};       // working directory
  std::string out_to{};       // a file that takes the standard output
  bool out_closed = false;    // no standard output at all
  bool err_terminal = false;  // standard error is a terminal
  int signal = 0;             // sent after `signal_after`
  std::chrono::milliseconds signal_after{0};
};

namespace detail {

inline void become(const Arguments& arguments, const Setting& setting, int out, int err) {
  ::alarm(60);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  if (!setting.out_to.empty()) out = ::open(setting.out_to.c_str(), O_WRONLY);
  ::dup2(out, STDOUT_FILENO);
  if (setting.out_closed) ::close(STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::unsetenv("FLOPLAN_CATALOG");
  ::unsetenv("NO_COLOR");
  for (const auto& [name, value] : setting.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!setting.folder.empty() && ::chdir(setting.folder.c_str()) != 0) ::_exit(126);
  std::vector<char*> argv{const_cast<char*>(program)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program, argv.data());
  ::_exit(127);
}

// Reads both pipes until the other ends are closed.
inline void read_all(int out, int err, Result& result) {
  std::array<pollfd, 2> pipes{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  std::array<char, 65536> block{};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    if (::poll(pipes.data(), pipes.size(), -1) < 0 && errno != EINTR) break;
    for (pollfd& one : pipes) {
      if (one.fd < 0 || one.revents == 0) continue;
      const ssize_t size = ::read(one.fd, block.data(), block.size());
      if (size > 0) {
        (one.fd == out ? result.out : result.err).append(block.data(), static_cast<std::size_t>(size));
      } else {
        one.fd = -1;
      }
    }
  }
  ::close(out);
  ::close(err);
}

}  // namespace detail

inline Result run(const Arguments& arguments, const Setting& setting = {}) {
  REQUIRE_MESSAGE(program != nullptr, "these tests need the program: configure with FLOPLAN_CLI=ON");
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
  if (setting.err_terminal) {
    err[0] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(err[0] >= 0);
    REQUIRE(::grantpt(err[0]) == 0);
    REQUIRE(::unlockpt(err[0]) == 0);
    err[1] = ::open(::ptsname(err[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(err[1] >= 0);
  } else {
    REQUIRE(::pipe2(err.data(), O_CLOEXEC) == 0);
  }
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) detail::become(arguments, setting, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  if (setting.signal != 0) {
    std::this_thread::sleep_for(setting.signal_after);
    ::kill(child, setting.signal);
  }
  Result result;
  detail::read_all(out[0], err[0], result);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

inline std::string line(const Arguments& arguments) {
  std::string out = "floplan";
  for (const std::string& a : arguments) out += " " + (a.size() < 200 ? a : a.substr(0, 200) + "...");
  return out;
}

inline Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The whole answer to the command with --json.
inline Json ask(const Arguments& arguments, const Setting& setting = {}) {
  const Result result = run(arguments + Arguments{"--json"}, setting);
  INFO(line(arguments) << "\n" << result.out.substr(0, 600) << result.err);
  REQUIRE(result.status == 0);
  return Json::parse(result.out);
}

inline std::vector<std::string> warning_codes(const Json& answer) {
  std::vector<std::string> out;
  for (const Json& warning : answer.at("warnings")) out.push_back(warning.at("code"));
  return out;
}
inline bool warns(const Json& answer, std::string_view code) {
  for (const std::string& given : warning_codes(answer)) {
    if (given == code) return true;
  }
  return false;
}

// A failure: its exit status, nothing on the standard output, a message that holds `place`; and the same with --json as
// an error object whose where is not empty.
inline void check_refused(const Arguments& arguments, int status, std::string_view place, const Setting& setting = {}) {
  const Result text = run(arguments, setting);
  INFO(line(arguments) << "\n" << text.err);
  CHECK(text.signal == 0);
  CHECK(text.status == status);
  CHECK(text.out.empty());
  CHECK(text.err.find(place) != std::string::npos);
  // After the command's words, where no option can take it for its value.
  Arguments with_json = arguments;
  const std::size_t words = with_json.empty() ? 0 : with_json.size() > 1 && with_json[0] == "reliability" ? 2 : 1;
  with_json.insert(with_json.begin() + static_cast<std::ptrdiff_t>(words), "--json");
  const Result json = run(with_json, setting);
  INFO(json.out << json.err);
  CHECK(json.status == status);
  REQUIRE(Json::accept(json.out));
  const Json answer = Json::parse(json.out);
  REQUIRE(answer.contains("error"));
  CHECK(answer.contains("command"));
  CHECK(answer.contains("version"));
  const Json& error = answer["error"];
  CHECK_FALSE(error.at("code").get<std::string>().empty());
  CHECK_FALSE(error.at("where").get<std::string>().empty());
  CHECK(error.at("message").get<std::string>().find(place) != std::string::npos);
}

inline std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace cli
