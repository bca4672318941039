// The identity of a process, by which processes that share memory with it detect its death.
#pragma once

#include <cstdint>

namespace swath {

// Process numbers are reused: only with the start time do they identify a process.
struct Process {
  int64_t id = 0;
  uint64_t started = 0;       // clock ticks since boot; 0 if /proc is not available
  uint64_t id_namespace = 0;  // process numbers of another container mean nothing here

  friend bool operator==(const Process&, const Process&) = default;
};

Process this_process();

// True only if it is certain: in doubt a process is alive.
bool has_died(const Process& process, const Process& observer);

}  // namespace swath
