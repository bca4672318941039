#include "base/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

namespace swath {
namespace {

// The start time of a living process, nothing for a dead or unreaped one, 0 where /proc cannot tell.
std::optional<uint64_t> start_time(int64_t id) {
  const std::string path = "/proc/" + std::to_string(id) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? std::nullopt : std::optional<uint64_t>(0);
  char text[1024];
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  const int read_error = errno;
  close(fd);
  if (length <= 0) return length < 0 && read_error == ESRCH ? std::nullopt : std::optional<uint64_t>(0);
  text[length] = '\0';
  // "1234 (name, which may hold spaces and brackets) S 1 ...": the state is field 3, the start time field 22.
  const char* rest = std::strrchr(text, ')');
  char state = 0;
  unsigned long long started = 0;
  const char* const fields = " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
  if (rest == nullptr || std::sscanf(rest + 1, fields, &state, &started) != 2) return 0;
  if (state == 'Z' || state == 'X') return std::nullopt;
  return started;
}

}  // namespace

Process this_process() {
  struct stat id_namespace{};
  if (stat("/proc/self/ns/pid", &id_namespace) != 0) return {.id = getpid()};
  return {.id = getpid(), .started = start_time(getpid()).value_or(0), .id_namespace = id_namespace.st_ino};
}

// Only where it is certain: in doubt a process lives.
bool has_died(const Process& process, const Process& observer) {
  if (process.started == 0 || process.id_namespace != observer.id_namespace) return false;
  const std::optional<uint64_t> started = start_time(process.id);
  return !started || (*started != 0 && *started != process.started);
}

}  // namespace swath
