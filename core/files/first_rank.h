// Runs a function on rank 0 and broadcasts its result, for example to read or change a file's metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "array/collectively.h"
#include "base/hash.h"
#include "comm/agreement.h"
#include "comm/comm.h"

namespace swath {

// The question by which ranks check that they make the same call.
inline Question question_of(const std::string& words) {
  return {hash_text(words), [words] { return words; }};
}

// Collective. Calls `work` on rank 0, and returns the resulting bytes on all ranks. If it throws, all ranks throw.
template <typename Work>
std::vector<std::byte> on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  std::vector<std::byte> result;
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() == 0) result = work();
  });
  if (comm.size() == 1) return result;
  int64_t bytes = std::ssize(result);
  comm.broadcast(std::as_writable_bytes(std::span(&bytes, 1)), 0);
  result.resize(static_cast<size_t>(bytes));
  comm.broadcast(result, 0);
  return result;
}

// Collective. The same for a function without a result.
template <typename Work>
void do_on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() == 0) work();
  });
}

}  // namespace swath
