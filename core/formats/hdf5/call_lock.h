// The lock for all calls of HDF5's library, which may not be thread-safe.
#pragma once

#include <mutex>

namespace swath::formats::hdf5 {

// A lock that is taken around all calls, before ours: h5py's. A thread that holds it may call us.
struct OuterLock {
  bool (*acquire)() = nullptr;  // returns whether the lock was taken, and must be released
  void (*release)() = nullptr;
};
// `lock` must live as long as the process.
void set_outer_lock(const OuterLock* lock);

// While this object lives, only its thread calls the library. It may be nested. A forked child does not wait for
// threads of its parent.
class CallLock {
 public:
  CallLock();
  ~CallLock();
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

 private:
  const OuterLock* outer_ = nullptr;
  bool has_outer_ = false;
  std::recursive_mutex* mutex_ = nullptr;
};

}  // namespace swath::formats::hdf5
