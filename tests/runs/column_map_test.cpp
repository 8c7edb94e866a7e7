// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/column_map.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "floplan/runs/title_meaning.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using runs::Role;

namespace {

std::vector<runs::Mapping> mapping(const std::vector<std::string>& titles,
                                   const std::map<std::string, std::string>& named = {}) {
  return runs::map_columns(runs::TitleIndex(titles), "runs.csv", named);
}

std::string title_of(const std::vector<runs::Mapping>& all, Role role) {
  const runs::Mapping* found = runs::find_role(all, role);
  return found == nullptr ? "" : found->title;
}

}  // namespace

TEST_CASE("titles of public run files mean what their authors meant, and look-alikes mean nothing") {
  for (const auto& row : reference::rows("runs_titles.csv")) {
    CAPTURE(row.place());
    CAPTURE(row.text("title"));
    const auto found = runs::meaning_of(row.text("title"));
    if (!row.has("role")) {
      CHECK_FALSE(found.has_value());
      continue;
    }
    REQUIRE(found.has_value());
    CHECK(std::string(name_of(found->role)) == row.text("role"));
    CHECK(found->factor == row.number("factor"));
    CHECK(runs::name_of(found->count) == row.text("count"));
    CHECK(found->unit == row.text("unit"));
  }
}

TEST_CASE("the total count is guessed before active and non-embedding ones, which are reported") {
  const auto all = mapping({"N_no_emb", "Na", "params", "D", "loss"});
  const auto* n = runs::find_role(all, Role::parameters);
  REQUIRE(n != nullptr);
  CHECK(n->title == "params");
  CHECK(n->alternatives == std::vector<std::string>{"Na", "N_no_emb"});
  CHECK_FALSE(n->tied);
  CHECK(runs::find_role(mapping({"N_no_emb", "D", "loss"}), Role::parameters)->count ==
        runs::ParameterCount::non_embedding);
}

TEST_CASE("ratios and hyper-parameters are not taken for N, D or the loss") {
  const auto all = mapping({"D/N", "Na/N", "lr", "bs", "smooth loss", "N", "D", "loss", "h", "ffnh", "numh"});
  CHECK(title_of(all, Role::parameters) == "N");
  CHECK(title_of(all, Role::tokens) == "D");
  CHECK(title_of(all, Role::loss) == "loss");
  CHECK(title_of(all, Role::flop).empty());
  CHECK(runs::find_role(all, Role::loss)->alternatives.empty());
  CHECK(mapping({"D/N", "lr", "bs", "smooth loss"}).empty());
}

TEST_CASE("capital N, D, C go before long names, and lower-case letters are the last resort") {
  CHECK(title_of(mapping({"params", "N"}), Role::parameters) == "N");
  CHECK(title_of(mapping({"n", "params_no_embed"}), Role::parameters) == "params_no_embed");
  CHECK(title_of(mapping({"d", "c", "n"}), Role::tokens) == "d");
  CHECK(title_of(mapping({"budget", "C_6ND", "C"}), Role::flop) == "C");
}

TEST_CASE("a run's own setting goes before a field of its results, and training tokens before other tokens") {
  CHECK(title_of(mapping({"tokens", "hyperparameters.tokens"}), Role::tokens) == "hyperparameters.tokens");
  CHECK(title_of(mapping({"tokens", "train_tokens"}), Role::tokens) == "train_tokens");
}

TEST_CASE("of two losses as likely the first is taken, and the tie is told") {
  const auto all = mapping({"loss_card", "loss_paper"});
  CHECK(title_of(all, Role::loss) == "loss_card");
  CHECK(runs::find_role(all, Role::loss)->tied);
  CHECK(title_of(mapping({"train_loss", "val_loss"}), Role::loss) == "val_loss");
  CHECK(title_of(mapping({"loss_openlm", "loss_c4_val", "loss_ptb"}), Role::loss) == "loss_c4_val");
}

TEST_CASE("a column that the user names wins, and brings the unit that its title names") {
  const auto all = mapping({"N", "N_no_emb", "D", "tflops", "val_bpb", "loss"},
                           {{"parameters", "N_no_emb"}, {"flop", "tflops"}, {"loss", "val_bpb"}});
  CHECK(title_of(all, Role::parameters) == "N_no_emb");
  CHECK(runs::find_role(all, Role::parameters)->count == runs::ParameterCount::non_embedding);
  CHECK(runs::find_role(all, Role::flop)->factor == 1e12);
  CHECK(runs::find_role(all, Role::loss)->unit == "bits/byte");
  CHECK(runs::find_role(all, Role::loss)->alternatives == std::vector<std::string>{"loss"});
}

TEST_CASE("a role may be a product of columns and numbers, taken literally") {
  const auto all = mapping({"batch size", "steps", "total_gflops", "a*b"},
                           {{"tokens", "`batch size` * steps*2048"}, {"flop", "total_gflops*1e9"}, {"loss", "a*b"}});
  const auto* d = runs::find_role(all, Role::tokens);
  CHECK(d->columns == std::vector<std::size_t>{0, 1});
  CHECK(d->factor == 2048);
  CHECK(runs::find_role(all, Role::flop)->factor == 1e9);
  CHECK(runs::find_role(all, Role::loss)->columns == std::vector<std::size_t>{3});
}

TEST_CASE("a name that is no column is a usage error with the nearest names") {
  const Error error = thrown::by([] { (void)mapping({"tokens", "loss"}, {{"tokens", "token"}}); });
  CHECK(error.exit_status() == 2);
  CHECK(thrown::says(error, "nearest: tokens"));
  CHECK(thrown::says(thrown::by([] { (void)mapping({"N"}, {{"params", "N"}}); }), "nearest: parameters"));
  CHECK(thrown::by([] { (void)mapping({"N"}, {{"parameters", "2*3"}}); }).exit_status() == 2);
  CHECK(thrown::by([] { (void)mapping({"N"}, {{"parameters", "N*-1"}}); }).exit_status() == 2);
  CHECK(thrown::by([] { (void)mapping({"N"}, {{"parameters", "N*"}}); }).exit_status() == 2);
  CHECK(thrown::by([] { (void)mapping({"N"}, {{"parameters", ""}}); }).exit_status() == 2);
}

TEST_CASE("roles and titles are read from one text") {
  const auto names = runs::parse_column_names("parameters=N, tokens=D,loss=`a,b=c`");
  CHECK(names.size() == 3);
  CHECK(names.at("parameters") == "N");
  CHECK(names.at("tokens") == "D");
  CHECK(names.at("loss") == "`a,b=c`");
  CHECK(title_of(mapping({"a,b=c"}, {{"loss", names.at("loss")}}), Role::loss) == "a,b=c");
  for (const char* bad : {"", "N", "parameters=", "parameters=N,parameters=M", "loss=`a", "parameters=N,"}) {
    CAPTURE(bad);
    CHECK(thrown::by([bad] { (void)runs::parse_column_names(bad); }).exit_status() == 2);
  }
}
