#include "throttle/server_tokens.h"

#include <utility>

namespace swath {
namespace {

class TokenTurn final : public ServerTurn {
 public:
  TokenTurn(std::shared_ptr<Tokens> tokens, const Grant& grant, int64_t bytes)
      : tokens_(std::move(tokens)), grant_(grant), bytes_(bytes) {}
  ~TokenTurn() override { tokens_->give_back(grant_, bytes_, true, real_clock()); }

 private:
  const std::shared_ptr<Tokens> tokens_;
  const Grant grant_;
  const int64_t bytes_;
};

}  // namespace

std::shared_ptr<Tokens> ServerTokens::tokens_of(const std::string& server) {
  Servers& servers = servers_.get();
  const std::lock_guard guard(servers.mutex);
  auto& known = servers.known[server];
  if (known == nullptr) known = std::make_unique<Server>(NodeTokens::open(scope_, server));
  return known->tokens;
}

std::unique_ptr<ServerTurn> ServerTokens::take(const std::string& server, Direction direction, int64_t bytes,
                                               Counters& counters) {
  const auto& limit = direction == Direction::kRead ? limits_.reads : limits_.writes;
  if (!limit || limit->streams <= 0) return nullptr;
  const std::shared_ptr<Tokens> tokens = tokens_of(server);
  const Grant grant = tokens->acquire(direction, pattern_of(bytes), *limit, real_clock());
  counters.token_waits += grant.waited > 0;
  counters.token_seconds += grant.waited;
  return std::make_unique<TokenTurn>(tokens, grant, bytes);
}

}  // namespace swath
