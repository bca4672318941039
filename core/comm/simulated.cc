#include "comm/simulated.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "comm/messages.h"

namespace swath {

class SimulatedComm final : public Comm {
 public:
  SimulatedComm(Simulation& simulation, int rank) : simulation_(simulation), rank_(rank) {}

  std::string name() const override { return "simulated"; }
  int rank() const override { return rank_; }
  int size() const override { return simulation_.size(); }
  int node_of(int rank) const override { return simulation_.node_of(rank); }

  void barrier() override { meet({.kind = Call::Kind::kBarrier}); }
  void node_arrive() override { simulation_.node_arrive(rank_); }
  void node_wait() override { meet({.kind = Call::Kind::kNodeBarrier}); }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_allgather(size(), mine, all);
    meet({.kind = Call::Kind::kAllgather, .bytes = std::ssize(mine)}, [&](Simulation::Rank& me) {
      me.source = mine;
      me.target = all;
    });
  }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(size(), root);
    meet({.kind = Call::Kind::kBroadcast, .root = root, .bytes = std::ssize(data)},
         [&](Simulation::Rank& me) { me.target = data; });
  }

  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override {
    check_messages(rank_, size(), sends, receives);
    meet({.kind = Call::Kind::kExchange}, [&](Simulation::Rank& me) {
      me.sends = sends;
      me.receives = receives;
    });
  }

  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override {
    check_window_bytes(bytes);
    return simulation_.shared_windows(rank_, bytes);
  }

  std::string shared_refusal() const override {
    return simulation_.shared_memory_ ? "" : "the simulation was made without shared memory";
  }

 private:
  void meet(const Call& call, const std::function<void(Simulation::Rank&)>& hand_over = [](Simulation::Rank&) {}) {
    std::unique_lock lock(simulation_.mutex_);
    hand_over(simulation_.ranks_[rank_]);
    simulation_.meet(lock, rank_, call);
  }

  Simulation& simulation_;
  const int rank_;
};

Simulation::Simulation(int ranks, int nodes, uint64_t seed, bool shared_memory)
    : nodes_(nodes), shared_memory_(shared_memory), random_(seed), ranks_(std::max(ranks, 0)), windows_(ranks_.size()) {
  if (nodes < 1 || nodes > ranks) {
    fail_argument("simulation: " + std::to_string(nodes) + " nodes for " + std::to_string(ranks) +
                  " ranks; expected 1 <= nodes <= ranks");
  }
  for (int r = 0; r < ranks; ++r) clocks_.push_back(std::make_unique<RankClock>(*this, r));
}

std::unique_ptr<Comm> Simulation::comm(int rank) {
  if (rank < 0 || rank >= size()) fail_argument("simulation: there is no rank " + std::to_string(rank));
  return std::make_unique<SimulatedComm>(*this, rank);
}

void Simulation::enter(int rank) {
  std::unique_lock lock(mutex_);
  ranks_.at(rank).state = State::kReady;
  set_clock_of_thread(clocks_[rank].get());
  pass_baton();
  wait_for_turn(lock, rank);
}

void Simulation::leave(int rank) {
  const std::lock_guard lock(mutex_);
  ranks_.at(rank).state = State::kFinished;
  set_clock_of_thread(nullptr);
  if (running_ == rank) running_ = -1;
  pass_baton();
}

// Does nothing while a rank runs, or before all are there: who comes first must not depend on the machine's scheduler.
void Simulation::pass_baton() {
  const auto is_in = [this](State state) { return [=](const Rank& rank) { return rank.state == state; }; };
  if (running_ >= 0 || std::any_of(ranks_.begin(), ranks_.end(), is_in(State::kOutside))) return;
  const auto any = [&](State state) { return std::any_of(ranks_.begin(), ranks_.end(), is_in(state)); };
  if (!any(State::kReady) && !wake_first_sleepers() && (any(State::kWaiting) || any(State::kSleeping))) {
    fail(ErrorKind::kDisagreement, "no rank can go on: " + places());
  }
  std::vector<int> ready;
  for (int r = 0; r < size(); ++r) {
    if (ranks_[r].state == State::kReady) ready.push_back(r);
  }
  if (ready.empty()) return;  // all have finished
  running_ = ready[random_() % ready.size()];
  ranks_[running_].turn.notify_one();
}

