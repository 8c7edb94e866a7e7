// SPDX-License-Identifier: BSD-3-Clause
//
// The shapes that a request leaves open, and the best of them at each width. Used by realise.hpp.
//
//   width     each multiple of width_multiple, 128 up to 4096 and 512 above, 50,000 at most   (or the given)
//   layers    each number that the pipeline divides, whose aspect is within 16x of that asked     (or the given one)
//   block     feed-forward or expert width: multiples of ffn_multiple and TP within `freedom` of the ratio's
//
// For a width, any count is c0 + c1 layers + c2 block + c3 layers block: four counts of parameter_count give the four
// coefficients, exactly below 2^53, for any parts that a shape may have. Of the blocks at one number of layers only three can
// be best (the ratio's own, the nearest to the target, and the nearest to the ratio within the tolerance), so that the search
// is exhaustive at a cost of widths x layers: from a dozen to a hundred thousand shapes, 3 ms at ten trillion parameters.
// Order: by the gap where it is beyond the tolerance, then by |ln(aspect / asked)| + |ln(block / the ratio's)|, then by the
// gap, then by dimensions, so that the answer is the same on every run.
// Pitfall: "of the ratio" means rounded up to its multiple (11008 for 4096 x 8/3 by 256), which is at distance 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/realise_request.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture::detail {

struct Candidate {
  std::int64_t width = 0;
  std::int64_t layers = 0;
  std::int64_t block = 0;
  double gap = std::numeric_limits<double>::infinity();       // |count / target - 1|
  double distance = std::numeric_limits<double>::infinity();  // from what was asked

  [[nodiscard]] bool better_than(const Candidate& other, double tolerance) const {
    const auto key = [tolerance](const Candidate& c) {
      return std::tuple(c.gap > tolerance ? c.gap : 0, c.distance, c.gap, c.width, c.layers, c.block);
    };
    return key(*this) < key(other);
  }
};

class ShapeGrid {
 public:
  // request: as with_defaults() returns it. Throws Error(infeasible) where what is given contradicts itself.
  explicit ShapeGrid(const RealiseRequest& request) : r_(request) {
    const Layout& cut = r_.layout;
    const std::int64_t padding = std::lcm(r_.vocabulary_multiple, cut.tensor);
    r_.given.vocabulary = (r_.given.vocabulary + padding - 1) / padding * padding;
    const bool experts = r_.given.experts.has_value();
    if (experts && r_.given.experts->count % cut.expert != 0)
      refuse("expert parallelism must divide the experts, got EP " + std::to_string(cut.expert) + " and " +
             std::to_string(r_.given.experts->count) + " experts");
    stages_ = cut.pipeline * cut.interleave;
    extra_ = r_.embedding_and_head_slots ? 2 : 0;
    through_ = experts ? static_cast<double>(r_.given.experts->active + r_.shared_experts) : 1;
    given_block_ = experts ? r_.given.experts->width : r_.given.ffn_width;
    const std::int64_t shared = experts ? r_.given.experts->shared_width : 0;
    for (const std::int64_t given : {given_block_, r_.given.ffn_width, shared}) {
      if (given % cut.tensor != 0)
        refuse("tensor parallelism must divide the feed-forward width, got TP " + std::to_string(cut.tensor) + " and " +
               std::to_string(given));
    }
    find_layers();
  }

  [[nodiscard]] const RealiseRequest& request() const { return r_; }
  [[nodiscard]] std::int64_t extra_slots() const { return extra_; }

