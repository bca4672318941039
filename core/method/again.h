// Short operations, which are mostly agreement: reads before the ranks agree on them, and what is asked for again.
//
// A rank that was asleep finds its caches cold: whatever is looked at again costs several times what it costs in a
// loop. So what is known of an operation is kept, and all that is left to do is one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/agreement.h"
#include "method/run.h"

namespace swath {

// What is cached of a file is told in so many steps, so that a few pages make no other plan.
constexpr int64_t kCachedSteps = 16;

// Where the store does not tell.
constexpr int64_t kCachedUnknown = -1;

// What part of all that the ranks touch is in the page cache, in steps, or kCachedUnknown.
int64_t cached_steps(const Engine& engine, const Layout& layout, const Decomposition& decomposition);

// The numbers of a rank's note (comm/agreement.h) by their place; those before kOwnNanoseconds a plan is made from.
enum NotePlace : size_t { kMemoryBlock, kMemorySpan, kCached, kShowsCache, kOwnNanoseconds, kPlannedBy };

// What a rank's plan was made from when it comes to the agreement. Ranks that say the same have the same plan.
enum PlannedBy : int64_t {
  kNothingYet,            // it plans when all have agreed
  kSameOperation,         // it is the plan by which the same was carried out before
  kConditionsAgreedLast,  // it is made from what all ranks agreed on last, whatever it was for
};

struct Outcome {
  std::vector<Note> notes;           // of all ranks
  std::optional<Counters> counters;  // none where ranks came with different plans, or none; then nothing counts as done

  int64_t slowest_nanoseconds() const;  // of what the ranks have noted of the operation before
};

// Collective, beside ranks that call agree_same() with a note that says otherwise. A read in which no ranks meet, by a
// plan that the note tells the origin of: read first, and agreed on once, on what was asked and how it went.
Outcome read_then_agree(const Plan& plan, const std::string& asked, const Note& note, const LocalMemory& memory,
                        std::span<const std::byte> fill, Comm& comm, Engine& engine);

class Again {
 public:
  // `plan` is what this rank and all others carried out with `note`, in `memory` of one part. `sees_cache`: it is this
  // rank that tells of the page cache.
  Again(Plan plan, std::string asked, const Note& note, bool sees_cache, LocalMemory memory,
        std::vector<std::byte> fill);

  // Collective, beside ranks that call agree_same() with a note that says otherwise. With memory that is placed as
  // before, at `address`.
  //
  // What ranks read without meeting is read before they agree, unless it is not known whether it is cached; all else
  // they agree on before and after, as elsewhere:
  // what one rank should not have written cannot be taken back.
  Outcome carry_out(std::byte* address, int64_t own_nanoseconds, Comm& comm, Engine& engine);

 private:
  Outcome agree_then_run(const Note& note, Comm& comm, Engine& engine) const;

  const Plan plan_;
  const std::string asked_;
  const Note note_;
  const bool sees_cache_;
  const std::vector<std::byte> fill_;
  LocalMemory memory_;
  int64_t touched_begin_ = 0;  // by any rank
  int64_t touched_bytes_ = 0;
};

}  // namespace swath
