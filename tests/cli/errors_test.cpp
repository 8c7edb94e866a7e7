// SPDX-License-Identifier: BSD-3-Clause
//
// What goes wrong: each with its exit status and a place in the message, on stderr as text and on stdout as JSON.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::check_refused;
using cli::operator+;

namespace {

const Arguments plan = {"plan", "llama3_405b", "--runs", "100"};
const std::string top = "model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n";
const std::string stage = "[[stage]]\ntokens = \"1T\"\ncount = 1024\nachieved = \"400TFLOP/s\"\n";

}  // namespace

TEST_CASE("values of the wrong kind, sign or size are wrong usage that names the option and the kind") {
  check_refused(plan + Arguments{"--tokens", "15.6TB"}, 2, "--tokens: expected a number of tokens");
  check_refused(plan + Arguments{"--params", "1e400"}, 2, "--params: expected a number of parameters");
  check_refused(plan + Arguments{"--params", "nan"}, 2, "--params");
  check_refused(plan + Arguments{"--params=-5B"}, 2, "--params");
  check_refused(plan + Arguments{"--params", "-5B"}, 2, "--params");
  check_refused(plan + Arguments{"--params", "5Bx"}, 2, "--params");
  check_refused(plan + Arguments{"--tokens", "5m"}, 2, "lower-case m is never million");
  check_refused(plan + Arguments{"--restart", "300"}, 2, "--restart: expected a time");
  check_refused(plan + Arguments{"--restart", ""}, 2, "--restart");
  check_refused(plan + Arguments{"--restart", "5 apples"}, 2, "--restart");
  check_refused(plan + Arguments{"--price", "2.10"}, 2, "--price");
  check_refused(plan + Arguments{"--count", "1e5000"}, 2, "--count");
  check_refused(plan + Arguments{"--count", "inf"}, 2, "--count");
  check_refused(plan + Arguments{"--count=-0"}, 2, "--count");
  check_refused(plan + Arguments{"--count", "0"}, 2, "--count");
  check_refused(plan + Arguments{"--count", "1.5"}, 2, "--count");
  check_refused(plan + Arguments{"--tokens", "0"}, 2, "--tokens");
  check_refused(plan + Arguments{"--seq", "0"}, 2, "--seq");
  check_refused(plan + Arguments{"--stall", "0"}, 2, "--stall");
  check_refused(plan + Arguments{"--interval", "0"}, 2, "--interval");
  check_refused(plan + Arguments{"--deadline", "0"}, 2, "--deadline");
  check_refused(plan + Arguments{"--pue", "0.5"}, 2, "--pue");
  check_refused(plan + Arguments{"--mtbf", "3h", "--mtbf-count", "0"}, 2, "--mtbf-count");
  check_refused(plan + Arguments{"--rate", "0"}, 2, "--rate");
  check_refused(plan + Arguments{"--threads", "0"}, 2, "--threads");
  check_refused(plan + Arguments{"--threads", "1e9"}, 2, "--threads");
  check_refused({"plan", "llama3_405b", "--runs", "0"}, 2, "--runs");
  check_refused({"plan", "llama3_405b", "--runs", "1e12"}, 2, "--runs");
  check_refused(plan + Arguments{"--seed=-1"}, 2, "--seed");
  check_refused(plan + Arguments{"--unexplained-stops", "1e300"}, 2, "--unexplained-stops");
  check_refused(plan + Arguments{"--wait", "1e300s"}, 2, "--wait");
  check_refused(plan + Arguments{"--node-power", "1e308W"}, 2, "--node-power");
  check_refused(plan + Arguments{"--params", "70b"}, 2, "write B");
  check_refused(plan + Arguments{"--tokens", "15.6t"}, 2, "write T");
  check_refused(plan + Arguments{"--count", "16,384"}, 2, "write it without commas");
  check_refused(plan + Arguments{"--count", "8..16"}, 2, "one value is wanted here");
  check_refused(plan + Arguments{"--restart", "1min..2min..3min"}, 2, "a range has two ends");
  check_refused(plan + Arguments{"--achieved-spread", "3"}, 2, "written 3%");
  check_refused(plan + Arguments{"--tokens", "15.6"}, 2, "--tokens");
}

