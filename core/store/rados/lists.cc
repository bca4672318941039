#include "store/rados/lists.h"

#include <algorithm>
#include <utility>

namespace swath {
ObjectLists::ObjectLists(const StripeLayout& stripes, Direction direction, int64_t bytes_max, Use use)
    : stripes_(stripes),
      bytes_max_(bytes_max),
      ranges_max_(direction == Direction::kRead ? kPoolReadRangesMax : kPoolWriteRangesMax),
      use_(std::move(use)) {}

void ObjectLists::add(std::span<const Transfer> batch) {
  for (const Transfer& transfer : batch) add(transfer.offset, transfer.data, transfer.bytes);
}

void ObjectLists::add(int64_t offset, std::byte* data, int64_t bytes) {
  while (bytes > 0) {
    const StripePiece piece = stripes_.piece_at(offset, std::min(bytes, bytes_max_));
    List& list = lists_[piece.object];
    ObjectRange* last = list.ranges.empty() ? nullptr : &list.ranges.back();
    const bool abuts = last != nullptr && last->object_offset + last->bytes == piece.object_offset;
    if (abuts && last->bytes + piece.bytes <= std::min(kObjectRangeJoinedMax, bytes_max_)) {
      last->pieces.push_back({last->bytes, data, piece.bytes});
      last->bytes += piece.bytes;
    } else {
      list.ranges.push_back({piece.object_offset, piece.offset, piece.bytes, {{0, data, piece.bytes}}});
      ++ranges_;
    }
    list.bytes += piece.bytes;
    offset += piece.bytes;
    data += piece.bytes;
    bytes -= piece.bytes;
    if (std::ssize(list.ranges) == ranges_max_ || list.bytes >= bytes_max_) {
      use(piece.object, list);
      lists_.erase(piece.object);
    }
  }
  if (ranges_ >= kObjectRangesKept) flush();
}

void ObjectLists::use(int64_t object, List& list) {
  ranges_ -= std::ssize(list.ranges);
  use_(object, std::move(list.ranges));
}

void ObjectLists::flush() {
  for (auto& [object, list] : lists_) use(object, list);
  lists_.clear();
}

}  // namespace swath
