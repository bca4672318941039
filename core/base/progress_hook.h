// A function that threads of the program call repeatedly while they wait in Swath. MPI, for example, makes progress
// only during its calls, and other ranks may wait for that progress.
//
// Short waits do not call it, and so are not slower. Swath's own threads do not call it, since the program may be
// inside that library at the same time.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace swath {

// The length of a short wait, and the interval between two calls.
inline constexpr double kProgressHookSeconds = 0.001;

// For this process only, not for forked children. Called by any waiting thread; must not throw or wait.
using ProgressHook = void (*)();
void set_progress_hook(ProgressHook function);

// True if the calling thread has such a function.
bool has_progress_hook();
void run_progress_hook();

// Waits for a notification, or a shorter time up to the maximum; the function is called without the lock.
void wait_with_progress(std::condition_variable& changed, std::unique_lock<std::mutex>& guard,
                        double seconds_max = kNever);

}  // namespace swath
