// Turns at the servers of a store. Throttling is optional: throttle/server_tokens.h has tokens for all processes of a
// node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/counters.h"
#include "base/direction.h"

namespace swath {

// The right to one operation at a server; the destructor gives it back, on any thread.
class ServerTurn {
 public:
  virtual ~ServerTurn() = default;
};

class ServerTurns {
 public:
  virtual ~ServerTurns() = default;
  // Waits until `server` may serve one more operation of `bytes` bytes. Counts the wait. Any thread may call it.
  virtual std::unique_ptr<ServerTurn> take(const std::string& server, Direction direction, int64_t bytes,
                                           Counters& counters) = 0;
};

}  // namespace swath
