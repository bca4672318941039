#include "store/structured.h"

#include "store/engine.h"

namespace swath {

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
