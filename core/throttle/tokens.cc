#include "throttle/tokens.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/per_process.h"
#include "base/process.h"
#include "throttle/token_table.h"

namespace swath {
namespace {

constexpr double kLookAgainSeconds = 0.25;  // the interval at which waiting streams look for dead processes

template <size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, strnlen(text, kSize)};
}

// This process; computed once a thread, and again after a fork.
const Process& own_process() {
  thread_local Process process;
  thread_local uint64_t generation = UINT64_MAX;
  if (generation != fork_generation()) {
    process = this_process();
    generation = fork_generation();
  }
  return process;
}

bool is_dead(const Process& process) { return process != own_process() && has_died(process, own_process()); }

// The tokens that are open in this process.
struct OpenTokens {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<NodeTokens>> tokens;
};
PerProcess<OpenTokens> open_tokens;

LaneStatus status_of(const Lane& lane) {
  LaneStatus status{lane.active,       lane.waiting,          lane.grants,     lane.waits,
                    lane.wait_seconds, lane.wait_seconds_max, lane.taken_back, {}};
  for (int p = 0; p < kPatterns; ++p) {
    const Controller& controller = lane.controllers[p];
    if (controller.unlimited_streams() == 0 && controller.limit() == 0) continue;
    status.patterns.push_back({static_cast<Pattern>(p), controller.limit(), controller.holding(),
                               controller.held_rate(), controller.unlimited_streams()});
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

// Holds the table's mutex. If its last holder died, the counts are computed again.
class NodeTokens::Locked {
 public:
  explicit Locked(TokenTable& table) : table_(table) {
    const bool holder_died = pthread_mutex_lock(&table.mutex) == EOWNERDEAD;
    table.make_sound();
    if (!holder_died) return;
    pthread_mutex_consistent(&table.mutex);
    table.count_served();
    table.count_streams();
  }
  ~Locked() { pthread_mutex_unlock(&table_.mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  TokenTable& table_;
};

NodeTokens::NodeTokens(TokenTable* table, Location place) : table_(table), place_(std::move(place)) {}

NodeTokens::~NodeTokens() {
  munmap(table_, sizeof(TokenTable));
  if (place_.folder == nullptr || is_inherited()) return;
  place_.folder->remove_if_unheld(place_.file, place_.name);
}

std::shared_ptr<NodeTokens> NodeTokens::open(const std::string& scope, const std::string& target, std::string* reason) {
  OpenTokens& own = open_tokens.get();
  const std::lock_guard lock(own.mutex);
  std::weak_ptr<NodeTokens>& kept = own.tokens[{scope, target}];
  if (auto tokens = kept.lock()) return tokens;

  std::string why;
  Location place{.scope = scope,
                 .target = target,
                 .folder = SharedFolder::open(why),
                 .name = table_name_of(scope, target),
                 .file = {}};
  TokenTable* table = nullptr;
  if (place.folder != nullptr) table = open_table(*place.folder, place.name, scope, target, place.file, why);
  if (table == nullptr) {
    if (reason != nullptr) *reason = why + "; this process counts its own streams only";
    place.folder = nullptr;
    void* memory = mmap(nullptr, sizeof(TokenTable), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorKind::kStore, "no memory for the tokens of " + target, ENOMEM);
    table = make_table(memory, scope, target);
  }
  std::shared_ptr<NodeTokens> tokens(new NodeTokens(table, std::move(place)));
  kept = tokens;
  return tokens;
}

std::shared_ptr<Tokens> NodeTokens::for_this_process() {
  if (!is_inherited()) return shared_from_this();
  return open(place_.scope, place_.target);
}

std::vector<TargetStatus> NodeTokens::status_of_all(std::string* reason) {
  std::vector<TargetStatus> all;
  std::string why;
  const std::shared_ptr<const SharedFolder> folder = SharedFolder::open(why);
  for (const std::string& name : folder ? folder->tables() : std::vector<std::string>()) {
    std::string why_not;
    Descriptor file = folder->open_file(name, why_not);
    if (!file.is_open() && errno != ENOENT) why = why_not;
    if (!file.is_open() || folder->remove_if_unheld(file, name)) continue;
    TokenTable* const table = hold_with_others(file) ? map_table(file) : nullptr;
    if (table == nullptr) continue;
    const NodeTokens tokens(table,
                            {.scope = "", .target = "", .folder = folder, .name = name, .file = std::move(file)});
    tokens.look_for_lost(Lost::kDead, real_clock(), 0);
    all.push_back(tokens.status());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.target < b.target; });
  if (reason != nullptr) *reason = why;
  return all;
}

// Time is that of the thread's clock, as in acquire().
void NodeTokens::enter() {
  if (is_inherited()) return;
  look_for_lost(Lost::kDead, clock_of_thread(), kLookAgainSeconds);
  const Locked locked(*table_);
  Member* member = table_->find_member(own_process());
  if (member == nullptr) member = &table_->add_member(own_process());
  ++member->streams;
  table_->count_streams();
}

void NodeTokens::leave() {
  if (is_inherited()) return;
  const Locked locked(*table_);
  Member* member = table_->find_member(own_process());
  if (member == nullptr) member = &table_->others;
  member->streams = std::max(member->streams - 1, 0);
  table_->count_streams();
}

int32_t NodeTokens::streams() const { return is_inherited() ? 0 : table_->streams.load(); }

void NodeTokens::set_hold_seconds_max(double seconds) {
  const Locked locked(*table_);
  table_->hold_seconds_max = seconds;
}

void NodeTokens::remember(Direction direction, Pattern pattern, int32_t limit, double rate, double unlimited_streams) {
  if (is_inherited() || !std::isfinite(rate) || !std::isfinite(unlimited_streams)) return;
  const Locked locked(*table_);
  Controller& controller = table_->lane(direction).controller(pattern);
  if (controller.unlimited_streams() > 0 || controller.holding()) return;  // results of this run take precedence
  controller.remember(limit, rate, unlimited_streams);
}

TargetStatus NodeTokens::status() const {
  if (is_inherited())
    return {.target = place_.target, .scope = place_.scope, .streams = 0, .reads = {}, .writes = {}, .decisions = {}};
  look_for_lost(Lost::kDead, clock_of_thread(), kLookAgainSeconds);
  const Locked locked(*table_);
  TargetStatus status{.target = text_of(table_->target),
                      .scope = text_of(table_->scope),
                      .streams = table_->streams,
                      .reads = status_of(table_->lanes[0]),
                      .writes = status_of(table_->lanes[1]),
                      .decisions = {}};
  const int64_t kept = std::min<int64_t>(table_->decisions, kDecisionsKept);
  for (int64_t i = table_->decisions - kept; i < table_->decisions; ++i) {
    status.decisions.push_back(table_->decided[i % kDecisionsKept]);
  }
  return status;
}

Grant NodeTokens::acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                          const Patience& patience) {
  if (is_inherited()) return {.granted_at = clock.now()};
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
    look_for_lost(Lost::kDeadOrLate, clock, kLookAgainSeconds);
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
  if (grant.seat < 0 || grant.seat >= kSeats || grant.generation != fork_generation() || is_inherited()) return;
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
    if (lane.controller(seat.pattern).completed(burst, decision)) {
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

// The stream stops waiting; it may have got a token meanwhile.
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

// Computes all counts again, too, which repairs any wrong count.
void NodeTokens::look_for_lost(Lost lost, Clock& clock, double again_seconds) const {
  std::vector<int32_t> admitted;
  {
    const Locked locked(*table_);
    const double now = clock.now();
    if (std::abs(now - table_->looked_at) < again_seconds) return;
    table_->looked_at = now;
    forget_dead(locked);
    take_back(locked, lost, now);
    table_->count_served();
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) hand_out(locked, direction, now, admitted);
  }
  wake(admitted, clock);
}

void NodeTokens::forget_dead(const Locked& /*held*/) const {
  for (int32_t i = 0; i < table_->members_used; ++i) {
    Member& member = table_->members[i];
    if (member.streams > 0 && is_dead(member.process)) member.streams = 0;
  }
  table_->count_streams();
}

void NodeTokens::take_back(const Locked& /*held*/, Lost lost, double now) const {
  for (int32_t i = 0; i < table_->seats_used; ++i) {
    Seat& seat = table_->seats[i];
    if (seat.state > kHolding) seat.state = kFree;  // an invalid state
    if (seat.state == kFree) continue;
    const bool is_late =
        lost == Lost::kDeadOrLate && seat.state == kHolding && now - seat.granted_at > table_->hold_seconds_max;
    if (!is_late && !is_dead(seat.owner)) continue;
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
}

// Grants tokens in ticket order until a stream must wait: no stream overtakes, not even one with a higher limit.
void NodeTokens::hand_out(const Locked& /*held*/, Direction direction, double now,
                          std::vector<int32_t>& admitted) const {
  Lane& lane = table_->lane(direction);
  while (lane.waiting > 0) {
    Seat* first = nullptr;
    for (int32_t i = 0; i < table_->seats_used; ++i) {
      Seat& seat = table_->seats[i];
      if (seat.state != kWaiting || seat.direction != direction) continue;
      if (first == nullptr || seat.ticket < first->ticket) first = &seat;
    }
    if (first == nullptr) return;
    const Controller& controller = lane.controller(first->pattern);
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

void NodeTokens::wake(const std::vector<int32_t>& admitted, Clock& clock) const {
  for (const int32_t seat : admitted) clock.wake_all(table_->seats[seat].state);
}

}  // namespace swath
