#include "calibrate/requests.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "base/stopwatch.h"
#include "calibrate/at_once.h"
#include "comm/heap_window.h"

namespace swath {
namespace {

void check(const RequestPattern& pattern) {
  if (pattern.bytes < 1 || pattern.first < 0 || pattern.stride < 1 || pattern.count < 1 || pattern.batch < 1) {
    fail_argument("calibrate: a pattern of " + std::to_string(pattern.count) + " requests of " +
                  std::to_string(pattern.bytes) + " bytes at " + std::to_string(pattern.first) + ", stride " +
                  std::to_string(pattern.stride) + ", batch " + std::to_string(pattern.batch) +
                  ": expected positive numbers");
  }
}

// Bytes that no device compresses: what is stored must be as long as what is written.
HeapWindow noise(int64_t bytes) {
  auto buffer = make_heap_window(static_cast<size_t>(bytes));
  uint64_t state = 0x9e3779b97f4a7c15;
  for (int64_t at = 0; at < bytes; at += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(buffer.get() + at, &state, static_cast<size_t>(std::min<int64_t>(8, bytes - at)));
  }
  return buffer;
}

// The pattern's batches one by one, over one piece of memory.
class Batches {
 public:
  explicit Batches(const RequestPattern& pattern)
      : pattern_(pattern),
        batch_bytes_(pattern.bytes * std::min(pattern.batch, pattern.count)),
        buffer_bytes_(std::max(pattern.memory_bytes, batch_bytes_)),
        buffer_(noise(buffer_bytes_)) {
    if (!pattern.shuffled) return;
    order_.resize(static_cast<size_t>(pattern.count));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
  }

  std::span<const Transfer> next() {
    batch_.clear();
    if (memory_ + batch_bytes_ > buffer_bytes_) memory_ = 0;
    for (; next_ < pattern_.count && static_cast<int64_t>(batch_.size()) < pattern_.batch; ++next_) {
      const int64_t place = pattern_.shuffled ? order_[static_cast<size_t>(next_)] : next_;
      std::byte* const memory = buffer_.get() + memory_ + static_cast<int64_t>(batch_.size()) * pattern_.bytes;
      batch_.push_back({pattern_.first + place * pattern_.stride, memory, pattern_.bytes});
    }
    memory_ += batch_bytes_;
    return batch_;
  }
  int64_t done() const { return next_; }

 private:
  const RequestPattern& pattern_;
  const int64_t batch_bytes_;
  const int64_t buffer_bytes_;
  HeapWindow buffer_;
  int64_t memory_ = 0;  // of the buffer, where the next batch begins
  std::vector<int64_t> order_;
  std::vector<Transfer> batch_;
  int64_t next_ = 0;
};

TimedRequests transfer_batches(Engine& engine, const RequestPattern& pattern, Batches& batches, double seconds_max) {
  // A look at the clock costs a tenth of a small request from the page cache.
  const int64_t batches_a_look = pattern.shuffled || pattern.bytes * pattern.batch >= 4096 ? 1 : 64;
  Counters counters;
  const Stopwatch watch;
  for (int64_t i = 1; batches.done() < pattern.count; ++i) {
    engine.transfer(pattern.direction, batches.next(), counters);
    if (i % batches_a_look == 0 && watch.seconds() >= seconds_max) break;
  }
  if (pattern.sync) engine.sync();
  return {watch.seconds(), batches.done()};
}

}  // namespace

TimedRequests time_requests(Engine& engine, const RequestPattern& pattern, double seconds_max) {
  check(pattern);
  Batches batches(pattern);
  return transfer_batches(engine, pattern, batches, seconds_max);
}

TimedRequests time_streams(const std::string& path, const RequestPattern& pattern, int streams, int64_t distance,
                           double seconds_max) {
  check(pattern);
  if (streams < 1 || distance < 0) fail_argument("calibrate: at least one stream is needed");
  std::vector<TimedRequests> timed(static_cast<size_t>(streams));
  run_at_once(streams, [&](int stream, const std::function<void()>& begin) {
    RequestPattern own = pattern;
    own.first += stream * distance;
    const bool reading = pattern.direction == Direction::kRead;
    const auto engine = open_engine(path, reading ? OpenMode::kRead : OpenMode::kReadWrite, {});
    Batches batches(own);
    begin();
    timed[static_cast<size_t>(stream)] = transfer_batches(*engine, own, batches, seconds_max);
  });
  TimedRequests all;
  for (const auto& one : timed) {
    all.seconds += one.seconds / streams;
    all.requests += one.requests;
  }
  return all;
}

std::optional<double> time_mapped_reads(Engine& engine, int64_t bytes, int64_t first, int64_t count, int64_t step) {
  if (step < 1 || bytes < step || first < 0 || count < 1)
    fail_argument("calibrate: looks need windows of at least a step");
  Counters counters;
  uint64_t sum = 0;  // so that no compiler takes the reading away
  const Stopwatch watch;
  const auto view = engine.cached_view();
  for (int64_t i = 0; i < count; ++i) {
    const auto look_at_lines = [&](const std::byte* image) {
      for (int64_t at = 0; at + step <= bytes; at += step) sum += static_cast<uint64_t>(image[at]);
    };
    if (!view || !view->map_cached(first + i * bytes, bytes, look_at_lines, counters)) return std::nullopt;
  }
  static std::atomic<uint64_t> kept;
  kept = sum;
  return watch.seconds() / static_cast<double>(count);
}

double time_locks(Engine& engine, int64_t window_bytes, int64_t count) {
  if (window_bytes < 1 || count < 1) fail_argument("calibrate: locks need a window and a count of at least 1");
  const Stopwatch watch;
  for (int64_t i = 0; i < count; ++i) engine.lock(i % 64 * window_bytes, (i % 64 + 1) * window_bytes);
  return watch.seconds() / static_cast<double>(count);
}

}  // namespace swath
