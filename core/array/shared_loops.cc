#include "array/shared_loops.h"

#include "comm/agreement.h"

namespace swath {

void SharedLoops::check(int loop) const {
  const auto found = over_.find(loop);
  if (found != over_.end()) throw Error(found->second);
}

void SharedLoops::note_error(const Error& error) { over_.try_emplace(error.os_error(), error); }

// Sends the message again if the ranks received that of a lower rank instead.
void SharedLoops::leave(int loop, Comm& comm, const std::string& text) {
  while (!over_.contains(loop)) {
    try {
      agree(comm, Error(ErrorKind::kLeft, text, loop));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kLeft) throw;
      note_error(error);
    }
  }
}

}  // namespace swath
