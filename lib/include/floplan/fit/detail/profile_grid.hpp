// SPDX-License-Identifier: BSD-3-Clause
//
// Where the basins are: variable projection over the two exponents.
//
// For fixed (alpha, beta) the law is linear in E, A, B, so the least squares of the relative (or raw) residual
//
//   SUM w s^2 (E + A u + B v - L)^2,   u = exp(-alpha x), v = exp(-beta y), s = 1 / L (log residuals) or 1 (raw)
//
// has one answer under E, A, B >= 0: a 3 x 3 problem. Doing it over a log-spaced grid of exponents gives a map of the
// whole problem; every local minimum of the map (eight neighbours) is a start for Newton. (Golub and Pereyra 1973;
// for this law: arXiv 2603.22339.)
//
// Cost: the exponentials are taken once a grid line, not once a node; the sums of products u v over rows are a matrix
// product. A 24 x 24 map of 240 rows takes about .1 ms, most of it the 576 small problems, and grows linearly in rows.
//
// Pitfall: the map is of least squares whatever the fit's loss is; where outliers bend it, map again with the rows
// down-weighted by the residuals of the first answer (chinchilla_search.hpp does).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/pack.hpp"

namespace floplan::fit::detail {

using Triple = std::array<double, 3>;

// Normal equations of the three linear coefficients (A, B, E): minimise c' G c - 2 h' c + rest.
struct NormalEquations {
  std::array<Triple, 3> g{};
  Triple h{};
  double rest = 0;

  [[nodiscard]] double half_gradient(std::size_t j, const Triple& c) const {
    return g[j][0] * c[0] + g[j][1] * c[1] + g[j][2] * c[2] - h[j];
  }
};

struct ProjectedCoefficients {
  Triple value{};  // A, B, E, in the units of the centred data
  double objective = std::numeric_limits<double>::infinity();
};

enum class Side { free, low, high };

// Solves for the coefficients that are free, the others being at an end; objective infinite where singular.
[[nodiscard]] inline ProjectedCoefficients solve_sides(const NormalEquations& n, const std::array<Side, 3>& side,
                                                       const Triple& low, const Triple& high) {
  ProjectedCoefficients out;
  std::array<Triple, 3> l{};
  Triple rhs{};
  for (std::size_t j = 0; j < 3; ++j) {
    if (side[j] != Side::free) {
      out.value[j] = side[j] == Side::low ? low[j] : high[j];
      continue;
    }
    rhs[j] = n.h[j];
    for (std::size_t k = 0; k < 3; ++k) {
      if (side[k] != Side::free) rhs[j] -= n.g[j][k] * (side[k] == Side::low ? low[k] : high[k]);
    }
    double pivot = n.g[j][j];
    for (std::size_t k = 0; k < j; ++k) pivot -= l[j][k] * l[j][k];
    if (!(pivot > 1e-14 * n.g[j][j])) return out;
    l[j][j] = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < 3; ++i) {
      if (side[i] != Side::free) continue;
      double sum = n.g[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = sum / l[j][j];
    }
    for (std::size_t k = 0; k < j; ++k) rhs[j] -= l[j][k] * rhs[k];
    rhs[j] /= l[j][j];
  }
  for (std::size_t j = 3; j-- > 0;) {
    if (side[j] != Side::free) continue;
    for (std::size_t k = j + 1; k < 3; ++k) {
      if (side[k] == Side::free) rhs[j] -= l[k][j] * out.value[k];
    }
    out.value[j] = rhs[j] / l[j][j];
  }
  out.objective = n.rest;
  for (std::size_t j = 0; j < 3; ++j) out.objective += out.value[j] * (n.half_gradient(j, out.value) - n.h[j]);
  return out;
}

// Puts the coefficient that is furthest out at the end it crossed, until all are in the box; the problem is convex, so
// the signs of the gradient at the ends prove the answer. Where they do not, every face is tried.
[[nodiscard]] inline ProjectedCoefficients solve_bounded(const NormalEquations& n, const Triple& low,
                                                         const Triple& high) {
  std::array<Side, 3> side{};
  for (std::size_t k = 0; k < 3; ++k) side[k] = low[k] == high[k] ? Side::low : Side::free;
  const auto outside = [&](const Triple& c, std::size_t k) { return std::max(low[k] - c[k], c[k] - high[k]); };
  for (int round = 0; round < 4; ++round) {
    const ProjectedCoefficients found = solve_sides(n, side, low, high);
    if (!std::isfinite(found.objective)) break;
    std::size_t worst = 0;
    for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
      // Compared by what each adds to the fitted values, so that the unit of a coefficient does not matter.
      const auto size = [&](std::size_t j) { return outside(found.value, j) * std::sqrt(n.g[j][j]); };
      if (size(k) > size(worst)) worst = k;
    }
    if (outside(found.value, worst) > 0) {
      side[worst] = found.value[worst] < low[worst] ? Side::low : Side::high;
      continue;
    }
    bool proved = true;
    for (std::size_t k = 0; k < 3; ++k) {
      const double slope = n.half_gradient(k, found.value);
      if (low[k] == high[k] || side[k] == Side::free) continue;
      proved = proved && (side[k] == Side::low ? slope >= 0 : slope <= 0);
    }
    if (proved) return found;
    break;
  }
  ProjectedCoefficients best;
  for (int face = 0; face < 27; ++face) {
    const std::array<int, 3> choice = {face % 3, face / 3 % 3, face / 9};
    bool possible = true;
    for (std::size_t k = 0; k < 3; ++k) {
      side[k] = choice[k] == 0 ? Side::low : choice[k] == 1 ? Side::free : Side::high;
      possible =
          possible && (side[k] == Side::low || (low[k] < high[k] && (side[k] == Side::free || std::isfinite(high[k]))));
    }
    if (!possible) continue;
    const ProjectedCoefficients found = solve_sides(n, side, low, high);
    bool inside = found.objective < best.objective;
    for (std::size_t k = 0; k < 3; ++k) inside = inside && !(outside(found.value, k) > 0);
    if (inside) best = found;
  }
  return best;
}

