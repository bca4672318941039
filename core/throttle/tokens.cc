#include "throttle/tokens.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/process.h"

namespace swath {
namespace {

constexpr int32_t kSeats = 1024;
constexpr int32_t kDecisionsKept = 256;
constexpr uint64_t kMagic = 0x5357'4154'4854'0001;  // changes with the form of the table
constexpr double kLookAgainSeconds = 0.25;          // who waits looks for those that died so often
constexpr double kHoldSecondsMax = 60;
constexpr const char* kFolder = "/dev/shm";

enum SeatState : uint32_t { kFree, kWaiting, kHolding };

struct Seat {
  std::atomic<uint32_t> state;  // what its stream waits on
  Direction direction;
  Pattern pattern;
  StreamLimit limit;
  Process owner;
  uint64_t ticket;
  double asked_at;
  double granted_at;
  double served_at_grant;  // Lane::served then
  int32_t limit_in_force;  // then; 0: none
  uint32_t epoch;          // of the controller then
};

struct Lane {
  int32_t active;
  int32_t waiting;
  double served;  // stream seconds: the integral of `active` over time
  double served_until;
  int64_t grants;
  int64_t waits;
  double wait_seconds;
  double wait_seconds_max;
  int64_t taken_back;
  Controller controllers[kPatterns];

  // Simulated time begins again with each simulation.
  void count_until(double now) {
    served += active * std::max(now - served_until, 0.0);
    served_until = now;
  }
};

}  // namespace

// In shared memory: no pointers, no constructors that other processes would miss.
struct TokenTable {
  std::atomic<uint64_t> magic;
  pthread_mutex_t mutex;
  char target[256];
  char scope[64];
  std::atomic<int32_t> streams;
  uint64_t next_ticket;
  double looked_at;  // when somebody last looked for those that died
  double hold_seconds_max;
  int32_t seats_used;  // no seat beyond was ever taken
  Lane lanes[2];
  int64_t decisions;  // ever made
  Decision decided[kDecisionsKept];
  Seat seats[kSeats];

  Lane& lane(Direction direction) { return lanes[direction == Direction::kRead ? 0 : 1]; }
};

namespace {

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void copy_text(char* to, size_t size, const std::string& text) { std::snprintf(to, size, "%s", text.c_str()); }

// `memory` is all zero bytes.
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

std::string name_prefix() { return "swath-tokens-" + std::to_string(getuid()) + "-"; }

std::string path_of(const std::string& scope, const std::string& target) {
  char hash[40];
  std::snprintf(hash, sizeof hash, "%016zx%016zx", std::hash<std::string>()(scope), std::hash<std::string>()(target));
  return std::string(kFolder) + "/" + name_prefix() + hash;
}

void* map_file(int descriptor) {
  void* memory = mmap(nullptr, sizeof(TokenTable), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Removed unless somebody has it open; the caller's own shared lock gives way to an exclusive one only then.
bool remove_if_unused(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) return false;
  unlink(path.c_str());
  return true;
}

bool is_named(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

// A file of our own that nobody else has locked becomes a table. One that has a size was left behind by the dead: it is
// removed, for a process between its two locks may have it mapped.
void* make_in(int descriptor, const std::string& path, const std::string& scope, const std::string& target) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return nullptr;
  if (status.st_size != 0) {
    unlink(path.c_str());
    return nullptr;
  }
  errno = posix_fallocate(descriptor, 0, sizeof(TokenTable));
  void* memory = errno == 0 ? map_file(descriptor) : nullptr;
  if (memory != nullptr) make_table(memory, scope, target);
  return memory;
}

void* find_in(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || status.st_size != sizeof(TokenTable)) return nullptr;
  return map_file(descriptor);
}

// The file, locked (shared), with a table in it; -1 with errno where that cannot be had. Changing one kind of lock into
// another lets go for a moment, in which the file may be removed: then it is opened anew.
int open_file(const std::string& path, const std::string& scope, const std::string& target, void*& memory) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (descriptor < 0) return -1;
    errno = 0;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      memory = is_named(descriptor) ? make_in(descriptor, path, scope, target) : nullptr;
      const int error = errno;
      flock(descriptor, LOCK_SH);
      errno = error;
    } else if (flock(descriptor, LOCK_SH) == 0) {
      errno = 0;
      memory = find_in(descriptor);
    }
    const int error = errno;
    if (memory != nullptr && is_named(descriptor) && static_cast<TokenTable*>(memory)->magic == kMagic) {
      return descriptor;
    }
    if (memory != nullptr) munmap(memory, sizeof(TokenTable));
    memory = nullptr;
    close(descriptor);
    if (error == ENOSPC || error == ENOMEM || error == EACCES) {
      errno = error;
      return -1;
    }
  }
  errno = EAGAIN;
  return -1;
}

