#include "space/distribution.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "base/math.h"

namespace swath {
namespace {

std::string join(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

std::vector<int64_t> c_strides(const Shape& shape, int64_t element_bytes) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = element_bytes;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = multiply_or_max(stride, std::max<int64_t>(shape[d], 1));  // no memory is that large
  }
  return strides;
}

// Places [begin, end) of one dimension of the grid.
struct PositionRange {
  int64_t begin;
  int64_t end;
};

// The kinds of place, each a range (Distribution::kinds).
std::vector<PositionRange> place_kinds(const DimensionRule& rule, int64_t n, int64_t places) {
  const bool whole = rule.kind == DimensionRule::Kind::kWhole;
  const int64_t block = whole || n == 0 ? n : (rule.size > 0 ? std::min(rule.size, n) : ceil_div(n, places));
  if (block == 0) return {{0, places}};
  const int64_t cycles = n / block / places;
  const int64_t rest = cycles == 0 ? n : n - cycles * block * places;
  const int64_t full = rest / block;
  const int64_t least = full + (rest % block > 0 ? 1 : 0);
  std::vector<PositionRange> kinds;
  for (const PositionRange& range :
       {PositionRange{0, full}, PositionRange{full, least}, PositionRange{least, places}}) {
    if (range.begin < range.end) kinds.push_back(range);
  }
  return kinds;
}

// The positions 0 ... n - 1 of one dimension that the process at `place` of `places` owns.
IndexSet deal(const DimensionRule& rule, int64_t n, int64_t place, int64_t places) {
  if (n == 0) return {};
  switch (rule.kind) {
    case DimensionRule::Kind::kWhole:
      return IndexSet::range(0, n);
    case DimensionRule::Kind::kBlock: {
      const int64_t block = rule.size > 0 ? std::min(rule.size, n) : ceil_div(n, places);
      const int64_t begin = place > n / block ? n : place * block;
      return IndexSet::range(begin, begin + std::min(block, n - begin));
    }
    case DimensionRule::Kind::kCyclic: {
      const int64_t block = std::min(rule.size, n);
      if (place > n / block) return {};
      const int64_t begin = place * block;
      if (begin >= n) return {};
      const int64_t period = multiply_or_max(block, places);
      const int64_t whole = (n - begin) / period;
      const int64_t rest = std::min(n - begin - whole * period, block);
      return IndexSet(begin, block, 1, period, 0, whole * block + rest);
    }
  }
  return {};
}

}  // namespace

int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape) { return "(" + join(shape) + (shape.size() == 1 ? ",)" : ")"); }

std::string to_string(const DimensionRule& rule) {
  switch (rule.kind) {
    case DimensionRule::Kind::kWhole:
      return "whole";
    case DimensionRule::Kind::kBlock:
      return rule.size > 0 ? "block(" + std::to_string(rule.size) + ")" : "block";
    case DimensionRule::Kind::kCyclic:
      return "cyclic(" + std::to_string(rule.size) + ")";
  }
  return "?";
}

Selection select_all(const Shape& shape) {
  Selection selection;
  for (const int64_t extent : shape) selection.push_back({0, 1, extent, false});
  return selection;
}

Shape selected_shape(const Selection& selection) {
  Shape shape;
  for (const auto& dimension : selection) {
    if (!dimension.dropped) shape.push_back(dimension.count);
  }
  return shape;
}

int64_t Part::count() const {
  if (!holds || std::any_of(indices.begin(), indices.end(), [](const IndexSet& set) { return set.empty(); })) return 0;
  return std::accumulate(indices.begin(), indices.end(), int64_t{1},
                         [](int64_t product, const IndexSet& set) { return multiply_or_max(product, set.count()); });
}

Distribution::Distribution(std::vector<DimensionRule> rules, std::vector<int64_t> grid, std::vector<int> ranks)
    : rules_(std::move(rules)), grid_(std::move(grid)), ranks_(std::move(ranks)) {
  const auto is_whole = [](const DimensionRule& rule) { return rule.kind == DimensionRule::Kind::kWhole; };
  const auto dealt = rules_.size() - static_cast<size_t>(std::count_if(rules_.begin(), rules_.end(), is_whole));
  if (grid_.size() != rules_.size() && grid_.size() == dealt) {
    std::vector<int64_t> full;
    size_t next = 0;
    for (const auto& rule : rules_) full.push_back(is_whole(rule) ? 1 : grid_[next++]);
    grid_ = std::move(full);
  }
  if (grid_.size() != rules_.size()) {
    fail_argument("distribution: the process grid (" + join(grid_) + ") has " + std::to_string(grid_.size()) +
                  " dimensions; expected " + std::to_string(rules_.size()) + ", one a dimension of the array, or " +
                  std::to_string(dealt) + ", one a dimension that is not Whole()");
  }
  int64_t places = 1;
  for (size_t d = 0; d < rules_.size(); ++d) {
    const auto& rule = rules_[d];
    const auto where = "distribution: dimension " + std::to_string(d) + ": ";
    if (grid_[d] < 1) fail_argument(where + "grid entry " + std::to_string(grid_[d]) + "; expected at least 1");
    if (is_whole(rule) && grid_[d] != 1) {
      fail_argument(where + "Whole() is not divided, so that its grid entry must be 1, not " +
                    std::to_string(grid_[d]));
    }
    if (rule.kind == DimensionRule::Kind::kCyclic && rule.size < 1) {
      fail_argument(where + "Cyclic(" + std::to_string(rule.size) + "); expected a block of at least 1");
    }
    if (rule.kind == DimensionRule::Kind::kBlock && rule.size < 0) {
      fail_argument(where + "Block(" + std::to_string(rule.size) + "); expected a block of at least 1");
    }
    if (grid_[d] > INT_MAX / places) {
      fail_argument("distribution: the process grid (" + join(grid_) + ") has more than " + std::to_string(INT_MAX) +
                    " places");
    }
    places *= grid_[d];
  }
  if (!ranks_.empty()) {
    if (static_cast<int64_t>(ranks_.size()) != places) {
      fail_argument("distribution: " + std::to_string(ranks_.size()) + " ranks given for a grid of " +
                    std::to_string(places) + " places");
    }
    std::vector<int> sorted = ranks_;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.front() < 0 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      fail_argument("distribution: the ranks of a grid must be different and not negative");
    }
  }
}

