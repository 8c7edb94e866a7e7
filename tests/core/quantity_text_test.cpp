// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/quantity_text.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kinds.hpp"
#include "floplan/core/random.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

// Magnitudes spread evenly over 1e-300 to 1e300; a quarter are whole numbers and a quarter have few digits, as people
// type them.
double random_value(RandomStream& random) {
  const double exponent = -300 + 600 * random.uniform();
  const double value = std::pow(10.0, exponent);
  switch (random.below(4)) {
    case 0: return std::floor(random.uniform() * 1e15);
    case 1: return random.below(1000) * std::pow(10.0, std::floor(exponent));
    default: return value;
  }
}

struct Refusal {
  const char* kind;
  const char* text;
  const char* expected;  // the kind, as the message must name it
  const char* because;   // words of the rule
};

const std::vector<Refusal> refusals{
    {"Tokens", "15.6TB", "a number of tokens", "bytes"},
    {"Parameters", "405GB", "a number of parameters", "bytes"},
    {"Parameters", "405 GFLOP", "a number of parameters", "FLOP"},
    {"Tokens", "6h", "a number of tokens", "time"},
    {"Tokens", "-5B", "a number of tokens", "negative"},
    {"Tokens", "5Bx", "a number of tokens", "\"Bx\""},
    {"Tokens", "5 B B", "a number of tokens", ""},
    {"Tokens", "5m", "a number of tokens", "never million"},
    {"Count", "16m", "a count", "never million"},
    {"Dollars", "$70m", "dollars", "never million"},
    {"Parameters", "7b", "a number of parameters", "write B"},
    {"Tokens", "15.6t", "a number of tokens", "write T"},
    {"Tokens", "128ki", "a number of tokens", "write Ki"},
    {"FlopPerSecond", "400tflop/s", "a rate of FLOP", "write TFLOP/s"},
    {"BytesPerSecond", "400gb/s", "a rate of bytes", "write GB/s or Gb/s"},
    {"Bytes", "80gb", "an amount of bytes", "write GB"},
    {"Seconds", "54D", "a time", "write d"},
    {"Seconds", "4min..8min", "a time", "one value is wanted here"},
    {"Count", "16,384", "a count", "write it without commas"},
    {"DollarsPerHour", "$2,10/h", "price", "write it without commas"},
    {"Parameters", "1__0", "a number of parameters", ""},
    {"Parameters", "1_", "a number of parameters", ""},
    {"Parameters", "_1", "a number of parameters", "not a number"},
    {"Parameters", "1,000", "a number of parameters", "write it without commas"},
    {"Parameters", "1.2.3", "a number of parameters", ""},
    {"Parameters", "0x10", "a number of parameters", ""},
    {"Parameters", "405B # big", "a number of parameters", ""},
    {"Parameters", "five", "a number of parameters", "not a number"},
    {"Parameters", "+", "a number of parameters", "not a number"},
    {"Parameters", ".", "a number of parameters", "not a number"},
    {"Parameters", "1e", "a number of parameters", ""},
    {"Parameters", "--5", "a number of parameters", "negative"},
    {"Flop", "1e400", "an amount of FLOP", "range of a double"},
    {"Flop", "1e999999999999999999999999", "an amount of FLOP", "range of a double"},
    {"Flop", "1e308YFLOP", "an amount of FLOP", "range of a double"},
    {"Flop", "1e300PF-days", "an amount of FLOP", "range of a double"},
    {"Flop", "3.8e25 FLOP/s", "an amount of FLOP", "FLOP a second"},
    {"FlopPerSecond", "400TFLOP", "a rate of FLOP", "FLOP"},
    {"FlopPerSecond", "400T", "a rate of FLOP", ""},
    {"FlopPerSecond", "4e14", "a rate of FLOP", "unit"},
    {"FlopPerToken", "2.5e12", "FLOP a token", "unit"},
    {"Bytes", "80G", "an amount of bytes", "counts"},
    {"Bytes", "80", "an amount of bytes", "unit"},
    {"Bytes", "80GB/s", "an amount of bytes", "bytes a second"},
    {"BytesPerSecond", "80GB", "a rate of bytes", "bytes"},
    {"BytesPerSecond", "400G", "a rate of bytes", ""},
    {"Seconds", "10", "a time", "unit"},
    {"Seconds", "30m6h", "a time", "fall"},
    {"Seconds", "6h6h", "a time", "fall"},
    {"Seconds", "6h30", "a time", "unit"},
    {"Seconds", "6h-30m", "a time", ""},
    {"Seconds", "5B", "a time", ""},
    {"Seconds", "1h 2x", "a time", "\"x\""},
    {"Dollars", "$", "dollars", ""},
    {"Dollars", "$-5", "dollars", "negative"},
    {"Dollars", "-$5", "dollars", "negative"},
    {"Dollars", "$2.10/h", "dollars", ""},
    {"Dollars", "5$", "dollars", ""},
    {"Dollars", "5", "dollars", "70MUSD"},
    {"Dollars", "0", "dollars", "names no currency"},
    {"Dollars", "70M", "dollars", "names no currency"},
    {"Dollars", "USD", "dollars", "not a number"},
    {"Dollars", "$5USD", "dollars", ""},
    {"Dollars", "5EUR", "dollars", "names no currency"},
    {"DollarsPerHour", "2.10", "price", "'$2.10/h' in single quotes or 2.10USD/h"},
    {"DollarsPerHour", "2/h", "price", "'$2.10/h' in single quotes or 2.10USD/h"},
    {"DollarsPerHour", ".10/h", "price", "'$2.10/h' in single quotes or 2.10USD/h"},
    {"DollarsPerHour", "0/h", "price", "unquoted"},
    {"DollarsPerHour", "0", "price", "unquoted"},
    {"DollarsPerHour", "2.10USD", "price", "unit"},
    {"DollarsPerHour", "USD 2.10", "price", "unit"},
    {"DollarsPerHour", "$2/h..$3/h", "price", "one value is wanted here"},
    {"DollarsPerHour", "$2.10", "price", "unit"},
    {"DollarsPerHour", "$2.10/d", "price", ""},
    {"Watts", "700", "a power", "unit"},
    {"Watts", "700Wh", "a power", ""},
    {"WattHours", "21GW", "an energy", "power"},
    {"AcceleratorHours", "30d", "accelerator-hours", "time"},
    {"Fraction", "90 percent", "a share", ""},
    {"KilogramsPerKwh", "0.4kg", "a carbon intensity", ""},
};

}  // namespace

