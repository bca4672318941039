#include "simulate/machine_comm.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "comm/messages.h"
#include "comm/reduction.h"

namespace swath::simulate {

std::unique_ptr<Comm> World::comm(int rank) { return std::make_unique<MachineComm>(*this, rank); }

MachineComm::MachineComm(World& world, int rank, int number)
    : world_(world),
      shared_(world.communicators_[static_cast<size_t>(number)]),
      rank_(rank),
      first_(world.first_of(world.node_of(rank))),
      ranks_here_(world.ranks_of(world.node_of(rank))) {}

// ---- messages -------------------------------------------------------------------------------------------------------

void MachineComm::send(int to, std::span<const std::byte> data) {
  world_.let_earlier_run();
  Fibers& fibers = world_.fibers();
  fibers.spend(world_.machine().software.message_overhead);
  const auto bytes = std::ssize(data);
  double arrival = world_.network().send(world_.node_of(rank_), world_.node_of(to), bytes, fibers.now());
  arrival += (world_.storage().noise() - 1) * world_.machine().network.latency;
  World::Mailbox& mailbox = shared_.mailboxes[static_cast<size_t>(to)];
  World::Message& message = mailbox.messages.emplace_back(World::Message{rank_, arrival, bytes, {}});
  if (!data.empty() && has_bytes(data.data())) message.data.assign(data.begin(), data.end());
  if (mailbox.waits_for != rank_) return;
  mailbox.waits_for = -1;
  fibers.wake(to, arrival);
}

// Windows have bulk data, too, where it is left out: what is written there is for the ranks of the node.
bool MachineComm::has_bytes(const std::byte* address) {
  const World::Node& here = node();
  const bool is_window = address >= here.memory && address < here.memory + here.memory_bytes;
  return !world_.is_placeholder(address) && (world_.options().data || !is_window);
}

void MachineComm::receive(int from, std::span<std::byte> data) {
  World::Mailbox& mailbox = shared_.mailboxes[static_cast<size_t>(rank_)];
  const auto find = [&] {
    return std::find_if(mailbox.messages.begin(), mailbox.messages.end(),
                        [&](const World::Message& message) { return message.from == from; });
  };
  auto message = find();
  if (message == mailbox.messages.end()) {
    mailbox.waits_for = from;
    world_.fibers().block("a message");
    message = find();
  }
  world_.fibers().sleep_until(message->arrival);
  message = find();  // others may have sent to this rank meanwhile
  if (message->bytes != std::ssize(data)) {
    throw Error(ErrorKind::kInternal, "exchange: rank " + std::to_string(from) + " sends " +
                                          std::to_string(message->bytes) + " bytes to rank " + std::to_string(rank_) +
                                          ", which expects " + std::to_string(data.size()));
  }
  if (!message->data.empty()) std::memcpy(data.data(), message->data.data(), data.size());
  mailbox.messages.erase(message);
}

void MachineComm::exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) {
  check_messages(rank_, size(), sends, receives);
  const World::InPhase in_phase(world_, Phase::kExchange);
  RankUse& use = world_.use(rank_);
  for (const SendMessage& message : sends) {
    if (message.to == rank_) continue;
    send(message.to, message.data);
    use.exchange_messages += 1;
    use.exchange_bytes += std::ssize(message.data);
  }
  const std::span<const std::byte> to_self = message_to(sends, rank_);
  if (!to_self.empty() && has_bytes(to_self.data())) copy_bytes(to_self, message_from(receives, rank_));
  for (const ReceiveMessage& message : receives) {
    if (message.from != rank_) receive(message.from, message.data);
  }
}

// ---- on a node ------------------------------------------------------------------------------------------------------

// Ranks of a node meet in a tree.
double MachineComm::meeting_seconds() const {
  return world_.machine().node.latency * std::bit_width(static_cast<unsigned>(ranks_here_ - 1));
}

template <typename OnLast>
void MachineComm::meet_on_node(const OnLast& on_last) {
  Fibers& fibers = world_.fibers();
  World::Node& here = node();
  here.meeting.time = std::max(here.meeting.time, fibers.now());
  if (++here.meeting.arrived < ranks_here_) {
    here.waiting.push_back(rank_);
    fibers.block("a call of its node");
    return;
  }
  on_last();
  const double over = here.meeting.time + meeting_seconds();
  here.meeting = {};
  std::vector<int> waiting;
  waiting.swap(here.waiting);
  for (const int rank : waiting) fibers.wake(rank, over);
  fibers.sleep_until(over);
}

