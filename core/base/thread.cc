#include "base/thread.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstring>
#include <utility>

namespace swath {
namespace {

constexpr const char* kName = "swath";

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
  return std::thread([body = std::move(body)] {
    prctl(PR_SET_NAME, kName);
    body();
  });
}

bool is_own_thread() {
  char name[16] = {};
  return prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, kName) == 0;
}

}  // namespace swath
