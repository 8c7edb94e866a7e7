// SPDX-License-Identifier: BSD-3-Clause
//
// The catalogs that floplan carries, and a user's additions to them.
//
//   const Catalog catalog;                                   everything in data/, compiled in
//   const Accelerator h100 = catalog.accelerator("h100-sxm");
//   Catalog mine; add_folder(mine, "my-catalog");            (user_catalog.hpp) rows add entries, or replace those of a name
//
// A Catalog is a list of CSV texts. Records are read when they are asked for and returned by value: nothing is cached, so
// copies are independent, const use from several threads is safe, and a program compiles only the kinds that it uses.
// A lookup takes a name or an alias, in any case, and throws Error(usage) with the nearest names when there is none.
//
// Sources, units and columns: data/README.md. Cost: a lookup reads its kind's file, some 50 microseconds.
// Pitfall: errors in an added text show when its kind is asked for; add_folder reads every kind once to show them early.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/embedded_data.hpp"
#include "floplan/catalog/read_laws.hpp"
#include "floplan/catalog/read_models.hpp"
#include "floplan/catalog/read_records.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"

namespace floplan::catalog {

class Catalog {
 public:
  // One CSV file's text; kind is its file name ("prices.csv"), place its name in errors.
  void add(std::string kind, std::string text, std::string place) {
    added_.push_back({std::move(kind), std::move(text), std::move(place)});
  }

  [[nodiscard]] std::vector<Accelerator> accelerators() const { return read("accelerators.csv", read_accelerators); }
  [[nodiscard]] std::vector<Model> models() const { return read("models.csv", read_models); }
  [[nodiscard]] std::vector<Price> prices() const { return read("prices.csv", read_prices); }
  [[nodiscard]] std::vector<InterruptionWindow> interruption_windows() const {
    return read("interruption_windows.csv", read_interruption_windows);
  }
  [[nodiscard]] std::vector<Run> runs() const { return read("runs.csv", read_runs); }
  [[nodiscard]] std::vector<Law> laws() const { return read("chinchilla.csv", read_laws<law::Chinchilla<>>); }

  // The failures of a window by component; empty where only their number or rate is published. The last file that names
  // the window speaks for it.
  [[nodiscard]] std::vector<InterruptionCategory> interruption_categories(std::string_view window) const {
    std::vector<InterruptionCategory> out;
    for_each_text("interruption_categories.csv", [&](const CsvTable& table) {
      std::vector<InterruptionCategory> here;
      for (InterruptionCategory& category : read_interruption_categories(table)) {
        if (category.window == window) here.push_back(std::move(category));
      }
      if (!here.empty()) out = std::move(here);
    });
    return out;
  }

  // where: what asked for it ("--model", "plan.toml:3:9"), for the error's text.
  [[nodiscard]] Accelerator accelerator(std::string_view name, std::string_view where = "accelerator") const {
    return find(accelerators(), name, where, "an accelerator", "accelerators");
  }
  [[nodiscard]] Model model(std::string_view name, std::string_view where = "model") const {
    return find(models(), name, where, "a model", "models");
  }
  [[nodiscard]] Price price(std::string_view name, std::string_view where = "price") const {
    return find(prices(), name, where, "a price", "prices");
  }
  [[nodiscard]] InterruptionWindow interruption_window(std::string_view name,
                                                       std::string_view where = "interruptions") const {
    return find(interruption_windows(), name, where, "an interruption record", "interruptions");
  }
  [[nodiscard]] Run run(std::string_view name, std::string_view where = "run") const {
    return find(runs(), name, where, "a run", "runs");
  }
  [[nodiscard]] Law law(std::string_view name, std::string_view where = "law") const {
    return find(laws(), name, where, "a law", "laws");
  }

