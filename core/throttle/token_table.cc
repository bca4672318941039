#include "throttle/token_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

namespace swath {
namespace {

constexpr int32_t kStreamsMax = 1 << 20;  // of one process
constexpr uint64_t kForm = 2;             // format version; it is part of the table's name
constexpr uint64_t kMagic = 0x5357'4154'4854'0000 + kForm;
constexpr double kOpenSecondsMax = 2;  // the wait for another process that creates or removes the table
constexpr double kOpenAgainSeconds = 1e-3;

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void copy_text(char* to, size_t size, const std::string& text) { std::snprintf(to, size, "%s", text.c_str()); }

int64_t size_of(const Descriptor& file) {
  struct stat status{};
  return fstat(file.get(), &status) == 0 ? status.st_size : -1;
}

TokenTable* map_file(const Descriptor& file) {
  void* memory = mmap(nullptr, sizeof(TokenTable), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return memory == MAP_FAILED ? nullptr : static_cast<TokenTable*>(memory);
}

}  // namespace

void TokenTable::make_sound() {
  seats_used = std::clamp(seats_used, 0, kSeats);
  members_used = std::clamp(members_used, 0, kMembers);
  decisions = std::clamp<int64_t>(decisions, 0, INT64_MAX / 2);
  const bool is_time = hold_seconds_max > 0 && hold_seconds_max <= kHoldSecondsMax;
  if (!is_time) hold_seconds_max = kHoldSecondsMax;
  for (Lane& lane : lanes) {
    for (Controller& controller : lane.controllers) {
      if (!controller.is_sound()) controller = Controller();
    }
  }
}

void TokenTable::count_served() {
  for (Lane& lane : lanes) lane.active = lane.waiting = 0;
  for (int32_t i = 0; i < seats_used; ++i) {
    lane(seats[i].direction).active += seats[i].state == kHolding;
    lane(seats[i].direction).waiting += seats[i].state == kWaiting;
  }
}

void TokenTable::count_streams() {
  int32_t all = std::clamp(others.streams, 0, kStreamsMax);
  for (int32_t i = 0; i < members_used; ++i) all += std::clamp(members[i].streams, 0, kStreamsMax);
  streams = all;
}

// Null if the process has no streams yet.
Member* TokenTable::find_member(const Process& process) {
  Member* const end = members + members_used;
  Member* const found =
      std::find_if(members, end, [&](const Member& member) { return member.streams > 0 && member.process == process; });
  return found == end ? nullptr : found;
}

Member& TokenTable::add_member(const Process& process) {
  int32_t free = 0;
  while (free < members_used && members[free].streams > 0) ++free;
  if (free == kMembers) return others;
  members_used = std::max(members_used, free + 1);
  members[free] = {.process = process, .streams = 0};
  return members[free];
}

TokenTable* make_table(void* memory, const std::string& scope, const std::string& target) {
  auto* table = static_cast<TokenTable*>(memory);
  make_mutex(table->mutex);
  copy_text(table->target, sizeof table->target, target);
  copy_text(table->scope, sizeof table->scope, scope);
  table->hold_seconds_max = kHoldSecondsMax;
  for (Lane& lane : table->lanes) std::fill(std::begin(lane.controllers), std::end(lane.controllers), Controller());
  table->magic = kMagic;
  return table;
}

std::string table_name_of(const std::string& scope, const std::string& target) {
  char hash[48];
  std::snprintf(hash, sizeof hash, "%d-%016zx%016zx", static_cast<int>(kForm), std::hash<std::string>()(scope),
                std::hash<std::string>()(target));
  return SharedFolder::table_name(hash);
}

TokenTable* map_table(const Descriptor& file) {
  if (size_of(file) != sizeof(TokenTable)) return nullptr;
  TokenTable* const table = map_file(file);
  if (table == nullptr || table->magic == kMagic) return table;
  munmap(table, sizeof(TokenTable));
  return nullptr;
}

namespace {

// Makes a table in a file that the caller has locked exclusively, then changes to a shared lock. Null, with errno, if
// there is no space.
TokenTable* make_in(const Descriptor& file, const std::string& scope, const std::string& target) {
  errno = posix_fallocate(file.get(), 0, sizeof(TokenTable));
  TokenTable* table = errno == 0 ? map_file(file) : nullptr;
  if (table != nullptr) make_table(table, scope, target);
  const int error = errno;
  hold_with_others(file);
  errno = error;
  return table;
}

// Tries once to get a shared lock on a file with a table. Null, with errno EAGAIN, if another process is creating or
// removing it: the caller retries with the file that then has the name.
TokenTable* find_or_make_in(const SharedFolder& folder, const std::string& name, const Descriptor& file,
                            const std::string& scope, const std::string& target) {
  TokenTable* table = nullptr;
  errno = EAGAIN;
  if (hold_alone(file)) {
    // A file with a size was left by a dead process. It is not reused: a process between its two locks may have mapped
    // it.
    if (size_of(file) != 0) {
      folder.remove_if_unheld(file, name);
      errno = EAGAIN;
    } else if (has_name(file)) {
      table = make_in(file, scope, target);
      if (table == nullptr) return nullptr;
    }
  } else if (hold_with_others(file) && size_of(file) == sizeof(TokenTable)) {
    table = map_file(file);
  }
  if (table == nullptr) return nullptr;
  if (has_name(file) && table->magic == kMagic) return table;
  munmap(table, sizeof(TokenTable));
  errno = EAGAIN;
  return nullptr;
}

}  // namespace

TokenTable* open_table(const SharedFolder& folder, const std::string& name, const std::string& scope,
                       const std::string& target, Descriptor& file, std::string& reason) {
  Clock& clock = real_clock();
  int error = EAGAIN;
  for (const double deadline = clock.now() + kOpenSecondsMax; error == EAGAIN && clock.now() < deadline;) {
    file = folder.open_or_create(name, reason);
    if (!file.is_open()) return nullptr;
    if (TokenTable* table = find_or_make_in(folder, name, file, scope, target); table != nullptr) return table;
    error = errno;
    file = {};
    if (error == EAGAIN) clock.sleep_until(clock.now() + kOpenAgainSeconds);
  }
  reason = folder.path() + "/" + name + ": " +
           (error == EAGAIN ? "another process is making or removing it, and does not go on" : std::strerror(error));
  return nullptr;
}

}  // namespace swath
