#include "comm/simulated.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "comm/messages.h"
#include "comm/reduction.h"

namespace swath {

class SimulatedComm final : public Comm {
 public:
  SimulatedComm(Simulation& simulation, int rank, int duplicate = 0)
      : simulation_(simulation), rank_(rank), duplicate_(duplicate) {}

  std::string name() const override { return "simulated"; }
  int rank() const override { return rank_; }
  int size() const override { return simulation_.size(); }
  int node_of(int rank) const override { return simulation_.node_of(rank); }

  void barrier() override { meet({.kind = Call::Kind::kBarrier}); }
  void node_arrive() override { simulation_.node_arrive(rank_, duplicate_); }
  void node_wait() override { meet({.kind = Call::Kind::kNodeBarrier}); }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_allgather(size(), mine, all);
    meet({.kind = Call::Kind::kAllgather, .bytes = std::ssize(mine)}, [&](Simulation::Rank& me) {
      me.source = mine;
      me.target = all;
    });
  }

  void allreduce(std::span<std::byte> record, const Combine& combine) override {
    check_record(record);
    meet({.kind = Call::Kind::kAllreduce, .bytes = std::ssize(record)}, [&](Simulation::Rank& me) {
      me.target = record;
      me.combine = &combine;
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
    return simulation_.shared_windows(rank_,
                                      {.kind = Call::Kind::kSharedWindows, .bytes = bytes, .duplicate = duplicate_});
  }

  std::string shared_refusal() const override {
    return simulation_.shared_memory_ ? "" : "the simulation was made without shared memory";
  }

  std::unique_ptr<Comm> duplicate() override {
    meet({.kind = Call::Kind::kDuplicate});
    return std::make_unique<SimulatedComm>(simulation_, rank_, simulation_.ranks_[rank_].duplicate_made);
  }
  bool may_be_called_in_background() const override { return false; }

 private:
  void meet(Call call, const std::function<void(Simulation::Rank&)>& hand_over = [](Simulation::Rank&) {}) {
    call.duplicate = duplicate_;
    std::unique_lock lock(simulation_.mutex_);
    hand_over(simulation_.ranks_[rank_]);
    simulation_.meet(lock, rank_, call);
  }

  Simulation& simulation_;
  const int rank_;
  const int duplicate_;
};

Simulation::Simulation(int ranks, int nodes, uint64_t seed, bool shared_memory)
    : nodes_(nodes), shared_memory_(shared_memory), random_(seed), ranks_(std::max(ranks, 0)) {
  if (nodes < 1 || nodes > ranks) {
    fail_argument("simulation: " + std::to_string(nodes) + " nodes for " + std::to_string(ranks) +
                  " ranks; expected 1 <= nodes <= ranks");
  }
  for (int r = 0; r < ranks; ++r) clocks_.push_back(std::make_unique<RankClock>(*this, r));
  communicators_.emplace_back(ranks_.size());
  traffic_.nodes.resize(nodes);
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

void Simulation::interrupt() {
  const std::lock_guard lock(mutex_);
  if (failure_kind_ == ErrorKind::kNone) fail(ErrorKind::kInterrupted, "the simulation was interrupted");
  pass_baton();
}

Traffic Simulation::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

// Does nothing while a rank runs, or before all have entered: the order must not depend on the machine's scheduler.
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

// Advances time to the first wake-up of a sleeping rank; returns false if none will wake up.
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
  if (word == expected) simulation_.sleep(rank_, deadline, &word);  // no other rank runs meanwhile
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

// Ranks that wait for this one may continue, or this rank itself: the choice is random, as at every call.
void Simulation::node_arrive(int rank, int duplicate) {
  std::unique_lock lock(mutex_);
  begin_call(rank);
  ++communicators_[duplicate].arrivals[rank];
  ranks_[rank].state = State::kReady;
  const Call waited_for{.kind = Call::Kind::kNodeBarrier, .duplicate = duplicate};
  for (int r = 0; r < size(); ++r) {
    const bool waits = ranks_[r].state == State::kWaiting && ranks_[r].call == waited_for;
    if (waits && node_has_arrived(r, duplicate)) ranks_[r].state = State::kReady;
  }
  running_ = -1;
  pass_baton();
  wait_for_turn(lock, rank);
  if (ranks_[rank].failed) throw Error(failure_kind_, failure_);
}

// True if all other ranks of the node have arrived at least as often as this rank.
bool Simulation::node_has_arrived(int rank, int duplicate) const {
  const std::vector<int64_t>& arrivals = communicators_[duplicate].arrivals;
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) == node_of(rank) && arrivals[r] < arrivals[rank]) return false;
  }
  return true;
}

// True if all ranks of the call of `rank` wait in that same call.
bool Simulation::ready_to_carry_out(int rank) const {
  const Call& call = ranks_[rank].call;
  if (call.kind == Call::Kind::kNodeBarrier) return node_has_arrived(rank, call.duplicate);
  for (int r = 0; r < size(); ++r) {
    if (ranks_[r].state != State::kWaiting || ranks_[r].call != call) return false;
  }
  return true;
}

