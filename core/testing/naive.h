// Plain lists for tests: each element on its own, by the definitions and not by the closed forms under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "space/distribution.h"

namespace swath::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Both ends are included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  std::vector<int> permutation(size_t n) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = n; i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
    return order;
  }

 private:
  std::mt19937_64 engine_;
};

template <typename T>
std::string text_of(const std::vector<T>& values) {
  std::string text = "(";
  for (const auto& value : values) text += std::to_string(value) + ",";
  return text + ")";
}

inline std::string text_of(const Selection& selection) {
  std::string text = "[";
  for (const auto& s : selection) {
    text += std::to_string(s.start) + "+" + std::to_string(s.step) + "*" + std::to_string(s.count) +
            (s.dropped ? " dropped, " : ", ");
  }
  return text + "]";
}

// HPF's definition of the place that owns position i of n.
inline int64_t owner(const DimensionRule& rule, int64_t n, int64_t places, int64_t i) {
  switch (rule.kind) {
    case DimensionRule::Kind::kWhole:
      return 0;
    case DimensionRule::Kind::kBlock:
      return i / (rule.size > 0 ? rule.size : (n + places - 1) / places);
    case DimensionRule::Kind::kCyclic:
      return (i / rule.size) % places;
  }
  return -1;
}

// Positions 0 ... n - 1 of one dimension that `place` owns.
inline std::vector<int64_t> owned(const DimensionRule& rule, int64_t n, int64_t places, int64_t place) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n; ++i) {
    if (owner(rule, n, places, i) == place) positions.push_back(i);
  }
  return positions;
}

// The indices that `rank` owns in each dimension of the selected array.
inline std::vector<std::vector<int64_t>> owned(const Distribution& distribution, const Shape& shape, int rank) {
  std::vector<std::vector<int64_t>> sets(shape.size());
  const auto& ranks = distribution.ranks();
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (ranks.empty() ? rank >= distribution.places() : found == ranks.end()) return sets;
  int64_t place = ranks.empty() ? rank : found - ranks.begin();
  for (size_t d = shape.size(); d-- > 0;) {
    sets[d] = owned(distribution.rules()[d], shape[d], distribution.grid()[d], place % distribution.grid()[d]);
    place /= distribution.grid()[d];
  }
  return sets;
}

struct Element {
  int64_t offset;  // in the file; -1: not stored
  int64_t memory;
  friend bool operator==(const Element& a, const Element& b) = default;
};

// The position of every element of an array in the file, by definition.
struct FilePositions {
  Shape shape;
  int64_t element_bytes = 1;
  int64_t origin = 0;
  std::vector<int64_t> strides;  // bytes; of the array, or of a chunk
  Shape chunk_shape;             // empty: not chunked
  std::vector<int64_t> chunk_offsets;

  int64_t chunk_of(const Shape& index) const {
    int64_t chunk = 0;
    for (size_t d = 0; d < shape.size() && !chunk_shape.empty(); ++d) {
      chunk = chunk * ((shape[d] + chunk_shape[d] - 1) / chunk_shape[d]) + index[d] / chunk_shape[d];
    }
    return chunk;
  }
  int64_t offset(const Shape& index) const {
    int64_t at = origin;
    if (!chunk_shape.empty()) at = chunk_offsets[static_cast<size_t>(chunk_of(index))];
    if (at < 0) return -1;
    for (size_t d = 0; d < shape.size(); ++d) {
      at += (chunk_shape.empty() ? index[d] : index[d] % chunk_shape[d]) * strides[d];
    }
    return at;
  }
  Layout layout() const {
    return chunk_shape.empty() ? Layout::strided(shape, element_bytes, origin, strides)
                               : Layout::chunked(shape, element_bytes, chunk_shape, chunk_offsets);
  }
  std::string text() const {
    return "shape " + text_of(shape) + " of " + std::to_string(element_bytes) + " bytes at " + std::to_string(origin) +
           " strides " + text_of(strides) + " chunks " + text_of(chunk_shape) + " at " + text_of(chunk_offsets);
  }
};

