// Threads of a library in somebody else's program.
#pragma once

#include <functional>
#include <thread>

namespace swath {

// A thread in which no signal handler of the program runs: a system call that a signal interrupts is then one of a
// thread that the program knows. Only what the thread does wrong itself (SIGSEGV, SIGBUS) still reaches it. Throws
// Error{kStore} where the system has no more.
std::thread start_thread(std::function<void()> body);

}  // namespace swath