void MachineComm::node_arrive() {
  if (must_wait_) node_wait();
  World::Node& here = node();
  const auto index = static_cast<size_t>(barriers_++ - here.first_barrier);
  if (index == here.barriers.size()) here.barriers.emplace_back();
  World::Barrier& barrier = here.barriers[index];
  barrier.time = std::max(barrier.time, world_.fibers().now());
  must_wait_ = true;
  if (++barrier.arrived < ranks_here_) return;
  barrier.time += meeting_seconds();
  for (const int rank : barrier.waiting) world_.fibers().wake(rank, barrier.time);
  barrier.waiting.clear();
}

void MachineComm::node_wait() {
  if (!must_wait_) return;
  must_wait_ = false;
  const World::InPhase in_phase(world_, Phase::kExchange);
  World::Node& here = node();
  const auto barrier = [&]() -> World::Barrier& {
    return here.barriers[static_cast<size_t>(barriers_ - 1 - here.first_barrier)];
  };
  if (barrier().arrived < ranks_here_) {
    barrier().waiting.push_back(rank_);
    world_.fibers().block("a barrier of its node");
  }
  const double over = barrier().time;
  barrier().left += 1;
  while (!here.barriers.empty() && here.barriers.front().left == ranks_here_) {
    here.barriers.pop_front();
    ++here.first_barrier;
  }
  world_.fibers().sleep_until(over);
}

// The records of all ranks of the node, in their order; the last rank to come calls `combine` on them. It does so for
// all, since a rank that goes on may change its record before another runs.
template <typename CombineAll>
void MachineComm::meet_with_records(std::span<std::byte> record, const CombineAll& combine_all) {
  std::vector<std::span<std::byte>>& records = node().records;
  records.resize(static_cast<size_t>(ranks_here_));
  records[static_cast<size_t>(rank_ - first_)] = record;
  meet_on_node([&] { combine_all(std::span(records)); });
}

// The bytes of rank `from` of the node to all its ranks.
void MachineComm::spread_on_node(std::span<std::byte> data, int from) {
  if (ranks_here_ == 1) return;
  const auto source = static_cast<size_t>(from - first_);
  meet_with_records(data, [source](std::span<const std::span<std::byte>> records) {
    for (size_t i = 0; i < records.size(); ++i) {
      if (i != source) copy_bytes(records[source], records[i]);
    }
  });
}

std::vector<std::span<std::byte>> MachineComm::shared_windows(int64_t bytes) {
  check_window_bytes(bytes);
  World::Node& here = node();
  if (bytes > here.window_bytes || here.windows.empty()) {
    const World::InPhase in_phase(world_, Phase::kAgree);
    meet_on_node([&] { world_.make_windows(here, bytes, ranks_here_); });
    std::byte agreed{0};
    allreduce({&agreed, 1}, [](auto, auto) {});  // all nodes have their windows
  }
  std::vector<std::span<std::byte>> windows(static_cast<size_t>(size()));
  for (size_t i = 0; i < static_cast<size_t>(ranks_here_); ++i) {
    windows[static_cast<size_t>(first_) + i] = {here.windows[i], static_cast<size_t>(bytes)};
  }
  return windows;
}

// ---- all ranks ------------------------------------------------------------------------------------------------------

void MachineComm::allreduce_between_nodes(std::span<std::byte> record, const Combine& combine) {
  std::vector<std::byte> received(record.size());
  for (const ReductionStep& step : reduction_steps(world_.node_of(rank_), world_.nodes())) {
    if (step.send_to != ReductionStep::kNobody) {
      send(world_.first_of(step.send_to), record);
      world_.use(rank_).agreement_messages += 1;
    }
    if (step.receive_from == ReductionStep::kNobody) continue;
    receive(world_.first_of(step.receive_from), received);
    take_received(step.order, record, received, combine);
  }
}

