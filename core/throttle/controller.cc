#include "throttle/controller.h"

#include <algorithm>
#include <cmath>

namespace swath {
namespace {

constexpr double kGain = 1.04;        // a limit must be better than no limit by this factor
constexpr double kErrorsApart = 3;    // and by this many standard errors, since several limits are compared with none
constexpr double kClear = 1.2;        // a gain of this factor needs no second measurement
constexpr int32_t kCloseSamples = 4;  // times as many samples for it
constexpr double kDrift = 1.2;        // a change of the held throughput by this factor is another regime
constexpr double kFar = 1.5;          // a difference of this factor shows in a few bursts
constexpr int kDriftWindows = 2;      // in a row
constexpr double kConcurrencyKept = 0.9;  // of the limit: a burst with fewer concurrent streams is ignored
constexpr double kUnlimitedKept = 0.75;   // the same without a limit
constexpr double kUnlimitedGrown = 1.5;
constexpr int32_t kSamplesMin = 8;
constexpr int32_t kWindow = 16;
constexpr int32_t kTooFewMost = 32;  // bursts with too few streams before a rung is given up, beyond four a sample
constexpr int64_t kHoldFirst = 256;  // bursts; 1 GiB of 4 MiB
constexpr int64_t kHoldMost = 16384;
constexpr int32_t kSamplesHopeless = 3;

// The standard error of the difference of two rates, in bytes a second.
double error_between(const Evidence& one, const Evidence& other) {
  return std::hypot(one.error() * one.rate(), other.error() * other.rate());
}

}  // namespace

void Evidence::add(double seconds_per_byte) {
  ++count_;
  const double distance = seconds_per_byte - mean_;
  mean_ += distance / count_;
  squares_ += distance * (seconds_per_byte - mean_);
}

double Evidence::error() const {
  if (count_ < 2) return 1;
  return std::sqrt(squares_ / (count_ - 1) / count_) / mean_;
}

std::string to_string(Reason reason) {
  switch (reason) {
    case Reason::kMeasure:
      return "measure";
    case Reason::kBetter:
      return "faster than without a limit";
    case Reason::kNoBetter:
      return "no limit was faster than none";
    case Reason::kMoved:
      return "a neighbour is faster now";
    case Reason::kConfirmed:
      return "no neighbour is faster";
    case Reason::kDrift:
      return "throughput has moved away: look again";
    case Reason::kMoreStreams:
      return "more streams than before: look again";
    case Reason::kFewerStreams:
      return "the application asks for fewer streams";
    case Reason::kRemembered:
      return "remembered from an earlier run";
  }
  return "";
}

int32_t Controller::limit() const { return streams_of(rung_); }

bool Controller::is_sound() const {
  const auto is_rung = [](int rung) { return rung >= 0 && rung < kRungs; };
  const auto is_count = [](int64_t count) { return count >= 0 && count < INT32_MAX; };
  const auto is_evidence = [&](const Evidence& evidence) { return is_count(evidence.count()); };
  return is_rung(rung_) && is_rung(rung_held_) && phase_ >= Phase::kSearching && phase_ <= Phase::kHolding &&
         is_count(to_skip_) && is_count(too_few_) && is_count(drifted_) && is_count(held_) && is_count(hold_for_) &&
         is_evidence(window_) && std::all_of(evidence_.begin(), evidence_.end(), is_evidence) &&
         (phase_ != Phase::kProbing || evidence_[rung_held_].count() > 0) && std::isfinite(unlimited_streams_);
}

// Among 16 streams 8 is a limit, 16 is none.
int Controller::top_rung() const {
  int top = -1;
  while (top + 1 < kAll && streams_of(top + 1) <= unlimited_streams_ - 0.5) ++top;
  return top;
}

int Controller::below(int rung) const { return rung == kAll ? top_rung() : rung - 1; }

int Controller::above(int rung) const { return rung >= top_rung() ? kAll : rung + 1; }

int32_t Controller::samples_wanted(int rung) const {
  const double streams = rung == kAll ? unlimited_streams_ : streams_of(rung);
  return std::clamp(static_cast<int32_t>(std::lround(streams)), kSamplesMin, 2 * kSamplesMin);
}

bool Controller::completed(const Burst& burst, Decision& decision) {
  if (!counts(burst)) {
    const bool given_up =
        phase_ != Phase::kHolding && too_few_ > 4 * samples_wanted(rung_) + kTooFewMost && rung_ != kAll;
    return given_up && start_holding(Reason::kFewerStreams, decision);
  }
  const double seconds_per_byte = burst.seconds / (static_cast<double>(burst.bytes) * burst.concurrency);
  if (phase_ == Phase::kHolding) {
    window_.add(seconds_per_byte);
    ++held_;
    return held_enough(decision);
  }
  evidence_[rung_].add(seconds_per_byte);
  return measured_enough(decision);
}

bool Controller::counts(const Burst& burst) {
  if (!burst.from_device || burst.epoch != epoch_ || burst.bytes <= 0 || burst.seconds <= 0 || burst.concurrency <= 0) {
    return false;
  }
  if (rung_ == kAll) {
    unlimited_streams_ =
        std::max(burst.concurrency, unlimited_streams_ - (unlimited_streams_ - burst.concurrency) / kWindow);
    if (top_rung() < 0) return false;  // alone: no throttling needed
    if (burst.concurrency < kUnlimitedKept * unlimited_streams_) return false;
  } else if (burst.concurrency < kConcurrencyKept * streams_of(rung_)) {
    ++too_few_;
    return false;
  }
  if (to_skip_ > 0) {
    --to_skip_;
    return false;
  }
  return true;
}

bool Controller::is_better(int rung, int than) const {
  const Evidence& one = evidence_[rung];
  const Evidence& other = evidence_[than];
  return one.rate() > kGain * other.rate() && one.rate() - other.rate() > kErrorsApart * error_between(one, other);
}

// The rung to beat: no limit, or the held one.
int Controller::reference_rung() const { return phase_ == Phase::kSearching ? kAll : rung_held_; }

// True if it is so much slower than the best that a few bursts show it: 1 stream on an SSD.
bool Controller::is_hopeless(int rung) const {
  const Evidence& now = evidence_[rung];
  const Evidence& leader = evidence_[best()];
  return now.count() >= kSamplesHopeless && kFar * now.rate() < leader.rate() &&
         leader.rate() - now.rate() > kErrorsApart * error_between(now, leader);
}

// True if it is faster than the reference rung by an amount that may be chance: both are then measured for longer.
bool Controller::is_close(int rung) const {
  const double ratio = evidence_[rung].rate() / evidence_[reference_rung()].rate();
  return ratio > kGain && ratio < kClear;
}

int Controller::best() const {
  int best = -1;
  for (int rung = 0; rung < kRungs; ++rung) {
    if (evidence_[rung].count() > 0 && (best < 0 || evidence_[rung].rate() > evidence_[best].rate())) best = rung;
  }
  return best;
}

// Returns -1 if enough is known. A search measures all, then 1, then (if all is best) the middle of the ladder (4 of
// 16: a disk may be as bad with nearly all as with all), and the neighbours of the best; a probe measures only these
// neighbours.
int Controller::next_to_measure() const {
  const auto known = [&](int rung) { return evidence_[rung].count() > 0; };
  if (phase_ == Phase::kSearching) {
    if (!known(kAll)) return kAll;
    if (!known(0)) return 0;
    const int middle = (top_rung() + 1) / 2;
    if (best() == kAll && !known(middle)) return middle;
  }
  // A probe stays in place if all rungs are alike.
  const int now = phase_ == Phase::kProbing && !is_better(best(), rung_held_) ? rung_held_ : best();
  if (below(now) >= 0 && !known(below(now))) return below(now);
  if (now != kAll && !known(above(now))) return above(now);
  return -1;
}

bool Controller::measured_enough(Decision& decision) {
  if (evidence_[rung_].count() < samples_wanted(rung_) && !is_hopeless(rung_)) return false;
  const int next = next_to_measure();
  if (next >= 0) {
    decision = decide(next, Reason::kMeasure, evidence_[rung_]);
    return true;
  }
  const int found = best();
  for (const int rung : {found, reference_rung()}) {
    if (found == reference_rung() || !is_close(found)) break;
    if (evidence_[rung].count() >= kCloseSamples * samples_wanted(rung)) continue;
    if (rung_ == rung) return false;
    decision = decide(rung, Reason::kMeasure, evidence_[rung_]);
    return true;
  }
  if (phase_ == Phase::kProbing) return start_holding(Reason::kConfirmed, decision);
  return start_holding(found != kAll && is_better(found, kAll) ? Reason::kBetter : Reason::kNoBetter, decision);
}

// Ends a search or a probe with the present results.
bool Controller::start_holding(Reason reason, Decision& decision) {
  int rung = best();
  if (phase_ == Phase::kProbing) {
    if (rung != rung_held_ && is_better(rung, rung_held_)) {
      reason = Reason::kMoved;
    } else {
      rung = rung_held_;
    }
  } else if (rung < 0 || (rung != kAll && evidence_[kAll].count() > 0 && !is_better(rung, kAll))) {
    rung = kAll;
  }
  const bool same = reason == Reason::kConfirmed || reason == Reason::kNoBetter;
  hold_for_ = same ? std::min(std::max(hold_for_, kHoldFirst / 2) * 2, kHoldMost) : kHoldFirst;
  decision = decide(rung, reason, evidence_[rung_]);
  reference_ = evidence_[rung].rate();
  phase_ = Phase::kHolding;
  unlimited_streams_held_ = unlimited_streams_;
  window_ = {};
  held_ = 0;
  drifted_ = 0;
  return true;
}

// If the rate differs by a half, half a window suffices; a difference of a fifth must occur twice.
bool Controller::held_enough(Decision& decision) {
  if (window_.count() < kSamplesMin) return false;
  if (reference_ > 0 && is_away(kFar)) return search_again(Reason::kDrift, decision);
  if (window_.count() < kWindow) return false;
  if (reference_ == 0) reference_ = window_.rate();
  if (rung_ == kAll && unlimited_streams_ > kUnlimitedGrown * unlimited_streams_held_) {
    return search_again(Reason::kMoreStreams, decision);
  }
  const bool away = is_away(kDrift);
  drifted_ = away ? drifted_ + 1 : 0;
  if (drifted_ >= kDriftWindows) return search_again(Reason::kDrift, decision);
  if (held_ >= hold_for_ && !away) {
    evidence_ = {};
    evidence_[rung_] = window_;
    rung_held_ = rung_;
    phase_ = Phase::kProbing;
    decision = decide(next_to_measure(), Reason::kMeasure, evidence_[rung_]);
    return true;
  }
  window_ = {};
  return false;
}

bool Controller::is_away(double factor) const {
  const double ratio = window_.rate() / reference_;
  return (ratio > factor || ratio < 1 / factor) && std::abs(ratio - 1) > kErrorsApart * window_.error() * ratio;
}

// Discards all results: a part of the time before includes the change.
bool Controller::search_again(Reason reason, Decision& decision) {
  evidence_ = {};
  phase_ = Phase::kSearching;
  hold_for_ = 0;
  decision = decide(kAll, reason, window_);
  to_skip_ = static_cast<int32_t>(std::lround(unlimited_streams_));
  return true;
}

// `seen`: the evidence of the current rung.
Decision Controller::decide(int rung, Reason reason, const Evidence& seen) {
  Decision decision;
  decision.from = streams_of(rung_);
  decision.to = streams_of(rung);
  decision.reason = reason;
  decision.samples = seen.count();
  decision.rate = seen.rate();
  decision.rate_error = seen.error();
  decision.best_rate = evidence_[rung].rate();
  go_to(rung);
  return decision;
}

void Controller::go_to(int rung) {
  if (rung == rung_) return;
  rung_ = rung;
  ++epoch_;
  too_few_ = 0;
  to_skip_ = rung == kAll ? static_cast<int32_t>(std::lround(unlimited_streams_)) : streams_of(rung);
}

void Controller::remember(int32_t limit, double rate, double unlimited_streams) {
  int rung = kAll;
  for (int i = 0; i < kAll; ++i) {
    if (streams_of(i) == limit) rung = i;
  }
  unlimited_streams_ = unlimited_streams;
  go_to(rung);
  to_skip_ = 0;
  phase_ = Phase::kHolding;
  reference_ = rate;
  unlimited_streams_held_ = unlimited_streams;
  hold_for_ = kHoldFirst;
}

}  // namespace swath
