#include "method/sieve.h"

#include <algorithm>
#include <memory>

#include "base/interrupt.h"
#include "layout/copy.h"
#include "method/run.h"
#include "plan/file_domains.h"

namespace swath {
namespace {

// What lies beyond the end of the file is zero: what is written makes it longer.
void read_to_end(Engine& engine, Transfer whole, Counters& counters) {
  const int64_t bytes = std::clamp<int64_t>(engine.size() - whole.offset, 0, whole.bytes);
  std::fill(whole.data + bytes, whole.data + whole.bytes, std::byte{0});
  whole.bytes = bytes;
  if (bytes > 0) engine.transfer(Direction::kRead, {&whole, 1}, counters);
}

}  // namespace

void write_sieved(Engine& engine, const Window& window, bool has_holes, std::byte* buffer,
                  const std::function<void(std::byte*)>& fill_in, Counters& counters) {
  const Transfer whole{window.begin, buffer, window.bytes()};
  const auto lock = engine.lock(window.begin, window.end);
  counters.locks += lock != nullptr;
  if (has_holes) read_to_end(engine, whole, counters);
  fill_in(buffer);
  engine.transfer(Direction::kWrite, {&whole, 1}, counters);
}

// Windows of the file, read whole and picked from, or written by write_sieved (ncio-2006 section 2.1: data sieving).
void run_sieve(const Job& job) {
  const int64_t window_bytes = job.plan.request.tuning.sieve_bytes;
  const Target use = target_of(job.mine.bytes());
  if (job.mine.empty()) return;
  const int64_t capacity = window_capacity(job.mine, window_bytes);
  std::unique_ptr<std::byte[]> buffer;
  const auto made_buffer = [&] {
    if (!buffer) buffer = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(capacity));
    return buffer.get();
  };
  const auto view = view_of(job, capacity);
  int64_t cursor = 0;
  while (const auto window = job.mine.next_window(cursor, INT64_MAX, window_bytes)) {
    check_interrupt();  // what is mapped is no transfer
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
        gather_all(buffer.get());
      }
    } else {
      const bool holes = job.mine.bytes_in(window->begin, window->limit) < window->bytes();
      // What other ranks fill in would be written to the device again.
      if (holes) job.engine.set_write_behind(false);
      write_sieved(
          job.engine, *window, holes, made_buffer(),
          [&](std::byte* filled) {
            copy_all([&](const Slice& slice, const std::byte* memory) {
              scatter_to_window(slice.regions, slice.first, slice.last, {filled, window->begin}, memory);
            });
          },
          job.counters);
    }
    cursor = window->limit;
  }
  job.counters.buffer_bytes = buffer ? capacity : 0;
}

}  // namespace swath