TEST_CASE("names that are not there are answered with the nearest ones") {
  check_refused(plan + Arguments{"--model", "llama-3.1-9b"}, 2, "llama-3.1-8b");
  check_refused(plan + Arguments{"--accelerator", "h100-sxn"}, 2, "h100-sxm");
  check_refused(plan + Arguments{"--law", "hofmann-2022"}, 2, "hoffmann-2022");
  check_refused(plan + Arguments{"--law", "x"}, 2, "see floplan catalog laws");
  check_refused(plan + Arguments{"--price", "x"}, 2, "see floplan catalog prices");
  // By an alias, too.
  check_refused({"model", "llama-405b"}, 2, "llama-3.1-405b");
  check_refused({"model", "llama-405b"}, 2, "see floplan catalog models");
  check_refused(plan + Arguments{"--price", "h100-sxm"}, 2, "nearest: h100-sxm");
  check_refused({"model", "llama-3.1-406b"}, 2, "llama-3.1-405b");
  check_refused({"predict", "--law", "chinchila", "--params", "1B", "--tokens", "1T"}, 2, "--law");
  check_refused({"reliability", "interval", "--count", "8", "--rate-from", "llama3", "--write", "5min"}, 2,
                "llama3-2024");
  check_refused({"catalog", "model"}, 2, "models");
  check_refused({"export", "timeline", "--out", "x"}, 2, "timeline_by_stage");
}

TEST_CASE("commands and options that are not there are named with the nearest ones, and one given twice or empty too") {
  check_refused({"pln"}, 2, "plan");
  check_refused({"pln", "llama3_405b"}, 2, "pln");
  check_refused({"reliability", "godput"}, 2, "goodput");
  check_refused(plan + Arguments{"--restrat", "5min"}, 2, "--restart");
  check_refused(plan + Arguments{"--restrat=5min"}, 2, "--restart");
  check_refused(plan + Arguments{"--restart", "5min", "--restart", "6min"}, 2, "--restart: must be given once");
  check_refused(plan + Arguments{"--restart"}, 2, "--restart: needs a value");
  check_refused({"plan", "--mtbf"}, 2, "--mtbf");
  check_refused({"plan", "a.toml", "b.toml"}, 2, "b.toml");
  check_refused({"reliability"}, 2, "--help");
  check_refused({"catalog"}, 2, "kind");
  check_refused({"model"}, 2, "model");
  check_refused({"predict"}, 2, "--params");
  check_refused({"predict", "--params", "1B"}, 2, "--tokens");
  check_refused(plan + Arguments{"--color", "blue"}, 2, "--color");
  CHECK(cli::run({}).status == 2);
}

