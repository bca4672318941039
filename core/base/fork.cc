#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

namespace swath {
namespace internal {

std::atomic<uint64_t> forks{0};

}  // namespace internal

namespace {

// The process that this memory was made for: the one that loaded the library, or a forked child.
std::atomic<pid_t> owner{getpid()};

// vfork() calls no handlers.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  internal::forks.fetch_add(1, std::memory_order_relaxed);
  owner.store(getpid(), std::memory_order_relaxed);
});

}  // namespace

bool has_memory_of_parent() { return owner.load(std::memory_order_relaxed) != getpid(); }

}  // namespace swath
