// Finds the number of streams that a target should serve at a time, by hill-climbing on throughput.
//
// Pure: it has no clock and no disk, and no memory beyond its fields, so that it can be in memory shared by processes
// and be tested in simulated time. The paper asks for such a mechanism ("Throttling I/O Streams to Accelerate File-IO
// Performance", sections 3.2 and 8) and gives the expected results: 1 stream for a single disk, 4 or 8 for RAIDs.
//
// It uses throughput and not latency: once streams interleave, every request includes a seek, so that the latency
// without interleaving is never seen.
//
// It starts without a limit and measures the total throughput, then measures 1 stream, then the numbers between: always
// the neighbours of the best so far, on the ladder 1, 2, 4, ... all. It then holds the best, measures its neighbours
// again at growing intervals, and starts again if throughput changes by a fifth twice, or by a half once. A limit must
// be better than no limit by 4 %, and by three times the standard error of the two.
//
//   16 streams on one disk:   all: 14 MB/s   1: 33 MB/s   2: 15 MB/s   ->  hold 1
//   16 streams on a RAID-5:   all: 89   1: 105   2: 121   4: 124   8: 117  ->  hold 4
//   16 streams on an SSD:     all: 900  1: 300   4: 880   8: 900           ->  no limit
//
// It ignores bursts that the page cache served, even in part; bursts that began under another limit; and bursts with
// fewer concurrent streams than the limit allows, because the application had no more.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace swath {

// One use of a token by a stream.
struct Burst {
  int64_t bytes = 0;
  double seconds = 0;      // from getting the token to giving it back
  double concurrency = 1;  // the average number of streams served meanwhile, including this one
  bool from_device = true;
  uint32_t epoch = 0;  // Controller::epoch() when it began
};

// The seconds a byte of a target's total throughput: their mean, and its error.
class Evidence {
 public:
  void add(double seconds_per_byte);
  int32_t count() const { return count_; }
  double rate() const { return count_ == 0 ? 0 : 1 / mean_; }  // bytes a second, of all streams together
  double error() const;                                        // standard error of rate(), relative

 private:
  int32_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared deviations from the mean (Welford)
};

enum class Reason : int32_t {
  kMeasure,       // searching for the best number of streams
  kBetter,        // a limit was faster than none
  kNoBetter,      // no limit was faster than none
  kMoved,         // after holding: a neighbour is better now
  kConfirmed,     // after holding: no neighbour is better
  kDrift,         // throughput differs from that of the held limit: search again
  kMoreStreams,   // many more streams than during the search: search again
  kFewerStreams,  // the application has fewer streams than were to be measured: take the best so far
  kRemembered,    // from an earlier run
};

// A decision with its evidence. Limit 0 is no limit.
struct Decision {
  double time = 0;
  int32_t direction = 0;
  int32_t pattern = 0;
  int32_t from = 0;
  int32_t to = 0;
  Reason reason = Reason::kMeasure;
  int32_t samples = 0;    // number of bursts behind `rate`
  double rate = 0;        // bytes a second at `from`
  double rate_error = 0;  // relative
  double best_rate = 0;   // at `to`, if it was measured
};

std::string to_string(Reason reason);

class Controller {
 public:
  // The number of streams to serve at a time; 0: no limit.
  int32_t limit() const;
  // Changes with every change of the limit.
  uint32_t epoch() const { return epoch_; }
  // Bytes a second at the held limit; 0 during the search.
  double held_rate() const { return phase_ == Phase::kHolding ? reference_ : 0; }
  bool holding() const { return phase_ == Phase::kHolding; }
  // True if the fields are valid: they may be in memory that other processes write.
  bool is_sound() const;
  // The number of concurrent streams before there was a limit.
  double unlimited_streams() const { return unlimited_streams_; }

  // Records a finished burst. Returns true if it led to a decision, which is stored in `decision`.
  bool completed(const Burst& burst, Decision& decision);

  // Starts from the result of an earlier run: limit, bytes a second, and number of streams.
  void remember(int32_t limit, double rate, double unlimited_streams);

 private:
  // Rungs of the ladder: 1, 2, 4, ... 64 streams, and all.
  static constexpr int kAll = 7;
  static constexpr int kRungs = kAll + 1;

  enum class Phase : int32_t { kSearching, kProbing, kHolding };

  static int32_t streams_of(int rung) { return rung == kAll ? 0 : 1 << rung; }
  int top_rung() const;  // the highest rung that is a limit for this many streams; -1: none
  int below(int rung) const;
  int above(int rung) const;
  int32_t samples_wanted(int rung) const;

  bool counts(const Burst& burst);
  bool is_better(int rung, int than) const;
  int reference_rung() const;
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
  int32_t rung_ = kAll;  // in use
  uint32_t epoch_ = 1;
  int32_t to_skip_ = 0;           // bursts that still show the effect of the change
  int32_t too_few_ = 0;           // bursts with too few concurrent streams since the rung began
  double unlimited_streams_ = 0;  // concurrent streams without a limit: a decaying mean
  std::array<Evidence, kRungs> evidence_{};
  int rung_held_ = kAll;               // while its neighbours are measured
  double unlimited_streams_held_ = 0;  // when it was chosen
  // While holding:
  double reference_ = 0;  // expected bytes a second
  Evidence window_;       // the latest bursts
  int32_t drifted_ = 0;   // windows in a row that differed from the expected rate
  int64_t held_ = 0;      // bursts
  int64_t hold_for_ = 0;  // bursts until the neighbours are measured again
};

}  // namespace swath