// This process; found out once, and again after a fork.
const Process& own_process() {
  static std::mutex mutex;
  static Process process;
  const std::lock_guard lock(mutex);
  if (process.id != getpid()) process = this_process();
  return process;
}

LaneStatus status_of(const Lane& lane) {
  LaneStatus status{lane.active,       lane.waiting,          lane.grants,     lane.waits,
                    lane.wait_seconds, lane.wait_seconds_max, lane.taken_back, {}};
  for (int p = 0; p < kPatterns; ++p) {
    const Controller& controller = lane.controllers[p];
    if (controller.crowd() == 0 && controller.limit() == 0) continue;
    status.patterns.push_back({static_cast<Pattern>(p), controller.limit(), controller.holding(),
                               controller.held_rate(), controller.crowd()});
  }
  return status;
}

}  // namespace

std::string to_string(Pattern pattern) {
  return pattern == Pattern::kLarge ? "large" : pattern == Pattern::kMedium ? "medium" : "small";
}

Pattern pattern_of(int64_t request_bytes) {
  constexpr int64_t kLargeMin = 1 << 20;
  constexpr int64_t kSmallMax = 64 << 10;
  return request_bytes >= kLargeMin ? Pattern::kLarge : request_bytes <= kSmallMax ? Pattern::kSmall : Pattern::kMedium;
}

// The table's mutex, held. Where its last holder died in the middle, what it left half done is counted again.
class NodeTokens::Locked {
 public:
  explicit Locked(TokenTable& table) : table_(table) {
    if (pthread_mutex_lock(&table.mutex) == EOWNERDEAD) {
      pthread_mutex_consistent(&table.mutex);
      for (const Direction direction : {Direction::kRead, Direction::kWrite}) count_again(direction);
    }
  }
  ~Locked() { pthread_mutex_unlock(&table_.mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  void count_again(Direction direction) {
    Lane& lane = table_.lane(direction);
    lane.active = lane.waiting = 0;
    for (const Seat& seat : table_.seats) {
      if (seat.direction != direction) continue;
      lane.active += seat.state == kHolding;
      lane.waiting += seat.state == kWaiting;
    }
  }

  TokenTable& table_;
};

NodeTokens::NodeTokens(TokenTable* table, int descriptor, std::string path)
    : table_(table), descriptor_(descriptor), path_(std::move(path)) {}

NodeTokens::~NodeTokens() {
  munmap(table_, sizeof(TokenTable));
  if (descriptor_ < 0) return;
  remove_if_unused(descriptor_, path_);
  close(descriptor_);
}

std::shared_ptr<NodeTokens> NodeTokens::open(const std::string& scope, const std::string& target, std::string* reason) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::weak_ptr<NodeTokens>> known;
  const std::lock_guard lock(mutex);
  std::weak_ptr<NodeTokens>& place = known[{scope, target}];
  if (auto tokens = place.lock()) return tokens;

  std::string path = path_of(scope, target);
  void* memory = nullptr;
  const int descriptor = open_file(path, scope, target, memory);
  if (descriptor < 0) {
    if (reason != nullptr) *reason = path + ": " + std::strerror(errno) + "; this process counts its own streams only";
    path.clear();
    memory = mmap(nullptr, sizeof(TokenTable), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorKind::kStore, "no memory for the tokens of " + target, ENOMEM);
    make_table(memory, scope, target);
  }
  std::shared_ptr<NodeTokens> tokens(new NodeTokens(static_cast<TokenTable*>(memory), descriptor, std::move(path)));
  place = tokens;
  return tokens;
}

std::vector<TargetStatus> NodeTokens::status_of_all() {
  std::vector<TargetStatus> all;
  DIR* folder = opendir(kFolder);
  if (folder == nullptr) return all;
  const std::string prefix = name_prefix();
  while (const dirent* entry = readdir(folder)) {
    if (!std::string(entry->d_name).starts_with(prefix)) continue;
    const std::string path = std::string(kFolder) + "/" + entry->d_name;
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    struct stat status{};
    const bool used = !remove_if_unused(descriptor, path) && flock(descriptor, LOCK_SH | LOCK_NB) == 0;
    if (used && fstat(descriptor, &status) == 0 && status.st_size == sizeof(TokenTable)) {
      if (void* memory = map_file(descriptor); memory != nullptr) {
        NodeTokens tokens(static_cast<TokenTable*>(memory), descriptor, path);
        if (tokens.table_->magic == kMagic) all.push_back(tokens.status());
        continue;  // its destructor closes
      }
    }
    close(descriptor);
  }
  closedir(folder);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.target < b.target; });
  return all;
}

