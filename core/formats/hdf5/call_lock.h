// The lock of all calls of HDF5's library, which may not be thread-safe.
#pragma once

#include <mutex>

namespace swath::formats::hdf5 {

// Another lock that is taken around all calls, before ours: h5py's. Its owner may call us while it has the lock.
struct OuterLock {
  bool (*acquire)() = nullptr;  // whether it was taken, and is to be released
  void (*release)() = nullptr;
};
// `lock` lives as long as the process.
void set_outer_lock(const OuterLock* lock);

// As long as it lives this thread alone calls the library. May be nested. A forked child waits for no thread of its
// parent.
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