// Every element of the share, in C order of the selected array: its positions in the file and in memory. `strides`:
// bytes, of the kept dimensions; sets: the owned positions of each kept dimension.
inline std::vector<Element> elements(const FilePositions& file, const Selection& selection,
                                     const std::vector<std::vector<int64_t>>& sets,
                                     const std::vector<int64_t>& strides) {
  std::vector<Element> found;
  std::vector<size_t> digits(sets.size(), 0);
  if (std::any_of(sets.begin(), sets.end(), [](const auto& set) { return set.empty(); })) return found;
  while (true) {
    Shape index;
    int64_t memory = 0;
    size_t kept = 0;
    for (const auto& s : selection) {
      if (s.dropped) {
        index.push_back(s.start);
        continue;
      }
      index.push_back(s.start + s.step * sets[kept][digits[kept]]);
      memory += static_cast<int64_t>(digits[kept]) * strides[kept];
      ++kept;
    }
    found.push_back({file.offset(index), memory});
    size_t d = sets.size();
    while (d > 0 && ++digits[d - 1] == sets[d - 1].size()) digits[--d] = 0;
    if (d == 0) return found;
  }
}

inline void sort_by_offset(std::vector<Element>& list) {
  std::sort(list.begin(), list.end(), [](const Element& a, const Element& b) { return a.offset < b.offset; });
}

inline std::vector<int64_t> c_strides(const Shape& shape, int64_t element_bytes) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = element_bytes;
  for (size_t d = shape.size(); d-- > 0; stride *= std::max<int64_t>(shape[d], 1)) strides[d] = stride;
  return strides;
}

// Strides of an array in any order, sometimes with padding after a dimension.
inline std::vector<int64_t> random_strides(Random& random, const Shape& shape, int64_t element_bytes, int padded) {
  std::vector<int64_t> strides(shape.size());
  int64_t span = element_bytes;
  for (const int dimension : random.permutation(shape.size())) {
    const auto d = static_cast<size_t>(dimension);
    strides[d] = span + (random.chance(padded) ? random.between(1, 2 * element_bytes + 3) : 0);
    span += (std::max<int64_t>(shape[d], 1) - 1) * strides[d];
  }
  return strides;
}

inline Shape random_shape(Random& random, size_t dimensions) {
  const int64_t largest[] = {1, 40, 14, 8, 5, 4};
  Shape shape;
  for (size_t d = 0; d < dimensions; ++d) {
    shape.push_back(random.chance(4) ? 0 : random.between(1, largest[dimensions]));
  }
  return shape;
}

inline FilePositions random_strided_file(Random& random, const Shape& shape, int64_t element_bytes) {
  FilePositions file;
  file.shape = shape;
  file.element_bytes = element_bytes;
  file.origin = random.chance(50) ? 0 : random.between(0, 100);
  file.strides = random.chance(40) ? c_strides(shape, element_bytes) : random_strides(random, shape, element_bytes, 25);
  return file;
}

inline FilePositions random_chunked_file(Random& random, const Shape& shape, int64_t element_bytes, int absent) {
  FilePositions file;
  file.shape = shape;
  file.element_bytes = element_bytes;
  size_t chunks = 1;
  int64_t bytes = element_bytes;
  for (const int64_t extent : shape) {
    file.chunk_shape.push_back(random.between(1, extent + 1));
    chunks *= static_cast<size_t>((extent + file.chunk_shape.back() - 1) / file.chunk_shape.back());
    bytes *= file.chunk_shape.back();
  }
  file.strides = c_strides(file.chunk_shape, element_bytes);
  file.chunk_offsets.assign(chunks, -1);
  int64_t next = random.between(0, 50);
  for (const int chunk : random.permutation(chunks)) {
    if (random.chance(absent)) continue;
    file.chunk_offsets[static_cast<size_t>(chunk)] = next;
    next += bytes + (random.chance(30) ? random.between(1, 30) : 0);
  }
  return file;
}

