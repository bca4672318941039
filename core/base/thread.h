// Threads of the library.
#pragma once

#include <functional>
#include <thread>

namespace swath {

// A thread that runs no signal handler of the program, so that signals reach the program's own threads. Only signals
// that the thread causes itself (SIGSEGV, SIGBUS) are delivered to it. Its name is "swath-thread". Throws Error{kStore}
// if the system has no more threads.
std::thread start_thread(std::function<void()> body);

// True if the calling thread is one of these, also of another copy of this library in the process.
bool is_own_thread();

}  // namespace swath
