// How many streams a target is to serve at a time, found while running: hill-climbing on throughput.
//
// Pure: no clock, no disk, no memory of its own beyond its fields, so that it can live in memory that processes share
// and be tested in simulated time. The paper asks for such a mechanism ("Throttling I/O Streams to Accelerate File-IO
// Performance", sections 3.2 and 8) and gives what it must find: 1 stream for a single disk, 4 or 8 for RAIDs.
//
// Throughput and not latency is what it climbs on: once streams interleave every request pays a seek, so that nobody
// ever sees how long one takes without.
//
// It starts with no limit and measures what all streams get together, then 1 stream, then what lies between, always the
// neighbours of the best so far, on the ladder 1, 2, 4, ... all. It then holds the best, asks its neighbours again
// after ever longer times, and begins anew where throughput moves away by a fifth, twice, or by a half. A limit must be
// better than none by 4 %, and by three times the standard error of the two.
//
//   16 streams on one disk:   all: 14 MB/s   1: 33 MB/s   2: 15 MB/s   ->  hold 1
//   16 streams on a RAID-5:   all: 89   1: 105   2: 121   4: 124   8: 117  ->  hold 4
//   16 streams on an SSD:     all: 900  1: 300   4: 880   8: 900           ->  no limit
//
// What teaches it nothing: bursts that the page cache served, in part too; bursts that began under another limit; and
// those that had less company than the limit allows, because the application asked for less.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace swath {

// One stream's turn at a target.
struct Burst {
  int64_t bytes = 0;
  double seconds = 0;      // from the token to its return
  double concurrency = 1;  // how many streams were being served meanwhile, this one included, on average
  bool from_device = true;
  uint32_t epoch = 0;  // Controller::epoch() when it began
};

// The seconds that a byte of a target's whole throughput took: their mean, and how sure it is.
class Evidence {
 public:
  void add(double seconds_per_byte);
  int32_t count() const { return count_; }
  double rate() const { return count_ == 0 ? 0 : 1 / mean_; }  // bytes a second, of all streams together
  double error() const;                                        // standard error of rate(), as a part of it

 private:
  int32_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // of the distances from the mean (Welford)
};

enum class Reason : int32_t {
  kMeasure,       // how many streams are best is being looked for
  kBetter,        // a limit was faster than none
  kNoBetter,      // no limit was faster than none
  kMoved,         // held for a while: a neighbour is better now
  kConfirmed,     // held for a while: no neighbour is better
  kDrift,         // throughput has moved away from what was held: look again
  kMoreStreams,   // many more streams than when it was looked for: look again
  kFewerStreams,  // the application asks for fewer streams than were to be measured: go on with the best so far
  kRemembered,    // from an earlier run
};

// What was decided when, and on what evidence. Limit 0 is none.
struct Decision {
  double time = 0;
  int32_t direction = 0;
  int32_t pattern = 0;
  int32_t from = 0;
  int32_t to = 0;
  Reason reason = Reason::kMeasure;
  int32_t samples = 0;    // bursts that `rate` comes from
  double rate = 0;        // bytes a second at `from`
  double rate_error = 0;  // as a part of it
  double best_rate = 0;   // at `to`, where it was measured
};

std::string to_string(Reason reason);

class Controller {
 public:
  // How many streams to serve at a time; 0: all that come.
  int32_t limit() const;
  // Changes with every change of the limit.
  uint32_t epoch() const { return epoch_; }
  // Bytes a second at the limit that is held; 0 while that is still looked for.
  double held_rate() const { return phase_ == Phase::kHolding ? reference_ : 0; }
  bool holding() const { return phase_ == Phase::kHolding; }
  // Whether its fields can be those of a controller: they may lie in memory that others write to.
  bool is_sound() const;
  // Streams that were served together before there was a limit.
  double crowd() const { return crowd_; }

  // A burst has ended. Whether something was decided: then `decision` says what.
  bool completed(const Burst& burst, Decision& decision);

  // Begin with what an earlier run held: limit, bytes a second, and among how many streams.
  void remember(int32_t limit, double rate, double crowd);

 private:
  // Rungs of the ladder: 1, 2, 4, ... 64 streams, and all.
  static constexpr int kAll = 7;
  static constexpr int kRungs = kAll + 1;

  enum class Phase : int32_t { kSearching, kProbing, kHolding };

  static int32_t streams_of(int rung) { return rung == kAll ? 0 : 1 << rung; }
  int top_rung() const;  // the highest limit that is one, among so many streams; -1 where there is none
  int below(int rung) const;
  int above(int rung) const;
  int32_t samples_wanted(int rung) const;

  bool counts(const Burst& burst);
  bool is_better(int rung, int than) const;
  int champion() const;
  bool is_hopeless(int rung) const;
  bool is_close(int rung) const;
  int best() const;
  int next_to_measure() const;
  bool measured_enough(Decision& decision);
  bool held_enough(Decision& decision);
  bool is_away(double factor) const;
  bool search_again(Reason reason, Decision& decision);
  bool start_holding(Reason reason, Decision& decision);
  void go_to(int rung);
  Decision decide(int rung, Reason reason, const Evidence& seen);

  Phase phase_ = Phase::kSearching;
  int32_t rung_ = kAll;  // at work
  uint32_t epoch_ = 1;
  int32_t to_skip_ = 0;  // bursts that still show the change
  int32_t too_few_ = 0;  // bursts with too little company since the rung began
  double crowd_ = 0;     // streams at a time where there is no limit: a mean that forgets
  std::array<Evidence, kRungs> evidence_{};
  int rung_held_ = kAll;   // while its neighbours are asked
  double crowd_held_ = 0;  // when it was chosen
  // While holding:
  double reference_ = 0;  // bytes a second that are expected
  Evidence window_;       // the latest
  int32_t drifted_ = 0;   // windows in a row that were away from it
  int64_t held_ = 0;      // bursts
  int64_t hold_for_ = 0;  // bursts until the neighbours are asked again
};

}  // namespace swath
