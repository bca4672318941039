#include "testing/skeleton/method.h"

#include <span>
#include <vector>

#include "layout/access.h"

namespace swath {

void run_skeleton(const Job& job) {
  const int64_t pieces_max = job.plan.request.tuning.list_pieces;
  std::vector<Transfer> batch;
  const auto move_batch = [&] {
    job.engine.transfer(job.plan.request.direction, batch, job.counters);
    for (const Transfer& piece : batch) job.progress.bytes_done += piece.bytes;
    batch.clear();
  };
  job.mine.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    std::byte* const memory = job.memory.addresses[slice.part];
    for (int64_t position = slice.first; position < slice.last; ++position) {
      batch.push_back({regions.offset_of(position), memory + regions.memory_of(position), regions.element_bytes()});
      if (std::ssize(batch) == pieces_max) move_batch();
    }
  });
  if (!batch.empty()) move_batch();
  job.counters.buffer_bytes = pieces_max * static_cast<int64_t>(sizeof(Transfer));
}

}  // namespace swath