struct ExponentGrid {
  std::vector<double> parameter_exponents;
  std::vector<double> token_exponents;
};

// Log-spaced from low to high; one point where they are equal.
[[nodiscard]] inline std::vector<double> log_spaced(double low, double high, std::size_t points) {
  if (low == high || points < 2) return {low};
  std::vector<double> out(points);
  for (std::size_t i = 0; i < points; ++i) {
    out[i] = low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(points - 1));
  }
  out.back() = high;
  return out;
}

struct GridNode {
  double parameter_exponent = 0;
  double token_exponent = 0;
  ProjectedCoefficients coefficients;
};

namespace grid_kernel {

inline constexpr std::size_t tile = 4;
inline constexpr std::size_t chunk = 32;  // packs: 256 rows of one grid line are 2 KiB, a whole 32-line side 64 KiB

// For one side of the grid: z_k = sqrt(w) s exp(-exponent_k x) of the chunk's rows, and its three sums.
struct Side {
  std::size_t lines = 0;
  std::vector<double> z;  // lines (padded to a tile) x chunk rows
  std::vector<double> sum_s, sum_square, sum_target;

  explicit Side(std::size_t count)
      : lines((count + tile - 1) / tile * tile),
        z(lines * chunk * pack_size),
        sum_s(lines),
        sum_square(lines),
        sum_target(lines) {}

  [[nodiscard]] double* line(std::size_t k) { return z.data() + k * chunk * pack_size; }

  void fill(const std::vector<double>& exponents, const double* x, const double* scaled, const double* target,
            std::size_t packs) {
    for (std::size_t k = 0; k < exponents.size(); ++k) {
      Pack s1{}, s2{}, s3{};
      for (std::size_t i = 0; i < packs; ++i) {
        Pack xs, scale, aim, u;
        load_pack(x + i * pack_size, xs);
        load_pack(scaled + i * pack_size, scale);
        load_pack(target + i * pack_size, aim);
        exp_pack(-exponents[k] * xs, u);
        u *= scale;
        store_pack(u, line(k) + i * pack_size);
        s1 += u * scale;
        s2 += u * u;
        s3 += u * aim;
      }
      sum_s[k] += sum_of_pack(s1);
      sum_square[k] += sum_of_pack(s2);
      sum_target[k] += sum_of_pack(s3);
    }
  }
};

// cross[j][k] += SUM over rows of u_j v_k, a tile of 4 x 4 at a time so that each load serves four products.
inline void add_cross(Side& u, Side& v, std::size_t packs, std::vector<double>& cross) {
  for (std::size_t j = 0; j < u.lines; j += tile) {
    for (std::size_t k = 0; k < v.lines; k += tile) {
      Pack acc[tile][tile] = {};
      for (std::size_t i = 0; i < packs; ++i) {
        Pack a[tile], b[tile];
        for (std::size_t t = 0; t < tile; ++t) {
          load_pack(u.line(j + t) + i * pack_size, a[t]);
          load_pack(v.line(k + t) + i * pack_size, b[t]);
        }
        for (std::size_t s = 0; s < tile; ++s) {
          for (std::size_t t = 0; t < tile; ++t) acc[s][t] += a[s] * b[t];
        }
      }
      for (std::size_t s = 0; s < tile; ++s) {
        for (std::size_t t = 0; t < tile; ++t) cross[(j + s) * v.lines + k + t] += sum_of_pack(acc[s][t]);
      }
    }
  }
}

}  // namespace grid_kernel

