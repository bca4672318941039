// Tokens of a target shared by several nodes of a job: one process has the table, the others connect to it over TCP.
//
// The server has one thread a connection, which takes tokens for the client. A broken connection gives its token back.
// While a stream waits, the server sends a message every second. A client without a message for silence_seconds_max
// continues without a token, and asks no more for a while: a slow or dead server must not delay a program that could
// read.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "throttle/tokens.h"

namespace swath {

// A server's address, and the secret by which it recognises its clients.
struct ServerAddress {
  std::string host;
  int port = 0;
  std::string key;
};

// In a forked child it is no server: its threads and its socket belong to the parent.
class TokenServer {
 public:
  // Listens on a free port of every interface. Throws Error{kStore} for errors of the system.
  explicit TokenServer(std::shared_ptr<Tokens> tokens);
  ~TokenServer();
  TokenServer(const TokenServer&) = delete;
  TokenServer& operator=(const TokenServer&) = delete;

  const ServerAddress& address() const { return address_; }
  // For tests: delays each answer, as on a slow node.
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

// The client of a server. Uses real time only.
class RemoteTokens final : public Tokens {
 public:
  // Shared by this process' arrays. Throws Error{kStore} if the server cannot be reached.
  static std::shared_ptr<RemoteTokens> open(const ServerAddress& address, const std::string& target,
                                            double silence_seconds_max = 10);
  ~RemoteTokens() override;
  RemoteTokens(const RemoteTokens&) = delete;
  RemoteTokens& operator=(const RemoteTokens&) = delete;

  // If the server cannot be reached any more, the next acquire() notices it.
  std::shared_ptr<Tokens> for_this_process() override;
  void enter() override {}
  void leave() override {}
  // Other streams are assumed, since there is a server.
  int32_t streams() const override { return is_inherited() ? 0 : 2; }
  Grant acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                const Patience& patience = {}) override;
  void give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& clock) override;
  void remember(Direction, Pattern, int32_t, double, double) override {}  // the server's process does this
  TargetStatus status() const override;                                   // of this process' own waits only

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
  double silent_until_ = 0;  // no requests to the server before this time, since it did not answer
  TargetStatus own_;
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
