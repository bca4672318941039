#include "comm/mpi_comm.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/progress_hook.h"
#include "comm/messages.h"
#include "comm/mpi_messages.h"
#include "comm/mpi_ranks.h"
#include "comm/node_shared.h"

namespace swath {
namespace {

// The text of the lowest rank with a text: the same on every rank.
std::string first_text(MPI_Comm communicator, const std::string& mine) {
  struct Text {
    char characters[400];
  } text{};
  std::strncpy(text.characters, mine.c_str(), sizeof text.characters - 1);
  for (const Text& one : gather_values(communicator, text)) {
    if (one.characters[0] != '\0') return one.characters;
  }
  return "";
}

// The number of nodes; 0 for an invalid text.
int node_number(const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number >= 1 && number <= INT_MAX ? static_cast<int>(number) : 0;
}

// All open communicators, for leave_all().
std::mutex all_comms_mutex;
std::set<MpiComm*> all_comms;

}  // namespace

MpiComm::MpiComm(MPI_Comm parent) : MpiComm(parent, std::nullopt) {}

MpiComm::MpiComm(MPI_Comm parent, const std::optional<Settings>& settings) {
  require_running_mpi();
  set_progress_hook(&let_mpi_progress);
  if (parent == MPI_COMM_NULL) fail_argument("communicator: MPI_COMM_NULL has no ranks");
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(parent, &is_inter), "MPI_Comm_test_inter");
  if (is_inter) fail_argument("communicator: an intercommunicator has two groups of ranks; expected one");

  world_.make([&](MPI_Comm* made) { return MPI_Comm_dup(parent, made); }, "MPI_Comm_dup");
  rank_ = rank_and_size(world_.get()).rank;
  size_ = rank_and_size(world_.get()).size;
  settings_ = settings ? *settings : settings_of_rank_0(world_.get());
  find_nodes();
  attach_node();
  find_reducers();
  if (!settings_.shared_memory) {
    windows_allowed_ = false;
    refusal_ = "SWATH_SHARED_MEMORY=0 in the environment";
  }
  const std::lock_guard lock(all_comms_mutex);
  all_comms.insert(this);
}

MpiComm::~MpiComm() {
  const std::lock_guard lock(all_comms_mutex);
  all_comms.erase(this);
}

MpiComm::Settings MpiComm::settings_of_rank_0(MPI_Comm communicator) {
  const char* const nodes = std::getenv("SWATH_NODES");
  const char* const shared_memory = std::getenv("SWATH_SHARED_MEMORY");
  Settings settings{.nodes_per_machine = nodes == nullptr ? 1 : node_number(nodes),
                    .shared_memory = shared_memory == nullptr || std::strcmp(shared_memory, "0") != 0};
  settings = gather_values(communicator, settings).front();
  if (settings.nodes_per_machine == 0) {
    fail_argument("SWATH_NODES on rank 0: expected a number of nodes, 1 or more");
  }
  return settings;
}

