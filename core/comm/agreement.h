// All ranks agree before the next collective step: the same error everywhere, or none.
//
// If all ranks ask the same and none has an error, an agreement is one allreduce of a record of constant size: ranks
// that agree on different things meet in it, and get an error. Only a failed agreement makes further calls.
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

// The Error that `work` throws, if any.
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

// What ranks compare before a collective step: a hash of it, and its words only if they differ.
struct Question {
  uint64_t key = 0;  // equal for equal questions
  // Describes the question; called only if ranks differ; must not throw. The first line is what is done, each further
  // line an argument ("method=auto"): the error names those that differ. Null: this rank has no question.
  std::function<std::string()> words;
};

constexpr size_t kHintBytesMax = 224;  // 256 bytes together with the rest of the agreement's record

// Collective. Different questions are an Error{kDisagreement} on all ranks; it quotes rank 0 and the lowest rank that
// differs. If ranks have errors of their own, all throw that of the lowest such rank, preceded by "rank R: " if there
// are several ranks. The order of errors: first those of kind kLeft, then those of ranks without words (their questions
// cannot be compared), then different questions, then errors of ranks with words.
//
// `hints` are known to one rank only, at most kHintBytesMax; returned combined over all ranks. After an error they are
// undefined.
void agree_on(Comm& comm, const Question& question, const std::optional<Error>& mine, std::span<std::byte> hints,
              const Combine& combine);

// The same with hints of a type, combined by hints.combine(other).
template <typename Hints>
Hints agree_on(Comm& comm, const Question& question, const std::optional<Error>& mine, Hints hints) {
  static_assert(sizeof(Hints) <= kHintBytesMax);
  agree_on(comm, question, mine, std::as_writable_bytes(std::span(&hints, 1)), combine_records<Hints>);
  return hints;
}

// The same without hints, on words; empty words ask nothing. Returns the logical OR of `says_yes` over all ranks.
bool agree_same(Comm& comm, const std::string& words, const std::optional<Error>& mine = std::nullopt,
                bool says_yes = false);

// The same without a question: only errors are exchanged.
void agree(Comm& comm, const std::optional<Error>& mine);

}  // namespace swath
