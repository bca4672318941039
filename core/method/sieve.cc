#include "base/bulk_data.h"
#include "base/interrupt.h"
#include "layout/copy.h"
#include "method/run.h"
#include "plan/file_domains.h"

namespace swath {

// Windows of the file are read as a whole and elements picked, or they are updated (ncio-2006 section 2.1: data
// sieving).
void run_sieve(const Job& job) {
  const int64_t window_bytes = job.plan.request.tuning.sieve_bytes;
  const Target use = target_of(job.mine.bytes());
  if (job.mine.empty()) return;
  const int64_t capacity = window_capacity(job.mine, window_bytes);
  BulkBuffer buffer;
  const auto made_buffer = [&] {
    if (!buffer) buffer = BulkBuffer(capacity);
    return buffer.data();
  };
  const auto view = view_of(job, capacity);
  int64_t cursor = 0;
  while (const auto window = job.mine.next_window(cursor, INT64_MAX, window_bytes)) {
    check_interrupt();  // mapped windows make no transfer, which would check it
    const auto copy_all = [&](const auto& copy_slice) {
      job.mine.visit(window->begin, window->limit, [&](const Slice& slice) {
        copy_slice(slice, job.memory.addresses[slice.part]);
        job.progress.bytes_done += slice.bytes();
      });
    };
    if (job.plan.request.direction == Direction::kRead) {
      const auto gather_all = [&](const std::byte* image) {
        copy_all([&](const Slice& slice, std::byte* memory) {
          gather_from_window(slice.regions, slice.first, slice.last, {image, window->begin}, memory, {use});
        });
      };
      if (!view || !view->map_cached(window->begin, window->bytes(), gather_all, job.counters)) {
        const Transfer whole{window->begin, made_buffer(), window->bytes()};
        job.engine.transfer(Direction::kRead, {&whole, 1}, job.counters);
        gather_all(buffer.data());
      }
    } else {
      const bool holes = job.mine.bytes_in(window->begin, window->limit) < window->bytes();
      // Write-behind would write a window twice if other ranks fill it, too.
      if (holes) job.engine.set_write_behind(false);
      // update() may fill a window several times: each element counts once.
      const int64_t bytes_done = job.progress.bytes_done;
      job.engine.update(
          {window->begin, made_buffer(), window->bytes()}, holes,
          [&](std::byte* filled) {
            job.progress.bytes_done = bytes_done;
            copy_all([&](const Slice& slice, const std::byte* memory) {
              scatter_to_window(slice.regions, slice.first, slice.last, {filled, window->begin}, memory);
            });
          },
          job.counters);
    }
    cursor = window->limit;
  }
  job.counters.buffer_bytes = buffer.bytes();
}

}  // namespace swath
