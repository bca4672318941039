// Tests only: records whose combination depends on the order, and on every record; how many messages may be sent.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace swath {

// Rounds in which `count` ranks that each tell another one tell all.
inline int log2_ceil(int count) { return static_cast<int>(std::bit_width(static_cast<unsigned>(count - 1))); }

// Maps x to factor * x + offset; one after another they are such a map again, and which is first matters.
struct AffineMap {
  uint32_t factor = 1;
  uint32_t offset = 0;

  bool operator==(const AffineMap&) const = default;
  void combine(const AffineMap& second) { *this = {second.factor * factor, second.factor * offset + second.offset}; }
};

// The record that a rank brings to a call: so many maps, none like another.
inline std::vector<AffineMap> maps_of(int rank, int64_t count, uint32_t call = 0) {
  std::vector<AffineMap> maps(count);
  uint32_t number = 2654435761U * (static_cast<uint32_t>(rank) + 1) + call;
  for (AffineMap& map : maps) {
    number = number * 1664525U + 1013904223U;
    map = {number | 1U, number >> 7U};
  }
  return maps;
}

inline void combine_maps(std::span<std::byte> into, std::span<const std::byte> other) {
  for (size_t begin = 0; begin < into.size(); begin += sizeof(AffineMap)) {
    AffineMap first;
    AffineMap second;
    std::memcpy(&first, &into[begin], sizeof first);
    std::memcpy(&second, &other[begin], sizeof second);
    first.combine(second);
    std::memcpy(&into[begin], &first, sizeof first);
  }
}

// Those of ranks [0, ranks), one after another.
inline std::vector<AffineMap> maps_of_all(int ranks, int64_t count, uint32_t call = 0) {
  std::vector<AffineMap> all = maps_of(0, count, call);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<AffineMap> maps = maps_of(r, count, call);
    combine_maps(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(maps)));
  }
  return all;
}

}  // namespace swath