  // The records of a file, an added file's after those compiled in; read_table is one of read_records.hpp or read_laws.hpp.
  template <class Record>
  [[nodiscard]] std::vector<Record> read(std::string_view kind,
                                         std::vector<Record> (*read_table)(const CsvTable&)) const {
    std::vector<Record> out;
    for_each_text(kind, [&](const CsvTable& table) {
      for (Record& record : read_table(table)) {
        const auto same =
            std::find_if(out.begin(), out.end(), [&record](const Record& r) { return r.name == record.name; });
        if (same != out.end()) {
          *same = std::move(record);
        } else {
          out.push_back(std::move(record));
        }
      }
    });
    return out;
  }

  // The record of a name or an alias, or Error(usage) with the nearest names.
  template <class Record>
  [[nodiscard]] static Record find(std::vector<Record> records, std::string_view wanted, std::string_view where,
                                   const char* what, const char* list) {
    const std::string name = lower_case(wanted);
    for (Record& record : records) {
      if (record.name == name) return std::move(record);
    }
    // Later additions come last and win over an older entry's alias.
    const auto found = std::find_if(records.rbegin(), records.rend(), [&name](const Record& r) {
      return std::find(r.aliases.begin(), r.aliases.end(), name) != r.aliases.end();
    });
    if (found != records.rend()) return std::move(*found);
    std::vector<Names> names;
    for (const Record& record : records) names.push_back({record.name, record.aliases});
    throw unknown_name(wanted, where, what, list, names);
  }

  // The price of an accelerator that has a typical value: a quotation before an estimate, then the latest.
  [[nodiscard]] std::optional<Price> latest_price(std::string_view accelerator) const {
    std::optional<Price> best;
    const auto rank = [](const Price& p) { return std::pair(p.kind != "estimate", p.provenance.date); };
    for (Price& price : prices()) {
      if (price.accelerator == accelerator && price.typical && (!best || rank(price) > rank(*best)))
        best = std::move(price);
    }
    return best;
  }

 private:
  struct Text {
    std::string kind, text, place;
  };

  // Compiled-in texts first, then the additions in their order.
  template <class Use>
  void for_each_text(std::string_view kind, Use use) const {
    for (const EmbeddedFile& file : embedded_files) {
      if (file.path.substr(file.path.rfind('/') + 1) == kind) use(parse_csv(file.text, std::string(file.path)));
    }
    for (const Text& text : added_) {
      if (text.kind == kind) use(parse_csv(text.text, text.place));
    }
  }

  struct Names {
    std::string name;
    std::vector<std::string> aliases;
  };

  // A few entries are listed; of many the three nearest are named, whether by name or by alias.
  [[nodiscard]] static Error unknown_name(std::string_view wanted, std::string_view where, const char* what,
                                          const char* list, const std::vector<Names>& entries) {
    std::vector<std::string> texts;
    for (const Names& entry : entries) {
      texts.push_back(entry.name);
      texts.insert(texts.end(), entry.aliases.begin(), entry.aliases.end());
    }
    std::vector<std::string> shown;
    const bool few = entries.size() <= 6;
    for (const std::string& text : few ? texts : nearest_names(wanted, texts, texts.size())) {
      const auto entry = std::find_if(entries.begin(), entries.end(), [&text](const Names& e) {
        return e.name == text || std::find(e.aliases.begin(), e.aliases.end(), text) != e.aliases.end();
      });
      if (std::find(shown.begin(), shown.end(), entry->name) == shown.end()) shown.push_back(entry->name);
      if (!few && shown.size() == 3) break;
    }
    std::string all;
    for (const std::string& name : shown) all += (all.empty() ? (few ? " (one of: " : " (nearest: ") : ", ") + name;
    return Error(Failure::usage, "unknown_name", std::string(where),
                 "must be " + std::string(what) + " of the catalog, got \"" + std::string(wanted) + "\"" + all +
                     (all.empty() ? "" : ")") + ": see floplan catalog " + list);
  }

  std::vector<Text> added_;
};

}  // namespace floplan::catalog
