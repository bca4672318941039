#include "formats/hdf5/call_lock.h"

#include <atomic>

#include "base/per_process.h"

namespace swath::formats::hdf5 {
namespace {

std::atomic<const OuterLock*> outer_lock = nullptr;

PerProcess<std::recursive_mutex>& call_mutex() {
  static auto* mutex = new PerProcess<std::recursive_mutex>;  // never destroyed: threads may outlive main
  return *mutex;
}

}  // namespace

void set_outer_lock(const OuterLock* lock) { outer_lock.store(lock); }

// The outer lock is always taken first: a thread that holds it may wait for our mutex, but the owner of our mutex does
// not wait for the outer lock.
CallLock::CallLock() : outer_(outer_lock.load()) {
  has_outer_ = outer_ != nullptr && outer_->acquire();
  mutex_ = &call_mutex().get();
  mutex_->lock();
}

CallLock::~CallLock() {
  mutex_->unlock();
  if (has_outer_) outer_->release();
}

}  // namespace swath::formats::hdf5
