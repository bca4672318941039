#include "method/again.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace swath {
namespace {

struct FileRange {
  int64_t begin = 0;
  int64_t bytes = 0;
};

FileRange touched_together(const Layout& layout, const Decomposition& decomposition) {
  const Access together(layout, decomposition.together(layout.element_bytes()));
  if (together.empty()) return {};
  const int64_t begin = *together.next_start(0);
  return {begin, *together.last_end(INT64_MAX) - begin};
}

int64_t steps_of(const Engine& engine, int64_t begin, int64_t bytes) {
  const std::optional<double> cached = engine.cached_part(begin, bytes);
  return cached ? std::lround(*cached * static_cast<double>(kCachedSteps)) : kCachedUnknown;
}

// Of a read in which no ranks meet. What waits for the device is not read in vain, nor what may wait for it.
bool may_read_before_agreement(const Plan& plan) {
  return plan.request.direction == Direction::kRead && plan.method != Method::kTwoPhase &&
         plan.request.cached.has_value();
}

// Whether all ranks came with the same plan.
bool planned_alike(const std::vector<Note>& notes) {
  const int64_t by = notes.front()[kPlannedBy];
  return by != kNothingYet &&
         std::all_of(notes.begin(), notes.end(), [by](const Note& one) { return one[kPlannedBy] == by; });
}

void fill_what_is_absent(const Plan& plan, const LocalMemory& memory, std::span<const std::byte> fill) {
  const Layout& layout = *plan.request.layout;
  if (plan.request.direction == Direction::kRead && layout.has_absent_chunks()) fill_absent(layout, memory, fill);
}

}  // namespace

int64_t cached_steps(const Engine& engine, const Layout& layout, const Decomposition& decomposition) {
  const FileRange touched = touched_together(layout, decomposition);
  return steps_of(engine, touched.begin, touched.bytes);
}

int64_t Outcome::slowest_nanoseconds() const {
  int64_t slowest = 0;
  for (const Note& note : notes) slowest = std::max(slowest, note[kOwnNanoseconds]);
  return slowest;
}

Outcome read_then_agree(const Plan& plan, const std::string& asked, const Note& note, const LocalMemory& memory,
                        std::span<const std::byte> fill, Comm& comm, Engine& engine) {
  Progress unwatched;
  Counters counters;
  std::optional<Error> failure;
  try {
    counters = run_own_part(plan, comm, engine, memory, unwatched);
  } catch (const Error& error) {
    failure = error;
  }
  Outcome outcome{agree_same(comm, asked, failure, note), std::nullopt};
  if (planned_alike(outcome.notes)) {
    fill_what_is_absent(plan, memory, fill);
    outcome.counters = counters;
  }
  return outcome;
}

Again::Again(Plan plan, std::string asked, const Note& note, bool sees_cache, LocalMemory memory,
             std::vector<std::byte> fill)
    : plan_(std::move(plan)),
      asked_(std::move(asked)),
      note_(note),
      sees_cache_(sees_cache),
      fill_(std::move(fill)),
      memory_(std::move(memory)) {
  if (!sees_cache_) return;
  const FileRange touched = touched_together(*plan_.request.layout, plan_.request.decomposition);
  touched_begin_ = touched.begin;
  touched_bytes_ = touched.bytes;
}

Outcome Again::carry_out(std::byte* address, int64_t own_nanoseconds, Comm& comm, Engine& engine) {
  memory_.addresses.front() = address;
  Note note = note_;
  note[kOwnNanoseconds] = own_nanoseconds;
  if (sees_cache_) note[kCached] = steps_of(engine, touched_begin_, touched_bytes_);
  note[kPlannedBy] = note[kCached] == note_[kCached] ? kSameOperation : kNothingYet;
  if (note[kPlannedBy] == kSameOperation && may_read_before_agreement(plan_)) {
    return read_then_agree(plan_, asked_, note, memory_, fill_, comm, engine);
  }
  return agree_then_run(note, comm, engine);
}

Outcome Again::agree_then_run(const Note& note, Comm& comm, Engine& engine) const {
  Outcome outcome{agree_same(comm, asked_, std::nullopt, note), std::nullopt};
  if (!planned_alike(outcome.notes)) return outcome;
  Progress unwatched;
  outcome.counters = run(plan_, comm, engine, memory_, unwatched);
  fill_what_is_absent(plan_, memory_, fill_);
  return outcome;
}

}  // namespace swath