int64_t Distribution::places() const { return element_count(grid_); }

int Distribution::highest_rank() const {
  return ranks_.empty() ? static_cast<int>(places()) - 1 : *std::max_element(ranks_.begin(), ranks_.end());
}

bool Distribution::holds(int rank) const {
  if (ranks_.empty()) return rank >= 0 && rank < places();
  return std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
}

void Distribution::check(const Shape& shape) const {
  if (shape.size() != rules_.size()) {
    fail_argument("distribution " + to_string() + " has " + std::to_string(rules_.size()) +
                  " dimensions, the (selected) array " + swath::to_string(shape) + " has " +
                  std::to_string(shape.size()));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto& rule = rules_[d];
    if (rule.kind == DimensionRule::Kind::kBlock && rule.size > 0 && shape[d] > 0 &&
        ceil_div(shape[d], rule.size) > grid_[d]) {
      fail_argument("distribution: dimension " + std::to_string(d) + ": Block(" + std::to_string(rule.size) +
                    ") over " + std::to_string(grid_[d]) + " processes leaves elements of an extent of " +
                    std::to_string(shape[d]) + " without an owner (HPF requires block * processes >= extent); use " +
                    "Block() or Cyclic(" + std::to_string(rule.size) + ")");
    }
  }
}

std::vector<IndexSet> Distribution::local_sets(const Shape& shape, int rank) const {
  check(shape);
  std::vector<IndexSet> sets(shape.size());
  if (!holds(rank)) return sets;
  int64_t place = ranks_.empty() ? rank : std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
  for (size_t d = shape.size(); d-- > 0;) {
    sets[d] = deal(rules_[d], shape[d], place % grid_[d], grid_[d]);
    place /= grid_[d];
  }
  return sets;
}

Shape Distribution::local_shape(const Shape& shape, int rank) const {
  Shape local;
  for (const auto& set : local_sets(shape, rank)) local.push_back(set.count());
  return local;
}

std::vector<RankKind> Distribution::kinds(const Shape& shape, int ranks, int parts_min) const {
  std::vector<std::vector<PositionRange>> ranges;
  for (size_t d = 0; d < shape.size(); ++d) ranges.push_back(place_kinds(rules_[d], shape[d], grid_[d]));
  std::vector<RankKind> kinds;
  // One product of ranges after the other: `which` counts through them, the last dimension fastest.
  for (std::vector<size_t> which(shape.size(), 0);;) {
    int64_t members = 1;
    for (size_t d = 0; d < shape.size(); ++d) members *= ranges[d][which[d]].end - ranges[d][which[d]].begin;
    const int64_t parts = std::clamp<int64_t>(ceil_div(members * parts_min, std::max(ranks, 1)), 1, members);
    for (int64_t part = 0; part < parts; ++part) {
      int64_t member = (2 * part + 1) * members / (2 * parts);  // in the middle of its part
      int64_t place = 0;
      int64_t places_of_faster = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        const PositionRange& range = ranges[d][which[d]];
        place += (range.begin + member % (range.end - range.begin)) * places_of_faster;
        member /= range.end - range.begin;
        places_of_faster *= grid_[d];
      }
      kinds.push_back({ranks_.empty() ? static_cast<int>(place) : ranks_[static_cast<size_t>(place)],
                       (part + 1) * members / parts - part * members / parts});
    }
    size_t d = shape.size();
    while (d > 0 && ++which[d - 1] == ranges[d - 1].size()) which[--d] = 0;
    if (d == 0) break;
  }
  if (ranks > places()) {
    std::vector<int> taken = ranks_;
    std::sort(taken.begin(), taken.end());
    int rank = ranks_.empty() ? static_cast<int>(places()) : 0;  // the lowest without a place
    while (static_cast<size_t>(rank) < taken.size() && taken[static_cast<size_t>(rank)] == rank) ++rank;
    kinds.push_back({rank, ranks - places()});
  }
  return kinds;
}

