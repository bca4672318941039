// Threads that read and decode chunks, and how many of them there are at a moment.
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

// What one thread works with. Its memory is bounded by what the largest chunk needs.
struct Worker {
  Buffer stored;
  Buffer decoded;
  CodecWorkspace codecs;
  Counters counters;
  std::unique_ptr<Stream> stream;  // made when it moves bytes first (StoredChunks::stream_of)
  double slept_seconds = 0;        // in reads that waited for the device

  int64_t buffer_bytes() const { return stored.capacity() + decoded.capacity() + codecs.capacity(); }
};

// Workers between two runs: what they have allocated is used again.
class IdleWorkers {
 public:
  std::unique_ptr<Worker> take();
  void give_back(std::unique_ptr<Worker> worker);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// How many threads to begin with, and the most there may be.
struct WorkerLimits {
  int first = 1;
  int most = 1;
};

// As many threads as this process has cores to begin with; several times as many where memory allows, for those that
// wait for a device. `worker_bytes`: what one of them needs. `ranks_of_node`: with how many the cores are shared.
WorkerLimits worker_limits(int64_t worker_bytes, int64_t buffer_bytes_max, int ranks_of_node);

// How many readers pay, found while reading: a hill-climb on throughput, which moves only on evidence.
//
// Readers that sleep in their reads wait for the device, and the processor has time for more of them: the number is
// doubled, and stays so only where the throughput has risen by 4 %. Otherwise it goes back, and is held for twice as
// many windows as the last time. The first window after a change is thrown away. Reads from the page cache never sleep,
// so that they teach nothing and change nothing.
class ReaderControl {
 public:
  explicit ReaderControl(WorkerLimits limits) : limits_(limits), readers_(limits.first) {}

  int readers() const { return readers_; }
  // A window is over: bytes a second, and the part of the readers' time in which they slept.
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

// Carries out tasks 0 ... count - 1 in about this order, several at a time. `task` returns how many bytes it dealt
// with. When one throws, no other is begun, and its error is thrown here. One task, or one worker, needs no thread.
// Told to stop (base/interrupt.h), the caller has all of them stop, and throws when they have ended. `bytes_done` (may
// be null) is added to for whoever watches. `idle` (may be null): workers to begin with, which come back there.
Counters run_tasks(int64_t count, WorkerLimits limits, const std::function<int64_t(int64_t, Worker&)>& task,
                   std::atomic<int64_t>* bytes_done = nullptr, IdleWorkers* idle = nullptr);

}  // namespace swath
