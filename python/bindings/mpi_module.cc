// The module `_mpi`: the ranks of an MPI communicator that mpi4py handed over. Swath's only file that knows MPI.
//
// On one node everything goes through shared memory (core/comm/node_shared.h), and MPI serves at construction only. On
// several nodes messages and collectives go through nonblocking MPI calls that sleep between looks, since a rank that
// spins takes the core from the rank it waits for; windows and node barriers still go through shared memory.
//
// Environment, read on rank 0 when a communicator is taken over:
//   SWATH_NODES=k           test hook: the ranks of one machine behave as k nodes (contiguous blocks of ranks), so that
//                           the way between nodes can be tested on one machine
//   SWATH_SHARED_MEMORY=0   no shared windows
//
// libmpi must be loaded before: import mpi4py.MPI first.

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <sched.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fork.h"
#include "comm/comm.h"
#include "comm/messages.h"
#include "comm/node_shared.h"
#include "text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Comm;
using swath::Error;
using swath::ErrorKind;
using swath::ReceiveMessage;
using swath::SendMessage;

constexpr int64_t kPieceBytes = int64_t{512} << 20;         // MPI counts end at 2 GiB
constexpr int64_t kGatheredPieceBytes = int64_t{64} << 20;  // of an allgather, on all ranks together
constexpr int kYields = 16;
constexpr long kSleepNanosecondsMin = 5'000;
constexpr long kSleepNanosecondsMax = 200'000;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorKind::kStore, std::string(call) + " failed: " + text);
}

bool mpi_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

void require_running_mpi() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    swath::fail_argument(
        "MPI is not initialised in the libmpi that swath._mpi was linked to: import mpi4py.MPI first, and use the "
        "mpi4py of that same MPI");
  }
  if (mpi_is_finalized()) swath::fail_argument("MPI has been finalised: use a communicator before MPI.Finalize()");
}

class OwnedCommunicator {
 public:
  OwnedCommunicator() = default;
  OwnedCommunicator(const OwnedCommunicator&) = delete;
  OwnedCommunicator& operator=(const OwnedCommunicator&) = delete;
  ~OwnedCommunicator() { release(); }

  MPI_Comm get() const { return communicator_; }
  // For the MPI call that makes it. Its errors are returned, not fatal.
  template <typename MakeCall>
  void make(const MakeCall& call, const char* name) {
    check(call(&communicator_), name);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  // In a forked child nothing: MPI is the parent's.
  void release() {
    const bool is_ours = communicator_ != MPI_COMM_NULL && generation_ == swath::fork_generation();
    if (is_ours && !mpi_is_finalized()) MPI_Comm_free(&communicator_);
    communicator_ = MPI_COMM_NULL;
  }

 private:
  const uint64_t generation_ = swath::fork_generation();
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

// Gives the core away while it waits: at first for moments, then for longer and longer.
class Patience {
 public:
  void wait() {
    if (yields_++ < kYields) {
      sched_yield();
      return;
    }
    const timespec duration{.tv_sec = 0, .tv_nsec = sleep_};
    nanosleep(&duration, nullptr);  // cut short by a signal: one more look, no harm
    sleep_ = std::min(2 * sleep_, kSleepNanosecondsMax);
  }

 private:
  int yields_ = 0;
  long sleep_ = kSleepNanosecondsMin;
};

void complete(MPI_Request request, const char* call) {
  Patience patience;
  for (;;) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
    patience.wait();
  }
}

void allgather_over(MPI_Comm communicator, std::span<const std::byte> mine, std::span<std::byte> all) {
  MPI_Request request;
  const int bytes = static_cast<int>(mine.size());
  check(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, communicator, &request),
        "MPI_Iallgather");
  complete(request, "MPI_Iallgather");
}

struct Place {
  int rank = 0;
  int size = 0;
};

Place place_in(MPI_Comm communicator) {
  Place place;
  check(MPI_Comm_rank(communicator, &place.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &place.size), "MPI_Comm_size");
  return place;
}