std::string Distribution::to_string() const {
  std::string text = "(";
  for (size_t d = 0; d < rules_.size(); ++d) text += (d == 0 ? "" : ", ") + swath::to_string(rules_[d]);
  text += ") over grid (" + join(grid_) + ")";
  if (!ranks_.empty()) text += " of " + std::to_string(ranks_.size()) + " chosen ranks";
  return text;
}

void place_in_memory(Part& part, const Selection& selection, const std::vector<int64_t>& strides) {
  part.memory_origin = 0;
  part.memory_strides.assign(part.indices.size(), 0);
  size_t kept = 0;
  for (size_t d = 0; d < part.indices.size(); ++d) {
    if (selection[d].dropped) continue;
    const int64_t stride = strides[kept++];
    const bool descending = selection[d].step < 0;
    part.memory_strides[d] = descending ? -stride : stride;
    if (descending && !part.indices[d].empty()) part.memory_origin += (part.indices[d].count() - 1) * stride;
  }
}

Part distributed_part(const Distribution& distribution, const Selection& selection, int rank, int64_t element_bytes) {
  const Shape shape = selected_shape(selection);
  const auto sets = distribution.local_sets(shape, rank);
  Part part;
  part.holds = distribution.holds(rank);  // a scalar (no dimension left) belongs to the only place of its grid
  Shape local;
  size_t kept = 0;
  for (const auto& dimension : selection) {
    if (dimension.dropped) {
      part.indices.push_back(IndexSet::range(dimension.start, dimension.start + 1));
    } else {
      part.indices.push_back(sets[kept].mapped(dimension.start, dimension.step));
      local.push_back(sets[kept].count());
      ++kept;
    }
  }
  place_in_memory(part, selection, c_strides(local, element_bytes));
  return part;
}

Part selected_part(const Selection& selection, int64_t element_bytes) {
  Part part;
  part.indices.reserve(selection.size());
  for (const auto& dimension : selection) {
    part.indices.push_back(IndexSet::range(0, dimension.dropped ? 1 : dimension.count)
                               .mapped(dimension.start, dimension.dropped ? 1 : dimension.step));
  }
  place_in_memory(part, selection, c_strides(selected_shape(selection), element_bytes));
  return part;
}

Part box_part(const Shape& begin, const Shape& end, int64_t element_bytes) {
  Part part;
  Shape extents;
  for (size_t d = 0; d < begin.size(); ++d) {
    part.indices.push_back(IndexSet::range(begin[d], end[d]));
    extents.push_back(std::max<int64_t>(end[d] - begin[d], 0));
  }
  part.memory_strides = c_strides(extents, element_bytes);
  return part;
}

void Distribution::write(ByteWriter& writer) const {
  writer.put(std::ssize(rules_));
  for (const DimensionRule& rule : rules_) {
    writer.put(static_cast<int64_t>(rule.kind));
    writer.put(rule.size);
  }
  writer.put(grid_);
  writer.put(std::vector<int64_t>(ranks_.begin(), ranks_.end()));
}

Distribution Distribution::read(ByteReader& reader) {
  std::vector<DimensionRule> rules(static_cast<size_t>(reader.count(16)));
  for (DimensionRule& rule : rules) {
    rule.kind = static_cast<DimensionRule::Kind>(reader.number_in(0, 3, "the rule of a dimension"));
    rule.size = reader.number_in(rule.kind == DimensionRule::Kind::kCyclic ? 1 : 0, INT64_MAX, "a block's size");
  }
  std::vector<int64_t> grid = reader.numbers();
  std::vector<int> ranks(static_cast<size_t>(reader.count(8)));
  for (int& rank : ranks) rank = static_cast<int>(reader.number_in(0, INT_MAX, "a rank"));
  return Distribution(std::move(rules), std::move(grid), std::move(ranks));
}

void write(const Selection& selection, ByteWriter& writer) {
  for (const DimensionSelection& dimension : selection) {
    writer.put(dimension.start);
    writer.put(dimension.step);
    writer.put(dimension.count);
    writer.put(dimension.dropped ? 1 : 0);
  }
}

bool lies_within(const DimensionSelection& dimension, int64_t extent) {
  const auto& [start, step, count, dropped] = dimension;
  if (step == 0 || count < 0 || (dropped && count != 1)) return false;
  if (count == 0) return true;
  if (start < 0 || start >= extent) return false;
  const int64_t most = step < 0 ? start : extent - 1 - start;  // from the first index to the last
  return count == 1 || (step != INT64_MIN && count - 1 <= most / std::abs(step));
}

Selection read_selection(ByteReader& reader, const Shape& shape) {
  Selection selection;
  for (const int64_t extent : shape) {
    DimensionSelection dimension;
    dimension.start = reader.number();
    dimension.step = reader.number();
    dimension.count = reader.number();
    dimension.dropped = reader.flag("an index");
    if (!lies_within(dimension, extent)) reader.fail("a selection leaves the array");
    selection.push_back(dimension);
  }
  return selection;
}

}  // namespace swath