// The whole map, node (j, k) at index j * token_exponents.size() + k. low, high: of (A, B, E) as the rows are centred;
// an end other than 0 and infinity would move with the exponent, so a bounded coefficient asks for uncentred rows.
[[nodiscard]] inline std::vector<GridNode> map_grid(const KernelRows& rows, Residual residual, const ExponentGrid& grid,
                                                    const Triple& low, const Triple& high) {
  using namespace grid_kernel;
  const std::size_t lines_u = grid.parameter_exponents.size();
  const std::size_t lines_v = grid.token_exponents.size();
  grid_kernel::Side u(lines_u), v(lines_v);
  std::vector<double> cross(u.lines * v.lines);
  std::array<double, chunk * pack_size> scaled{}, target{};
  NormalEquations common;
  for (std::size_t begin = 0; begin < rows.packs; begin += chunk) {
    const std::size_t packs = std::min(chunk, rows.packs - begin);
    Pack s1{}, s2{}, s3{};
    for (std::size_t i = 0; i < packs; ++i) {
      Pack weight, observed, root;
      load_pack(rows.weight + (begin + i) * pack_size, weight);
      load_pack(rows.observed + (begin + i) * pack_size, observed);
      double lanes[pack_size];
      store_pack(weight, lanes);
      for (double& lane : lanes) lane = std::sqrt(lane);
      load_pack(lanes, root);
      const Pack scale = residual == Residual::log ? root * observed : root;
      const Pack aim = residual == Residual::log ? root : root * observed;
      store_pack(scale, scaled.data() + i * pack_size);
      store_pack(aim, target.data() + i * pack_size);
      s1 += scale * scale;
      s2 += scale * aim;
      s3 += aim * aim;
    }
    common.g[2][2] += sum_of_pack(s1);
    common.h[2] += sum_of_pack(s2);
    common.rest += sum_of_pack(s3);
    u.fill(grid.parameter_exponents, rows.x + begin * pack_size, scaled.data(), target.data(), packs);
    v.fill(grid.token_exponents, rows.y + begin * pack_size, scaled.data(), target.data(), packs);
    add_cross(u, v, packs, cross);
  }
  std::vector<GridNode> out(lines_u * lines_v);
  for (std::size_t j = 0; j < lines_u; ++j) {
    for (std::size_t k = 0; k < lines_v; ++k) {
      NormalEquations n = common;
      n.g[0][0] = u.sum_square[j];
      n.g[1][1] = v.sum_square[k];
      n.g[0][1] = n.g[1][0] = cross[j * v.lines + k];
      n.g[0][2] = n.g[2][0] = u.sum_s[j];
      n.g[1][2] = n.g[2][1] = v.sum_s[k];
      n.h[0] = u.sum_target[j];
      n.h[1] = v.sum_target[k];
      out[j * lines_v + k] = {grid.parameter_exponents[j], grid.token_exponents[k], solve_bounded(n, low, high)};
    }
  }
  return out;
}

// Indices of the map's local minima, best first. Among equal neighbours the first counts, so a plateau gives one start.
[[nodiscard]] inline std::vector<std::size_t> local_minima(const std::vector<GridNode>& map, std::size_t columns) {
  std::vector<std::size_t> out;
  const std::size_t lines = map.size() / columns;
  for (std::size_t j = 0; j < lines; ++j) {
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t here = j * columns + k;
      const double value = map[here].coefficients.objective;
      bool lowest = std::isfinite(value);
      for (std::size_t jj = j > 0 ? j - 1 : 0; lowest && jj <= std::min(j + 1, lines - 1); ++jj) {
        for (std::size_t kk = k > 0 ? k - 1 : 0; lowest && kk <= std::min(k + 1, columns - 1); ++kk) {
          const std::size_t there = jj * columns + kk;
          if (there == here) continue;
          const double other = map[there].coefficients.objective;
          lowest = there < here ? value < other : value <= other;
        }
      }
      if (lowest) out.push_back(here);
    }
  }
  std::sort(out.begin(), out.end(), [&map](std::size_t a, std::size_t b) {
    const double left = map[a].coefficients.objective;
    const double right = map[b].coefficients.objective;
    return left != right ? left < right : a < b;
  });
  return out;
}

}  // namespace floplan::fit::detail
