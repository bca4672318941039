// Who a process is, so that those who share memory with it can tell whether it still lives.
#pragma once

#include <cstdint>

namespace swath {

// A process number is used again after its owner's death: only with the start time does it name a process.
struct Process {
  int64_t id = 0;
  uint64_t started = 0;       // clock ticks since boot, 0 where /proc cannot tell
  uint64_t id_namespace = 0;  // process numbers of another container mean nothing here

  friend bool operator==(const Process&, const Process&) = default;
};

Process this_process();

// Only where it is certain: in doubt a process lives.
bool has_died(const Process& process, const Process& observer);

}  // namespace swath
