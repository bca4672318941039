// Threads that read and decode chunks, and their number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/counters.h"
#include "chunks/codec.h"
#include "store/stream.h"

namespace swath {

// The resources of one thread. Their memory is bounded by the largest chunk.
struct Worker {
  Buffer stored;
  Buffer decoded;
  CodecWorkspace codecs;
  Counters counters;
  std::unique_ptr<Stream> stream;  // made at the first transfer (StoredChunks::stream_of)
  double slept_seconds = 0;        // in reads that waited for the device

  int64_t buffer_bytes() const { return stored.capacity() + decoded.capacity() + codecs.capacity(); }
};

// Keeps workers between two runs, so that their memory is reused.
class IdleWorkers {
 public:
  std::unique_ptr<Worker> take();
  void give_back(std::unique_ptr<Worker> worker);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// The initial and the maximum number of threads.
struct WorkerLimits {
  int first = 1;
  int most = 1;
};

// Initially one thread for each core of this process; up to several times as many if memory allows, for threads that
// wait for a device. `worker_bytes`: the memory of one. `ranks_of_node`: the ranks that share the cores.
WorkerLimits worker_limits(int64_t worker_bytes, int64_t buffer_bytes_max, int ranks_of_node);

// Finds the best number of readers while reading, by hill-climbing on throughput.
//
// Readers that sleep in their reads wait for the device, so the processor has time for more: the number is doubled, and
// kept only if throughput rises by 4 %. Otherwise it is reset, and held for twice as many windows as the last time. The
// first window after a change is ignored. Reads from the page cache never sleep, so they change nothing.
class ReaderControl {
 public:
  explicit ReaderControl(WorkerLimits limits) : limits_(limits), readers_(limits.first) {}

  int readers() const { return readers_; }
  // A window has ended: its bytes a second, and the part of the readers' time spent asleep.
  void window_over(double bytes_a_second, double sleeping_part);

 private:
  WorkerLimits limits_;
  int readers_;
  bool changed_ = false;
  bool trying_ = false;
  int before_ = 0;
  double rate_before_ = 0;
  int held_windows_ = 0;
  int hold_ = 8;
};

// Carries out tasks 0 ... count - 1 in about this order, several at a time. `task` returns the number of its bytes.
// After an error no further task starts, and the error is thrown. A single task, or a single worker, needs no thread.
// An interrupt of the caller (base/interrupt.h) stops all tasks; then throws when they have ended. `bytes_done` (may be
// null) is incremented. `idle` (may be null): workers to reuse, which return there.
Counters run_tasks(int64_t count, WorkerLimits limits, const std::function<int64_t(int64_t, Worker&)>& task,
                   std::atomic<int64_t>* bytes_done = nullptr, IdleWorkers* idle = nullptr);

}  // namespace swath
