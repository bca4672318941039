// A short operation as it was carried out, to be carried out again.
//
// It is mostly agreement, and a rank that was asleep finds its caches cold: whatever is looked at again costs several
// times what it costs in a loop. So what is known is kept, and all that is left to do is one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/agreement.h"
#include "method/run.h"

namespace swath {

// What is cached of a file is told in so many steps, so that a few pages make no other plan.
constexpr int64_t kCachedSteps = 16;

// What part of all that the ranks touch is in the page cache, in steps; all where the kernel does not tell.
int64_t cached_steps(const Engine& engine, const Layout& layout, const Sharing& sharing);

class Again {
 public:
  // The numbers of a rank's note (comm/agreement.h) by their place; those before kOwnNanoseconds a plan is made from.
  enum NotePlace : size_t { kMemoryBlock, kMemorySpan, kCached, kShowsCache, kOwnNanoseconds, kIsAgain };

  struct Outcome {
    std::vector<Note> notes;           // of all ranks
    std::optional<Counters> counters;  // none where a rank gave a reason to plan anew; then nothing counts as done

    int64_t slowest_nanoseconds() const;  // of what the ranks have noted of the operation before
  };

  // `plan` is what this rank and all others carried out with `note`, in `memory` of one part. `sees_cache`: it is this
  // rank that tells of the page cache. `comm` and `engine` must outlive this.
  Again(Plan plan, std::string asked, const Note& note, bool sees_cache, LocalMemory memory,
        std::vector<std::byte> fill, Comm& comm, Engine& engine);

  // Collective, beside ranks that call agree_same() with a note that says otherwise. With memory that is placed as
  // before, at `address`.
  //
  // What ranks read without meeting is read before they agree, once, on what was asked and how it went; all else they
  // agree on before and after, as elsewhere: what one rank should not have written cannot be taken back.
  Outcome carry_out(std::byte* address, int64_t own_nanoseconds);

 private:
  const Plan plan_;
  const std::string asked_;
  const Note note_;
  const bool sees_cache_;
  const bool reads_at_once_;
  const std::vector<std::byte> fill_;
  LocalMemory memory_;
  int64_t touched_begin_ = 0;  // by any rank
  int64_t touched_bytes_ = 0;
  Comm& comm_;
  Engine& engine_;
};

}  // namespace swath
