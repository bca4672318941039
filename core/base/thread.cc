#include "base/thread.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace swath {
namespace {

// No program's name: a script called "swath" runs in a thread of that name.
constexpr const char* kName = "swath-thread";

}  // namespace

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
    return std::thread([body = std::move(body)] {
      prctl(PR_SET_NAME, kName);
      body();
    });
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::kStore,
                std::string("start a thread: ") + std::generic_category().message(error.code().value()) +
                    " (a limit of processes, as ulimit -u or a cgroup's pids.max?)",
                error.code().value());
  }
}

bool is_own_thread() {
  char name[16] = {};
  return prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, kName) == 0;
}

}  // namespace swath
