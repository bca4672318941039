#include "store/lock_holders.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

namespace swath {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

struct HeldLock {
  int64_t process;  // -1: the lock of an open file description, which belongs to no process
  uint64_t inode;
  Range range;
};

int64_t number_in(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Parses "1: OFDLCK  ADVISORY  WRITE -1 fe:01:4242 0 99"; returns false for waiting requests ("1: -> ...").
bool parse_lock(const char* line, HeldLock& held) {
  char kind[16];
  char last[32];
  long long process = 0;
  unsigned long long inode = 0;
  long long begin = 0;
  const char* const fields = "%*d: %15s %*s %*s %lld %*x:%*x:%llu %lld %31s";
  if (std::sscanf(line, fields, kind, &process, &inode, &begin, last) != 5) return false;
  if (std::strcmp(kind, "OFDLCK") != 0 && std::strcmp(kind, "POSIX") != 0) return false;
  const bool is_open = std::strcmp(last, "EOF") == 0;
  held = {process, inode, {begin, is_open ? std::numeric_limits<int64_t>::max() : number_in(last) + 1}};
  return true;
}

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

void for_each_entry(const std::string& folder, const std::function<void(const std::string&)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), &::closedir);
  if (!opened) return;
  while (const dirent* entry = ::readdir(opened.get())) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') visit(entry->d_name);
  }
}

bool is_locked_through(const std::string& fdinfo, const Range& range) {
  std::ifstream lines(fdinfo);
  for (std::string line; std::getline(lines, line);) {
    HeldLock held{};
    if (line.starts_with("lock:") && parse_lock(line.c_str() + 5, held) && overlap(held.range, range)) return true;
  }
  return false;
}

// Searches the processes that this one may inspect.
struct Seen {
  std::set<int64_t> lock_it;
  std::set<int64_t> have_it_open;
};

Seen look_at_processes(const struct stat& file, const Range& range) {
  Seen seen;
  for_each_entry("/proc", [&](const std::string& process) {
    const std::string folder = "/proc/" + process;
    for_each_entry(folder + "/fd", [&](const std::string& number) {
      struct stat status = {};
      if (::stat((folder + "/fd/" + number).c_str(), &status) != 0) return;
      if (status.st_ino != file.st_ino || status.st_dev != file.st_dev) return;
      const int64_t id = number_in(process);
      if (is_locked_through(folder + "/fdinfo/" + number, range)) {
        seen.lock_it.insert(id);
      } else if (id != ::getpid()) {
        seen.have_it_open.insert(id);
      }
    });
  });
  return seen;
}

// For classic locks, the kernel's table has the process.
std::set<int64_t> of_table(uint64_t inode, const Range& range) {
  std::set<int64_t> processes;
  std::ifstream lines("/proc/locks");
  for (std::string line; std::getline(lines, line);) {
    HeldLock held{};
    if (!parse_lock(line.c_str(), held) || held.inode != inode || !overlap(held.range, range)) continue;
    if (held.process > 0) processes.insert(held.process);
  }
  return processes;
}

std::string in_words(const std::set<int64_t>& processes) {
  std::string words;
  for (const int64_t process : processes) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
    words += (words.empty() ? "process " : ", process ") + std::to_string(process);
    if (process == ::getpid()) words += " (this one)";
    if (process != ::getpid() && !name.empty()) words += " (" + name + ")";
  }
  return words;
}

}  // namespace

std::string lock_holders(int descriptor, int64_t begin, int64_t end) {
  struct stat file = {};
  if (::fstat(descriptor, &file) != 0) return "";
  const Range range{begin, end};
  Seen seen = look_at_processes(file, range);
  seen.lock_it.merge(of_table(file.st_ino, range));
  if (!seen.lock_it.empty()) return in_words(seen.lock_it);
  if (seen.have_it_open.empty()) return "";
  return "one of those that have the file open: " + in_words(seen.have_it_open);
}

std::string flock_holder(int descriptor) {
  struct stat file = {};
  if (::fstat(descriptor, &file) != 0) return "";
  std::ifstream lines("/proc/locks");
  for (std::string line; std::getline(lines, line);) {
    char kind[16];
    long long process = 0;
    unsigned int device_major = 0;
    unsigned int device_minor = 0;
    unsigned long long inode = 0;
    const char* const fields = "%*d: %15s %*s %*s %lld %x:%x:%llu";
    if (std::sscanf(line.c_str(), fields, kind, &process, &device_major, &device_minor, &inode) != 5) continue;
    if (std::strcmp(kind, "FLOCK") != 0 || process <= 0 || inode != file.st_ino) continue;
    if (device_major != major(file.st_dev) || device_minor != minor(file.st_dev)) continue;
    std::string name;
    if (!std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name)) continue;
    return "process " + std::to_string(process) + " (" + name + ")";
  }
  return "";
}

}  // namespace swath
