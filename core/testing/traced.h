// Runs work in a forked child, records all of its system calls, and can kill it before one of them.
#pragma once

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace swath {

// The kernel's struct ptrace_syscall_info; C libraries do not allow <linux/ptrace.h> together with <sys/ptrace.h>.
struct TracedCall {
  uint8_t op;  // 1: entry
  uint8_t padding[3];
  uint32_t architecture;
  uint64_t instruction_pointer;
  uint64_t stack_pointer;
  uint64_t number;
  uint64_t arguments[6];
};

// The system calls of work() in a child that is killed with SIGKILL before call number `killed_before` (from 0), or
// that ends by itself. Nothing if this process may not trace.
inline std::optional<std::vector<uint64_t>> trace(const std::function<void()>& work, size_t killed_before) {
  constexpr auto kGetSyscallInfo = static_cast<__ptrace_request>(0x420e);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           reinterpret_cast<void*>(options));  // NOLINT(performance-no-int-to-ptr): the kernel takes a number
  std::vector<uint64_t> calls;
  while (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0 && ::waitpid(child, &status, 0) == child) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) return calls;
    TracedCall call = {};
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    void* const size = reinterpret_cast<void*>(sizeof(call));  // NOLINT(performance-no-int-to-ptr): as above
    if (::ptrace(kGetSyscallInfo, child, size, &call) <= 0 || call.op != 1) continue;
    if (calls.size() == killed_before) break;
    calls.push_back(call.number);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return calls;
}

}  // namespace swath
