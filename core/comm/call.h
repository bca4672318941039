// A rank's collective call: ranks compare their calls, and an error message describes them if they differ.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

struct Call {
  enum class Kind : int32_t {
    kBarrier,
    kNodeBarrier,
    kAllgather,
    kAllreduce,
    kBroadcast,
    kExchange,
    kSharedWindows,
    kDuplicate
  };

  Kind kind = Kind::kBarrier;
  int32_t root = -1;      // of a broadcast
  int64_t bytes = -1;     // -1: the call has none
  int32_t duplicate = 0;  // which duplicate is called; 0: the communicator itself

  friend bool operator==(const Call&, const Call&) = default;
};

// "allgather(16 bytes)", "broadcast(8 bytes from rank 2)", "barrier of duplicate 1".
std::string describe(const Call& call);

}  // namespace swath
