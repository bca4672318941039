// The lock that HDF5's library takes on a file that it opens: programs that lock a file do not have it open together.
#pragma once

#include <string>

namespace swath {

// Repeats an attempt to lock a file: other processes hold the lock while they read or change the file. The caller must
// not hold a lock of this process that other threads wait for.
class LockWait {
 public:
  LockWait();
  // Sleeps a moment. Returns false at once if more time has passed than $SWATH_LOCK_TIMEOUT (default: ten seconds).
  // Throws Error{kInterrupted} if this thread was told to stop.
  bool again();

 private:
  double until_;
  double pause_;
};

// Locks an open file as HDF5 does with locking="best-effort", until it is closed: on a file system without locks this
// succeeds, and HDF5_USE_FILE_LOCKING=FALSE switches it off. Returns false if another program holds the lock; a lock
// that this process held on the file is lost then.
bool try_lock_target(int descriptor);
// The same, but waits (LockWait). Throws Error{kStore} with EAGAIN if another program still holds the lock; `doing`
// says what failed: "cannot repair it".
void lock_target(int descriptor, const std::string& path, const std::string& doing);
[[noreturn]] void fail_target_locked(const std::string& path, const std::string& doing);

// Turns the lock of lock_target() into a shared one: programs that only read may then open the file. Returns false if
// another program holds an exclusive lock.
bool share_target(int descriptor) noexcept;

}  // namespace swath
