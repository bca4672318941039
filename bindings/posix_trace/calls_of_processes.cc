// Calls that end the process, or replace its program: the trace is flushed to its file before them.
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

#include "posix_trace/callers.h"
#include "posix_trace/real.h"
#include "trace/trace.h"

using swath::posix_trace::Untraced;

namespace {

// These end before the program does: a child of vfork has the memory of its parent, whose thread would stay untraced.
void flush() {
  const Untraced untraced;
  swath::trace::flush();
}

void stop() {
  const Untraced untraced;
  swath::trace::stop();
}

}  // namespace

SWATH_EXPORT int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  flush();
  return SWATH_REAL(execve)(path, words, environment);
}

SWATH_EXPORT int execv(const char* path, char* const words[]) noexcept {
  flush();
  return SWATH_REAL(execv)(path, words);
}

SWATH_EXPORT int execvp(const char* file, char* const words[]) noexcept {
  flush();
  return SWATH_REAL(execvp)(file, words);
}

SWATH_EXPORT int execvpe(const char* file, char* const words[], char* const environment[]) noexcept {
  flush();
  return SWATH_REAL(execvpe)(file, words, environment);
}

SWATH_EXPORT void _exit(int status) {
  stop();
  SWATH_REAL(_exit)(status);
  __builtin_unreachable();
}

SWATH_EXPORT void _Exit(int status) noexcept {
  stop();
  SWATH_REAL(_Exit)(status);
  __builtin_unreachable();
}
