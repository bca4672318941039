// Writes without locks, as long as no process fills holes.
//
// A process that fills holes reads a range, changes some of its bytes and writes all of it back: concurrent writes to
// the other bytes would be lost. Range locks prevent that, but cost two system calls a write, so they are used only
// while a process fills holes. Open-file-description locks on two bytes far behind the data show this to all processes
// with the file open, on every machine:
//
//   byte 2^62      "lease":    shared by all that write without range locks
//   byte 2^62 + 1  "filling":  shared by all that fill holes, from their first hole until they close the file
//
// A writer takes the lease, and checks if "filling" is locked: if so, it gives the lease back and uses range locks. A
// process that wants to fill holes locks "filling", and then waits until it gets the lease exclusively for an instant:
// no writer has the lease then, and none keeps it later. Every 10 ms a thread checks each lease of its process: it
// gives back unused leases, and those that a process waits for to fill holes. The kernel releases the locks of a killed
// process.
#pragma once

#include <cstdint>
#include <memory>

#include "base/per_process.h"

namespace swath {

// For one open file description, by any thread. A forked child begins without a lease. Descriptors are arguments
// because a forked child opens its files again.
class WriteLease {
 public:
  // The offset of the lease byte, to find its holders.
  static constexpr int64_t kLeaseByte = int64_t{1} << 62;
  static constexpr int64_t kFillingByte = kLeaseByte + 1;

  WriteLease() = default;
  // Requires that no write is in progress.
  ~WriteLease();
  WriteLease(const WriteLease&) = delete;
  WriteLease& operator=(const WriteLease&) = delete;

  // Begins a write. True: no process fills holes until leave(). False: the write needs a range lock, and no leave().
  bool enter(int descriptor);
  void leave();

  // Before filling holes; to be repeated while it returns EAGAIN. 0: until the file is closed, every other writer takes
  // range locks. EAGAIN: a writer still has a lease. Other values: the errno of a failed lock.
  int end_leases(int descriptor);

 private:
  class State;
  struct Shared {
    Shared();
    std::shared_ptr<State> state;
  };
  class Keeper;
  static Keeper& keeper();

  PerProcess<Shared> shared_;
};

}  // namespace swath
