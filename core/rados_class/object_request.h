// What the object class is asked: to read or write what a view has of one object of a striped file. As it travels.
//
// Nothing of it is believed: it comes from whoever may write into the pool, and is read inside the OSD.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/stripes.h"
#include "space/view.h"

namespace swath {

// Data bytes [first, last) of a view, which lie at one place of an object and next to each other in its stripe unit's
// part of the file; between them there may be holes, in both alike.
struct UnitPart {
  int64_t first;
  int64_t last;
  int64_t distance;  // from an offset in the file to that in the object
};

struct ObjectRequest {
  StripeLayout stripes;
  int64_t object = 0;
  int64_t begin = 0;  // of the object: bytes [begin, end)
  int64_t end = 0;
  View view;

  static constexpr int64_t kVersion = 1;
  // Of the view as it travels: what takes longer to look at is sent as several, or as a list.
  static constexpr int64_t kViewBytesMax = int64_t{1} << 20;
  // Of the data of one request, and its contiguous runs.
  static constexpr int64_t kDataBytesMax = int64_t{32} << 20;
  static constexpr int64_t kRunsMax = int64_t{1} << 20;
  // A hole up to here is read, and written back: dearer than a few runs are many.
  static constexpr int64_t kHoleBytesMax = int64_t{32} << 10;

  std::vector<std::byte> to_bytes() const;
  // `data` receives what follows it. Throws Error{kFormat} or Error{kArgument} for what cannot be carried out.
  static ObjectRequest read(std::span<const std::byte> message, std::span<const std::byte>& data);
};

// Calls visit(part) for each part of the request, in the order of the file, which is that of the object; some of them
// may be empty. No more than one for each unit before, or at, which the view has something.
template <typename Visit>
void for_each_part(const ObjectRequest& request, const Visit& visit) {
  const StripeLayout& stripes = request.stripes;
  const View& view = request.view;
  const int64_t unit = stripes.unit;
  int64_t at = request.begin;  // in the object
  int64_t position = view.first;
  while (at < request.end && position < view.last) {
    // The first unit of the object that ends behind the next byte of the view.
    const int64_t offset = view.nest.offset_of(position);
    const StripePiece piece = stripes.piece_at(offset, unit);
    const int64_t set = request.object / stripes.count;
    const int64_t set_of_byte = piece.object / stripes.count;
    if (set_of_byte > set) return;
    if (set_of_byte == set) {
      const bool is_past = piece.object % stripes.count > request.object % stripes.count;
      const int64_t stripe_begin = piece.object_offset / unit * unit;
      at = std::max(at, is_past ? stripe_begin + unit : stripe_begin);
      if (at >= request.end) return;
    }
    const int64_t file_begin = stripes.file_offset(request.object, at);
    const int64_t bytes = std::min(unit - at % unit, request.end - at);
    const int64_t first = std::max(position, std::min(view.nest.bytes_before(file_begin), view.last));
    const int64_t last = std::max(first, std::min(view.nest.bytes_before(file_begin + bytes), view.last));
    visit(UnitPart{first, last, at - file_begin});
    at += bytes;
    position = last;
  }
}

}  // namespace swath
