#include "throttle/token_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/per_process.h"
#include "base/thread.h"

namespace swath {
namespace {

constexpr size_t kKeyLength = 32;
constexpr double kSignOfLifeSeconds = 1;
constexpr double kTryAgainSeconds = 60;
constexpr double kConnectSeconds = 5;
constexpr int kLookUpMilliseconds = static_cast<int>(1e3 * kLookUpSeconds);

// Both ends run on the same kind of machine, in one job: structures are sent as they are in memory.
struct Ask {
  int32_t direction;
  int32_t pattern;
  int32_t streams;
};
struct Done {
  int64_t bytes;
  int32_t from_device;
};
// Checks a received index and limit.
bool is_sound(const Ask& ask) {
  return (ask.direction == static_cast<int32_t>(Direction::kRead) ||
          ask.direction == static_cast<int32_t>(Direction::kWrite)) &&
         ask.pattern >= 0 && ask.pattern < kPatterns && ask.streams >= 0;
}
enum class Sign : int32_t { kWaiting, kGranted };
struct Answer {
  Sign sign;
  int32_t limit;
};

bool send_all(int socket, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

// True if data is available, or the other end has closed, within this time.
bool is_ready(int socket, double seconds) {
  pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
  Clock& clock = real_clock();
  for (const double deadline = clock.now() + seconds;;) {
    const int milliseconds = static_cast<int>(std::ceil(std::max(deadline - clock.now(), 0.0) * 1e3));
    const int a_while = is_interruptible() ? std::min(milliseconds, kLookUpMilliseconds) : milliseconds;
    const int ready = poll(&waited, 1, a_while);
    if (ready > 0) return true;
    check_interrupt();
    const bool is_over = ready == 0 && a_while == milliseconds;
    if (is_over || (ready < 0 && errno != EINTR)) return false;
  }
}

// Returns false if the other end has closed, or sends nothing for this time.
bool receive_all(int socket, void* data, size_t bytes, double seconds) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    if (!is_ready(socket, seconds)) return false;
    const ssize_t received = recv(socket, next, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    next += received;
    bytes -= static_cast<size_t>(received);
  }
  return true;
}

// Answers are short, and a client waits for them.
void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string random_key() {
  std::random_device random;
  std::string key;
  constexpr const char* kDigits = "0123456789abcdef";
  while (key.size() < kKeyLength) key += kDigits[random() % 16];
  return key;
}

// Listens on a free port of every interface; an IPv6 socket accepts IPv4 too. -1 with errno if the system refuses.
int listen_on_any(int family) {
  Descriptor listening(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listening.get() < 0) return -1;
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  const int off = 0;
  if (family == AF_INET6) setsockopt(listening.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (bind(listening.get(), reinterpret_cast<sockaddr*>(&any), length) != 0) return -1;
  return listen(listening.get(), SOMAXCONN) == 0 ? listening.release() : -1;
}

bool can_listen(int family) { return Descriptor(listen_on_any(family)).is_open(); }

[[noreturn]] void fail_network(const std::string& what, int error) {
  throw Error(ErrorKind::kStore, what + ": " + std::strerror(error), error);
}

bool has_closed(int socket) {
  char byte = 0;
  return is_ready(socket, 0) && recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

// The server's socket and threads. A forked child does not touch it: it has none of the threads, and the mutex may be
// locked for ever there.
struct TokenServer::Serving {
  Descriptor listening;
  std::mutex mutex;
  std::vector<int> connections;  // open ones
  std::vector<std::thread> threads;
  std::thread accepting;
};

TokenServer::TokenServer(std::shared_ptr<Tokens> tokens) : tokens_(std::move(tokens)) {
  const int family = can_listen(AF_INET6) ? AF_INET6 : AF_INET;
  Descriptor listening(listen_on_any(family));
  char host[256] = {};
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (listening.get() < 0 || getsockname(listening.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0 ||
      gethostname(host, sizeof host - 1) != 0) {
    fail_network("tokens for several nodes: cannot listen", errno);
  }
  const in_port_t port = family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(bound).sin_port;
  address_ = {host, ntohs(port), random_key()};
  serving_ = std::make_unique<Serving>();
  serving_->listening = std::move(listening);
  serving_->accepting = start_thread([this] { accept_clients(); });
}

TokenServer::~TokenServer() {
  if (generation_ != fork_generation()) {  // close, no shutdown: the connections are the parent's
    Serving* const parents = serving_.release();
    parents->listening = {};
    const std::unique_lock lock(parents->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const int connection : parents->connections) close(connection);
    return;
  }
  closing_ = true;
  shutdown(serving_->listening.get(), SHUT_RDWR);
  serving_->accepting.join();
  {
    const std::lock_guard lock(serving_->mutex);
    for (const int connection : serving_->connections) shutdown(connection, SHUT_RDWR);
  }
  for (std::thread& thread : serving_->threads) thread.join();
}

void TokenServer::accept_clients() {
  while (!closing_) {
    const int connection = accept4(serving_->listening.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (closing_ || (errno != EMFILE && errno != ENFILE)) return;
      real_clock().sleep_until(real_clock().now() + kSignOfLifeSeconds);
      continue;
    }
    const std::lock_guard lock(serving_->mutex);
    serving_->connections.push_back(connection);
    serving_->threads.push_back(start_thread([this, connection] { serve(connection); }));
  }
}

void TokenServer::serve(int connection) {
  send_at_once(connection);
  std::string key(kKeyLength, '\0');
  if (receive_all(connection, key.data(), key.size(), kConnectSeconds) && key == address_.key) {
    tokens_->enter();
    while (!closing_ && serve_one(connection)) {
    }
    tokens_->leave();
  }
  const std::lock_guard lock(serving_->mutex);
  std::erase(serving_->connections, connection);
  close(connection);
}

// Serves one token from the request to its return; returns false if the client has gone.
bool TokenServer::serve_one(int connection) {
  Clock& clock = real_clock();
  Ask ask{};
  while (!is_ready(connection, kSignOfLifeSeconds)) {
    if (closing_) return false;
  }
  if (!receive_all(connection, &ask, sizeof ask, kConnectSeconds) || !is_sound(ask)) return false;
  if (const double delay = delay_seconds_; delay > 0) clock.sleep_until(clock.now() + delay);
  double told = clock.now();
  const auto client_is_there = [&] {
    if (closing_ || has_closed(connection)) return false;
    if (clock.now() - told < kSignOfLifeSeconds) return true;
    told = clock.now();
    const Answer waiting{Sign::kWaiting, 0};
    return send_all(connection, &waiting, sizeof waiting);
  };
  const Grant grant = tokens_->acquire(static_cast<Direction>(ask.direction), static_cast<Pattern>(ask.pattern),
                                       {ask.streams}, clock, client_is_there);
  const Answer answer{Sign::kGranted, grant.limit};
  Done done{};
  bool is_there = send_all(connection, &answer, sizeof answer);
  while (is_there && !is_ready(connection, kSignOfLifeSeconds)) is_there = !closing_;
  is_there = is_there && receive_all(connection, &done, sizeof done, kConnectSeconds);
  tokens_->give_back(grant, is_there ? done.bytes : 0, is_there && done.from_device != 0, clock);
  return is_there;
}

namespace {

// The remote tokens that are open in this process.
struct OpenRemoteTokens {
  std::mutex mutex;
  std::map<std::tuple<std::string, int, std::string, std::string>, std::weak_ptr<RemoteTokens>> tokens;

  std::weak_ptr<RemoteTokens>& of(const ServerAddress& address, const std::string& target) {
    return tokens[{address.host, address.port, address.key, target}];
  }
};
PerProcess<OpenRemoteTokens> open_remote_tokens;

}  // namespace

RemoteTokens::RemoteTokens(ServerAddress address, std::string target, double silence_seconds_max)
    : address_(std::move(address)), target_(std::move(target)), silence_seconds_max_(silence_seconds_max), own_() {
  own_.target = target_;
  own_.scope = "coordinator " + address_.host + ":" + std::to_string(address_.port);
}

std::shared_ptr<RemoteTokens> RemoteTokens::open(const ServerAddress& address, const std::string& target,
                                                 double silence_seconds_max) {
  OpenRemoteTokens& own = open_remote_tokens.get();
  const std::lock_guard lock(own.mutex);
  if (auto tokens = own.of(address, target).lock()) return tokens;
  std::shared_ptr<RemoteTokens> tokens(new RemoteTokens(address, target, silence_seconds_max));
  const int connection = tokens->connect_to_server();
  if (connection < 0) fail_network("tokens of " + target + ": cannot reach their " + tokens->own_.scope, errno);
  tokens->keep(connection);
  own.of(address, target) = tokens;
  return tokens;
}

std::shared_ptr<Tokens> RemoteTokens::for_this_process() {
  if (!is_inherited()) return shared_from_this();
  OpenRemoteTokens& own = open_remote_tokens.get();
  const std::lock_guard lock(own.mutex);
  if (auto tokens = own.of(address_, target_).lock()) return tokens;
  std::shared_ptr<RemoteTokens> tokens(new RemoteTokens(address_, target_, silence_seconds_max_));
  own.of(address_, target_) = tokens;
  return tokens;
}

RemoteTokens::~RemoteTokens() {
  for (const int connection : idle_) close(connection);
}

int RemoteTokens::connect_to_server() const {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found) != 0) {
    errno = EHOSTUNREACH;
    return -1;
  }
  int connection = -1;
  int error = ECONNREFUSED;
  for (const addrinfo* place = found; place != nullptr && connection < 0; place = place->ai_next) {
    Descriptor tried(socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval patience{.tv_sec = static_cast<time_t>(kConnectSeconds), .tv_usec = 0};
    setsockopt(tried.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (tried.get() < 0 || connect(tried.get(), place->ai_addr, place->ai_addrlen) != 0 ||
        !send_all(tried.get(), address_.key.data(), address_.key.size())) {
      error = errno;
      continue;
    }
    send_at_once(tried.get());
    connection = tried.release();
  }
  freeaddrinfo(found);
  errno = error;
  return connection;
}

int RemoteTokens::idle_connection() {
  {
    const std::lock_guard lock(mutex_);
    if (real_clock().now() < silent_until_) return -1;
    if (!idle_.empty()) {
      const int connection = idle_.back();
      idle_.pop_back();
      return connection;
    }
  }
  return connect_to_server();
}

void RemoteTokens::keep(int connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(connection);
}

Grant RemoteTokens::acquire(Direction direction, Pattern pattern, StreamLimit limit, Clock& clock,
                            const Patience& patience) {
  Grant grant{.granted_at = clock.now()};
  if (is_inherited()) return grant;
  Descriptor connection(idle_connection());
  const Ask ask{static_cast<int32_t>(direction), static_cast<int32_t>(pattern), limit.streams};
  Answer answer{Sign::kWaiting, 0};
  bool answered = connection.get() >= 0 && send_all(connection.get(), &ask, sizeof ask);
  while (answered && answer.sign == Sign::kWaiting) {
    answered = receive_all(connection.get(), &answer, sizeof answer, silence_seconds_max_) && (!patience || patience());
  }
  const double asked_at = grant.granted_at;
  grant.granted_at = clock.now();
  grant.waited = grant.granted_at - asked_at;
  const std::lock_guard lock(mutex_);
  LaneStatus& lane = direction == Direction::kRead ? own_.reads : own_.writes;
  ++lane.grants;
  ++lane.waits;
  lane.wait_seconds += grant.waited;
  lane.wait_seconds_max = std::max(lane.wait_seconds_max, grant.waited);
  if (!answered) {
    silent_until_ = std::max(silent_until_, clock.now() + kTryAgainSeconds);
    return grant;  // closing the connection gives the token back on the server
  }
  grant.limit = answer.limit;
  grant.seat = connection.release();
  return grant;
}

void RemoteTokens::give_back(const Grant& grant, int64_t bytes, bool from_device, Clock& /*clock*/) {
  if (grant.seat < 0) return;
  const Done done{bytes, from_device};
  Descriptor connection(grant.seat);
  if (is_inherited() || grant.generation != fork_generation()) return;  // closed here, but still open in the parent
  if (send_all(connection.get(), &done, sizeof done)) keep(connection.release());
}

TargetStatus RemoteTokens::status() const {
  if (is_inherited())
    return {.target = target_, .scope = own_.scope, .streams = 0, .reads = {}, .writes = {}, .decisions = {}};
  const std::lock_guard lock(mutex_);
  return own_;
}

}  // namespace swath
