// A structured transfer: what one rank has of a range of the file, and its places in memory, as they were described and
// not as a list. Told without an engine, since planners count them, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/access.h"
#include "store/batch.h"

namespace swath {

struct StructuredTransfer {
  const Access& access;
  std::span<std::byte* const> addresses;  // of each part; none where only the requests count
  int64_t pieces_max;                     // of a batch of whoever must flatten it
  int64_t begin = 0;                      // elements that start in [begin, end) of the file
  int64_t end = INT64_MAX;
  std::atomic<int64_t>* bytes_done = nullptr;  // for whoever watches
  // Sent to the servers as it is described, where the engine can (capabilities().structured_requests).
  bool as_described = false;
};

// The pieces of a slice, each contiguous in file and memory, appended to `pieces`; flush() is called where these are as
// many as they may be, and empties them. A run of the file stays within one batch where it fits, so that scattered
// memory costs no further request.
template <typename Flush>
void flatten(const Slice& slice, std::byte* memory, int64_t pieces_max, std::vector<Transfer>& pieces,
             const Flush& flush) {
  const Regions& regions = slice.regions;
  for (int64_t position = slice.first; position < slice.last;) {
    const Run run = regions.run_at(position, slice.last);
    const int64_t end = position + run.bytes / regions.element_bytes();
    if (std::ssize(pieces) + regions.memory_pieces(position, end) > pieces_max) flush();
    while (position < end) {
      const int64_t piece_end = regions.memory_end(position, end);
      pieces.push_back({run.offset + (position - run.position) * regions.element_bytes(),
                        memory == nullptr ? nullptr : memory + regions.memory_of(position),
                        (piece_end - position) * regions.element_bytes()});
      if (std::ssize(pieces) == pieces_max) flush();
      position = piece_end;
    }
  }
}

// Calls batch(transfers) for batches of pieces of bounded number: the only place where a list of what is regular is
// made, and never a longer one.
template <typename Visit>
void for_each_flat_batch(const StructuredTransfer& transfer, const Visit& batch) {
  std::vector<Transfer> pieces;
  pieces.reserve(static_cast<size_t>(transfer.pieces_max));
  const auto flush = [&] {
    if (!pieces.empty()) batch(std::span<const Transfer>(pieces));
    pieces.clear();
  };
  transfer.access.visit(transfer.begin, transfer.end, [&](const Slice& slice) {
    flatten(slice, transfer.addresses.empty() ? nullptr : transfer.addresses[slice.part], transfer.pieces_max, pieces,
            flush);
  });
  flush();
}

}  // namespace swath
