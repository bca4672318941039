// Runs a function on rank 0 and broadcasts its result, for example to read or change a file's metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/collectively.h"
#include "base/error.h"
#include "base/hash.h"
#include "comm/agreement.h"
#include "comm/comm.h"

namespace swath {

// The question by which ranks check that they make the same call.
inline Question question_of(const std::string& words) {
  return {hash_text(words), [words] { return words; }};
}

// Collective. Returns rank 0's bytes on all ranks. If rank 0 has an error, all ranks throw it.
std::vector<std::byte> broadcast_from_first(Comm& comm, std::vector<std::byte> bytes,
                                            const std::optional<Error>& failure = std::nullopt);

// Collective. Calls `work` on rank 0, and returns the resulting bytes on all ranks. If it throws, all ranks throw.
template <typename Work>
std::vector<std::byte> on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  std::vector<std::byte> result;
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() == 0) result = work();
  });
  return broadcast_from_first(comm, std::move(result));
}

// Collective. The same for work that changes something: the ranks compare `words` before it.
template <typename Work>
std::vector<std::byte> change_on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  agree_same(comm, words);
  std::vector<std::byte> result;
  const std::optional<Error> failure = failure_of([&] {
    if (comm.rank() == 0) result = work();
  });
  return broadcast_from_first(comm, std::move(result), failure);
}

// Collective. The same as on_first_rank() for a function without a result.
template <typename Work>
void do_on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() == 0) work();
  });
}

}  // namespace swath
