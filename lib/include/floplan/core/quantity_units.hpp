// SPDX-License-Identifier: BSD-3-Clause
//
// The units that each quantity's text may carry; one table a kind, read by quantity_text.hpp's parser and printer.
//
// value = number x 10^decimal_exponent x factor. Decimal prefixes are powers of ten (k 3, M 6, B or G 9, T 12), binary
// ones powers of two (Ki 2^10, GiB 2^30); bits are an eighth of a byte; minutes, hours, days and weeks are 60, 3600,
// 86400 and 604800 s; a PF-day is 8.64e19 FLOP. The printer chooses among the units marked `printed`.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "floplan/core/quantity.hpp"

namespace floplan {

namespace detail {

struct Unit {
  std::string_view suffix;
  int decimal_exponent = 0;
  double factor = 1;
  bool printed = false;
};

struct KindText {
  std::string_view name;     // "a number of tokens"
  std::string_view example;  // "15.6T"
  std::span<const Unit> units;
  std::string_view prefix = "";  // "$": of money, which must name its currency
};

inline constexpr double kibi = 1024.0;
inline constexpr double mebi = kibi * kibi;
inline constexpr double gibi = kibi * mebi;
inline constexpr double tebi = kibi * gibi;
inline constexpr double pebi = kibi * tebi;

inline constexpr auto count_units = std::to_array<Unit>({{"", 0, 1, true},
                                                         {"k", 3, 1, false},
                                                         {"K", 3, 1, false},
                                                         {"M", 6, 1, true},
                                                         {"B", 9, 1, true},
                                                         {"G", 9, 1, false},
                                                         {"T", 12, 1, true},
                                                         {"Ki", 0, kibi, false},
                                                         {"Mi", 0, mebi, false},
                                                         {"Gi", 0, gibi, false},
                                                         {"Ti", 0, tebi, false}});
inline constexpr auto flop_units = std::to_array<Unit>({{"", 0, 1, true},
                                                        {"FLOP", 0, 1, false},
                                                        {"GFLOP", 9, 1, false},
                                                        {"TFLOP", 12, 1, false},
                                                        {"PFLOP", 15, 1, false},
                                                        {"EFLOP", 18, 1, false},
                                                        {"ZFLOP", 21, 1, false},
                                                        {"YFLOP", 24, 1, false},
                                                        {"PF-days", 0, 8.64e19, false}});
inline constexpr auto flop_per_token_units = std::to_array<Unit>({{"FLOP/token", 0, 1, true},
                                                                  {"GFLOP/token", 9, 1, true},
                                                                  {"TFLOP/token", 12, 1, true},
                                                                  {"PFLOP/token", 15, 1, true}});
inline constexpr auto flop_per_second_units = std::to_array<Unit>({{"FLOP/s", 0, 1, true},
                                                                   {"GFLOP/s", 9, 1, true},
                                                                   {"TFLOP/s", 12, 1, true},
                                                                   {"PFLOP/s", 15, 1, true},
                                                                   {"EFLOP/s", 18, 1, true},
                                                                   {"GFLOPS", 9, 1, false},
                                                                   {"TFLOPS", 12, 1, false},
                                                                   {"PFLOPS", 15, 1, false},
                                                                   {"EFLOPS", 18, 1, false}});
inline constexpr auto time_units = std::to_array<Unit>({{"us", -6, 1, false},
                                                        {"ms", -3, 1, false},
                                                        {"s", 0, 1, true},
                                                        {"sec", 0, 1, false},
                                                        {"min", 0, 60, false},
                                                        {"m", 0, 60, false},
                                                        {"h", 0, 3600, false},
                                                        {"d", 0, 86400, false},
                                                        {"w", 0, 604800, false}});
inline constexpr auto byte_units = std::to_array<Unit>({{"B", 0, 1, true},
                                                        {"kB", 3, 1, true},
                                                        {"KB", 3, 1, false},
                                                        {"MB", 6, 1, true},
                                                        {"GB", 9, 1, true},
                                                        {"TB", 12, 1, true},
                                                        {"PB", 15, 1, true},
                                                        {"KiB", 0, kibi, false},
                                                        {"MiB", 0, mebi, false},
                                                        {"GiB", 0, gibi, false},
                                                        {"TiB", 0, tebi, false},
                                                        {"PiB", 0, pebi, false}});
inline constexpr auto byte_rate_units = std::to_array<Unit>({{"B/s", 0, 1, true},
                                                             {"kB/s", 3, 1, true},
                                                             {"MB/s", 6, 1, true},
                                                             {"GB/s", 9, 1, true},
                                                             {"TB/s", 12, 1, true},
                                                             {"PB/s", 15, 1, true},
                                                             {"MiB/s", 0, mebi, false},
                                                             {"GiB/s", 0, gibi, false},
                                                             {"TiB/s", 0, tebi, false},
                                                             {"Mb/s", 6, 0.125, false},
                                                             {"Gb/s", 9, 0.125, false},
                                                             {"Tb/s", 12, 0.125, false},
                                                             {"Mbps", 6, 0.125, false},
                                                             {"Gbps", 9, 0.125, false},
                                                             {"Tbps", 12, 0.125, false}});
inline constexpr auto dollar_units = std::to_array<Unit>({{"", 0, 1, true},
                                                          {"k", 3, 1, false},
                                                          {"K", 3, 1, false},
                                                          {"M", 6, 1, true},
                                                          {"B", 9, 1, true},
                                                          {"T", 12, 1, true}});
inline constexpr auto dollar_rate_units =
    std::to_array<Unit>({{"/h", 0, 1, true}, {"/hr", 0, 1, false}, {"/hour", 0, 1, false}});
inline constexpr auto watt_units =
    std::to_array<Unit>({{"W", 0, 1, true}, {"kW", 3, 1, true}, {"MW", 6, 1, true}, {"GW", 9, 1, true}});
inline constexpr auto watt_hour_units = std::to_array<Unit>(
    {{"Wh", 0, 1, true}, {"kWh", 3, 1, true}, {"MWh", 6, 1, true}, {"GWh", 9, 1, true}, {"TWh", 12, 1, true}});
inline constexpr auto accelerator_hour_units = std::to_array<Unit>(
    {{"h", 0, 1, true}, {"kh", 3, 1, false}, {"Mh", 6, 1, true}, {"", 0, 1, false}, {"M", 6, 1, false}});
inline constexpr auto fraction_units = std::to_array<Unit>({{"", 0, 1, true}, {"%", -2, 1, false}});
inline constexpr auto carbon_units =
    std::to_array<Unit>({{"kg/kWh", 0, 1, true}, {"g/kWh", -3, 1, false}, {"t/MWh", 0, 1, false}, {"", 0, 1, false}});

inline constexpr auto plain_units = std::to_array<Unit>({{"", 0, 1, true}});
inline constexpr KindText plain_number{"a number", "0.87", plain_units};

template <class Kind>
struct TextOf;
template <>
struct TextOf<ParametersKind> {
  static constexpr KindText text{"a number of parameters", "405B", count_units};
};
template <>
struct TextOf<TokensKind> {
  static constexpr KindText text{"a number of tokens", "15.6T", count_units};
};
template <>
struct TextOf<CountKind> {
  static constexpr KindText text{"a count", "16384 or 16Ki", count_units};
};
template <>
struct TextOf<FlopKind> {
  static constexpr KindText text{"an amount of FLOP", "3.8e25", flop_units};
};
template <>
struct TextOf<FlopPerTokenKind> {
  static constexpr KindText text{"FLOP a token", "2.5TFLOP/token", flop_per_token_units};
};
template <>
struct TextOf<FlopPerSecondKind> {
  static constexpr KindText text{"a rate of FLOP", "400TFLOP/s", flop_per_second_units};
};
template <>
struct TextOf<SecondsKind> {
  static constexpr KindText text{"a time", "6h30m, 54d, 10min or 90s", time_units};
};
template <>
struct TextOf<BytesKind> {
  static constexpr KindText text{"an amount of bytes", "80GB or 80GiB", byte_units};
};
template <>
struct TextOf<BytesPerSecondKind> {
  static constexpr KindText text{"a rate of bytes", "3.35TB/s or 400Gb/s", byte_rate_units};
};
template <>
struct TextOf<DollarsKind> {
  static constexpr KindText text{"an amount of US dollars", "'$70M' in single quotes or 70MUSD", dollar_units, "$"};
};
template <>
struct TextOf<DollarsPerHourKind> {
  static constexpr KindText text{"a price an accelerator-hour", "'$2.10/h' in single quotes or 2.10USD/h",
                                 dollar_rate_units, "$"};
};
template <>
struct TextOf<WattsKind> {
  static constexpr KindText text{"a power", "700W or 1.2kW", watt_units};
};
template <>
struct TextOf<WattHoursKind> {
  static constexpr KindText text{"an energy", "21GWh", watt_hour_units};
};
template <>
struct TextOf<AcceleratorHoursKind> {
  static constexpr KindText text{"accelerator-hours", "30.84Mh", accelerator_hour_units};
};
template <>
struct TextOf<FractionKind> {
  static constexpr KindText text{"a share", "0.9 or 90%", fraction_units};
};
template <>
struct TextOf<KilogramsPerKwhKind> {
  static constexpr KindText text{"a carbon intensity", "0.383kg/kWh", carbon_units};
};

}  // namespace detail
}  // namespace floplan
