// A quantity of the process over time, such as the bytes in flight. Trace viewers draw it as a curve.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/per_process.h"

namespace swath::trace {

class CounterTrack {
 public:
  // `name`: a string literal.
  explicit CounterTrack(const char* name) : name_(name) {}

  // Adds `by` to the value, and the new value to the trace.
  void change(int64_t by) noexcept;

 private:
  const char* const name_;
  PerProcess<std::atomic<int64_t>> value_;
};

// Adds an amount to a track during its own lifetime. Costs nothing if the process is not traced.
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
// Bytes of transfers in flight. Transfers below 64 KiB, and direct copies from the page cache, are not counted.
CounterTrack& bytes_in_flight();
inline constexpr int64_t kBytesInFlightMin = int64_t{64} << 10;

}  // namespace swath::trace