void MachineComm::allreduce(std::span<std::byte> record, const Combine& combine) {
  check_record(record);
  const World::InPhase in_phase(world_, Phase::kAgree);
  if (ranks_here_ > 1) {
    meet_with_records(record, [&](std::span<const std::span<std::byte>> records) {
      std::vector<std::byte> combined(records.front().begin(), records.front().end());
      for (size_t i = 1; i < records.size(); ++i) combine(combined, records[i]);
      for (const std::span<std::byte> one : records) copy_bytes(combined, one);
    });
  }
  if (world_.nodes() == 1) return;
  if (is_first_of_node()) allreduce_between_nodes(record, combine);
  spread_on_node(record, first_);
}

void MachineComm::barrier() {
  std::byte arrived{0};
  allreduce({&arrived, 1}, [](auto, auto) {});
}

// A binomial tree over the nodes, from the root's on.
void MachineComm::broadcast(std::span<std::byte> data, int root) {
  check_root(size(), root);
  const World::InPhase in_phase(world_, Phase::kAgree);
  const int nodes = world_.nodes();
  const int root_node = world_.node_of(root);
  const int mine = world_.node_of(rank_);
  const int speaker = mine == root_node ? root : first_;
  const auto leader_of = [&](int position) {
    const int node = (position + root_node) % nodes;
    return node == root_node ? root : world_.first_of(node);
  };
  if (rank_ == speaker) {
    const int position = (mine - root_node + nodes) % nodes;
    int reach = 1;
    while (reach < nodes) reach *= 2;
    for (int step = reach / 2; step >= 1; step /= 2) {
      if (position % (2 * step) == 0 && position + step < nodes) {
        send(leader_of(position + step), data);
        world_.use(rank_).agreement_messages += 1;
      } else if (position % (2 * step) == step) {
        receive(leader_of(position - step), data);
      }
    }
  }
  spread_on_node(data, speaker);
}

// Each node sends what it has to the node `step` before it, and doubles what it has: Bruck's algorithm.
void MachineComm::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  check_allgather(size(), mine, all);
  const World::InPhase in_phase(world_, Phase::kAgree);
  const size_t share = mine.size();
  World::Node& here = node();
  if (here.gathered.size() != all.size()) here.gathered.resize(all.size());
  copy_bytes(mine, std::span(here.gathered).subspan(static_cast<size_t>(rank_) * share, share));
  if (ranks_here_ > 1) meet_on_node([] {});
  const int nodes = world_.nodes();
  if (is_first_of_node() && nodes > 1) {
    const int me = world_.node_of(rank_);
    const auto bytes_of = [&](int node) {
      return std::span(here.gathered)
          .subspan(static_cast<size_t>(world_.first_of(node)) * share,
                   static_cast<size_t>(world_.ranks_of(node)) * share);
    };
    for (int step = 1; step < nodes; step *= 2) {
      const int count = std::min(step, nodes - step);
      std::vector<std::byte> packed;
      for (int i = 0; i < count; ++i) {
        const auto part = bytes_of((me + i) % nodes);
        packed.insert(packed.end(), part.begin(), part.end());
      }
      send(world_.first_of((me - step + nodes) % nodes), packed);
      world_.use(rank_).agreement_messages += 1;
      size_t bytes = 0;
      for (int i = 0; i < count; ++i) bytes += bytes_of((me + step + i) % nodes).size();
      packed.resize(bytes);
      receive(world_.first_of((me + step) % nodes), packed);
      size_t at = 0;
      for (int i = 0; i < count; ++i) {
        const auto part = bytes_of((me + step + i) % nodes);
        copy_bytes(std::span(packed).subspan(at, part.size()), part);
        at += part.size();
      }
    }
  }
  if (ranks_here_ > 1) meet_on_node([] {});
  copy_bytes(here.gathered, all);
  if (ranks_here_ > 1) meet_on_node([] {});  // the next call overwrites it
}

// All ranks make their duplicates in the same order, so that these have the same numbers.
std::unique_ptr<Comm> MachineComm::duplicate() {
  barrier();
  const int number = ++world_.duplicates_[static_cast<size_t>(rank_)];
  if (number == std::ssize(world_.communicators_)) world_.communicators_.emplace_back(size(), node_count());
  return std::make_unique<MachineComm>(world_, rank_, number);
}

}  // namespace swath::simulate
