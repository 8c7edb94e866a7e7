// SPDX-License-Identifier: BSD-3-Clause
//
// The map of basins again, for data with rows that lie far outside: least squares replaced by Huber's loss.
//
// At each node (alpha, beta) of a coarser grid the law is linear in E, A, B, so Huber's loss of the relative (or raw)
// residual is convex: three rounds of iteratively reweighted least squares (Huber 1981, section 7.8)
//
//   omega_i = min(1, delta / |r_i|),   3 x 3 problem with weights w omega,   delta halved before each round
//
// come close enough to its minimum to tell which nodes are local minima of the map. delta falls because the first one
// comes from an answer that outliers may have spoilt, tenfold too wide in the worst case seen.
//
// Cost: about .4 us a node, round and 240 rows. More than 128 rows are thinned evenly: the map only gives starts.
// Pitfall: rows must be sorted (prepared rows are), or thinning would favour some of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/pack.hpp"
#include "floplan/fit/detail/profile_grid.hpp"
#include "floplan/fit/estimator.hpp"

namespace floplan::fit::detail {

// Columns of one linear problem: row i reads u c0 + v c1 + s c2 = t, all times `root` of its weight.
struct LinearRows {
  std::vector<double> s, t, root;
  std::size_t packs = 0;
};

// The normal equations of Huber's weights at coefficients c; value is the Huber loss there.
[[nodiscard]] inline NormalEquations reweighted(const LinearRows& rows, const double* u, const double* v,
                                                const Triple& c, double delta, double& value) {
  std::array<Pack, 10> acc{};
  Pack loss{};
  for (std::size_t i = 0; i < rows.packs; ++i) {
    Pack a, b, s, t, limit;
    load_pack(u + i * pack_size, a);
    load_pack(v + i * pack_size, b);
    load_pack(rows.s.data() + i * pack_size, s);
    load_pack(rows.t.data() + i * pack_size, t);
    load_pack(rows.root.data() + i * pack_size, limit);
    limit *= delta;
    const Pack r = (c[0] * a + c[1] * b) + (c[2] * s - t);
    const Pack size = r < 0.0 ? -r : r;
    const Pack omega = size > limit ? limit / size : Pack{} + 1.0;
    loss += omega * size * (size - 0.5 * omega * size);
    const Pack oa = omega * a;
    const Pack ob = omega * b;
    const Pack os = omega * s;
    acc[0] += oa * a;
    acc[1] += oa * b;
    acc[2] += oa * s;
    acc[3] += ob * b;
    acc[4] += ob * s;
    acc[5] += os * s;
    acc[6] += oa * t;
    acc[7] += ob * t;
    acc[8] += os * t;
    acc[9] += omega * t * t;
  }
  value = sum_of_pack(loss);
  NormalEquations n;
  n.g[0] = {sum_of_pack(acc[0]), sum_of_pack(acc[1]), sum_of_pack(acc[2])};
  n.g[1] = {n.g[0][1], sum_of_pack(acc[3]), sum_of_pack(acc[4])};
  n.g[2] = {n.g[0][2], n.g[1][2], sum_of_pack(acc[5])};
  n.h = {sum_of_pack(acc[6]), sum_of_pack(acc[7]), sum_of_pack(acc[8])};
  n.rest = sum_of_pack(acc[9]);
  return n;
}

[[nodiscard]] inline std::vector<GridNode> map_robustly(const KernelRows& rows, Residual residual,
                                                        const ExponentGrid& grid, const Triple& low, const Triple& high,
                                                        double delta) {
  constexpr std::size_t most = 128;
  constexpr int rounds = 3;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < rows.packs * pack_size; ++i) {
    if (rows.weight[i] > 0) chosen.push_back(i);
  }
  if (chosen.size() > most) {
    for (std::size_t k = 0; k < most; ++k) chosen[k] = chosen[k * chosen.size() / most];
    chosen.resize(most);
  }
  LinearRows linear;
  linear.packs = (chosen.size() + pack_size - 1) / pack_size;
  const std::size_t full = linear.packs * pack_size;
  linear.s.resize(full);
  linear.t.resize(full);
  linear.root.resize(full, 1.0);
  std::vector<double> x(full), y(full);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const std::size_t i = chosen[k];
    const double root = std::sqrt(rows.weight[i]);
    linear.s[k] = residual == Residual::log ? root * rows.observed[i] : root;
    linear.t[k] = residual == Residual::log ? root : root * rows.observed[i];
    linear.root[k] = root;
    x[k] = rows.x[i];
    y[k] = rows.y[i];
  }
  const auto lines = [&](const std::vector<double>& exponents, const std::vector<double>& column) {
    std::vector<double> out(exponents.size() * full);
    for (std::size_t line = 0; line < exponents.size(); ++line) {
      for (std::size_t i = 0; i < full; i += pack_size) {
        Pack z, scale, term;
        load_pack(column.data() + i, z);
        load_pack(linear.s.data() + i, scale);
        exp_pack(-exponents[line] * z, term);
        store_pack(term * scale, out.data() + line * full + i);
      }
    }
    return out;
  };
  const std::vector<double> u = lines(grid.parameter_exponents, x);
  const std::vector<double> v = lines(grid.token_exponents, y);
  std::vector<GridNode> out;
  out.reserve(grid.parameter_exponents.size() * grid.token_exponents.size());
  for (std::size_t j = 0; j < grid.parameter_exponents.size(); ++j) {
    for (std::size_t k = 0; k < grid.token_exponents.size(); ++k) {
      GridNode node{grid.parameter_exponents[j], grid.token_exponents[k], {}};
      double value = 0;
      for (int round = 0; round <= rounds; ++round) {
        const double clip = round == 0 ? 1e150 : std::ldexp(delta, -round);
        const NormalEquations n =
            reweighted(linear, u.data() + j * full, v.data() + k * full, node.coefficients.value, clip, value);
        node.coefficients.objective = value;
        if (round == rounds) break;
        node.coefficients.value = solve_bounded(n, low, high).value;
      }
      out.push_back(node);
    }
  }
  return out;
}

}  // namespace floplan::fit::detail