TEST_CASE("every documented text means the documented number, to the last bit") {
  for (const reference::Row& row : reference::rows("quantity_texts.csv")) {
    reference::check(row, kinds::parse(row.text("kind"), row.text("text")));
  }
}

TEST_CASE("every documented number prints as documented") {
  for (const reference::Row& row : reference::rows("quantity_prints.csv")) {
    CAPTURE(row.place());
    CHECK(kinds::print(row.text("kind"), row.value(), static_cast<int>(row.number("digits"))) == row.text("text"));
  }
}

TEST_CASE("what is printed parses to the same bits, for every kind over 600 decades") {
  std::uint64_t stream = 0;
  kinds::for_each([&]<class Q>(const char* name) {
    RandomStream random(20260101, stream++);
    std::size_t different = 0;
    std::string first;
    for (int i = 0; i < 100000; ++i) {
      const Q q(random_value(random));
      const std::string text = print(q);
      if (std::bit_cast<std::uint64_t>(parse<Q>(text).value) != std::bit_cast<std::uint64_t>(q.value) ||
          text.find(' ') != std::string::npos) {
        if (different++ == 0) first = text;
      }
    }
    INFO(std::string(name) << ", first as " << first);
    CHECK(different == 0);
  });
}

TEST_CASE("a plain number round-trips under the same rules as a quantity") {
  RandomStream random(20260102);
  std::size_t different = 0;
  for (int i = 0; i < 20000; ++i) {
    const double value = random_value(random);
    if (parse_number(print_number(value)) != value) ++different;
  }
  CHECK(different == 0);
  CHECK(parse_number("0.87") == 0.87);
  CHECK(thrown::says(thrown::by([] { (void)parse_number("0.87/d", "pue"); }), "pue: expected a number"));
}

TEST_CASE("rounding to d digits is off by at most half a unit of the last digit and still parses") {
  std::uint64_t stream = 100;
  kinds::for_each([&]<class Q>(const char* name) {
    RandomStream random(20260101, stream++);
    std::size_t wrong = 0;
    std::string first;
    for (int i = 0; i < 5000; ++i) {
      const Q q(random_value(random));
      const int digits = 1 + static_cast<int>(random.below(17));
      const std::string text = print(q, digits);
      // A time in minutes, hours or days is divided first and multiplied back, two roundings of a double.
      const double allowed = 0.5 * std::pow(10.0, 1 - digits) * (1 + 1e-9) + 4e-16;
      if (!(std::abs(parse<Q>(text).value - q.value) <= allowed * q.value)) {
        if (wrong++ == 0) first = text + " for " + print(q);
      }
    }
    INFO(std::string(name) << ", first as " << first);
    CHECK(wrong == 0);
  });
}

TEST_CASE("a short text for people is exact where the exact one is short") {
  CHECK(print_short(Watts(970)) == "970W");
  CHECK(print_short(Watts(1000 * 970.0 / 700)) == "1.386 kW");
  CHECK(print_short(Seconds(300)) == "5m");
  CHECK(print_short(Seconds(1000.0 / 3)) == "5.556 min");
  CHECK(print_short(Count(16384)) == "16384");
  CHECK(print_short(Count(1e6 / 3), 3) == "333000");
  CHECK(print_short(DollarsPerHour(std::sqrt(6.0)), 3) == "$2.45/h");
}

