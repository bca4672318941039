// The function that a thread of the program calls again and again while it waits in Swath. A library that makes
// progress only while somebody is in one of its calls, as MPI does, owes others something that they may wait for.
//
// A wait that is over within a moment does not call it, and takes no longer. Swath's own threads do not call it
// either: the program may be in that library, and keep it from them.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace swath {

// How long a moment is, and the time between two of them.
inline constexpr double kProgressHookSeconds = 0.001;

// For this process, and not for the children that it forks. Called by any thread that waits; throws nothing, and does
// not wait itself.
using ProgressHook = void (*)();
void set_progress_hook(ProgressHook function);

// Whether the calling thread has such a function to call.
bool has_progress_hook();
void run_progress_hook();

// Waits until it is notified, or sooner, at most so long; without the lock while the function runs.
void wait_with_progress(std::condition_variable& changed, std::unique_lock<std::mutex>& guard,
                        double seconds_max = kNever);

}  // namespace swath
