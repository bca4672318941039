// Random nests, each with the plain list of its bytes' offsets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "space/nest.h"
#include "testing/naive.h"

namespace swath::testing {

// The number of cases that SWATH_NEST_CASES sets, or a few.
inline int cases(int few) {
  const char* wanted = std::getenv("SWATH_NEST_CASES");
  return wanted != nullptr ? static_cast<int>(std::strtol(wanted, nullptr, 10)) : few;
}

struct ListedNest {
  Nest nest;
  std::vector<int64_t> offsets;  // of each data byte

  int64_t low() const { return offsets.empty() ? 0 : *std::min_element(offsets.begin(), offsets.end()); }
  int64_t high() const { return offsets.empty() ? 0 : *std::max_element(offsets.begin(), offsets.end()) + 1; }
  int64_t span() const { return high() - low(); }
  // Appends the child at `displacement`.
  void append(const ListedNest& child, int64_t displacement) {
    for (const int64_t offset : child.offsets) offsets.push_back(displacement + offset);
  }
};

struct NestOptions {
  int depth = 3;
  bool is_ascending = true;  // if not: in any order, and places may repeat
  int64_t bytes_max = 2000;  // approximate
  int64_t far = 0;           // sometimes a hole of this size
};

// A hole between two ascending blocks; or any distance.
inline int64_t random_gap(Random& random, const NestOptions& options) {
  if (options.far > 0 && random.chance(5)) return options.far;
  return random.chance(30) ? 0 : random.between(0, 20);
}

inline ListedNest random_nest(Random& random, NestOptions options);

inline ListedNest random_strided(Random& random, const NestOptions& options, const ListedNest& child) {
  const int64_t room = options.bytes_max / std::max<int64_t>(std::ssize(child.offsets), 1);
  const int64_t count = random.between(0, std::clamp<int64_t>(room, 1, 12));
  int64_t stride = child.span() + random_gap(random, options);
  if (!options.is_ascending && random.chance(60)) stride = random.between(-40, 40);
  ListedNest nest{Nest::strided(count, stride, child.nest), {}};
  for (int64_t i = 0; i < count; ++i) nest.append(child, i * stride);
  return nest;
}

inline ListedNest random_listed(Random& random, const NestOptions& options, bool alike) {
  const int64_t count = random.between(0, 8);
  NestOptions inner = options;
  inner.depth -= 1;
  inner.bytes_max = options.bytes_max / std::max<int64_t>(count, 1);
  std::vector<ListedNest> children;
  std::vector<int64_t> displacements;
  int64_t end = random.between(0, 10);  // of the blocks that were placed so far
  for (int64_t i = 0; i < count; ++i) {
    children.push_back(alike && i > 0 ? children[0] : random_nest(random, inner));
    int64_t at = end + random_gap(random, options) - children.back().low();
    if (!options.is_ascending && random.chance(60)) at = random.between(-100, 100);
    displacements.push_back(at);
    end = at + children.back().high();
  }
  ListedNest nest;
  std::vector<Nest> nests;
  for (size_t i = 0; i < children.size(); ++i) {
    nest.append(children[i], displacements[i]);
    nests.push_back(children[i].nest);
  }
  nest.nest = alike && count > 0 ? Nest::indexed(displacements, nests[0]) : Nest::sequence(displacements, nests);
  return nest;
}

inline ListedNest random_blocks(Random& random, const NestOptions& options) {
  const int64_t count = random.between(0, 10);
  std::vector<int64_t> displacements;
  std::vector<int64_t> lengths;
  ListedNest nest;
  int64_t end = random.between(0, 10);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = end + random_gap(random, options);
    if (!options.is_ascending && random.chance(60)) at = random.between(-100, 100);
    displacements.push_back(at);
    lengths.push_back(random.chance(20) ? 0 : random.between(1, 9));
    for (int64_t byte = 0; byte < lengths.back(); ++byte) nest.offsets.push_back(at + byte);
    end = at + lengths.back();
  }
  nest.nest = Nest::blocks(displacements, lengths);
  return nest;
}

inline ListedNest random_nest(Random& random, NestOptions options) {
  if (options.depth <= 1) {
    if (random.chance(30)) return random_blocks(random, options);
    const int64_t bytes = random.chance(10) ? 0 : random.one_of<int64_t>({1, 2, 3, 4, 7, 8, 8, 16});
    ListedNest block{Nest::block(bytes), {}};
    for (int64_t i = 0; i < bytes; ++i) block.offsets.push_back(i);
    return block;
  }
  NestOptions inner = options;
  inner.depth -= 1;
  ListedNest nest;
  switch (random.between(0, 3)) {
    case 0:
    case 1:
      nest = random_strided(random, options, random_nest(random, inner));
      break;
    case 2:
      nest = random_listed(random, options, true);
      break;
    default:
      nest = random_listed(random, options, false);
  }
  if (random.chance(20)) {
    const int64_t distance = random.between(-50, 50);
    nest.nest = nest.nest.shifted(distance);
    for (int64_t& offset : nest.offsets) offset += distance;
  }
  return nest;
}

}  // namespace swath::testing