template <typename T>
std::vector<T> gather_values(MPI_Comm communicator, const T& mine) {
  std::vector<T> all(place_in(communicator).size);
  allgather_over(communicator, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

// The text of the lowest rank that has one: the same on every rank.
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

// A number of nodes, 0 where the text is none.
int node_number(const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number >= 1 && number <= INT_MAX ? static_cast<int>(number) : 0;
}

struct Settings {
  int nodes = 0;  // 0 where SWATH_NODES is no number of nodes
  int shared_memory = 1;
};

Settings settings_of_rank_0(MPI_Comm communicator) {
  const char* const nodes = std::getenv("SWATH_NODES");
  const char* const shared_memory = std::getenv("SWATH_SHARED_MEMORY");
  Settings settings{.nodes = nodes == nullptr ? 1 : node_number(nodes),
                    .shared_memory = shared_memory == nullptr || std::strcmp(shared_memory, "0") != 0};
  settings = gather_values(communicator, settings).front();
  if (settings.nodes == 0) swath::fail_argument("SWATH_NODES on rank 0: expected a number of nodes, 1 or more");
  return settings;
}

class MpiComm final : public Comm {
 public:
  explicit MpiComm(MPI_Comm parent);
  ~MpiComm() override;

  std::string name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_of(int rank) const override { return node_of_.at(rank); }

  void barrier() override;
  void node_arrive() override;
  void node_wait() override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override;
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override;
  std::string shared_refusal() const override { return refusal_; }

  // Collective. Frees the duplicated communicator and the windows; every later call is kArgument.
  void close();
  // Not collective: lets the ranks of the node hear that this one comes no more. Every later call is kArgument.
  void leave();

 private:
  void find_nodes(int nodes_per_machine);
  void attach_node();
  void require_open() const;
  bool on_one_node() const { return node_ != nullptr && node_->size() == size_; }

  OwnedCommunicator world_;         // a private duplicate: no message of the program is ever taken for one of ours
  OwnedCommunicator node_members_;  // the ranks of this node
  int rank_ = 0;
  int size_ = 0;
  std::vector<int> node_of_;
  std::unique_ptr<Comm> node_;              // null where shared memory cannot be had, then on every rank
  MPI_Request arrival_ = MPI_REQUEST_NULL;  // at a node barrier, where it is null
  bool windows_allowed_ = true;
  int64_t window_bytes_ = 0;  // that every node has
  std::string refusal_;
  bool is_open_ = true;
  const uint64_t generation_ = swath::fork_generation();
};

// Those alive. A script that ends by an exception goes on to wait in MPI_Finalize for ranks that wait for it in a call
// of ours; at exit, which Python comes to first, those are let go.
std::mutex all_comms_mutex;
std::set<MpiComm*> all_comms;

void leave_all() {
  const std::lock_guard lock(all_comms_mutex);
  for (MpiComm* comm : all_comms) comm->leave();
}

MpiComm::MpiComm(MPI_Comm parent) {
  require_running_mpi();
  if (parent == MPI_COMM_NULL) swath::fail_argument("communicator: MPI.COMM_NULL has no ranks");
  int is_inter = 0;
  check(MPI_Comm_test_inter(parent, &is_inter), "MPI_Comm_test_inter");
  if (is_inter) swath::fail_argument("communicator: an intercommunicator has two groups of ranks; expected one");

  world_.make([&](MPI_Comm* made) { return MPI_Comm_dup(parent, made); }, "MPI_Comm_dup");
  rank_ = place_in(world_.get()).rank;
  size_ = place_in(world_.get()).size;
  const Settings settings = settings_of_rank_0(world_.get());
  find_nodes(settings.nodes);
  attach_node();
  if (!settings.shared_memory) {
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

// A node is the ranks of a machine, or a k-th of them: with 5 ranks and SWATH_NODES=2, ranks 0-2 and 3-4.
void MpiComm::find_nodes(int nodes_per_machine) {
  OwnedCommunicator machine;
  machine.make(
      [&](MPI_Comm* made) {
        return MPI_Comm_split_type(world_.get(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, made);
      },
      "MPI_Comm_split_type");
  const Place place = place_in(machine.get());
  const int block = static_cast<int>(int64_t{place.rank} * nodes_per_machine / place.size);
  node_members_.make([&](MPI_Comm* made) { return MPI_Comm_split(machine.get(), block, rank_, made); },
                     "MPI_Comm_split");

  const int lowest = gather_values(node_members_.get(), rank_).front();
  const std::vector<int> lowest_of = gather_values(world_.get(), lowest);
  int nodes = 0;
  for (int r = 0; r < size_; ++r) node_of_.push_back(lowest_of[r] == r ? nodes++ : node_of_[lowest_of[r]]);
}

void MpiComm::attach_node() {
  const Place place = place_in(node_members_.get());
  std::string refusal;
  if (place.size == 1) {
    node_ = swath::make_solo_comm();
  } else {
    const auto bootstrap = [this](std::span<const std::byte> mine, std::span<std::byte> all) {
      allgather_over(node_members_.get(), mine, all);
    };
    node_ = swath::NodeShared::attach(place.rank, place.size, bootstrap, refusal);
  }
  refusal_ = first_text(world_.get(), refusal);
  if (!refusal_.empty()) {
    windows_allowed_ = false;
    node_.reset();
  }
}

void MpiComm::require_open() const {
  if (!is_open_) swath::fail_argument("the communicator has been closed");
  if (generation_ != swath::fork_generation()) {
    swath::fail_argument("a forked child cannot use its parent's communicator: open the array there anew, alone");
  }
}

void MpiComm::leave() {
  is_open_ = false;
  node_.reset();
}

void MpiComm::close() {
  leave();
  node_members_.release();
  world_.release();
}

void MpiComm::barrier() {
  require_open();
  if (on_one_node()) return node_->barrier();
  MPI_Request request;
  check(MPI_Ibarrier(world_.get(), &request), "MPI_Ibarrier");
  complete(request, "MPI_Ibarrier");
}

void MpiComm::node_arrive() {
  require_open();
  if (node_) return node_->node_arrive();
  if (arrival_ != MPI_REQUEST_NULL) node_wait();
  check(MPI_Ibarrier(node_members_.get(), &arrival_), "MPI_Ibarrier");
}

void MpiComm::node_wait() {
  require_open();
  if (node_) return node_->node_wait();
  complete(std::exchange(arrival_, MPI_REQUEST_NULL), "MPI_Ibarrier");
}

void MpiComm::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  require_open();
  if (on_one_node()) return node_->allgather(mine, all);
  swath::check_allgather(size_, mine, all);
  const size_t piece_bytes = std::max<int64_t>(1, kGatheredPieceBytes / size_);
  if (mine.size() <= piece_bytes) return allgather_over(world_.get(), mine, all);
  std::vector<std::byte> pieces(piece_bytes * size_);
  for (size_t begin = 0; begin < mine.size(); begin += piece_bytes) {
    const std::span<const std::byte> piece = mine.subspan(begin, std::min(piece_bytes, mine.size() - begin));
    allgather_over(world_.get(), piece, std::span(pieces).first(piece.size() * size_));
    for (int r = 0; r < size_; ++r) {
      std::memcpy(all.data() + r * mine.size() + begin, pieces.data() + r * piece.size(), piece.size());
    }
  }
}

void MpiComm::broadcast(std::span<std::byte> data, int root) {
  require_open();
  if (on_one_node()) return node_->broadcast(data, root);
  swath::check_root(size_, root);
  for (int64_t begin = 0; begin < std::ssize(data); begin += kPieceBytes) {
    const int bytes = static_cast<int>(std::min(kPieceBytes, std::ssize(data) - begin));
    MPI_Request request;
    check(MPI_Ibcast(data.data() + begin, bytes, MPI_BYTE, root, world_.get(), &request), "MPI_Ibcast");
    complete(request, "MPI_Ibcast");
  }
}

// The messages under way in one exchange, each in pieces of at most kPieceBytes.
class Transfers {
 public:
  Transfers(MPI_Comm communicator, int rank) : communicator_(communicator), rank_(rank) {}

  void receive(const ReceiveMessage& message) {
    each_piece(std::ssize(message.data), [&](int64_t begin, int bytes) {
      expected_.push_back({message.from, bytes});
      return MPI_Irecv(message.data.data() + begin, bytes, MPI_BYTE, message.from, 0, communicator_, &add_request());
    });
  }

  void send(const SendMessage& message) {
    each_piece(std::ssize(message.data), [&](int64_t begin, int bytes) {
      return MPI_Isend(message.data.data() + begin, bytes, MPI_BYTE, message.to, 0, communicator_, &add_request());
    });
  }

  // Receives must have been started before the sends.
  void complete() {
    std::vector<MPI_Status> statuses(requests_.size());
    Patience patience;
    for (;;) {
      int done = 0;
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses.data());
      if (code != MPI_SUCCESS) explain(code, statuses);
      if (done) break;
      patience.wait();
    }
    for (size_t i = 0; i < expected_.size(); ++i) {
      int bytes = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      if (bytes != expected_[i].bytes) fail_size(expected_[i], std::to_string(bytes));
    }
  }

 private:
  struct Expected {
    int from;
    int bytes;
  };

  template <typename Start>
  static void each_piece(int64_t message_bytes, const Start& start) {
    for (int64_t begin = 0; begin < message_bytes; begin += kPieceBytes) {
      check(start(begin, static_cast<int>(std::min(kPieceBytes, message_bytes - begin))), "a message's MPI call");
    }
  }

  MPI_Request& add_request() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  [[noreturn]] void explain(int code, const std::vector<MPI_Status>& statuses) const {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    for (size_t i = 0; error_class == MPI_ERR_IN_STATUS && i < expected_.size(); ++i) {
      int status_class = MPI_SUCCESS;
      MPI_Error_class(statuses[i].MPI_ERROR, &status_class);
      if (status_class == MPI_ERR_TRUNCATE) fail_size(expected_[i], "more");
    }
    check(code, "MPI_Testall");
    throw Error(ErrorKind::kInternal, "MPI_Testall failed");
  }

  [[noreturn]] void fail_size(const Expected& expected, const std::string& sent) const {
    throw Error(ErrorKind::kInternal, "exchange: rank " + std::to_string(expected.from) + " sends " + sent +
                                          " bytes to rank " + std::to_string(rank_) + ", which expects " +
                                          std::to_string(expected.bytes));
  }

  MPI_Comm communicator_;
  int rank_;
  std::vector<MPI_Request> requests_;
  std::vector<Expected> expected_;  // of the first requests, which are the receives
};

void MpiComm::exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) {
  require_open();
  if (on_one_node()) return node_->exchange(sends, receives);
  swath::check_messages(rank_, size_, sends, receives);
  Transfers transfers(world_.get(), rank_);
  for (const ReceiveMessage& message : receives) {
    if (message.from != rank_) transfers.receive(message);
  }
  for (const SendMessage& message : sends) {
    if (message.to != rank_) transfers.send(message);
  }
  swath::copy_bytes(swath::message_to(sends, rank_), swath::message_from(receives, rank_));
  transfers.complete();
}

std::vector<std::span<std::byte>> MpiComm::shared_windows(int64_t bytes) {
  require_open();
  if (!windows_allowed_) return {};
  if (on_one_node()) {
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

// MPI_Comm is a number in one MPI and a pointer in another.
template <typename Communicator>
Communicator communicator_of(uintptr_t handle) {
  if constexpr (std::is_pointer_v<Communicator>) {
    return reinterpret_cast<Communicator>(handle);
  } else {
    return static_cast<Communicator>(handle);
  }
}

std::vector<nb::bytes> exchange(MpiComm& comm, const std::vector<std::pair<int, nb::bytes>>& out,
                                const std::vector<std::pair<int, size_t>>& in) {
  std::vector<SendMessage> sends;
  for (const auto& [to, data] : out) sends.push_back({to, {static_cast<const std::byte*>(data.data()), data.size()}});
  std::vector<std::vector<std::byte>> received;
  for (const auto& [from, size] : in) received.emplace_back(size);
  std::vector<ReceiveMessage> receives;
  for (size_t i = 0; i < in.size(); ++i) receives.push_back({in[i].first, received[i]});
  {
    const nb::gil_scoped_release release;
    comm.exchange(sends, receives);
  }
  std::vector<nb::bytes> messages;
  for (const auto& data : received) messages.emplace_back(data.data(), data.size());
  return messages;
}

std::vector<std::pair<uintptr_t, size_t>> shared_windows(MpiComm& comm, int64_t bytes) {
  std::vector<std::span<std::byte>> windows;
  {
    const nb::gil_scoped_release release;
    windows = comm.shared_windows(bytes);
  }
  std::vector<std::pair<uintptr_t, size_t>> places;
  for (const auto& window : windows) places.emplace_back(reinterpret_cast<uintptr_t>(window.data()), window.size());
  return places;
}

}  // namespace

NB_MODULE(_mpi, m) {
  m.doc() = "The ranks of an MPI communicator. Use the package `swath`; this module may change without notice.";
  nb::module_::import_("swath._core");  // the base class, and the exceptions
  // No leak: an attribute of a communicator, or the traceback of an uncaught exception, keeps an MpiComm to the end.
  nb::set_leak_warnings(false);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&leave_all));

  nb::class_<MpiComm, Comm>(m, "MpiComm", "The ranks of an mpi4py communicator, on a duplicate of it.")
      .def(
          "__init__",
          [](MpiComm* self, uintptr_t handle) {
            nb::gil_scoped_release release;
            new (self) MpiComm(communicator_of<MPI_Comm>(handle));
          },
          "handle"_a, "Collective. `handle` is the `handle` of an mpi4py intracommunicator.")
      .def("node_barrier", &MpiComm::node_barrier, nb::call_guard<nb::gil_scoped_release>())
      .def("exchange", &exchange, "sends"_a, "receives"_a,
           "Collective. [(to, bytes)] and [(from, size)] to the bytes received, in the order of `receives`.")
      .def("shared_windows", &shared_windows, "bytes"_a,
           "Collective. (address, size) of every rank's window, no list where they cannot be had.")
      .def("close", &MpiComm::close, nb::call_guard<nb::gil_scoped_release>(),
           "Collective. Gives the duplicate and the shared memory back.");
}
