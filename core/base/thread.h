// Threads of a library in somebody else's program.
#pragma once

#include <functional>
#include <thread>

namespace swath {

// A thread in which no signal handler of the program runs: a system call that a signal interrupts is then one of a
// thread that the program knows. Only what the thread does wrong itself (SIGSEGV, SIGBUS) still reaches it.
// It is called "swath-thread", for whoever looks at the threads of a process. Throws Error{kStore} where the system has
// no more.
std::thread start_thread(std::function<void()> body);

// Whether the calling thread is one of these; also of another copy of this library in the process.
bool is_own_thread();

}  // namespace swath
