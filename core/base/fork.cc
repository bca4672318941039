#include "base/fork.h"

#include <pthread.h>

namespace swath {
namespace internal {

std::atomic<uint64_t> forks{0};

}  // namespace internal

namespace {

[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { internal::forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace
}  // namespace swath
