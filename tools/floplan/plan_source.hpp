// SPDX-License-Identifier: BSD-3-Clause
//
// The options by which a command is given a plan request: a TOML file (or the name of a ready one), and an override for
// every field of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::cli {

struct PlanOptions {
  Text file;
  std::vector<std::string> set;  // PATH=VALUE
  Text threads;

  // `without`: an option that the command has for something else; its field is still there for --set.
  void add_to(Subcommand& sub, std::string_view without = "");
  [[nodiscard]] bool given() const;  // a file or any field
  [[nodiscard]] plan::Request read(const catalog::Catalog& catalog) const;

 private:
  struct Named {
    std::string option, path;
    Text value;
  };
  std::vector<Named> named_;
};

}  // namespace floplan::cli
