// Local work of each rank, followed by an agreement that it succeeded on all.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "comm/agreement.h"
#include "comm/comm.h"
#include "plan/operation.h"

namespace swath {

// A named step of an operation, by which ranks check that they are at the same one.
inline Question step_of(const Operation& operation, const std::string& step = "") {
  return {hash_text(step) + operation.key(), [&operation, step] { return operation.words() + step; }};
}

// Collective. An error of any rank is thrown on all.
template <typename Work>
void run_collectively(Comm& comm, const Question& question, const Work& work) {
  const std::optional<Error> failure = failure_of(work);
  agree_on(comm, failure ? Question{} : question, failure, {}, [](auto, auto) {});
}

}  // namespace swath