void Simulation::wait_for_turn(std::unique_lock<std::mutex>& lock, int rank) {
  ranks_[rank].turn.wait(lock, [&] { return running_ == rank; });
}

// Time moves on to when the first of those that sleep wakes up; false where none ever does.
bool Simulation::wake_first_sleepers() {
  double first = kNever;
  for (const Rank& rank : ranks_) {
    if (rank.state == State::kSleeping) first = std::min(first, rank.wakes_at);
  }
  if (first == kNever) return false;
  now_ = std::max(now_.load(), first);
  for (Rank& rank : ranks_) {
    if (rank.state == State::kSleeping && rank.wakes_at <= now_) rank.state = State::kReady;
  }
  return true;
}

void Simulation::sleep(int rank, double until, const std::atomic<uint32_t>* word) {
  std::unique_lock lock(mutex_);
  begin_call(rank);
  Rank& me = ranks_[rank];
  me.wakes_at = std::max(until, now_.load());
  me.sleeps_on = word;
  me.state = State::kSleeping;
  running_ = -1;
  pass_baton();
  wait_for_turn(lock, rank);
  me.sleeps_on = nullptr;
  if (me.failed) throw Error(failure_kind_, failure_);
}

double Simulation::RankClock::now() { return simulation_.now_; }

void Simulation::RankClock::sleep_until(double time) { simulation_.sleep(rank_, time, nullptr); }

void Simulation::RankClock::wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) {
  if (word == expected) simulation_.sleep(rank_, deadline, &word);  // nobody else runs meanwhile
}

void Simulation::RankClock::wake_all(std::atomic<uint32_t>& word) {
  const std::lock_guard lock(simulation_.mutex_);
  for (Rank& rank : simulation_.ranks_) {
    if (rank.state == State::kSleeping && rank.sleeps_on == &word) rank.state = State::kReady;
  }
}

void Simulation::begin_call(int rank) const {
  if (running_ != rank) {
    throw Error(ErrorKind::kInternal,
                "simulation: rank " + std::to_string(rank) + " calls out of its turn; enter() first");
  }
  if (failure_kind_ != ErrorKind::kNone) throw Error(failure_kind_, failure_);
}

void Simulation::meet(std::unique_lock<std::mutex>& lock, int rank, const Call& call) {
  begin_call(rank);
  Rank& me = ranks_[rank];
  me.call = call;
  me.state = State::kWaiting;
  if (ready_to_carry_out(rank)) carry_out(rank);
  running_ = -1;
  pass_baton();
  wait_for_turn(lock, rank);
  if (me.failed) throw Error(failure_kind_, failure_);
}

// Others that wait for this rank may go on, or it itself: chosen as at every call.
void Simulation::node_arrive(int rank) {
  std::unique_lock lock(mutex_);
  begin_call(rank);
  ++ranks_[rank].arrivals;
  ranks_[rank].state = State::kReady;
  for (int r = 0; r < size(); ++r) {
    const bool waits = ranks_[r].state == State::kWaiting && ranks_[r].call.kind == Call::Kind::kNodeBarrier;
    if (waits && node_has_arrived(r)) ranks_[r].state = State::kReady;
  }
  running_ = -1;
  pass_baton();
  wait_for_turn(lock, rank);
  if (ranks_[rank].failed) throw Error(failure_kind_, failure_);
}

// As often as this rank.
bool Simulation::node_has_arrived(int rank) const {
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) == node_of(rank) && ranks_[r].arrivals < ranks_[rank].arrivals) return false;
  }
  return true;
}

// Whether all whom the call of `rank` concerns wait in that same call.
bool Simulation::ready_to_carry_out(int rank) const {
  const Call& call = ranks_[rank].call;
  if (call.kind == Call::Kind::kNodeBarrier) return node_has_arrived(rank);
  for (int r = 0; r < size(); ++r) {
    if (ranks_[r].state != State::kWaiting || ranks_[r].call != call) return false;
  }
  return true;
}

