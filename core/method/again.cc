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

FileRange touched_together(const Layout& layout, const Sharing& sharing) {
  const Access together(layout, sharing.together(layout.element_bytes()));
  if (together.empty()) return {};
  const int64_t begin = *together.next_start(0);
  return {begin, *together.last_end(INT64_MAX) - begin};
}

int64_t steps_of(const Engine& engine, int64_t begin, int64_t bytes) {
  return std::lround(engine.cached_part(begin, bytes).value_or(1) * static_cast<double>(kCachedSteps));
}

}  // namespace

int64_t cached_steps(const Engine& engine, const Layout& layout, const Sharing& sharing) {
  const FileRange touched = touched_together(layout, sharing);
  return steps_of(engine, touched.begin, touched.bytes);
}

int64_t Again::Outcome::slowest_nanoseconds() const {
  int64_t slowest = 0;
  for (const Note& note : notes) slowest = std::max(slowest, note[kOwnNanoseconds]);
  return slowest;
}

Again::Again(Plan plan, std::string asked, const Note& note, bool sees_cache, LocalMemory memory,
             std::vector<std::byte> fill, Comm& comm, Engine& engine)
    : plan_(std::move(plan)),
      asked_(std::move(asked)),
      note_(note),
      sees_cache_(sees_cache),
      reads_at_once_(plan_.request.direction == Direction::kRead && plan_.method != Method::kTwoPhase),
      fill_(std::move(fill)),
      memory_(std::move(memory)),
      comm_(comm),
      engine_(engine) {
  if (!sees_cache_) return;
  const FileRange touched = touched_together(*plan_.request.layout, plan_.request.sharing);
  touched_begin_ = touched.begin;
  touched_bytes_ = touched.bytes;
}

Again::Outcome Again::carry_out(std::byte* address, int64_t own_nanoseconds) {
  memory_.addresses.front() = address;
  Note note = note_;
  note[kOwnNanoseconds] = own_nanoseconds;
  if (sees_cache_) note[kCached] = steps_of(engine_, touched_begin_, touched_bytes_);
  note[kIsAgain] = note[kCached] == note_[kCached] ? 1 : 0;

  Progress unwatched;
  Counters counters;
  std::optional<Error> failure;
  if (reads_at_once_ && note[kIsAgain] == 1) {
    try {
      counters = run_own_part(plan_, comm_, engine_, memory_, unwatched);
    } catch (const Error& error) {
      failure = error;
    }
  }
  Outcome outcome{agree_same(comm_, asked_, failure, note), std::nullopt};
  const bool by_all =
      std::all_of(outcome.notes.begin(), outcome.notes.end(), [](const Note& one) { return one[kIsAgain] == 1; });
  if (!by_all) return outcome;
  if (!reads_at_once_) counters = run(plan_, comm_, engine_, memory_, unwatched);
  const Layout& layout = *plan_.request.layout;
  if (plan_.request.direction == Direction::kRead && layout.has_absent_chunks()) fill_absent(layout, memory_, fill_);
  outcome.counters = counters;
  return outcome;
}

}  // namespace swath
