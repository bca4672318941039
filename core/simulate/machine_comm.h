// The comm of one rank of a simulated machine: as the ranks of MPI, it meets on its node through memory, and between
// nodes by trees of messages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulate/world.h"

namespace swath::simulate {

class MachineComm final : public Comm {
 public:
  // `number`: 0, or that of a duplicate.
  MachineComm(World& world, int rank, int number = 0);

  std::string name() const override { return "simulated machine"; }
  int rank() const override { return rank_; }
  int size() const override { return world_.ranks(); }
  int node_of(int rank) const override { return world_.node_of(rank); }
  int node_count() const override { return world_.nodes(); }

  void barrier() override;
  void node_arrive() override;
  void node_wait() override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void allreduce(std::span<std::byte> record, const Combine& combine) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override;
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override;
  std::string shared_refusal() const override { return ""; }
  std::unique_ptr<Comm> duplicate() override;
  bool may_be_called_in_background() const override { return false; }

 private:
  World::Node& node() { return shared_.nodes[static_cast<size_t>(world_.node_of(rank_))]; }
  bool is_first_of_node() const { return rank_ == first_; }
  void send(int to, std::span<const std::byte> data);
  // False for bulk data that is only simulated.
  bool has_bytes(const std::byte* address);
  void receive(int from, std::span<std::byte> data);
  // Waits until all ranks of the node have come; the last one calls `on_last` first.
  template <typename OnLast>
  void meet_on_node(const OnLast& on_last);
  template <typename CombineAll>
  void meet_with_records(std::span<std::byte> record, const CombineAll& combine_all);
  double meeting_seconds() const;
  void allreduce_between_nodes(std::span<std::byte> record, const Combine& combine);
  void spread_on_node(std::span<std::byte> data, int from);

  World& world_;
  World::Communicator& shared_;
  const int rank_;
  const int first_;         // of its node
  const int ranks_here_;    // on its node
  int64_t barriers_ = 0;    // that it has arrived at
  bool must_wait_ = false;  // for the last of them
};

}  // namespace swath::simulate