TEST_CASE("a missing field is wrong usage where nothing but options was given") {
  check_refused({"plan"}, 2, "needs a plan file");
  check_refused({"plan", "--model", "llama-3.1-8b"}, 2, "--accelerator: needs an accelerator");
  check_refused({"plan", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm", "--count", "8", "--mfu", "40%"}, 2,
                "needs tokens");
  check_refused({"plan", "--model", "llama-3.1-8b", "--params", "8B"}, 2, "--params");
}

TEST_CASE("--set with an odd path or without a value is wrong usage") {
  for (const std::string set : {"a", "=", "=5", "a=5", ".=5", "stage=5", "stage[4].count=5", "stage[0].count=5",
                                "stage[1.5].count=5", "stage[1.count=5", "stage[*]=5", "new.table.x=5", "stage.count=5",
                                "reliability.restart.x=5", "reliability=5"}) {
    check_refused(plan + Arguments{"--set", set}, 2, "--set");
  }
}

TEST_CASE("what is impossible is infeasible and says by how much") {
  check_refused(plan + Arguments{"--achieved", "990TFLOP/s"}, 3, "--achieved");
  check_refused(plan + Arguments{"--mfu", "101%"}, 3, "1.01 times");
  check_refused(plan + Arguments{"--mfu", "40"}, 3, "written 40%");
  check_refused(plan + Arguments{"--count", "10"}, 3, "--count: the weights alone must fit");
  check_refused(plan + Arguments{"--tp", "256", "--set", "stage[*].layout.dp=2"}, 3, "--tp: TP of stage");
  check_refused(plan + Arguments{"--dp", "63"}, 3, "8064 for 8192");
  check_refused(plan + Arguments{"--dp", "1e9", "--tp", "1e9", "--pp", "1e9"}, 3, "1e27");
  check_refused(plan + Arguments{"--restart", "100h"}, 3, "stage[2]");
  check_refused(plan + Arguments{"--interval", "200h"}, 3, "MTBF");
  check_refused(plan + Arguments{"--count", "1e9"}, 3, "MTBF");
  check_refused({"reliability", "goodput", "--count", "16384", "--stall", "10s", "--restart", "1000h"}, 3, "MTBF");
}

TEST_CASE("draws that never end are no trustworthy answer") {
  check_refused(plan + Arguments{"--restart", "1min..200h"}, 5, "of 100");
}

TEST_CASE("a plan file that is not there, a folder or unreadable is unusable data") {
  const TemporaryFolder folder;
  check_refused({"plan", "no-such.toml"}, 4, "no-such.toml");
  check_refused({"plan", ""}, 4, "ready plan");
  check_refused({"plan", folder.path().string()}, 4, "folder");
  check_refused({"plan", "/dev/null"}, 4, "/dev/null:1:1");
  check_refused({"plan", (folder / "a" / "b.toml").string()}, 4, "b.toml");
  check_refused({"plan", "\xff\xfe.toml"}, 4, ".toml");
  if (::geteuid() != 0) {  // root reads everything
    const auto secret = folder.file("secret.toml", top + stage);
    ::chmod(secret.c_str(), 0);
    check_refused({"plan", secret.string()}, 4, "secret.toml");
  }
}

TEST_CASE("a wrong plan file is unusable data with its line and column") {
  const TemporaryFolder folder;
  const auto wrong = [&folder](const std::string& text, const std::string& place, int status = 4) {
    const auto file = folder.file("p.toml", text);
    check_refused({"plan", file.string()}, status, file.string() + ":" + place);
  };
  wrong(top + stage + "coutn = 5\n", "7:1");
  wrong(top + "[[stage]]\ncount = 8\nmfu = 0.4\n", "3:1");
  wrong(top + "[[stage]]\ntokens = 0\ncount = 8\nmfu = 0.4\n", "4:10");
  wrong(top + "[[stage]]\ntokens = \"15.6TB\"\ncount = 8\nmfu = 0.4\n", "4:10");
  wrong(top + "[[stage]]\ntokens = 5\ncount = 1.5\nmfu = 0.4\n", "5:9");
  wrong(top + stage + "[power]\npue = 0.5\n", "8:7");
  wrong(top + stage + "[reliability]\nrestart = 5\n", "8:11");
  wrong(top + "model = \"llama-3.1-8b\"\n", "3:9");
  wrong(top + "[stage]\ntokens = 5\n", "3:1");
  wrong("model = \"llama-9\"\naccelerator = \"h100-sxm\"\n" + stage, "1:9");
  wrong(top + stage + "layout = { tp = 8, dp = 100 }\n", "7:10", 3);
  wrong("", "1:1");
}

TEST_CASE("binary junk, zeros, deep nesting and a very long file are refused, never a crash or a wait") {
  const TemporaryFolder folder;
  const auto refused = [&folder](const std::string& text) {
    check_refused({"plan", folder.file("p.toml", text).string()}, 4, "p.toml:");
  };
  std::string junk;
  for (unsigned i = 0, x = 12345; i < 100000; ++i, x = x * 1664525U + 1013904223U) junk += static_cast<char>(x >> 24);
  refused(junk);
  refused(
      "\x7f"
      "ELF" +
      junk);
  refused(std::string(1000000, '\0'));
  refused("a = " + std::string(100000, '['));
  refused(top + "[" + std::string(100000, 'a') + "]\n");
  std::string dotted = "[a";
  for (int i = 0; i < 5000; ++i) dotted += ".a";
  refused(top + dotted + "]\nb = 1\n");
  refused(top + std::string(5000000, '#') + "\n");
}

TEST_CASE("a file of a thousand stages, with CRLF line ends and names in other scripts, is planned") {
  const TemporaryFolder folder;
  std::string text = "\xEF\xBB\xBF" + top;
  for (int i = 0; i < 1000; ++i) text += stage + "name = \"ступень\"\n";
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  const cli::Json answer = cli::ask({"plan", folder.file("p.toml", crlf).string(), "--runs", "100"});
  CHECK(answer["result"]["tokens"] == 1000000000000000);
  CHECK(answer["result"]["stages"].size() == 1000);
  CHECK(answer["result"]["stages"][0]["name"] == "ступень");
}

TEST_CASE("control characters in names do not reach the terminal") {
  const TemporaryFolder folder;
  const std::string file =
      folder.file("p.toml", "title = \"a\\u001b[31mb\"\n" + top + stage + "name = \"x\\ny\\u0007\"\n").string();
  const cli::Result text = cli::run({"plan", file, "--runs", "100"});
  CHECK(text.status == 0);
  CHECK((text.out + text.err).find_first_of("\x1b\x07") == std::string::npos);
  CHECK(cli::run({"plan", "\x1b[31m"}).err.find('\x1b') == std::string::npos);
  const cli::Json answer = cli::ask({"plan", file, "--runs", "100"});
  CHECK(answer["inputs"]["title"] == "a\x1b[31mb");
}

TEST_CASE("bytes that are not UTF-8 are refused in JSON too") {
  check_refused({"model", "\xff"}, 2, "model");
  check_refused({"plan", "llama3_405b", "--model", "\xc3\x28"}, 2, "--model");
  check_refused({"predict", "--law", "\xff", "--params", "1", "--tokens", "1"}, 2, "--law");
}
