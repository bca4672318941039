#include "base/thread.h"

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

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
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::kStore,
                std::string("start a thread: ") + std::generic_category().message(error.code().value()) +
                    " (a limit of processes, as ulimit -u or a cgroup's pids.max?)",
                error.code().value());
  }
}

}  // namespace swath
