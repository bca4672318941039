#include "base/progress_hook.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/fork.h"
#include "base/thread.h"

namespace swath {
namespace {

std::atomic<ProgressHook> of_process{nullptr};
std::atomic<uint64_t> set_in_generation{0};

ProgressHook of_this_thread() {
  const ProgressHook function = of_process;
  const bool is_ours = function != nullptr && set_in_generation == fork_generation() && !is_own_thread();
  return is_ours ? function : nullptr;
}

}  // namespace

void set_progress_hook(ProgressHook function) {
  set_in_generation = fork_generation();
  of_process = function;
}

bool has_progress_hook() { return of_this_thread() != nullptr; }

void run_progress_hook() {
  if (const ProgressHook function = of_this_thread()) function();
}

void wait_with_progress(std::condition_variable& changed, std::unique_lock<std::mutex>& guard, double seconds_max) {
  const bool has_more = has_progress_hook();
  const double seconds = has_more ? std::min(kProgressHookSeconds, seconds_max) : seconds_max;
  if (seconds == kNever) return changed.wait(guard);
  if (changed.wait_for(guard, std::chrono::duration<double>(seconds)) == std::cv_status::no_timeout || !has_more)
    return;
  guard.unlock();
  run_progress_hook();
  guard.lock();
}

}  // namespace swath
