// Tokens of servers: they limit how many operations of a node's processes each server of a store handles at a time.
//
// Each server is a target ("rados:FSID/osd.3"), which `swath throttle status` shows like a disk. A token belongs to one
// operation: taken before it starts, given back when it is answered (store/in_flight.h shows that no deadlock exists).
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
  // `scope`: the processes that share the tokens (NodeTokens::open). Only fixed limits apply: the best number of
  // operations of a server is not searched for.
  ServerTokens(std::string scope, const ThrottleOptions& limits) : scope_(std::move(scope)), limits_(limits) {}

  std::unique_ptr<ServerTurn> take(const std::string& server, Direction direction, int64_t bytes,
                                   Counters& counters) override;

 private:
  // This file counts as a stream of each server that it has used.
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
