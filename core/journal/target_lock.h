// The lock that HDF5's library takes on a file that it opens: others that lock it do not have it open meanwhile.
#pragma once

#include <string>

namespace swath {

// Whoever is locked out tries again from time to time: others lock a file for as long as they look at it, or change it.
// Not with a lock of this process held that others wait for.
class LockWait {
 public:
  LockWait();
  // Sleeps a moment. False, at once, when as much time has passed as $SWATH_LOCK_TIMEOUT says, else ten seconds. Throws
  // Error{kInterrupted} where this thread is told to stop.
  bool again();

 private:
  double until_;
  double pause_;
};

// Locks an open file as HDF5 does with locking="best-effort", until it is closed: a file system without locks is
// accepted, and HDF5_USE_FILE_LOCKING=FALSE leaves it out. False where another program has locked it; what this one had
// locked is not locked then.
bool try_lock_target(int descriptor);
// The same; waits (LockWait). Throws Error{kStore} with EAGAIN where another program still has it then; `doing` says
// what could not be done: "cannot repair it".
void lock_target(int descriptor, const std::string& path, const std::string& doing);
[[noreturn]] void fail_target_locked(const std::string& path, const std::string& doing);

// The lock that others share who only read: what lock_target() has locked, they may open again. False where another
// program has locked it meanwhile.
bool share_target(int descriptor) noexcept;

}  // namespace swath
