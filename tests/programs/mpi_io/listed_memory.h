// A view of a file and an operation's memory, as lists of their bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "../../bindings/mpi_io/tests/random_datatypes.h"

namespace swath::mpi_io::testing {

// The maximum range of operations: two-phase goes through all of it.
constexpr int64_t kReachMax = int64_t{1} << 36;

// The byte that belongs to an offset of the file, in this step: all ranks that write there write the same byte.
inline char byte_of(uint64_t step, int64_t offset) {
  uint64_t x = step * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(offset) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
  return static_cast<char>(x >> 40);
}

struct View {
  int64_t displacement;
  ListedType type;

  bool reaches_too_far(int64_t end) const { return displacement + (end / type.size() + 1) * type.extent() > kReachMax; }

  // fn(offset, position, bytes) for each piece of data bytes [first, first + bytes).
  void for_each(int64_t first, int64_t bytes, const std::function<void(int64_t, int64_t, int64_t)>& fn) const {
    int64_t tile = first / type.size();
    int64_t skip = first % type.size();
    for (int64_t position = 0; position < bytes; ++tile) {
      for (const Segment& segment : type.segments()) {
        if (skip >= segment.bytes) {
          skip -= segment.bytes;
          continue;
        }
        const int64_t length = std::min(segment.bytes - skip, bytes - position);
        if (length == 0) break;
        fn(displacement + tile * type.extent() + segment.offset + skip, position, length);
        position += length;
        skip = 0;
      }
    }
  }
};

// A rank's memory for an operation: `count` elements in an image of memory.
struct Memory {
  Memory(ListedType of_type, int64_t elements) : type(std::move(of_type)), count(elements) {
    const int64_t last = std::max<int64_t>(0, count - 1) * type.extent();
    low = std::min<int64_t>({0, type.low(), type.low() + last});
    image.resize(static_cast<size_t>(std::max<int64_t>({1, type.high(), type.high() + last}) - low));
  }
  int64_t bytes() const { return count * type.size(); }
  char* address() { return image.data() - low; }
  std::vector<Segment> segments() const {
    std::vector<Segment> all;
    for (int64_t i = 0; i < count; ++i) {
      for (const Segment& segment : type.segments()) all.push_back({segment.offset + i * type.extent(), segment.bytes});
    }
    return all;
  }
  bool has_overlaps() const {
    std::vector<Segment> all = segments();
    std::sort(all.begin(), all.end(), [](const Segment& a, const Segment& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i - 1].offset + all[i - 1].bytes > all[i].offset) return true;
    }
    return false;
  }
  void scatter(const std::vector<char>& data) {
    size_t position = 0;
    for (const Segment& segment : segments()) {
      for (int64_t i = 0; i < segment.bytes; ++i) address()[segment.offset + i] = data[position++];
    }
  }
  std::vector<char> gathered() {
    std::vector<char> data;
    for (const Segment& segment : segments()) {
      data.insert(data.end(), address() + segment.offset, address() + segment.offset + segment.bytes);
    }
    return data;
  }
  void fill_gaps(uint64_t step) {
    for (size_t i = 0; i < image.size(); ++i) image[i] = byte_of(step + 77, static_cast<int64_t>(i));
  }

  ListedType type;
  int64_t count;
  int64_t low = 0;
  std::vector<char> image;
};

}  // namespace swath::mpi_io::testing