void NodeTokens::enter() { ++table_->streams; }
void NodeTokens::leave() { --table_->streams; }
int32_t NodeTokens::streams() const { return table_->streams; }

void NodeTokens::set_hold_seconds_max(double seconds) {
  const Locked locked(*table_);
  table_->hold_seconds_max = seconds;
}

void NodeTokens::remember(Direction direction, Pattern pattern, int32_t limit, double rate, double crowd) {
  const Locked locked(*table_);
  Controller& controller = table_->lane(direction).controllers[static_cast<int>(pattern)];
  if (controller.crowd() > 0 || controller.holding()) return;  // what this run has seen itself goes before
  controller.remember(limit, rate, crowd);
}

TargetStatus NodeTokens::status() const {
  const Locked locked(*table_);
  TargetStatus status{
      table_->target, table_->scope, table_->streams, status_of(table_->lanes[0]), status_of(table_->lanes[1]), {}};
  const int64_t kept = std::min<int64_t>(table_->decisions, kDecisionsKept);
  for (int64_t i = table_->decisions - kept; i < table_->decisions; ++i) {
    status.decisions.push_back(table_->decided[i % kDecisionsKept]);
  }
  return status;
}

Grant NodeTokens::acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                          const Patience& patience) {
  std::vector<int32_t> admitted;
  Grant grant;
  Seat* seat = nullptr;
  const double asked_at = clock.now();
  {
    const Locked locked(*table_);
    int32_t free = 0;
    while (free < table_->seats_used && table_->seats[free].state != kFree) ++free;
    if (free == kSeats) return {.granted_at = asked_at};
    table_->seats_used = std::max(table_->seats_used, free + 1);
    seat = &table_->seats[free];
    grant.seat = free;
    grant.ticket = ++table_->next_ticket;
    seat->direction = direction;
    seat->pattern = pattern;
    seat->limit = limit;
    seat->owner = own_process();
    seat->ticket = grant.ticket;
    seat->asked_at = asked_at;
    seat->state = kWaiting;
    ++table_->lane(direction).waiting;
    hand_out(locked, direction, asked_at, admitted);
  }
  wake(admitted, clock);
  while (seat->state == kWaiting) {
    clock.wait(seat->state, kWaiting, clock.now() + kLookAgainSeconds);
    if (seat->state != kWaiting) break;
    take_back_lost(clock);
    bool goes_on = false;
    try {
      check_interrupt();
      goes_on = !patience || patience();
    } catch (...) {
      give_up(grant, clock);
      throw;
    }
    if (!goes_on) {
      give_up(grant, clock);
      return {};
    }
  }
  grant.limit = seat->limit_in_force;
  grant.granted_at = seat->granted_at;
  grant.waited = grant.granted_at - asked_at;
  return grant;
}

