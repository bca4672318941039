// Who may be served by a server of a store now. Nothing takes turns unless somebody asks for it:
// throttle/server_tokens.h has tokens for all processes of a node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/counters.h"
#include "base/direction.h"

namespace swath {

// The right to one operation at a server; given back by its end, on any thread.
class ServerTurn {
 public:
  virtual ~ServerTurn() = default;
};

class ServerTurns {
 public:
  virtual ~ServerTurns() = default;
  // Waits until `server` may serve one operation more; `bytes`: that it will move. Counts the wait. Any thread may ask.
  virtual std::unique_ptr<ServerTurn> take(const std::string& server, Direction direction, int64_t bytes,
                                           Counters& counters) = 0;
};

}  // namespace swath
