#include "base/bulk_data.h"
#include "layout/copy.h"
#include "method/run.h"
#include "plan/steps.h"

namespace swath {

// One request for each contiguous run of the file; no buffer if the run is contiguous in memory, too.
void run_direct(const Job& job) {
  const Direction direction = job.plan.request.direction;
  const Tuning& tuning = job.plan.request.tuning;
  const Target use = target_of(job.mine.bytes());
  BulkBuffer bounce;
  job.mine.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    std::byte* memory = job.memory.addresses[slice.part];
    for_each_direct_request(regions, slice.first, slice.last, tuning, [&](const Run& run, bool dense) {
      const int64_t end = run.position + run.bytes / regions.element_bytes();
      Transfer transfer{run.offset, nullptr, run.bytes};
      if (dense) {
        transfer.data = memory + regions.memory_of(run.position);
        job.engine.transfer(direction, {&transfer, 1}, job.counters);
      } else {
        if (bounce.bytes() < run.bytes) {
          bounce.reset();  // never two buffers at the same time
          bounce = BulkBuffer(run.bytes);
        }
        transfer.data = bounce.data();
        if (direction == Direction::kWrite) {
          scatter_to_window(regions, run.position, end, {bounce.data(), run.offset}, memory);
        }
        job.engine.transfer(direction, {&transfer, 1}, job.counters);
        if (direction == Direction::kRead) {
          gather_from_window(regions, run.position, end, {bounce.data(), run.offset}, memory, {use});
        }
      }
      job.progress.bytes_done += run.bytes;
    });
  });
  job.counters.buffer_bytes = bounce.bytes();
}

}  // namespace swath
