// For tests: tasks that read their files from a modelled disk in virtual time, throttled by tokens, as MADbench does.
//
// Every task has a file. In each bin every task writes a chunk to its file; later, in each bin, every task reads its
// chunk: in bursts, each under one of `tokens` tokens that go to whoever waits longest, each burst in requests one
// after another. The next bin begins when all have read theirs.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "base/math.h"
#include "model/block_allocator.h"
#include "model/disk.h"

namespace swath::testing {

struct ReadersCase {
  int tasks = 16;
  int bins = 4;
  int64_t chunk_bytes = 12'500'000;  // of a task in one bin: 5,000 pixels squared of 8 bytes, on 16 tasks
  int64_t burst_bytes = 4 << 20;
  bool one_writer = true;  // the tasks wrote one after another; else they took turns, request by request
};

struct ReadersResult {
  double seconds = 0;
  DiskStatistics statistics;
};

// Who wrote what when decides where it is.
inline BlockAllocator written(const DiskParameters& disk, int64_t capacity_bytes, const ReadersCase& asked) {
  BlockAllocator places(capacity_bytes, disk.allocation_bytes);
  for (int bin = 0; bin < asked.bins; ++bin) {
    const int64_t begin = bin * asked.chunk_bytes;
    const int64_t turn = asked.one_writer ? asked.chunk_bytes : disk.request_bytes;
    for (int64_t done = 0; done < asked.chunk_bytes; done += turn) {
      const int64_t bytes = std::min(turn, asked.chunk_bytes - done);
      for (uint64_t task = 0; task < static_cast<uint64_t>(asked.tasks); ++task) {
        places.write({0, task}, begin + done, bytes);
      }
    }
  }
  return places;
}

// Events in the order of their times, ties in the order of their making: one request after another for each task.
class SimulatedReaders {
 public:
  SimulatedReaders(DiskModel& disk, const BlockAllocator& places, const ReadersCase& asked, int tokens)
      : disk_(disk), places_(places), asked_(asked), free_tokens_(tokens), at_(asked.tasks), burst_end_(asked.tasks) {}

  double run() {
    double now = 0;
    for (int bin = 0; bin < asked_.bins; ++bin) now = run_bin(bin, now);
    return now;
  }

 private:
  double run_bin(int bin, double now) {
    const int64_t end = (bin + 1) * asked_.chunk_bytes;
    for (int task = 0; task < asked_.tasks; ++task) {
      at_[task] = bin * asked_.chunk_bytes;
      ask_token(task, now, end);
    }
    while (!events_.empty()) {
      const auto [time, order, task] = events_.top();
      events_.pop();
      now = time;
      if (at_[task] < burst_end_[task]) {
        request(task, now);
      } else {
        end_burst(task, now, end);
      }
    }
    return now;
  }

  void ask_token(int task, double now, int64_t end) {
    if (free_tokens_ == 0) return waiting_.push_back(task);
    --free_tokens_;
    burst_end_[task] = std::min(end, at_[task] + asked_.burst_bytes);
    events_.emplace(now, order_++, task);
  }

  void end_burst(int task, double now, int64_t end) {
    ++free_tokens_;
    if (at_[task] < end) waiting_.push_back(task);
    if (waiting_.empty()) return;
    const int next = waiting_.front();
    waiting_.pop_front();
    ask_token(next, now, end);
  }

  void request(int task, double now) {
    const int64_t bytes = std::min(disk_.parameters().request_bytes, burst_end_[task] - at_[task]);
    const FileKey file{0, static_cast<uint64_t>(task)};
    const double done = disk_.serve({task, Direction::kRead, places_.ranges(file, at_[task], bytes)}, now);
    at_[task] += bytes;
    events_.emplace(done, order_++, task);
  }

  using Event = std::tuple<double, int64_t, int>;  // time, order of making, task

  DiskModel& disk_;
  const BlockAllocator& places_;
  const ReadersCase asked_;
  int free_tokens_;
  std::deque<int> waiting_;
  std::vector<int64_t> at_;
  std::vector<int64_t> burst_end_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t order_ = 0;
};

inline ReadersResult read_with(const DiskParameters& parameters, const ReadersCase& asked, int tokens) {
  DiskModel disk(parameters);
  const BlockAllocator places = written(parameters, disk.capacity_bytes(), asked);
  ReadersResult result;
  result.seconds = SimulatedReaders(disk, places, asked, tokens).run();
  result.statistics = disk.statistics();
  return result;
}

}  // namespace swath::testing
