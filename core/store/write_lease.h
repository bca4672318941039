// Writes that take no lock as long as nobody fills in holes.
//
// Who fills in holes reads a range, changes some bytes of it and writes all of it back: a byte that somebody else wrote
// there meanwhile is lost. Range locks prevent that, but cost two system calls a write. So they are used only while
// somebody fills in holes. Two bytes far behind the data say so to all processes that have the file open, on whatever
// machine, by open-file-description locks:
//
//   byte 2^62      "lease":    shared by everybody who writes without range locks
//   byte 2^62 + 1  "filling":  shared by everybody who fills in holes, from the first time until the file is closed
//
// A writer takes the lease, and looks whether anybody is filling: then it gives the lease back and uses range locks.
// Who wants to fill in holes takes "filling", and then waits until it can have the lease exclusively for an instant:
// nobody has it then, and nobody takes it later. A thread of the process looks every 10 ms for each lease that it has:
// it gives back what was not used since it looked last, and what somebody who wants to fill in holes waits for. The
// kernel gives back what a killed process had.
#pragma once

#include <cstdint>
#include <memory>

#include "base/per_process.h"

namespace swath {

// Of one open file description, by any thread. A forked child begins without a lease. Descriptors are passed in because
// a forked child opens its files anew.
class WriteLease {
 public:
  // Where the lease byte is, for whoever asks who has it.
  static constexpr int64_t kLeaseByte = int64_t{1} << 62;
  static constexpr int64_t kFillingByte = kLeaseByte + 1;

  WriteLease() = default;
  // No write may be under way.
  ~WriteLease();
  WriteLease(const WriteLease&) = delete;
  WriteLease& operator=(const WriteLease&) = delete;

  // Begins a write. True: nobody fills in holes until leave(). False: the write needs a range lock, and no leave().
  bool enter(int descriptor);
  void leave();

  // For whoever is going to fill in holes; to be called again until it returns no EAGAIN. 0: from now on, until the
  // file is closed, every other writer takes range locks. EAGAIN: somebody still writes by a lease. Else the errno
  // value of the lock that cannot be had.
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
