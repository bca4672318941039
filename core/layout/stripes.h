// How a file is striped over objects, as libradosstriper does it: stripe units in turns over `count` objects until each
// of these holds `object_bytes`, then over the next `count`.
//
//   unit 2, count 3, objects of 4:   bytes 0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 ...
//                                 in object 0    1     2     0     1     2       3
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace swath {

// A contiguous range of a file that lies in one object.
struct StripePiece {
  int64_t object;
  int64_t object_offset;
  int64_t offset;  // in the file
  int64_t bytes;
};

struct StripeLayout {
  int64_t unit = int64_t{64} << 10;
  int64_t count = 4;
  int64_t object_bytes = int64_t{4} << 20;

  static constexpr int64_t kCountMax = 65'536;
  static constexpr int64_t kObjectBytesMax = int64_t{128} << 20;  // of an OSD, by default

  // Why no file can be striped so, in words; empty where one can.
  std::string_view refusal() const {
    if (unit < 1 || count < 1 || object_bytes < 1) return "all three must be positive";
    if (object_bytes % unit != 0) return "the object size must be a multiple of the stripe unit";
    if (object_bytes > kObjectBytesMax) return "the object size must be at most 128 MiB";
    if (count > kCountMax) return "the stripe count must be at most 65536";
    return "";
  }

  int64_t set_bytes() const { return count * object_bytes; }  // of the file, in `count` objects
  int64_t units_per_object() const { return object_bytes / unit; }

  // Where byte `offset` lies, and what follows it there, up to `bytes`: within its stripe unit.
  StripePiece piece_at(int64_t offset, int64_t bytes) const {
    const int64_t unit_index = offset / unit;
    const int64_t stripe = unit_index / count;
    const int64_t set = stripe / units_per_object();
    const int64_t within = offset % unit;
    return {set * count + unit_index % count, (stripe % units_per_object()) * unit + within, offset,
            std::min(bytes, unit - within)};
  }
  // The offset in the file of a byte of an object.
  int64_t file_offset(int64_t object, int64_t object_offset) const {
    const int64_t set = object / count;
    const int64_t stripe = set * units_per_object() + object_offset / unit;
    return (stripe * count + object % count) * unit + object_offset % unit;
  }
  // How many objects a file of so many bytes may have.
  int64_t objects(int64_t file_bytes) const {
    if (file_bytes <= 0) return 0;
    const int64_t full_sets = file_bytes / set_bytes();
    const int64_t rest = file_bytes % set_bytes();
    return full_sets * count + std::min(count, (rest + unit - 1) / unit);
  }
  // The objects that hold bytes of [begin, end), ascending.
  std::vector<int64_t> objects_of(int64_t begin, int64_t end) const {
    std::vector<int64_t> found;
    for (int64_t set = begin / set_bytes(); begin < end && set <= (end - 1) / set_bytes(); ++set) {
      const int64_t first = std::max(begin, set * set_bytes()) / unit;
      const int64_t last = (std::min(end, (set + 1) * set_bytes()) - 1) / unit;
      for (int64_t i = first; i <= std::min(last, first + count - 1); ++i) found.push_back(set * count + i % count);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  // How many bytes of an object a file of so many bytes has.
  int64_t bytes_of_object(int64_t object, int64_t file_bytes) const {
    const int64_t rest = std::clamp<int64_t>(file_bytes - object / count * set_bytes(), 0, set_bytes());
    const int64_t stripe_bytes = unit * count;
    const int64_t in_last = std::clamp<int64_t>(rest % stripe_bytes - object % count * unit, 0, unit);
    return rest / stripe_bytes * unit + in_last;
  }

  friend bool operator==(const StripeLayout&, const StripeLayout&) = default;
};

}  // namespace swath
