#include "base/meanwhile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/fork.h"
#include "base/thread.h"

namespace swath {
namespace {

std::atomic<Meanwhile> of_process{nullptr};
std::atomic<uint64_t> set_in_generation{0};

Meanwhile of_this_thread() {
  const Meanwhile function = of_process;
  const bool is_ours = function != nullptr && set_in_generation == fork_generation() && !is_own_thread();
  return is_ours ? function : nullptr;
}

}  // namespace

void set_meanwhile(Meanwhile function) {
  set_in_generation = fork_generation();
  of_process = function;
}

bool has_meanwhile() { return of_this_thread() != nullptr; }

void do_meanwhile() {
  if (const Meanwhile function = of_this_thread()) function();
}

void wait_meanwhile(std::condition_variable& changed, std::unique_lock<std::mutex>& guard, double seconds_max) {
  const bool has_more = has_meanwhile();
  const double seconds = has_more ? std::min(kMeanwhileSeconds, seconds_max) : seconds_max;
  if (seconds == kNever) return changed.wait(guard);
  if (changed.wait_for(guard, std::chrono::duration<double>(seconds)) == std::cv_status::no_timeout || !has_more)
    return;
  guard.unlock();
  do_meanwhile();
  guard.lock();
}

}  // namespace swath
