// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/located_json.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "support/thrown.hpp"

namespace {

using namespace floplan;

LocatedJson parse(const std::string& text) { return LocatedJson::parse(text, "a.json"); }
Error refused(const std::string& text) {
  return thrown::by([&] { static_cast<void>(parse(text)); });
}
// The error of asking the key `n` for a dimension.
Error no_number(const std::string& value) {
  return thrown::by([&] {
    const LocatedJson document = parse("{\"m\": 1,\n \"n\": " + value + "\n}");
    static_cast<void>(document.root().find("n")->whole_number(1, 100));
  });
}

}  // namespace

TEST_CASE("each value knows its line and the keys that lead to it") {
  const LocatedJson document =
      parse("{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [2,\n      3\n    ],\n    \"d\": 4\n  }\n}\n");
  const JsonValue root = document.root();
  CHECK(root.find("a")->place() == "a.json:2");
  CHECK(root.find("a")->path() == "a");
  const JsonValue list = *root.find("b")->find("c");
  CHECK(list.place() == "a.json:4");
  CHECK(list.items()[0].line() == 4);
  CHECK(list.items()[1].line() == 5);
  CHECK(list.items()[1].path() == "b.c[1]");
  CHECK(root.find("b")->find("d")->line() == 7);
  CHECK(root.path().empty());
  CHECK_FALSE(root.find("e"));
  CHECK_FALSE(root.find("a")->find("c"));
  CHECK(root.items().size() == 2);
  CHECK(root.items()[1].key() == "b");
}

TEST_CASE("values are taken as what they are, and nothing else") {
  const LocatedJson document = parse(R"({"n": 12, "t": true, "s": "12", "z": null, "f": 1.5, "e": 1.2e1, "m": -3})");
  const JsonValue root = document.root();
  CHECK(root.find("n")->whole_number(1, 100) == 12);
  CHECK(root.find("m")->whole_number(-10, 100) == -3);
  CHECK(root.find("t")->boolean());
  CHECK(root.find("s")->string() == "12");
  CHECK(root.find("z")->is_null());
  CHECK(root.find("f")->text() == "1.5");
  CHECK(thrown::says(thrown::by([&] { static_cast<void>(root.find("n")->boolean()); }),
                     "a.json:1: n must be true or false, got 12"));
  CHECK(thrown::says(thrown::by([&] { static_cast<void>(root.find("t")->string()); }), "t must be a string, got true"));
}

TEST_CASE("a dimension must be written as a whole number in its range, and the error names key, line and value") {
  struct Case {
    const char* value;
    const char* shown;
  };
  for (const Case& c : std::initializer_list<Case>{{"\"64\"", "\"64\""},
                                                   {"64.5", "64.5"},
                                                   {"64.0", "64.0"},
                                                   {"6.4e1", "6.4e1"},
                                                   {"-3", "-3"},
                                                   {"0", "0"},
                                                   {"101", "101"},
                                                   {"18446744073709551615", "18446744073709551615"},
                                                   {"99999999999999999999999", "99999999999999999999999"},
                                                   {"null", "null"},
                                                   {"true", "true"},
                                                   {"[]", "a list of 0"},
                                                   {"{}", "an object"}}) {
    CAPTURE(c.value);
    const Error error = no_number(c.value);
    CHECK(error.exit_status() == 4);
    CHECK(error.where() == "a.json:2");
    CHECK(thrown::says(error, std::string("n must be a whole number from 1 to 100, got ") + c.shown));
  }
  const Error huge = no_number("1e400");
  CHECK(huge.where() == "a.json:2");
  CHECK(thrown::says(huge, "n must be a number that a double can hold, got 1e400"));
}

TEST_CASE("text that is no JSON is refused at its line") {
  CHECK(refused("").where() == "a.json:1");
  CHECK(refused("{\"a\": 1,\n\"b\": ").where() == "a.json:2");
  CHECK(thrown::says(refused("{\"a\": 1,\n\"b\": "), "after b"));
  CHECK(refused("{\n\"a\": 1\n}\nx").where() == "a.json:4");
  CHECK(refused("{\"a\": tru}").exit_status() == 4);
  CHECK(refused("{\"a\": \"\xFF\xFE\"}").exit_status() == 4);
  CHECK(refused(std::string(10'000'000, '\x07')).where() == "a.json:1");
  CHECK_NOTHROW(static_cast<void>(parse("\xEF\xBB\xBF{}")));
}

TEST_CASE("a key that an object has twice is refused with both lines, and may stand in two objects") {
  const Error twice = refused("{\"a\": {\"n\": 1,\n\"n\": 1}}");
  CHECK(twice.where() == "a.json:2");
  CHECK(thrown::says(twice, "got a.n again (first on line 1)"));
  CHECK_NOTHROW(static_cast<void>(parse("{\"a\": {\"n\": 1}, \"b\": {\"n\": 1}, \"n\": 2}")));
}

TEST_CASE("nesting, names and the number of values have limits") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_NOTHROW(static_cast<void>(parse(nested(64))));
  CHECK(thrown::says(refused(nested(65)), "may nest 64 deep"));
  CHECK(thrown::says(refused(nested(5'000'000)), "may nest 64 deep"));
  CHECK(thrown::says(refused("{\"" + std::string(1025, 'k') + "\": 1}"), "at most 1024 bytes"));
  std::string many = "[0";
  for (int i = 0; i < 5'000'000; ++i) many += ",0";
  CHECK(thrown::says(refused(many + "]"), "at most 100000 values"));
  const Error long_text = no_number("\"" + std::string(10'000'000, 'x') + "\"");
  CHECK(std::string(long_text.what()).size() < 300);
}
