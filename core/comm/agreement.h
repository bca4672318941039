// All ranks agree before the next collective step: the same error everywhere, or none.
//
// Where all ask the same and none brings an error, an agreement is one allreduce of a record whose size is the same for
// every agreement: ranks that agree on different things meet, and hear of it. Only where it fails do more calls follow.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/reduction.h"

namespace swath {

// What went wrong, if anything.
template <typename Work>
std::optional<Error> failure_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kStore, "out of memory", ENOMEM);
  }
  return std::nullopt;
}

// What ranks compare before they do something together: a hash of it, and words only where they differ.
struct Question {
  uint64_t key = 0;  // equal for equal questions
  // What is asked, asked for only where ranks differ; must not throw. Several lines are what is done, then an argument
  // a line ("method=auto"): the error names those that differ. Null where this rank asks for nothing.
  std::function<std::string()> words;
};

constexpr size_t kHintBytesMax = 224;  // with what else an agreement compares, 256

// Collective. Different questions are an Error{kDisagreement} on all ranks that quotes rank 0 and the lowest rank that
// differs from it. A rank may bring an error of its own; then all throw that of the lowest such rank, its text preceded
// by "rank R: " where there is more than one rank. Errors of ranks without words go before different questions (what
// was asked of such a rank cannot be told), those of ranks with words after them. Before all of them go errors of kind
// kLeft: a rank that brings one is heard, unless a lower one is.
//
// `hints` are what a rank alone knows, at most kHintBytesMax; combined over all ranks they are handed back. After an
// error they are undefined.
void agree_on(Comm& comm, const Question& question, const std::optional<Error>& mine, std::span<std::byte> hints,
              const Combine& combine);

// The same with hints of a type, combined by hints.combine(other).
template <typename Hints>
Hints agree_on(Comm& comm, const Question& question, const std::optional<Error>& mine, Hints hints) {
  static_assert(sizeof(Hints) <= kHintBytesMax);
  agree_on(comm, question, mine, std::as_writable_bytes(std::span(&hints, 1)), combine_records<Hints>);
  return hints;
}

// The same with no hints, on words: none where they are empty. Returns whether any rank says yes.
bool agree_same(Comm& comm, const std::string& words, const std::optional<Error>& mine = std::nullopt,
                bool says_yes = false);

// The same where nothing is compared, and only errors are told.
void agree(Comm& comm, const std::optional<Error>& mine);

}  // namespace swath
