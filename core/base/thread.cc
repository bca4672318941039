#include "base/thread.h"

#include <csignal>
#include <utility>

namespace swath {

std::thread start_thread(std::function<void()> body) {
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::move(body));
}

}  // namespace swath