void NodeTokens::give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) {
  if (grant.seat < 0) return;
  std::vector<int32_t> admitted;
  {
    const Locked locked(*table_);
    Seat& seat = table_->seats[grant.seat];
    if (seat.state != kHolding || seat.ticket != grant.ticket) return;  // it was taken back
    const double now = clock.now();
    Lane& lane = table_->lane(seat.direction);
    lane.count_until(now);
    const double seconds = now - seat.granted_at;
    const Burst burst{.bytes = bytes,
                      .seconds = seconds,
                      .concurrency = seconds > 0 ? (lane.served - seat.served_at_grant) / seconds : 1,
                      .from_device = from_device,
                      .epoch = seat.epoch};
    Decision decision;
    if (lane.controllers[static_cast<int>(seat.pattern)].completed(burst, decision)) {
      decision.time = now;
      decision.direction = static_cast<int32_t>(seat.direction);
      decision.pattern = static_cast<int32_t>(seat.pattern);
      table_->decided[table_->decisions++ % kDecisionsKept] = decision;
    }
    --lane.active;
    seat.state = kFree;
    hand_out(locked, seat.direction, now, admitted);
  }
  wake(admitted, clock);
}

// A stream that waits no more; it may have been given a token meanwhile.
void NodeTokens::give_up(const Grant& grant, Clock& clock) {
  {
    const Locked locked(*table_);
    Seat& seat = table_->seats[grant.seat];
    if (seat.state == kWaiting && seat.ticket == grant.ticket) {
      --table_->lane(seat.direction).waiting;
      seat.state = kFree;
      return;
    }
  }
  give_back(grant, 0, false, clock);
}

// From those that have died, and those that have kept theirs for too long.
void NodeTokens::take_back_lost(Clock& clock) {
  std::vector<int32_t> admitted;
  {
    const Locked locked(*table_);
    const double now = clock.now();
    if (std::abs(now - table_->looked_at) < kLookAgainSeconds) return;
    table_->looked_at = now;
    for (int32_t i = 0; i < table_->seats_used; ++i) {
      Seat& seat = table_->seats[i];
      if (seat.state == kFree) continue;
      const bool too_long = seat.state == kHolding && now - seat.granted_at > table_->hold_seconds_max;
      if (!too_long && (seat.owner == own_process() || !has_died(seat.owner, own_process()))) continue;
      Lane& lane = table_->lane(seat.direction);
      lane.count_until(now);
      if (seat.state == kHolding) {
        --lane.active;
        ++lane.taken_back;
      } else {
        --lane.waiting;
      }
      seat.state = kFree;
    }
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) hand_out(locked, direction, now, admitted);
  }
  wake(admitted, clock);
}

// In the order of the tickets, until the first must wait: nobody overtakes, not even who would be content with less.
void NodeTokens::hand_out(const Locked& /*held*/, Direction direction, double now, std::vector<int32_t>& admitted) {
  Lane& lane = table_->lane(direction);
  while (lane.waiting > 0) {
    Seat* first = nullptr;
    for (int32_t i = 0; i < table_->seats_used; ++i) {
      Seat& seat = table_->seats[i];
      if (seat.state != kWaiting || seat.direction != direction) continue;
      if (first == nullptr || seat.ticket < first->ticket) first = &seat;
    }
    if (first == nullptr) return;
    const Controller& controller = lane.controllers[static_cast<int>(first->pattern)];
    const int32_t limit = first->limit.streams > 0 ? first->limit.streams : controller.limit();
    if (limit > 0 && lane.active >= limit) return;
    lane.count_until(now);
    ++lane.active;
    --lane.waiting;
    ++lane.grants;
    const double waited = now - first->asked_at;
    lane.waits += waited > 0;
    lane.wait_seconds += waited;
    lane.wait_seconds_max = std::max(lane.wait_seconds_max, waited);
    first->granted_at = now;
    first->served_at_grant = lane.served;
    first->limit_in_force = limit;
    first->epoch = controller.epoch();
    first->state = kHolding;
    admitted.push_back(static_cast<int32_t>(first - table_->seats));
  }
}

void NodeTokens::wake(const std::vector<int32_t>& admitted, Clock& clock) {
  for (const int32_t seat : admitted) clock.wake_all(table_->seats[seat].state);
}

}  // namespace swath