TEST_CASE("a suffix and its exponent are the same number, to the last bit") {
  RandomStream random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string mantissa = print_number(std::floor(random.uniform() * 1e12) / 1e9);
    CAPTURE(mantissa);
    CHECK(parse<Parameters>(mantissa + "B") == parse<Parameters>(mantissa + "e9"));
    CHECK(parse<Tokens>(mantissa + "T") == parse<Tokens>(mantissa + "e12"));
    CHECK(parse<Bytes>(mantissa + "GB") == parse<Bytes>(mantissa + "e9B"));
    CHECK(parse<FlopPerSecond>(mantissa + "TFLOP/s") == parse<FlopPerSecond>(mantissa + "e12FLOP/s"));
  }
}

TEST_CASE("spaces around a quantity and before its unit do not matter") {
  CHECK(parse<Parameters>("  405 B ") == parse<Parameters>("405B"));
  CHECK(parse<Seconds>("6h 30m") == parse<Seconds>("6h30m"));
  CHECK(parse<FlopPerSecond>("989 TFLOP/s") == parse<FlopPerSecond>("989TFLOP/s"));
}

TEST_CASE("a wrong text is refused with its place, itself, and the kind that was expected") {
  for (const Refusal& refusal : refusals) {
    INFO(std::string(refusal.kind) << " \"" << std::string(refusal.text) << "\"");
    const Error error = thrown::by([&] { (void)kinds::parse(refusal.kind, refusal.text, "--option"); });
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(error.failure() == Failure::usage);
    CHECK(error.exit_status() == 2);
    CHECK(error.where() == "--option");
    CHECK(text.starts_with("--option: expected "));
    CHECK(thrown::says(error, refusal.expected));
    CHECK(thrown::says(error, refusal.because));
    CHECK(thrown::says(error, "\"" + std::string(refusal.text) + "\""));
  }
}

TEST_CASE("nan, inf, overflow, negative, empty and trailing text are refused for every kind") {
  kinds::for_each([]<class Q>(const char* name) {
    INFO(std::string(name));
    const std::string one = print(Q(1));
    const std::string digit = one.starts_with('$') ? "$1" : "1";
    const std::string unit = one.substr(digit.size());
    for (const std::string& text :
         {std::string(), std::string("   "), "nan" + unit, std::string("NaN"), std::string("-nan"), "inf" + unit,
          std::string("Infinity"), std::string("-inf"), digit + "e400" + unit, digit + "e-400" + unit, "-" + one,
          "-5" + unit, one + "x", one + " " + one, one + "_", digit + "__0" + unit, one + "\n", "\t" + one,
          one + std::string(1, '\0')}) {
      CAPTURE(text);
      const Error error = thrown::by([&] { (void)parse<Q>(text, "--option"); });
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, "--option: expected "));
    }
    CHECK(thrown::says(thrown::by([&] { (void)parse<Q>("nan"); }), "finite"));
    CHECK(thrown::says(thrown::by([&] { (void)parse<Q>(""); }), "empty"));
  });
}

// The exponent and the unit's power of ten are added: at the end of a long the sum must not wrap round.
TEST_CASE("an exponent at the end of the integer range is out of range and nothing worse") {
  for (const char* text :
       {"1e9223372036854775807T", "1e9223372036854775806B", "1e-9223372036854775808", "1e-400000000T"}) {
    CAPTURE(std::string(text));
    CHECK(thrown::says(thrown::by([&] { (void)parse<Tokens>(text); }), "range of a double"));
  }
  CHECK(parse<Fraction>("0e9223372036854775807") == Fraction(0));
  CHECK(thrown::says(thrown::by([] { (void)parse<Fraction>("1e-9223372036854775808%"); }), "range of a double"));
}

TEST_CASE("any bytes at all are a finite quantity of at least zero or a refusal") {
  constexpr std::string_view alphabet = "0123456789..__eE+-$ kKMBGTPimhdsw%/FLOPWtgh\n\t\xff";
  RandomStream random(20260103);
  std::size_t accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const std::uint32_t length = random.below(10);
    for (std::uint32_t j = 0; j < length; ++j) {
      text += random.below(20) == 0 ? static_cast<char>(random.below(256))
                                    : alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))];
    }
    const auto attempt = [&]<class Q>() {
      try {
        const double value = parse<Q>(text).value;
        ++accepted;
        return value >= 0 && std::isfinite(value);
      } catch (const Error& error) {
        return error.failure() == Failure::usage;
      }
    };
    const bool fine = attempt.template operator()<Tokens>() && attempt.template operator()<Seconds>() &&
                      attempt.template operator()<Bytes>() && attempt.template operator()<DollarsPerHour>() &&
                      attempt.template operator()<Fraction>();
    if (!fine) FAIL_CHECK("\"" << text << "\"");
  }
  CHECK(accepted > 100);
}

// Quantities may hold any double (quantity.hpp); an error's text must be able to show it.
TEST_CASE("numbers that no text may give are still printed") {
  CHECK(print(Tokens(std::nan(""))) == "nan");
  CHECK(print(Seconds(INFINITY)) == "inf");
  CHECK(print(Bytes(-INFINITY)) == "-inf");
  CHECK(print(Tokens(-5e9)) == "-5B");
  CHECK(print(Seconds(-90)).starts_with("-"));
  CHECK(print(Dollars(-2.5)).starts_with("-$"));
}