void Simulation::carry_out(int rank) {
  const Call call = ranks_[rank].call;
  switch (call.kind) {
    case Call::Kind::kBarrier:
    case Call::Kind::kNodeBarrier:
      break;
    case Call::Kind::kAllgather:
      for (const Rank& to : ranks_) {
        for (int r = 0; r < size(); ++r) copy_bytes(ranks_[r].source, to.target.subspan(r * call.bytes, call.bytes));
      }
      break;
    case Call::Kind::kBroadcast:
      for (int r = 0; r < size(); ++r) {
        if (r != call.root) copy_bytes(ranks_[call.root].target, ranks_[r].target);
      }
      break;
    case Call::Kind::kExchange:
      carry_out_exchange();
      break;
    case Call::Kind::kSharedWindows:
      replace_windows(call.bytes);
      break;
  }
  for (int r = 0; r < size(); ++r) {
    if (call.kind != Call::Kind::kNodeBarrier || r == rank) ranks_[r].state = State::kReady;
  }
}

void Simulation::carry_out_exchange() {
  check_exchange_sizes();
  if (failure_kind_ != ErrorKind::kNone) return;
  for (int to = 0; to < size(); ++to) {
    for (const ReceiveMessage& message : ranks_[to].receives) {
      copy_bytes(message_to(ranks_[message.from].sends, to), message.data);
    }
  }
}

void Simulation::check_exchange_sizes() {
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      const size_t sent = message_to(ranks_[from].sends, to).size();
      const size_t expected = message_from(ranks_[to].receives, from).size();
      if (sent == expected) continue;
      return fail(ErrorKind::kInternal, "exchange: rank " + std::to_string(from) + " sends " + std::to_string(sent) +
                                            " bytes to rank " + std::to_string(to) + ", which expects " +
                                            std::to_string(expected));
    }
  }
}

// Each rank's window is an allocation of its own, so that AddressSanitizer sees who writes past the end of it.
void Simulation::replace_windows(int64_t bytes) {
  for (HeapWindow& window : windows_) window = make_heap_window(bytes);
  window_bytes_ = bytes;
}

// A call that asks for no more than there is does not wait for the others, as in the real implementations; whether all
// ask alike is therefore compared with the first that asked.
std::vector<std::span<std::byte>> Simulation::shared_windows(int rank, int64_t bytes) {
  std::unique_lock lock(mutex_);
  begin_call(rank);
  const int64_t call = ranks_[rank].window_calls++;
  if (call == std::ssize(window_requests_)) window_requests_.push_back(bytes);
  if (window_requests_[call] != bytes) {
    fail(ErrorKind::kDisagreement, "rank " + std::to_string(rank) + " asks for shared windows of " +
                                       std::to_string(bytes) + " bytes where another asked for " +
                                       std::to_string(window_requests_[call]));
    throw Error(failure_kind_, failure_);
  }
  if (!shared_memory_) return {};
  if (bytes > window_bytes_) meet(lock, rank, {.kind = Call::Kind::kSharedWindows, .bytes = bytes});

  std::vector<std::span<std::byte>> views(size());
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) == node_of(rank)) views[r] = {windows_[r].get(), static_cast<size_t>(bytes)};
  }
  return views;
}

void Simulation::fail(ErrorKind kind, const std::string& message) {
  failure_kind_ = kind;
  failure_ = message;
  for (Rank& rank : ranks_) {
    if (rank.state != State::kWaiting && rank.state != State::kSleeping) continue;
    rank.failed = true;
    rank.state = State::kReady;
  }
}

std::string Simulation::places() const {
  std::string text;
  bool told_waiting = false;
  for (int r = 0; r < size(); ++r) {
    text += (r > 0 ? ", rank " : "rank ") + std::to_string(r);
    if (ranks_[r].state == State::kFinished) {
      text += " has finished";
    } else if (ranks_[r].state == State::kSleeping) {
      text += " sleeps until somebody wakes it";
    } else {
      text += (told_waiting ? " in " : " waits in ") + describe(ranks_[r].call);
      told_waiting = true;
    }
  }
  return text;
}

void run_ranks(int ranks, const std::function<void(Comm&)>& body, uint64_t seed, int nodes) {
  Simulation simulation(ranks, nodes, seed);
  std::exception_ptr first;  // written only by the rank that holds the baton
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      simulation.enter(r);
      try {
        const std::unique_ptr<Comm> comm = simulation.comm(r);
        body(*comm);
      } catch (...) {
        if (!first) first = std::current_exception();
      }
      simulation.leave(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace swath
