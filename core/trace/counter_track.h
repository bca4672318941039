// A quantity of the process over time, such as the bytes that are in flight: viewers draw it as a curve.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/per_process.h"

namespace swath::trace {

class CounterTrack {
 public:
  // `name` is a literal.
  explicit CounterTrack(const char* name) : name_(name) {}

  // Adds the new value to the trace.
  void change(int64_t by) noexcept;

 private:
  const char* const name_;
  PerProcess<std::atomic<int64_t>> value_;
};

// Adds an amount to a track as long as it exists. Costs nothing where the process is not traced.
class Counted {
 public:
  Counted(CounterTrack& track, int64_t amount);
  ~Counted();
  Counted(Counted&& other) noexcept : track_(other.track_), amount_(std::exchange(other.amount_, 0)) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;

 private:
  CounterTrack& track_;
  int64_t amount_;  // 0: nothing is counted
};

// Tokens of targets that this process holds (throttle/tokens.h).
CounterTrack& tokens_held();
// Bytes of transfers that have begun and not ended. Transfers of less than 64 KiB, and bytes of the page cache that are
// copied in passing, are not counted.
CounterTrack& bytes_in_flight();
inline constexpr int64_t kBytesInFlightMin = int64_t{64} << 10;

}  // namespace swath::trace
