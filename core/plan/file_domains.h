// Two-phase: which aggregator moves which part of the file, and in which windows. The conforming distribution M2' = M1
// of two-phase-1993, section 4.1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "layout/access.h"
#include "plan/request.h"

namespace swath {

// `rank` transfers the elements that start in [begin, end) of the file.
struct FileDomain {
  int rank;
  int64_t begin;
  int64_t end;
};

// The domains of all aggregators, each computed on demand: no memory grows with their number.
//
// Theorem: domains are disjoint, ascending, and together cover every element of `together`. Each holds about the same
// number of elements (or of bytes of the span, where no closed form counts the elements), and starts at a multiple of
// the window size where it is large enough for that; of a striped file where a stripe unit does, a row of them, or a
// whole set of objects, whichever it is large enough for. Proof: domain i ends where domain i + 1 begins, at the place
// of element elements / count * (i + 1) rounded down to the alignment, but not before the first element. None of these
// steps descends in i.
class FileDomains {
 public:
  FileDomains() = default;  // none
  FileDomains(const Access& together, int ranks, const Tuning& tuning);

  size_t size() const { return static_cast<size_t>(count_); }
  bool empty() const { return count_ == 0; }
  FileDomain operator[](size_t i) const;
  // Aggregators are spread over the ranks, and so over the nodes.
  int rank_of(size_t i) const { return static_cast<int>(static_cast<int64_t>(i) * ranks_ / count_); }
  // The index of the domain that holds `offset`, which is not before the first element.
  size_t index_at(int64_t offset) const;
  // The index of the domain of `rank`; -1 if it is no aggregator.
  int index_of(int rank) const;

 private:
  int64_t end_of(int64_t i) const;

  int64_t count_ = 0;
  int64_t ranks_ = 0;
  int64_t first_ = 0;  // byte
  int64_t last_ = 0;   // one past the last byte
  int64_t element_bytes_ = 1;
  int64_t elements_ = 0;            // of a domain; 0: domains have equal bytes of the span instead
  std::optional<Regions> regions_;  // of all elements; none: there is no hole
  int64_t alignment_ = 1;           // of ends
};

// The number of rounds in which the aggregators transfer all their windows.
int64_t rounds_of(const Access& together, const FileDomains& domains, int64_t window_bytes);

// The windows of one round that concern one rank.
struct RoundWindows {
  struct OfDomain {
    size_t domain;
    Window window;
  };
  std::optional<Window> own;     // that the rank transfers as an aggregator
  std::vector<OfDomain> shared;  // in which the rank has elements, by domain; its own window may be one
};

// The windows of all domains, round by round, without a message: each rank computes those that concern it.
//
// Round k has the k-th window of each domain. Memory and time grow with the domains in which the rank has elements, not
// with the number of ranks.
class WindowRounds {
 public:
  // `own_domain`: of the rank; -1: none. `rounds`: rounds_of(...).
  WindowRounds(const Access& together, const FileDomains& domains, int64_t window_bytes, const Access& mine,
               int own_domain, int64_t rounds);
  // Returns false after the last round.
  bool next(RoundWindows& windows);

 private:
  // The next window of a domain in which the rank has elements.
  struct Pending {
    int64_t round;
    size_t domain;
    Window window;
    bool operator>(const Pending& other) const {
      return round != other.round ? round > other.round : domain > other.domain;
    }
  };

  void add_next(size_t domain, int64_t round, int64_t cursor);

  const Access& together_;
  const FileDomains& domains_;
  const Access& mine_;
  const int64_t window_bytes_;
  const int64_t rounds_;
  const bool are_regular_;  // each domain has an element in every window between its first and its last
  int64_t round_ = 0;
  FileDomain own_left_{-1, 0, 0};
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
};

// How a window is read or written.
enum class WindowTransfer {
  kWhole,      // the ranks leave no hole, or the read includes it: one request
  kRuns,       // its runs as a list; bytes between them are not transferred
  kDescribed,  // a description of the ranks' bytes in it, which the store carries out
  kSieve,      // written: read, filled in, written back (Engine::update)
};
// Boxes that are read may overlap: their windows are read whole.
WindowTransfer window_transfer(const Access& together, const Window& window, Direction direction, const Tuning& tuning);

// The maximum size of a window's bytes, in whole pages: an element that starts in it may end after it.
int64_t window_capacity(const Access& access, int64_t window_bytes);

}  // namespace swath
