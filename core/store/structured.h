// A structured transfer: one rank's elements in a range of the file, or all ranks' in an aggregator's window, with
// their places in memory, described by structure and not by a list. It needs no engine, since planners count requests,
// too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/access.h"
#include "store/batch.h"

namespace swath {

// Memory with the same layout as a range of the file: its first byte is the byte at `offset` of the file.
struct FileImage {
  std::byte* bytes = nullptr;
  int64_t offset = 0;
};

struct StructuredTransfer {
  const Access& access;
  std::span<std::byte* const> addresses;  // of each part; empty if only requests are counted, or for an image
  int64_t pieces_max;                     // the maximum pieces of a batch, if the structure is flattened
  int64_t begin = 0;                      // elements that start in [begin, end) of the file
  int64_t end = INT64_MAX;
  std::atomic<int64_t>* bytes_done = nullptr;  // watched from another thread
  // True: passed to the servers as a description, if the engine can (capabilities().structured_requests).
  bool as_described = false;
  FileImage image = {};  // a window of the file, instead of the access's own memory
};

// Appends the pieces of a slice, each contiguous in file and memory, to `pieces`; calls flush() to empty them when they
// reach the maximum. If possible, a run of the file stays within one batch, so that scattered memory costs no further
// request.
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

// The same for an image: a piece is a contiguous range of the file.
template <typename Flush>
void flatten(const Slice& slice, const FileImage& image, int64_t pieces_max, std::vector<Transfer>& pieces,
             const Flush& flush) {
  for (int64_t position = slice.first; position < slice.last;) {
    const Run run = slice.regions.run_at(position, slice.last);
    pieces.push_back({run.offset, image.bytes + (run.offset - image.offset), run.bytes});
    if (std::ssize(pieces) == pieces_max) flush();
    position += run.bytes / slice.regions.element_bytes();
  }
}

// The same for any memory of the transfer.
template <typename Flush>
void flatten(const StructuredTransfer& transfer, const Slice& slice, std::vector<Transfer>& pieces,
             const Flush& flush) {
  if (transfer.image.bytes != nullptr) return flatten(slice, transfer.image, transfer.pieces_max, pieces, flush);
  std::byte* const memory = transfer.addresses.empty() ? nullptr : transfer.addresses[slice.part];
  flatten(slice, memory, transfer.pieces_max, pieces, flush);
}

// Calls batch(transfers) with a bounded number of pieces: the only place where structure becomes a list, and never a
// longer one.
template <typename Visit>
void for_each_flat_batch(const StructuredTransfer& transfer, const Visit& batch) {
  std::vector<Transfer> pieces;
  pieces.reserve(static_cast<size_t>(transfer.pieces_max));
  const auto flush = [&] {
    if (!pieces.empty()) batch(std::span<const Transfer>(pieces));
    pieces.clear();
  };
  transfer.access.visit(transfer.begin, transfer.end,
                        [&](const Slice& slice) { flatten(transfer, slice, pieces, flush); });
  flush();
}

}  // namespace swath
