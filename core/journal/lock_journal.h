// The journal of a file's changes, found by its name and locked.
#pragma once

#include <memory>
#include <string>

#include "journal/log.h"

namespace swath {

// Waits so long for another process that has it; throws Error{kStore} with EAGAIN, saying which, where it still has it
// then. What lies under the name and is not this user's own is refused (EPERM).
std::unique_ptr<JournalLog> lock_journal(const std::string& path, double seconds);

}  // namespace swath
