// Tokens of servers: how many operations of all processes of a node each server of a store answers at a time.
//
// Each server is a target of its own ("rados:FSID/osd.3"), which `swath throttle status` shows like a disk. A token is
// of one operation: taken when it is about to begin, given back when it is answered (store/in_flight.h says why nobody
// waits for ever).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/per_process.h"
#include "store/server_turns.h"
#include "throttle/throttled_engine.h"

namespace swath {

class ServerTokens final : public ServerTurns {
 public:
  // `scope`: who shares them (NodeTokens::open). Numbers only bound anything: how many operations a server answers best
  // is not found out.
  ServerTokens(std::string scope, const ThrottleOptions& limits) : scope_(std::move(scope)), limits_(limits) {}

  std::unique_ptr<ServerTurn> take(const std::string& server, Direction direction, int64_t bytes,
                                   Counters& counters) override;

 private:
  // This file is a stream of each server that it has come to.
  struct Server {
    explicit Server(std::shared_ptr<Tokens> of_server) : tokens(std::move(of_server)) { tokens->enter(); }
    ~Server() { tokens->leave(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    const std::shared_ptr<Tokens> tokens;
  };
  struct Servers {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<Server>> known;
  };
  std::shared_ptr<Tokens> tokens_of(const std::string& server);

  const std::string scope_;
  const ThrottleOptions limits_;
  PerProcess<Servers> servers_;
};

}  // namespace swath
