// What a thread of the program does meanwhile, where it waits in Swath: a library that goes on only while somebody is
// in one of its calls, as MPI does, owes others something that they may wait for.
//
// A wait that is over within a moment does nothing of it, and takes no longer. Swath's own threads do nothing of it
// either: the program may be in that library, and keep it from them.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace swath {

// How long a moment is, and the time between two of them.
inline constexpr double kMeanwhileSeconds = 0.001;

// For this process, and not for the children that it forks. Called by any thread that waits; throws nothing, and does
// not wait itself.
using Meanwhile = void (*)();
void set_meanwhile(Meanwhile function);

// Whether the calling thread has something to do meanwhile.
bool has_meanwhile();
void do_meanwhile();

// Waits until it is notified, or sooner, at most so long; with the lock let go of for what is to be done meanwhile.
void wait_meanwhile(std::condition_variable& changed, std::unique_lock<std::mutex>& guard, double seconds_max = kNever);

}  // namespace swath
