#include "store/engine.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace swath {

int64_t Engine::read_to_end(const Transfer& piece, Counters& counters) {
  check_batch({&piece, 1});
  const Transfer stored{piece.offset, piece.data, std::clamp<int64_t>(size() - piece.offset, 0, piece.bytes)};
  if (stored.bytes > 0) transfer(Direction::kRead, {&stored, 1}, counters);
  return stored.bytes;
}

// Holds a lock on the range, even without holes: an update by another writer may cover these bytes, and would write
// back their old values. Without holes a shared lock is enough: other writers may write to other bytes.
void Engine::update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                    Counters& counters) {
  std::unique_ptr<RangeLock> held;
  if (!has_holes) held = lock_shared(image.offset, image.offset + image.bytes);
  if (held == nullptr) held = lock(image.offset, image.offset + image.bytes);
  counters.locks += held != nullptr;
  if (has_holes) {
    const int64_t stored = std::clamp<int64_t>(size() - image.offset, 0, image.bytes);
    std::fill(image.data + stored, image.data + image.bytes, std::byte{0});
    const Transfer to_end{image.offset, image.data, stored};
    if (stored > 0) transfer(Direction::kRead, {&to_end, 1}, counters);
  }
  fill_in(image.data);
  transfer(Direction::kWrite, {&image, 1}, counters);
}

void Engine::transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) {
  for_each_flat_batch(structured, [&](std::span<const Transfer> batch) {
    transfer(direction, batch, counters);
    if (structured.bytes_done == nullptr) return;
    for (const Transfer& piece : batch) *structured.bytes_done += piece.bytes;
  });
}

void Engine::start_structured(Direction direction, const StructuredTransfer& structured) {
  StructuredTransfer all = structured;
  all.pieces_max = INT64_MAX;
  std::vector<Transfer> pieces;
  all.access.visit(all.begin, all.end, [&](const Slice& slice) { flatten(all, slice, pieces, [] {}); });
  start(direction, pieces);
}

}  // namespace swath