inline Selection random_selection(Random& random, const Shape& shape) {
  if (random.chance(25)) return select_all(shape);
  Selection selection;
  for (const int64_t extent : shape) {
    if (extent == 0) {
      selection.push_back({0, 1, 0, false});
      continue;
    }
    const int64_t step = random.one_of<int64_t>({1, 1, 2, 3, -1, -1, -2, -3});
    const int64_t start = random.chance(50) ? (step > 0 ? 0 : extent - 1) : random.between(0, extent - 1);
    const int64_t most = step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1;
    if (random.chance(10)) {
      selection.push_back({start, 1, 1, true});
    } else {
      selection.push_back({start, step, random.chance(70) ? most : random.between(0, most), false});
    }
  }
  return selection;
}

inline Distribution random_distribution(Random& random, const Shape& shape) {
  std::vector<DimensionRule> rules;
  std::vector<int64_t> grid;
  for (const int64_t extent : shape) {
    const int64_t size = random.between(1, 4);
    switch (random.between(0, 3)) {
      case 0:
        rules.push_back({DimensionRule::Kind::kWhole, 0});
        grid.push_back(1);
        break;
      case 1:
        rules.push_back({DimensionRule::Kind::kBlock, 0});
        grid.push_back(random.between(1, 4));
        break;
      case 2:
        rules.push_back({DimensionRule::Kind::kBlock, size});
        grid.push_back(std::max<int64_t>((extent + size - 1) / size, 1) + random.between(0, 1));
        break;
      default:
        rules.push_back({DimensionRule::Kind::kCyclic, size});
        grid.push_back(random.between(1, 4));
    }
  }
  const int64_t places = std::accumulate(grid.begin(), grid.end(), int64_t{1}, std::multiplies<>());
  std::vector<int> ranks;
  if (random.chance(20)) {
    ranks = random.permutation(static_cast<size_t>(places) + 2);
    ranks.resize(static_cast<size_t>(places));
  }
  return Distribution(rules, grid, ranks);
}

// A share of an array in a file: the request, and the plain list of its elements.
struct ShareCase {
  FilePositions file;
  Selection selection;
  Part part;
  std::vector<Element> list;  // sorted by file offset, without elements that are not stored
  std::string text;
};

// `strided_memory`: memory in any order, padded, with negative strides; if not, in C order and packed.
inline ShareCase random_share(Random& random, FilePositions file, bool strided_memory) {
  ShareCase result;
  result.selection = random_selection(random, file.shape);
  const Shape selected = selected_shape(result.selection);
  const Distribution distribution = random_distribution(random, selected);
  const int rank = static_cast<int>(random.between(0, distribution.places() - (random.chance(95) ? 1 : 0)));
  const auto sets = owned(distribution, selected, rank);
  Shape local;
  for (const auto& set : sets) local.push_back(static_cast<int64_t>(set.size()));
  auto strides = c_strides(local, file.element_bytes);
  result.part = distributed_part(distribution, result.selection, rank, file.element_bytes);
  if (strided_memory) {
    strides = random_strides(random, local, file.element_bytes, 30);
    for (auto& stride : strides) stride *= random.chance(30) ? -1 : 1;
    place_in_memory(result.part, result.selection, strides);
  }
  const bool holds = distribution.holds(rank);
  if (holds) result.list = elements(file, result.selection, sets, strides);
  std::erase_if(result.list, [](const Element& element) { return element.offset < 0; });
  sort_by_offset(result.list);
  result.text = file.text() + " selection " + text_of(result.selection) + " " + distribution.to_string() + " ranks " +
                text_of(distribution.ranks()) + " rank " + std::to_string(rank) + " memory " + text_of(strides);
  result.file = std::move(file);
  return result;
}

}  // namespace swath::testing
