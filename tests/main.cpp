// SPDX-License-Identifier: BSD-3-Clause
// doctest's own main function, compiled once for all test programs: it takes longer to compile than most tests.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
