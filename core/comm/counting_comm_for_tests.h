// A comm that counts, for tests of how often ranks meet and what they send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/comm.h"

namespace swath {

// Counts what one rank asks of another comm.
class CountingComm final : public Comm {
 public:
  using Pair = std::pair<int, int>;

  explicit CountingComm(Comm& comm) : comm_(comm) {}

  std::string name() const override { return comm_.name(); }
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  int node_of(int rank) const override { return comm_.node_of(rank); }
  void barrier() override {
    ++barriers;
    comm_.barrier();
  }
  void node_arrive() override { comm_.node_arrive(); }
  void node_wait() override { comm_.node_wait(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override { comm_.allgather(mine, all); }
  void allreduce(std::span<std::byte> record, const Combine& combine) override {
    ++reduced;
    comm_.allreduce(record, combine);
  }
  void broadcast(std::span<std::byte> data, int root) override { comm_.broadcast(data, root); }
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override {
    ++exchanges;
    for (const SendMessage& message : sends) sent[{rank(), message.to}].push_back(std::ssize(message.data));
    comm_.exchange(sends, receives);
  }
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override { return comm_.shared_windows(bytes); }
  std::string shared_refusal() const override { return comm_.shared_refusal(); }
  std::unique_ptr<Comm> duplicate() override { return comm_.duplicate(); }
  bool may_be_called_in_background() const override { return comm_.may_be_called_in_background(); }

  int barriers = 0;
  int reduced = 0;
  int exchanges = 0;
  std::map<Pair, std::vector<int64_t>> sent;  // sizes of the messages of each pair of ranks

 private:
  Comm& comm_;
};

}  // namespace swath
