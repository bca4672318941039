// Work that each rank does on its own, and that all agree went well.
#pragma once

#include <cerrno>
#include <new>
#include <optional>

#include "base/error.h"
#include "comm/agreement.h"
#include "comm/comm.h"

namespace swath {

// Collective. An error of any rank is thrown on all.
template <typename Work>
void run_collectively(Comm& comm, const Question& question, const Work& work) {
  std::optional<Error> failure;
  try {
    work();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc&) {
    failure = Error(ErrorKind::kStore, "out of memory", ENOMEM);
  }
  agree_on(comm, failure ? Question{} : question, failure, {}, [](auto, auto) {});
}

}  // namespace swath
