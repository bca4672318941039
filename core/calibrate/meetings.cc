#include "calibrate/meetings.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"
#include "calibrate/at_once.h"
#include "comm/node_shared.h"
#include "layout/access.h"

namespace swath {
namespace {

// How threads reach one another before they share a segment.
class Board {
 public:
  explicit Board(int ranks) : all_here_(ranks) {}

  NodeShared::Allgather allgather(int rank) {
    return [this, rank](std::span<const std::byte> mine, std::span<std::byte> all) {
      if (rank == 0) slots_.resize(all.size());
      all_here_.arrive_and_wait();
      std::memcpy(slots_.data() + static_cast<size_t>(rank) * mine.size(), mine.data(), mine.size());
      all_here_.arrive_and_wait();
      std::memcpy(all.data(), slots_.data(), all.size());
      all_here_.arrive_and_wait();
    };
  }

 private:
  std::barrier<> all_here_;
  std::vector<std::byte> slots_;
};

// What a rank does between meetings.
class Copies {
 public:
  void first() { std::memcpy(to_.data(), from_.data(), kBytes); }
  void second() { std::memcpy(from_.data(), to_.data(), kBytes); }
  void both() {
    first();
    second();
  }

 private:
  static constexpr size_t kBytes = size_t{256} << 10;
  std::vector<std::byte> from_ = std::vector<std::byte>(kBytes);
  std::vector<std::byte> to_ = std::vector<std::byte>(kBytes);
};

// What sample(comm) gives on rank 0, again and again until `seconds_max` have passed; `ranks` threads call it together.
template <typename Sample>
std::vector<double> samples_of_ranks(int ranks, double seconds_max, const Sample& sample) {
  if (ranks < 1) fail_argument("calibrate: a meeting needs at least one rank");
  Board board(ranks);
  std::vector<double> samples;
  std::atomic<bool> ended = false;
  run_at_once(ranks, [&](int rank, const std::function<void()>& ready) {
    std::string refusal;
    const auto comm = NodeShared::attach(rank, ranks, board.allgather(rank), refusal);
    if (!comm) throw Error(ErrorKind::kUnsupported, refusal);
    ready();
    const Stopwatch watch;
    while (!ended) {
      const double seconds = sample(*comm);
      if (rank == 0) {
        samples.push_back(seconds);
        ended = watch.seconds() >= seconds_max;
      }
      comm->barrier();  // all see the same `ended`
    }
  });
  return samples;
}

// What a meeting adds to a round of copies; round(comm, copies) does both.
template <typename Round>
std::vector<double> samples_of_meetings(int ranks, double seconds_max, const Round& round) {
  constexpr int kRoundsASample = 16;
  return samples_of_ranks(ranks, seconds_max, [&](Comm& comm) {
    Copies copies;
    copies.both();  // its memory is the kernel's to make before
    const auto seconds_of = [&](const auto& work) {
      comm.barrier();
      const Stopwatch watch;
      for (int i = 0; i < kRoundsASample; ++i) work();
      comm.barrier();
      return watch.seconds() / kRoundsASample;
    };
    const double alone = seconds_of([&] { copies.both(); });
    const double meeting = seconds_of([&] { round(comm, copies); });
    return std::max(meeting - alone, 1e-9);  // noise may make it negative
  });
}

}  // namespace

std::vector<double> time_barriers(int ranks, double seconds_max) {
  // Ranks that have nothing else to do would meet in the best case only: all of them there, and awake.
  return samples_of_meetings(ranks, seconds_max, [](Comm& comm, Copies& copies) {
    copies.both();
    comm.barrier();
  });
}

std::vector<double> time_rounds(int ranks, double seconds_max) {
  return samples_of_meetings(ranks, seconds_max, [](Comm& comm, Copies& copies) {
    comm.node_arrive();
    copies.first();
    comm.node_wait();
    copies.second();
  });
}

std::vector<double> time_visits(double seconds_max) {
  constexpr int64_t kExtent = 4096;
  constexpr int64_t kWindowBytes = int64_t{512} << 10;
  const Shape shape{kExtent, kExtent};
  const Layout layout = Layout::ordered(shape, sizeof(double), 0, {0, 1});
  const Distribution columns({{DimensionRule::Kind::kWhole, 0}, {DimensionRule::Kind::kCyclic, 1}}, {1, 2});
  const Access access(layout, {distributed_part(columns, select_all(shape), 0, sizeof(double))});
  std::vector<double> samples;
  const Stopwatch watch;
  do {
    int64_t windows = 0;
    int64_t elements = 0;
    int64_t cursor = 0;
    const Stopwatch sample_watch;
    while (const auto window = access.next_window(cursor, INT64_MAX, kWindowBytes)) {
      access.visit(window->begin, window->limit, [&](const Slice& slice) { elements += slice.last - slice.first; });
      cursor = window->limit;
      ++windows;
    }
    samples.push_back(sample_watch.seconds() / static_cast<double>(windows));
    if (elements != kExtent * kExtent / 2) throw Error(ErrorKind::kInternal, "calibrate: windows lost elements");
  } while (watch.seconds() < seconds_max);
  return samples;
}

}  // namespace swath