void Simulation::carry_out(int rank) {
  const Call call = ranks_[rank].call;
  if (call.kind != Call::Kind::kNodeBarrier) ++traffic_.calls[call.kind];
  switch (call.kind) {
    case Call::Kind::kBarrier:
    case Call::Kind::kNodeBarrier:
      break;
    case Call::Kind::kAllgather:
      for (const Rank& to : ranks_) {
        for (int r = 0; r < size(); ++r) copy_bytes(ranks_[r].source, to.target.subspan(r * call.bytes, call.bytes));
      }
      break;
    case Call::Kind::kAllreduce:
      carry_out_allreduce();
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
      replace_windows(call);
      break;
    case Call::Kind::kDuplicate:
      make_duplicate();
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
      count_message(node_of(message.from), node_of(to), std::ssize(message.data));
    }
  }
}

// As in the real implementations: each rank of a node combines all its node's records itself, with its own Combine; the
// lowest ranks combine between the nodes, and send the result to the others.
void Simulation::carry_out_allreduce() {
  std::vector<std::vector<std::byte>> of_ranks;
  for (int r = 0; r < size(); ++r) of_ranks.push_back(combined_on_node_of(r));
  std::vector<int> leaders;
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) == std::ssize(leaders)) leaders.push_back(r);
  }
  std::vector<std::vector<std::byte>> of_nodes;
  for (const int leader : leaders) of_nodes.push_back(of_ranks[leader]);
  reduce_between_nodes(of_nodes, leaders);
  for (int r = 0; r < size(); ++r) copy_bytes(nodes_ == 1 ? of_ranks[r] : of_nodes[node_of(r)], ranks_[r].target);
}

std::vector<std::byte> Simulation::combined_on_node_of(int rank) const {
  std::vector<std::byte> record;
  bool is_first = true;
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) != node_of(rank)) continue;
    const std::span<std::byte> of_rank = ranks_[r].target;
    if (is_first) {
      record.assign(of_rank.begin(), of_rank.end());
    } else {
      (*ranks_[rank].combine)(record, of_rank);
    }
    is_first = false;
  }
  return record;
}

void Simulation::reduce_between_nodes(std::vector<std::vector<std::byte>>& records, const std::vector<int>& leaders) {
  std::vector<std::vector<ReductionStep>> steps;  // of each node
  for (int node = 0; node < nodes_; ++node) steps.push_back(reduction_steps(node, nodes_));
  for (size_t i = 0; i < steps[0].size(); ++i) {
    const std::vector<std::vector<std::byte>> sent = records;
    for (int node = 0; node < nodes_; ++node) {
      const ReductionStep& step = steps[node][i];
      if (step.receive_from == ReductionStep::kNobody) continue;
      if (steps[step.receive_from][i].send_to != node) {
        return fail(ErrorKind::kInternal, "allreduce: node " + std::to_string(node) + " waits for node " +
                                              std::to_string(step.receive_from) + ", which sends it nothing");
      }
      std::vector<std::byte> received = sent[step.receive_from];
      count_message(step.receive_from, node, std::ssize(received));
      take_received(step.order, records[node], received, *ranks_[leaders[node]].combine);
    }
  }
}

void Simulation::count_message(int from_node, int to_node, int64_t bytes) {
  if (from_node == to_node || bytes == 0) return;
  ++traffic_.nodes[from_node].messages_sent;
  traffic_.nodes[from_node].bytes_sent += bytes;
  ++traffic_.nodes[to_node].messages_received;
  traffic_.nodes[to_node].bytes_received += bytes;
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

// Each rank's window is a separate allocation, so that AddressSanitizer detects writes beyond its end.
void Simulation::replace_windows(const Call& call) {
  Communicator& communicator = communicators_[call.duplicate];
  for (HeapWindow& window : communicator.windows) window = make_heap_window(call.bytes);
  communicator.window_bytes = call.bytes;
}

void Simulation::make_duplicate() {
  communicators_.emplace_back(ranks_.size());
  for (Rank& rank : ranks_) rank.duplicate_made = static_cast<int>(std::ssize(communicators_)) - 1;
}

// A call for no more than the existing memory does not wait for the others, as in the real implementations. So its size
// is compared with that of the first call.
std::vector<std::span<std::byte>> Simulation::shared_windows(int rank, const Call& call) {
  std::unique_lock lock(mutex_);
  begin_call(rank);
  Communicator& communicator = communicators_[call.duplicate];
  std::vector<int64_t>& requests = communicator.window_requests;
  const int64_t number = communicator.window_calls[rank]++;
  if (number == std::ssize(requests)) requests.push_back(call.bytes);
  if (requests[number] != call.bytes) {
    fail(ErrorKind::kDisagreement, "rank " + std::to_string(rank) + " asks for shared windows of " +
                                       std::to_string(call.bytes) + " bytes where another asked for " +
                                       std::to_string(requests[number]));
    throw Error(failure_kind_, failure_);
  }
  if (!shared_memory_) return {};
  if (call.bytes > communicator.window_bytes) meet(lock, rank, call);

  std::vector<std::span<std::byte>> views(size());
  for (int r = 0; r < size(); ++r) {
    if (node_of(r) == node_of(rank)) views[r] = {communicator.windows[r].get(), static_cast<size_t>(call.bytes)};
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

void run_ranks(Simulation& simulation, const std::function<void(Comm&)>& body) {
  std::exception_ptr first;  // written only by the rank that holds the baton
  std::vector<std::thread> threads;
  for (int r = 0; r < simulation.size(); ++r) {
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

void run_ranks(int ranks, const std::function<void(Comm&)>& body, uint64_t seed, int nodes) {
  Simulation simulation(ranks, nodes, seed);
  run_ranks(simulation, body);
}

}  // namespace swath
