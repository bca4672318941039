// A range of bytes of a file, or of what a server stores.
#pragma once

#include <cstdint>
#include <vector>

namespace swath::simulate {

struct Extent {
  int64_t offset;
  int64_t bytes;

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Adds a range behind the others; joined to the last one if it abuts.
inline void append(std::vector<Extent>& extents, const Extent& next) {
  if (!extents.empty() && extents.back().offset + extents.back().bytes == next.offset) {
    extents.back().bytes += next.bytes;
  } else {
    extents.push_back(next);
  }
}

}  // namespace swath::simulate
