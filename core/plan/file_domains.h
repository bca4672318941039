// Two-phase: which aggregator moves which part of the file, and in which windows. The conforming distribution M2' = M1
// of two-phase-1993, section 4.1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/access.h"
#include "plan/request.h"

namespace swath {

// Elements that start in [begin, end) of the file are moved by `rank`.
struct FileDomain {
  int rank;
  int64_t begin;
  int64_t end;
};

// Theorem: domains are disjoint, ascending, and together cover every element of `together`.
// Each holds about the same number of elements (or of bytes of the span, where no closed form counts the elements), and
// starts at a multiple of the window size where it is large enough for that.
std::vector<FileDomain> file_domains(const Access& together, int ranks, const Tuning& tuning);

// The windows of all domains, a round at a time: the same on every rank, without a message.
class WindowRounds {
 public:
  WindowRounds(const Access& together, const std::vector<FileDomain>& domains, int64_t window_bytes);
  // The window of each domain in the next round; none where a domain is done. False when all are.
  bool next(std::vector<std::optional<Window>>& windows);

 private:
  const Access& together_;
  const std::vector<FileDomain>& domains_;
  int64_t window_bytes_;
  std::vector<int64_t> cursors_;
};

// How a window is written.
enum class WindowWrite {
  kWhole,  // the ranks leave no hole: one request
  kRuns,   // few long runs: one request each, nothing is read
  kSieve,  // read, fill in, write back, under a lock on the window
};
WindowWrite window_write(const Access& together, const Window& window, const Tuning& tuning);

// The most bytes that a window can fill, in whole pages: an element that starts in it may end after it.
int64_t window_capacity(const Access& access, int64_t window_bytes);

}  // namespace swath
