// What a rank does in a collective call: compared between ranks, and told to the reader when they differ.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

struct Call {
  enum class Kind : int32_t { kBarrier, kNodeBarrier, kAllgather, kBroadcast, kExchange, kSharedWindows };

  Kind kind = Kind::kBarrier;
  int32_t root = -1;   // of a broadcast
  int64_t bytes = -1;  // -1 where the call has none

  friend bool operator==(const Call&, const Call&) = default;
};

// "allgather(16 bytes)", "broadcast(8 bytes from rank 2)".
std::string describe(const Call& call);

}  // namespace swath