// A node is the ranks of a machine, or one of k parts of them: with 5 ranks and SWATH_NODES=2, ranks 0-2 and 3-4.
void MpiComm::find_nodes() {
  OwnedCommunicator machine;
  machine.make(
      [&](MPI_Comm* made) {
        return MPI_Comm_split_type(world_.get(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, made);
      },
      "MPI_Comm_split_type");
  const auto [place, ranks] = rank_and_size(machine.get());
  const int block = static_cast<int>(int64_t{place} * settings_.nodes_per_machine / ranks);
  node_members_.make([&](MPI_Comm* made) { return MPI_Comm_split(machine.get(), block, rank_, made); },
                     "MPI_Comm_split");

  const int lowest = gather_values(node_members_.get(), rank_).front();
  const std::vector<int> lowest_of = gather_values(world_.get(), lowest);
  int nodes = 0;
  for (int r = 0; r < size_; ++r) node_of_.push_back(lowest_of[r] == r ? nodes++ : node_of_[lowest_of[r]]);
}

void MpiComm::attach_node() {
  const auto [place, ranks] = rank_and_size(node_members_.get());
  std::string refusal;
  if (ranks == 1) {
    node_ = make_solo_comm();
  } else {
    const auto bootstrap = [this](std::span<const std::byte> mine, std::span<std::byte> all) {
      allgather_over(node_members_.get(), mine, all);
    };
    node_ = NodeShared::attach(place, ranks, bootstrap, refusal);
  }
  refusal_ = first_text(world_.get(), refusal);
  if (!refusal_.empty()) {
    windows_allowed_ = false;
    node_.reset();
  }
}

void MpiComm::find_reducers() {
  int node = 0;
  for (int r = 0; r < size_; ++r) {
    if (node_ != nullptr && node_of_[r] != node) continue;  // nodes are numbered in order of their first ranks
    if (r == rank_) place_ = static_cast<int>(reducers_.size());
    reducers_.push_back(r);
    ++node;
  }
}

void MpiComm::require_open() const {
  if (!is_open_) fail_argument("the communicator has been closed");
  if (generation_ != fork_generation()) {
    fail_argument("a forked child cannot use its parent's communicator: open the array there anew, alone");
  }
}

void MpiComm::leave() {
  is_open_ = false;
  if (auto* const shared = dynamic_cast<NodeShared*>(node_.get())) shared->leave();
}

void MpiComm::leave_all() {
  const std::lock_guard lock(all_comms_mutex);
  for (MpiComm* comm : all_comms) comm->leave();
}

void MpiComm::close() {
  leave();
  node_.reset();
  node_members_.release();
  world_.release();
}

void MpiComm::barrier() {
  require_open();
  if (serves_without_mpi()) return node_->barrier();
  barrier_over(world_.get());
}

void MpiComm::node_arrive() {
  require_open();
  if (node_) return node_->node_arrive();
  if (arrival_ != MPI_REQUEST_NULL) node_wait();
  check_mpi(MPI_Ibarrier(node_members_.get(), &arrival_), "MPI_Ibarrier");
}

void MpiComm::node_wait() {
  require_open();
  if (node_) return node_->node_wait();
  wait_for(std::exchange(arrival_, MPI_REQUEST_NULL), "MPI_Ibarrier");
}

void MpiComm::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  require_open();
  if (serves_without_mpi()) return node_->allgather(mine, all);
  allgather_over(world_.get(), mine, all);
}

void MpiComm::allreduce(std::span<std::byte> record, const Combine& combine) {
  require_open();
  check_record(record);
  if (node_) node_->allreduce(record, combine);
  if (serves_without_mpi()) return;
  if (place_ >= 0) allreduce_over(world_.get(), reducers_, place_, record, combine);
  if (node_) node_->broadcast(record, 0);
}

void MpiComm::broadcast(std::span<std::byte> data, int root) {
  require_open();
  if (serves_without_mpi()) return node_->broadcast(data, root);
  broadcast_over(world_.get(), data, root);
}

void MpiComm::exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) {
  require_open();
  if (serves_without_mpi()) return node_->exchange(sends, receives);
  exchange_over(world_.get(), sends, receives);
}

std::vector<std::span<std::byte>> MpiComm::shared_windows(int64_t bytes) {
  require_open();
  if (!windows_allowed_) return {};
  if (serves_without_mpi()) {
    auto windows = node_->shared_windows(bytes);
    refusal_ = node_->shared_refusal();
    return windows;
  }
  auto of_node = node_->shared_windows(bytes);
  if (bytes > window_bytes_) {
    refusal_ = first_text(world_.get(), node_->shared_refusal());
    window_bytes_ = refusal_.empty() ? bytes : 0;
  }
  if (!refusal_.empty()) return {};
  std::vector<std::span<std::byte>> windows(size_);
  int place = 0;
  for (int r = 0; r < size_; ++r) {
    if (node_of_[r] == node_of_[rank_]) windows[r] = of_node[place++];
  }
  return windows;
}

std::unique_ptr<Comm> MpiComm::duplicate() {
  require_open();
  return std::unique_ptr<Comm>(new MpiComm(world_.get(), settings_));
}

std::shared_ptr<Comm> make_mpi_comm(MPI_Comm communicator) { return std::make_shared<MpiComm>(communicator); }

}  // namespace swath
