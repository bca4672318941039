// The tokens of a target as they lie in shared memory: who holds one, who waits, and what the controllers have learned.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/process.h"
#include "base/shared_memory.h"
#include "throttle/controller.h"
#include "throttle/tokens.h"

namespace swath {

constexpr int32_t kSeats = 1024;
constexpr int32_t kDecisionsKept = 256;
constexpr int32_t kMembers = 512;
constexpr double kHoldSecondsMax = 60;

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

// A process and the streams that it has; a place without any is free.
struct Member {
  Process process;
  int32_t streams;
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

  Controller& controller(Pattern pattern) {
    return controllers[std::clamp(static_cast<int>(pattern), 0, kPatterns - 1)];
  }
};

// In shared memory: no pointers, no constructors that other processes would miss. Nothing in it is an index, a count or
// the length of a text before make_sound().
struct TokenTable {
  std::atomic<uint64_t> magic;
  pthread_mutex_t mutex;
  char target[256];
  char scope[64];
  std::atomic<int32_t> streams;  // of all members
  uint64_t next_ticket;
  double looked_at;  // when somebody last looked for those that died
  double hold_seconds_max;
  int32_t seats_used;    // no seat beyond was ever taken
  int32_t members_used;  // no member beyond has ever been
  Lane lanes[2];
  int64_t decisions;  // ever made
  Decision decided[kDecisionsKept];
  Member others;  // those that found no place among the members: they cannot be told apart, nor be missed
  Member members[kMembers];
  Seat seats[kSeats];

  Lane& lane(Direction direction) { return lanes[direction == Direction::kRead ? 0 : 1]; }
  void make_sound();
  void count_served();
  void count_streams();
  Member* find_member(const Process& process);
  Member& add_member(const Process& process);
};

// The name of a target's table in the folder of shared memory.
std::string table_name_of(const std::string& scope, const std::string& target);
// Makes a table of memory that is all zero bytes.
TokenTable* make_table(void* memory, const std::string& scope, const std::string& target);
// The table of a file that is held (with others); null where it has none of this form.
TokenTable* map_table(const Descriptor& file);
// Finds or makes the table of that name; holds its file, with others. Null: `reason` says why.
TokenTable* open_table(const SharedFolder& folder, const std::string& name, const std::string& scope,
                       const std::string& target, Descriptor& file, std::string& reason);

}  // namespace swath
