// Tokens of a target that several nodes of a job share: one process has the table, the others ask it over TCP.
//
// The server is a few threads in a process of the job, one a connection, which take tokens for those at the other end.
// A connection that breaks gives its token back. While a stream waits the server says so every second; a client that
// hears nothing for silence_seconds_max goes on without a token, and asks no more for a while: a coordinator that is
// slow or gone must not hold up a program that could read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "throttle/tokens.h"

namespace swath {

// Where a server is, and the word that it knows its clients by.
struct ServerAddress {
  std::string host;
  int port = 0;
  std::string key;
};

// In a forked child it is no server: its threads are the parent's, and so is who listens.
class TokenServer {
 public:
  // Listens on a free port of every interface. Throws Error{kStore} where the system refuses.
  explicit TokenServer(std::shared_ptr<Tokens> tokens);
  ~TokenServer();
  TokenServer(const TokenServer&) = delete;
  TokenServer& operator=(const TokenServer&) = delete;

  const ServerAddress& address() const { return address_; }
  // Tests: answer later than asked by so much, as a node that is slow would.
  void set_delay_seconds(double seconds) { delay_seconds_ = seconds; }

 private:
  struct Serving;

  void accept_clients();
  void serve(int connection);
  bool serve_one(int connection);

  const std::shared_ptr<Tokens> tokens_;
  ServerAddress address_;
  std::atomic<bool> closing_{false};
  std::atomic<double> delay_seconds_{0};
  const uint64_t generation_ = fork_generation();
  std::unique_ptr<Serving> serving_;
};

// Asks a server. Time is the real one's.
class RemoteTokens final : public Tokens {
 public:
  // Of this process' arrays together. Throws Error{kStore} where the server cannot be reached.
  static std::shared_ptr<RemoteTokens> open(const ServerAddress& address, const std::string& target,
                                            double silence_seconds_max = 10);
  ~RemoteTokens() override;
  RemoteTokens(const RemoteTokens&) = delete;
  RemoteTokens& operator=(const RemoteTokens&) = delete;

  // Where the server cannot be reached any more, that is found out when a token is asked for.
  std::shared_ptr<Tokens> for_this_process() override;
  void enter() override {}
  void leave() override {}
  // There are others, or there would be no server.
  int32_t streams() const override { return is_inherited() ? 0 : 2; }
  Grant acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                const Patience& patience = {}) override;
  void give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) override;
  void remember(Direction, Pattern, int32_t, double, double) override {}  // the server's own process does
  TargetStatus status() const override;                                   // of this process' own waiting only

 private:
  RemoteTokens(ServerAddress address, std::string target, double silence_seconds_max);

  bool is_inherited() const { return generation_ != fork_generation(); }
  int idle_connection();
  void keep(int connection);
  int connect_to_server() const;

  const ServerAddress address_;
  const std::string target_;
  const double silence_seconds_max_;
  mutable std::mutex mutex_;
  std::vector<int> idle_;
  double silent_until_ = 0;  // the server did not answer: not asked again before
  TargetStatus own_;
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