  // The best candidates, best first: one a width, or one a number of layers where the width is given.
  [[nodiscard]] std::vector<Candidate> best() {
    std::vector<Candidate> found = within(16);
    if (found.empty()) found = within(std::numeric_limits<double>::infinity());
    if (found.empty()) throw nothing_near();
    const auto first = [this](const Candidate& a, const Candidate& b) { return a.better_than(b, r_.tolerance); };
    const std::size_t kept = std::min(r_.proposals, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), first);
    found.resize(kept);
    return found;
  }
  [[nodiscard]] std::uint64_t examined() const { return examined_; }

  // The shape at a point of the grid; nothing where the width is not on it, and then `why`.
  [[nodiscard]] std::optional<Transformer> at(std::int64_t width, std::int64_t layers, std::int64_t block) const {
    std::optional<Transformer> t = frame(width, nullptr);
    if (t) fill(*t, layers, block);
    return t;
  }
  // The block of the ratio at this width, rounded up.
  [[nodiscard]] std::int64_t asked_block(std::int64_t width) const {
    if (given_block_ > 0) return given_block_;
    const double exact = r_.ffn_ratio * static_cast<double>(width) / through_;
    const double multiple = static_cast<double>(block_step(width));
    return block_step(width) * std::max<std::int64_t>(1, whole(std::ceil(exact / multiple - 1e-9)));
  }
  [[nodiscard]] double block_ratio(std::int64_t width, std::int64_t block) const {
    return through_ * static_cast<double>(block) / static_cast<double>(width);
  }

 private:
  [[nodiscard]] static std::int64_t whole(double value) { return static_cast<std::int64_t>(std::round(value)); }
  [[noreturn]] static void refuse(const std::string& rule) {
    throw realise_refusal(Failure::infeasible, "does_not_divide", rule);
  }

  // "; it is with 126 or 142", the numbers on both sides that fit.
  template <class Fits>
  [[nodiscard]] std::string nearest(std::int64_t given, const Fits& fits) const {
    std::string out;
    for (const std::int64_t direction : {-1, 1}) {
      for (std::int64_t k = 1; k <= std::min(step_, most_layers); ++k) {
        const std::int64_t layers = given + direction * k;
        if (layers <= r_.first_dense_layers || !fits(layers)) continue;
        out += (out.empty() ? "; it is with " : " or ") + std::to_string(layers);
        break;
      }
    }
    return out;
  }

  void find_layers() {
    step_ = std::lcm(stages_, r_.expert_period);
    const auto fits = [this](std::int64_t layers) {
      return (layers + extra_) % stages_ == 0 && layers % r_.expert_period == 0;
    };
    if (const std::int64_t given = r_.given.layers; given > 0) {
      if (given <= r_.first_dense_layers)
        refuse("layers must be more than the first dense ones, got " + std::to_string(given) + " and " +
               std::to_string(r_.first_dense_layers));
      if (!fits(given))
        refuse("layers" + std::string(extra_ > 0 ? " and a slot each for embedding and head" : "") +
               " must be a multiple of the " + std::to_string(stages_) + " chunks of the pipeline" +
               (r_.expert_period > 1 ? " and layers of the expert period " + std::to_string(r_.expert_period) : "") +
               ", got " + std::to_string(given) + (extra_ > 0 ? " + 2" : "") + nearest(given, fits));
      least_ = given;
      return;
    }
    least_ = std::max<std::int64_t>(r_.first_dense_layers + 1, 1);
    const std::int64_t end = least_ + std::min(step_, most_layers);
    while (least_ < end && !fits(least_)) ++least_;
    if (least_ == end || least_ > most_layers)
      refuse("no number of layers up to 100000 fits the " + std::to_string(stages_) +
             " chunks of the pipeline and the expert period " + std::to_string(r_.expert_period) + ", got " +
             std::to_string(extra_) + " slots for embedding and head");
  }

  // 8, or what is nearest below and goes with TP.
  [[nodiscard]] std::int64_t usual_kv_heads() const {
    std::int64_t out = 8;
    while (out % r_.layout.tensor != 0 && r_.layout.tensor % out != 0) --out;
    return out;
  }
  [[nodiscard]] std::int64_t width_step(std::int64_t width) const {
    return r_.width_multiple > 0 ? r_.width_multiple : width < 4096 ? 128 : 512;
  }
  [[nodiscard]] std::int64_t block_step(std::int64_t width) const {
    const std::int64_t multiple = r_.ffn_multiple > 0     ? r_.ffn_multiple
                                  : width <= narrow_width ? 64
                                  : r_.given.experts      ? 128
                                                          : 256;
    return std::lcm(multiple, r_.layout.tensor);
  }

  // Heads at this width, with all parts that are given.
  [[nodiscard]] std::optional<Transformer> frame(std::int64_t width, std::string* why) const {
    const auto no = [why](const char* rule, std::int64_t a, std::int64_t b) -> std::optional<Transformer> {
      if (why != nullptr) *why = std::string(rule) + ", got " + std::to_string(a) + " and " + std::to_string(b);
      return std::nullopt;
    };
    Transformer t = r_.given;
    t.width = width;
    if (t.heads == 0) {
      if (t.head_width == 0) t.head_width = width <= narrow_width ? 64 : 128;
      if (width % t.head_width != 0) return no("the width of a head must divide the width", t.head_width, width);
      t.heads = width / t.head_width;
    }
    const std::int64_t tensor = r_.layout.tensor;
    if (t.heads % tensor != 0) return no("tensor parallelism must divide the heads", tensor, t.heads);
    if (t.latent) return t;
    if (r_.heads_per_kv > 0) {
      if (t.heads % r_.heads_per_kv != 0) return no("heads_per_kv must divide heads", r_.heads_per_kv, t.heads);
      const std::int64_t kv_heads = t.heads / r_.heads_per_kv;
      if (t.kv_heads > 0 && t.kv_heads != kv_heads)
        return no("kv_heads must be heads / heads_per_kv", t.kv_heads, kv_heads);
      t.kv_heads = kv_heads;
    } else if (t.kv_heads == 0) {
      t.kv_heads = std::min(t.heads, usual_kv_heads());
      if (r_.given.heads > 0 || r_.given.width > 0)
        while (t.heads % t.kv_heads != 0) --t.kv_heads;
    }
    if (t.heads % t.kv_heads != 0) return no("key-value heads must divide heads", t.kv_heads, t.heads);
    if (t.kv_heads % tensor != 0 && tensor % t.kv_heads != 0)
      return no("tensor parallelism must divide the key-value heads or be a multiple of them", tensor, t.kv_heads);
    if (t.head_width == 0) {
      if (width % t.heads != 0) return no("heads must divide the width", t.heads, width);
      t.head_width = width / t.heads;
    }
    return t;
  }

  void fill(Transformer& t, std::int64_t layers, std::int64_t block) const {
    t.layers = layers;
    if (!t.experts) {
      t.ffn_width = block;
      return;
    }
    t.experts->width = block;
    if (r_.shared_experts > 0) t.experts->shared_width = r_.shared_experts * block;
    t.experts->layers = r_.expert_period > 1 ? LayerPattern::every(r_.expert_period, layers)
                                             : LayerPattern::from(r_.first_dense_layers, layers);
    if (t.dense_layers() == 0)
      t.ffn_width = 0;
    else if (t.ffn_width == 0)
      t.ffn_width = whole(through_) * block;
  }

  struct Coefficients {
    double constant, layers, block, both;
    [[nodiscard]] double at(double l, double b) const { return constant + block * b + l * (layers + both * b); }
    [[nodiscard]] double layers_for(double count, double b) const {
      return (count - constant - block * b) / (layers + both * b);
    }
    [[nodiscard]] double block_for(double count, double l) const {
      return (count - constant - layers * l) / (block + both * l);
    }
  };
  [[nodiscard]] Coefficients coefficients(Transformer& t) const {
    const std::int64_t few = r_.expert_period > 1 ? r_.expert_period : r_.first_dense_layers + 1;
    const std::int64_t more = few + r_.expert_period;
    const auto count = [&](std::int64_t layers, std::int64_t block) {
      fill(t, layers, block);
      const double value = parameter_count(t).as(r_.count).value;
      if (r_.given.ffn_width == 0) t.ffn_width = 0;
      return value;
    };
    const std::int64_t narrow = r_.layout.tensor;
    const double low = count(few, narrow);
    const double high = count(few, 2 * narrow);
    const double deep = count(more, narrow);
    const double corner = count(more, 2 * narrow);
    const double l = static_cast<double>(few);
    const double b = static_cast<double>(narrow);
    Coefficients c{};
    c.both = ((corner - deep) - (high - low)) / (static_cast<double>(more - few) * b);
    c.layers = (deep - low) / static_cast<double>(more - few) - c.both * b;
    c.block = (high - low) / b - c.both * l;
    c.constant = low - c.layers * l - c.block * b - c.both * l * b;
    return c;
  }

  // The grid point at or below, and at or above; at least the least.
  [[nodiscard]] std::int64_t layers_down(double l) const {
    if (!(l > static_cast<double>(least_))) return least_;
    return least_ + step_ * static_cast<std::int64_t>((l - static_cast<double>(least_)) / static_cast<double>(step_));
  }
  [[nodiscard]] std::int64_t layers_up(double l) const {
    const std::int64_t down = layers_down(l);
    return static_cast<double>(down) < l ? down + step_ : down;
  }

  [[nodiscard]] std::vector<Candidate> within(double reach) {
    std::vector<Candidate> out;
    std::string why;
    bool framed = false;
    std::int64_t without = 0, tried = 0;
    const std::int64_t first = r_.given.width > 0 ? r_.given.width : width_step(1);
    smallest_ = {};
    for (std::int64_t width = first; width <= largest; width += width_step(width)) {
      if (std::optional<Transformer> t = frame(width, framed ? nullptr : &why)) {
        framed = true;
        without = 0;
        ++tried;
        const Coefficients c = coefficients(*t);
        const std::int64_t narrow = block_range(width).first;
        if (smallest_.width == 0) smallest_ = *at(width, least_, narrow);
        if (r_.given.width == 0 && c.at(static_cast<double>(least_), static_cast<double>(narrow)) > 2 * r_.target.value)
          break;
        search(width, c, reach, out);
      }
      if (r_.given.width > 0 || ++without >= most_without_heads || tried >= most_widths) break;
    }
    if (!framed) throw realise_refusal(Failure::infeasible, "does_not_divide", why);
    return out;
  }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> block_range(std::int64_t width) const {
    const std::int64_t asked = asked_block(width);
    if (given_block_ > 0) return {asked, asked};
    // The block alone is left to meet the target.
    if (r_.given.width > 0 && r_.given.layers > 0)
      return {block_step(width), std::min<std::int64_t>(64 * asked, largest / block_step(width) * block_step(width))};
    const double step = static_cast<double>(block_step(width));
    const double low = static_cast<double>(asked) / (1 + r_.freedom) / step;
    const double high = static_cast<double>(asked) * (1 + r_.freedom) / step;
    return {std::min(asked, block_step(width) * whole(std::ceil(low))),
            std::max(asked, block_step(width) * whole(std::floor(high)))};
  }

  void search(std::int64_t width, const Coefficients& c, double reach, std::vector<Candidate>& out) {
    const auto [narrow, wide] = block_range(width);
    const double target = r_.target.value;
    std::int64_t from = least_, to = least_;
    if (r_.given.layers == 0) {
      const double most = c.layers_for(target * (1 + r_.tolerance), static_cast<double>(narrow));
      const double d = static_cast<double>(width);
      if (!(most > 0)) return;
      from = layers_down(c.layers_for(target * (1 - r_.tolerance), static_cast<double>(wide)));
      to = std::min(layers_up(most), layers_down(static_cast<double>(most_layers)));
      if (std::isfinite(reach)) {
        from = std::max(from, layers_up(d / (r_.aspect * reach)));
        to = std::min(to, layers_down(d / r_.aspect * reach));
      }
    }
    Candidate best;
    for (std::int64_t layers = from; layers <= to; layers += step_) {
      const Candidate here = best_block(width, layers, narrow, wide, c);
      if (r_.given.width > 0)
        out.push_back(here);
      else if (here.better_than(best, r_.tolerance))
        best = here;
    }
    if (best.width > 0) out.push_back(best);
  }

  [[nodiscard]] Candidate best_block(std::int64_t width, std::int64_t layers, std::int64_t narrow, std::int64_t wide,
                                     const Coefficients& c) {
    const double target = r_.target.value;
    const double l = static_cast<double>(layers);
    const std::int64_t asked = asked_block(width);
    const double away = std::abs(std::log(static_cast<double>(width) / l / r_.aspect));
    Candidate best;
    const auto examine = [&](std::int64_t block) {
      ++examined_;
      const double b = static_cast<double>(block);
      Candidate found{width, layers, block, std::abs(c.at(l, b) / target - 1), away};
      if (block != asked) found.distance += std::abs(std::log(b / static_cast<double>(asked)));
      if (found.better_than(best, r_.tolerance)) best = found;
    };
    examine(asked);
    if (narrow == wide || best.gap <= r_.tolerance) return best;
    const double step = static_cast<double>(block_step(width));
    const auto on_grid = [&, narrow = narrow, wide = wide](double steps) {
      const double bounded = std::clamp(steps * step, static_cast<double>(narrow), static_cast<double>(wide));
      examine(block_step(width) * whole(bounded / step));
    };
    const double nearest = c.block_for(target, l) / step;
    on_grid(std::floor(nearest));
    on_grid(std::ceil(nearest));
    // Within the tolerance, the end that lies towards the asked block.
    if (c.at(l, static_cast<double>(asked)) > target)
      on_grid(std::floor(c.block_for(target * (1 + r_.tolerance), l) / step));
    else
      on_grid(std::ceil(c.block_for(target * (1 - r_.tolerance), l) / step));
    return best;
  }

  [[nodiscard]] Error nothing_near() const {
    const ParameterCount count = parameter_count(smallest_);
    const std::string place = "at the least width that comes out even, " + std::to_string(smallest_.width);
    const Parameters tables = r_.count == law::ParameterConvention::non_embedding ? Parameters(0)
                              : r_.count == law::ParameterConvention::without_input_embedding
                                  ? count.embedding - count.input_embedding
                                  : count.embedding;
    if (tables >= r_.target) {
      return realise_refusal(Failure::infeasible, "smaller_than_embeddings",
                             "target must exceed the embeddings, which " + place + ", and a vocabulary of " +
                                 std::to_string(r_.given.vocabulary) + " have " + print(tables, 4) + " parameters (" +
                                 (r_.given.tied_embeddings ? "tied" : "untied") + "), got " + print(r_.target) + ", " +
                                 print(tables - r_.target, 4) + " too few");
    }
    return realise_refusal(Failure::infeasible, "smaller_than_the_grid",
                           "target must reach the smallest shape that comes out even, " + std::to_string(least_) +
                               " layers " + place + ", with " + print(count.as(r_.count), 4) + " parameters, got " +
                               print(r_.target));
  }

  static constexpr std::int64_t largest = 2147483647;
  static constexpr std::int64_t most_layers = 100'000;
  static constexpr std::int64_t most_without_heads = 20'000, most_widths = 50'000;

  RealiseRequest r_;
  std::int64_t stages_ = 1, extra_ = 0, step_ = 1, least_ = 1, given_block_ = 0;
  double through_ = 1;  // blocks that one token goes through in a layer
  Transformer smallest_;
  std::uint64_t examined_ = 0;
};

}  // namespace floplan::architecture::detail
