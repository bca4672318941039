// Work of rank 0 whose result all ranks get: what is found in a file, or changed in it.
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

// What ranks compare of a call, in words.
inline Question question_of(const std::string& words) {
  return {hash_text(words), [words] { return words; }};
}

// Collective. The bytes that `work` returns on rank 0, on all ranks; what it throws is thrown on all.
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

// Collective. The same of work without a result.
template <typename Work>
void do_on_first_rank(Comm& comm, const std::string& words, const Work& work) {
  run_collectively(comm, question_of(words), [&] {
    if (comm.rank() == 0) work();
  });
}

}  // namespace swath
