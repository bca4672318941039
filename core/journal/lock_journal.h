// Finds the journal of a file's changes by its name, and locks it.
#pragma once

#include <memory>
#include <string>

#include "journal/log.h"

namespace swath {

// Waits at most `seconds` for another process that holds the journal's lock; then throws Error{kStore} with EAGAIN,
// which names the process. Throws EPERM if the file with the journal's name is not this user's own.
std::unique_ptr<JournalLog> lock_journal(const std::string& path, double seconds);

}  // namespace swath
