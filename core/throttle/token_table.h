// The table of a target's tokens in shared memory: holders, waiting streams, and the state of the controllers.
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
  std::atomic<uint32_t> state;  // the futex of its stream
  Direction direction;
  Pattern pattern;
  StreamLimit limit;
  Process owner;
  uint64_t ticket;
  double asked_at;
  double granted_at;
  double served_at_grant;  // Lane::served at the grant
  int32_t limit_in_force;  // at the grant; 0: no limit
  uint32_t epoch;          // of the controller at the grant
};

// A process and the number of its streams; an entry without streams is free.
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

  // Simulated time starts again with each simulation.
  void count_until(double now) {
    served += active * std::max(now - served_until, 0.0);
    served_until = now;
  }

  Controller& controller(Pattern pattern) {
    return controllers[std::clamp(static_cast<int>(pattern), 0, kPatterns - 1)];
  }
};

// In shared memory: no pointers, and no constructors that other processes would miss. Indices, counts and text lengths
// are valid only after make_sound().
struct TokenTable {
  std::atomic<uint64_t> magic;
  pthread_mutex_t mutex;
  char target[256];
  char scope[64];
  std::atomic<int32_t> streams;  // of all members
  uint64_t next_ticket;
  double looked_at;  // the time of the last search for dead processes
  double hold_seconds_max;
  int32_t seats_used;    // no seat beyond this was ever used
  int32_t members_used;  // no member beyond this was ever used
  Lane lanes[2];
  int64_t decisions;  // total number
  Decision decided[kDecisionsKept];
  Member others;  // all processes without an entry of their own: their deaths are not detected
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
// Constructs a table in zeroed memory.
TokenTable* make_table(void* memory, const std::string& scope, const std::string& target);
// Maps the table of a file with a shared lock; null if the file has another format.
TokenTable* map_table(const Descriptor& file);
// Opens or creates the table of that name, and holds a shared lock on its file. Null on failure, with `reason`.
TokenTable* open_table(const SharedFolder& folder, const std::string& name, const std::string& scope,
                       const std::string& target, Descriptor& file, std::string& reason);

}  // namespace swath
