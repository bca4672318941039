// Communicator of the processes of one node over POSIX shared memory, without MPI.
//
// They share a control segment. It has a slot for each process, with its identity, its current call and a staging area
// for small data, and one turn counter on which they wait in the kernel. A call is one or more turns: write to the own
// staging area, meet, read those of the others. Staging areas are double: a rank that writes for turn t + 2 has met the
// others in turn t + 1, when all had read what was staged for turn t.
//
// If a process dies or closes its comm while others wait for it, all of them get an error within about a second, and so
// does every later call. Different calls on different ranks are an error on all ranks, which can then continue. A
// forked child has no part in its parent's comm: its calls are errors.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/call.h"
#include "comm/comm.h"

namespace swath {

// A window in the user's folder of shared memory (base/shared_memory.h). Its name is removed once all have attached:
// the system frees the memory with the last process that maps it, even if that process is killed.
class SharedSegment {
 public:
  SharedSegment() = default;
  SharedSegment(std::byte* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  SharedSegment(SharedSegment&& other) noexcept { *this = std::move(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

class NodeShared final : public Comm {
 public:
  // How the processes communicate before they share memory; like Comm::allgather.
  using Allgather = std::function<void(std::span<const std::byte> mine, std::span<std::byte> all)>;

  // Collective. Null on every rank if shared memory is not available; `refusal` is then the reason.
  static std::unique_ptr<NodeShared> attach(int rank, int size, const Allgather& bootstrap, std::string& refusal);
  ~NodeShared() override;

  std::string name() const override { return "node-shared"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_of(int) const override { return 0; }

  void barrier() override;
  void node_arrive() override;
  void node_wait() override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void allreduce(std::span<std::byte> record, const Combine& combine) override;
  void broadcast(std::span<std::byte> data, int root) override;
  // Sizes that do not match throw kInternal on every rank.
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override;
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override;
  std::string shared_refusal() const override { return refusal_; }
  std::unique_ptr<Comm> duplicate() override;
  bool may_be_called_in_background() const override { return true; }

  // Local: ranks that wait for this rank, now or later, get an error. The destructor calls it.
  void leave();

 private:
  struct Seat;

  NodeShared(int rank, int size, SharedSegment control);

  Seat& seat(int rank) const;
  std::span<std::byte> stage(int rank) const;
  std::vector<std::span<std::byte>> stages() const;
  void require_own_process(const Call& call) const;
  void arrive(const Call& call);
  void wait();
  void meet(const Call& call);
  void end_arrival();
  void wait_for_others(uint32_t turn, const Call& call);
  void fail_if_one_is_gone(uint32_t turn, const Call& call, bool check_processes);
  void report_gone(int rank, bool has_left);
  void throw_if_one_is_known_gone(const Call& call) const;
  void check_same_call(uint32_t turn, const Call& call) const;
  void allgather_as(const Call& call, std::span<const std::byte> mine, std::span<std::byte> all);

  const int rank_;
  const int size_;
  const uint64_t generation_;  // a forked child's copy of this object must not act as this rank
  SharedSegment control_;
  uint32_t turn_ = 0;  // the next one, or the one at which this rank has arrived; equal on all ranks
  bool has_arrived_ = false;
  SharedSegment windows_;
  int64_t window_bytes_ = 0;  // of each rank; the distance between two windows
  std::string refusal_;
};

}  // namespace swath
