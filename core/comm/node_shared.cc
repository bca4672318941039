#include "comm/node_shared.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/process.h"
#include "base/progress_hook.h"
#include "base/shared_memory.h"
#include "comm/messages.h"

namespace swath {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kStageBytesMin = 16 << 10;
constexpr int64_t kStageBytesMax = 256 << 10;
constexpr int64_t kAllStagesBytes = 8 << 20;
constexpr double kPeerCheckSeconds = 1;

// 2 ranks: 256 KiB each; 128 ranks: 64 KiB each.
int64_t stage_bytes(int size) {
  return std::clamp(kAllStagesBytes / size, kStageBytesMin, kStageBytesMax) / kPageBytes * kPageBytes;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// ---------------------------------------------------------------------------------------------------- waiting

// Yields the core a few times: often the last rank arrives meanwhile, so that no rank has to sleep and be woken.
// Without other work on the core this takes 20 to 70 us, no more than a wake-up (decision 0022).
void give_way_while(const std::atomic<uint32_t>& word, uint32_t value) {
  constexpr int kTimes = 128;
  for (int i = 0; i < kTimes && word.load() == value; ++i) sched_yield();
}

void wake_all(std::atomic<uint32_t>& word) { real_clock().wake_all(word); }

// ---------------------------------------------------------------------------------------------------- segments

// The message of a rank to the others while a segment is made.
struct Announcement {
  char name[128] = {};     // from rank 0
  char failure[256] = {};  // why shared memory is not available
};

void note_failure(Announcement& announcement, const std::string& failure) {
  std::snprintf(announcement.failure, sizeof announcement.failure, "%s", failure.c_str());
}

void note_failure(Announcement& announcement, const char* step, int error) {
  note_failure(announcement, std::string(step) + ": " + std::strerror(error));
}

std::string name_in(const Announcement& announcement) {
  return {announcement.name, strnlen(announcement.name, sizeof announcement.name)};
}

std::string failure_in(const Announcement& announcement) {
  return {announcement.failure, strnlen(announcement.failure, sizeof announcement.failure)};
}

// Removes the name when all have attached, also after an exception.
struct RemoveAtEnd {
  const SharedFolder* folder;
  std::string name;
  ~RemoveAtEnd() {
    if (!name.empty()) folder->remove(name);
  }
};

Descriptor create_segment(const SharedFolder& folder, int64_t bytes, Announcement& announcement) {
  const std::string name = SharedFolder::new_window_name();
  if (name.empty()) {
    note_failure(announcement, "getentropy", errno);
    return {};
  }
  std::snprintf(announcement.name, sizeof announcement.name, "%s", name.c_str());
  Descriptor file = folder.create(name);
  if (!file.is_open()) {
    note_failure(announcement, "open", errno);
  } else if (ftruncate(file.get(), bytes) != 0) {
    note_failure(announcement, "ftruncate", errno);
  }
  return file;
}

// Opens the file that rank 0 has made, after checks.
Descriptor open_announced(const SharedFolder& folder, const std::string& name, int64_t bytes,
                          Announcement& announcement) {
  std::string reason;
  Descriptor file = folder.open_file(name, reason);
  struct stat status{};
  if (!file.is_open()) {
    note_failure(announcement, reason);
  } else if (fstat(file.get(), &status) != 0 || status.st_size != bytes) {
    note_failure(announcement, name + " has " + std::to_string(status.st_size) + " bytes");
    return {};
  }
  return file;
}

// Every rank allocates its own part: in parallel, and on its own NUMA node. Otherwise a full /dev/shm would cause a
// SIGBUS at first use.
SharedSegment map_segment(const Descriptor& file, int64_t bytes, int64_t part_begin, int64_t part_bytes,
                          Announcement& announcement) {
  int error = 0;
  do {
    error = posix_fallocate(file.get(), part_begin, part_bytes);
  } while (error == EINTR);
  if (error != 0) {
    note_failure(announcement, "posix_fallocate", error);
    return {};
  }
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) {
    note_failure(announcement, "mmap", errno);
    return {};
  }
  return {static_cast<std::byte*>(address), bytes};
}

std::vector<Announcement> gather(int size, const Announcement& mine, const NodeShared::Allgather& allgather) {
  std::vector<Announcement> all(size);
  allgather(bytes_of(mine), std::as_writable_bytes(std::span(all)));
  return all;
}

std::string refusal_in(const std::vector<Announcement>& all, int64_t bytes) {
  for (size_t r = 0; r < all.size(); ++r) {
    const std::string failure = failure_in(all[r]);
    if (failure.empty()) continue;
    return "shared memory: rank " + std::to_string(r) + " of this node could not have " + std::to_string(bytes) +
           " bytes for all its ranks: " + failure;
  }
  return "";
}

// Collective: zeroed memory of `part_bytes` (whole pages) for each rank, or the same reason for its absence on every
// rank.
SharedSegment open_segment(int rank, int size, int64_t part_bytes, const NodeShared::Allgather& allgather,
                           std::string& refusal) {
  if (part_bytes > INT64_MAX / size) {
    refusal = "shared memory: " + std::to_string(size) + " windows of " + std::to_string(part_bytes) +
              " bytes are more than an address can tell";
    return {};
  }
  const int64_t bytes = part_bytes * size;
  Announcement mine;
  std::string reason;
  const std::shared_ptr<const SharedFolder> folder = SharedFolder::open(reason);
  if (folder == nullptr) note_failure(mine, reason);
  Descriptor file;
  if (rank == 0 && folder != nullptr) file = create_segment(*folder, bytes, mine);
  RemoveAtEnd remove{.folder = folder.get(), .name = file.is_open() ? name_in(mine) : ""};

  std::vector<Announcement> all = gather(size, mine, allgather);
  refusal = refusal_in(all, bytes);
  if (!refusal.empty()) return {};
  if (rank != 0) {
    remove.name = name_in(all[0]);
    file = open_announced(*folder, remove.name, bytes, mine);
  }
  SharedSegment segment;
  if (file.is_open()) segment = map_segment(file, bytes, rank * part_bytes, part_bytes, mine);

  all = gather(size, mine, allgather);
  refusal = refusal_in(all, bytes);
  return refusal.empty() ? std::move(segment) : SharedSegment();
}

}  // namespace

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

// ---------------------------------------------------------------------------------------------------- meeting

// The start of a rank's part of the control segment; its two staging areas are on the next page. Zeroed memory is a
// free seat.
struct NodeShared::Seat {
  // Of the whole node, used in rank 0's seat only.
  alignas(64) std::atomic<uint32_t> turn;  // the one in progress
  std::atomic<uint32_t> arrived;           // number of ranks that have arrived
  std::atomic<uint32_t> gone;              // 0, or 1 + 2 * rank + (1 if it left normally)
  // Of this rank.
  alignas(64) Process process;
  std::atomic<uint32_t> next_turn;  // 1 + the turn at which it last arrived
  std::atomic<uint32_t> left;
  Call calls[2];  // in the last even and odd turn
};

std::unique_ptr<NodeShared> NodeShared::attach(int rank, int size, const Allgather& bootstrap, std::string& refusal) {
  static_assert(sizeof(Seat) <= kPageBytes);
  SharedSegment control = open_segment(rank, size, kPageBytes + 2 * stage_bytes(size), bootstrap, refusal);
  if (!refusal.empty()) return nullptr;
  return std::unique_ptr<NodeShared>(new NodeShared(rank, size, std::move(control)));
}

NodeShared::NodeShared(int rank, int size, SharedSegment control)
    : rank_(rank), size_(size), generation_(fork_generation()), control_(std::move(control)) {
  seat(rank_).process = this_process();
}

NodeShared::~NodeShared() { leave(); }

void NodeShared::leave() {
  if (generation_ != fork_generation()) return;
  seat(rank_).left.store(1);
  wake_all(seat(0).turn);
}

NodeShared::Seat& NodeShared::seat(int rank) const {
  return *reinterpret_cast<Seat*>(control_.data() + rank * (kPageBytes + 2 * stage_bytes(size_)));
}

// The staging area of the next turn.
std::span<std::byte> NodeShared::stage(int rank) const {
  const int64_t bytes = stage_bytes(size_);
  std::byte* const areas = reinterpret_cast<std::byte*>(&seat(rank)) + kPageBytes;
  return {areas + (turn_ % 2) * bytes, static_cast<size_t>(bytes)};
}

std::vector<std::span<std::byte>> NodeShared::stages() const {
  std::vector<std::span<std::byte>> all(size_);
  for (int r = 0; r < size_; ++r) all[r] = stage(r);
  return all;
}

void NodeShared::require_own_process(const Call& call) const {
  if (generation_ == fork_generation()) return;
  fail_argument(describe(call) +
                " in a forked child: the communicator is its parent's; open the array there anew, alone");
}

void NodeShared::arrive(const Call& call) {
  require_own_process(call);
  end_arrival();
  throw_if_one_is_known_gone(call);
  const uint32_t turn = turn_;
  Seat& node = seat(0);
  Seat& me = seat(rank_);
  me.calls[turn % 2] = call;
  me.next_turn.store(turn + 1);
  has_arrived_ = true;
  if (node.arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size_)) {
    node.arrived.store(0);
    node.turn.store(turn + 1);
    wake_all(node.turn);
  }
}

// Returns when every rank has arrived at this turn. stage() is then that of the next turn.
void NodeShared::wait() {
  if (!has_arrived_) throw Error(ErrorKind::kInternal, "node_wait() without node_arrive()");
  const uint32_t turn = turn_;
  const Call call = seat(rank_).calls[turn % 2];
  has_arrived_ = false;
  wait_for_others(turn, call);
  turn_ = turn + 1;
  check_same_call(turn, call);
}

// Completes an arrival without a wait before other data is staged, since it changes the staging areas.
void NodeShared::end_arrival() {
  if (has_arrived_) node_wait();
}

void NodeShared::meet(const Call& call) {
  arrive(call);
  wait();
}

void NodeShared::wait_for_others(uint32_t turn, const Call& call) {
  Seat& node = seat(0);
  give_way_while(node.turn, turn);
  if (node.turn.load() != turn) return;
  Clock& clock = real_clock();
  const bool has_more = has_progress_hook();
  double peer_check = clock.now() + kPeerCheckSeconds;
  while (node.turn.load() == turn) {
    clock.wait(node.turn, turn, has_more ? std::min(clock.now() + kProgressHookSeconds, peer_check) : peer_check);
    if (node.turn.load() != turn) return;
    throw_if_one_is_known_gone(call);
    const bool time_is_up = clock.now() >= peer_check;
    fail_if_one_is_gone(turn, call, time_is_up);
    if (time_is_up) peer_check = clock.now() + kPeerCheckSeconds;
    if (has_more) run_progress_hook();
  }
}

void NodeShared::fail_if_one_is_gone(uint32_t turn, const Call& call, bool check_processes) {
  const Process me = seat(rank_).process;
  for (int r = 0; r < size_; ++r) {
    const Seat& other = seat(r);
    const bool has_left = other.left.load() != 0;
    const bool died = !has_left && check_processes && has_died(other.process, me);
    // Read after the two above: a rank that arrived at this turn before it left does not delay it.
    const bool is_here = static_cast<int32_t>(other.next_turn.load() - turn) > 0;
    if (is_here || (!has_left && !died)) continue;
    report_gone(r, has_left);
    throw_if_one_is_known_gone(call);
  }
}

void NodeShared::report_gone(int rank, bool has_left) {
  uint32_t none = 0;
  seat(0).gone.compare_exchange_strong(none, 1 + 2 * static_cast<uint32_t>(rank) + (has_left ? 1 : 0));
  wake_all(seat(0).turn);
}

void NodeShared::throw_if_one_is_known_gone(const Call& call) const {
  const uint32_t gone = seat(0).gone.load();
  if (gone == 0 || (gone - 1) / 2 >= static_cast<uint32_t>(size_)) return;
  const int rank = static_cast<int>((gone - 1) / 2);
  const bool has_left = (gone - 1) % 2 == 1;
  throw Error(ErrorKind::kDisagreement, "rank " + std::to_string(rank) + " (pid " +
                                            std::to_string(seat(rank).process.id) + ") of this node has " +
                                            (has_left ? "closed its communicator" : "died") + "; rank " +
                                            std::to_string(rank_) + " waits for it in " + describe(call));
}

void NodeShared::check_same_call(uint32_t turn, const Call& call) const {
  const auto call_of = [&](int r) -> const Call& { return seat(r).calls[turn % 2]; };
  bool same = true;
  for (int r = 0; r < size_; ++r) same = same && call_of(r) == call;
  if (same) return;
  std::string text = "the ranks of this node make different calls: ";
  for (int r = 0; r < size_; ++r)
    text += (r > 0 ? ", rank " : "rank ") + std::to_string(r) + " " + describe(call_of(r));
  throw Error(ErrorKind::kDisagreement, text);
}

// ---------------------------------------------------------------------------------------------------- calls

void NodeShared::barrier() { meet({.kind = Call::Kind::kBarrier}); }

void NodeShared::node_arrive() { arrive({.kind = Call::Kind::kNodeBarrier}); }

void NodeShared::node_wait() {
  require_own_process({.kind = Call::Kind::kNodeBarrier});
  wait();
}

void NodeShared::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  check_allgather(size_, mine, all);
  allgather_as({.kind = Call::Kind::kAllgather, .bytes = std::ssize(mine)}, mine, all);
}

void NodeShared::allgather_as(const Call& call, std::span<const std::byte> mine, std::span<std::byte> all) {
  end_arrival();
  const size_t piece = stage_bytes(size_);
  size_t begin = 0;
  do {
    const size_t bytes = std::min(piece, mine.size() - begin);
    copy_bytes(mine.subspan(begin, bytes), stage(rank_));
    const std::vector<std::span<std::byte>> staged = stages();
    meet(call);
    for (int r = 0; r < size_; ++r) copy_bytes(staged[r], all.subspan(r * mine.size() + begin, bytes));
    begin += bytes;
  } while (begin < mine.size());
}

void NodeShared::allreduce(std::span<std::byte> record, const Combine& combine) {
  check_record(record);
  end_arrival();
  copy_bytes(record, stage(rank_));
  const std::vector<std::span<std::byte>> staged = stages();
  meet({.kind = Call::Kind::kAllreduce, .bytes = std::ssize(record)});
  copy_bytes(staged[0], record);
  for (int r = 1; r < size_; ++r) combine(record, staged[r].first(record.size()));
}

void NodeShared::broadcast(std::span<std::byte> data, int root) {
  check_root(size_, root);
  const Call call{.kind = Call::Kind::kBroadcast, .root = root, .bytes = std::ssize(data)};
  end_arrival();
  size_t begin = 0;
  do {
    const std::span<std::byte> staged = stage(root);
    const std::span<std::byte> piece = data.subspan(begin, std::min(staged.size(), data.size() - begin));
    if (rank_ == root) copy_bytes(piece, staged);
    meet(call);
    if (rank_ != root) copy_bytes(staged, piece);
    begin += piece.size();
  } while (begin < data.size());
}

namespace {

// The common part of two ranges that begin at `first` and `second`, relative to the start of each.
struct Overlap {
  int64_t in_first;
  int64_t in_second;
  int64_t bytes;  // zero or negative: no common part
};

Overlap overlap(int64_t first, int64_t first_bytes, int64_t second, int64_t second_bytes) {
  const int64_t begin = std::max(first, second);
  return {begin - first, begin - second, std::min(first + first_bytes, second + second_bytes) - begin};
}

constexpr int64_t kMessageBytesMax = int64_t{1} << 48;  // a bound that keeps sums of sizes in 64 bits

// sizes[r * 2 * size + to] is what rank r sends, sizes[r * 2 * size + size + from] what it expects.
class ExchangeSizes {
 public:
  ExchangeSizes(int size, std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives)
      : size_(size), mine_(size_t{2} * size), all_(int64_t{2} * size * size) {
    for (const SendMessage& message : sends) mine_[message.to] = std::ssize(message.data);
    for (const ReceiveMessage& message : receives) mine_[size + message.from] = std::ssize(message.data);
  }

  std::span<const std::byte> mine() const { return std::as_bytes(std::span(mine_)); }
  std::span<std::byte> all() { return std::as_writable_bytes(std::span(all_)); }

  int64_t sent(int from, int to) const { return all_[int64_t{2} * size_ * from + to]; }
  int64_t expected(int from, int to) const { return all_[int64_t{2} * size_ * to + size_ + from]; }

  // The start of the message to `to`: a rank stores its messages one after another, in order of the receivers.
  int64_t begin(int from, int to) const {
    int64_t bytes = 0;
    for (int before = 0; before < to; ++before) bytes += before == from ? 0 : sent(from, before);
    return bytes;
  }

  int64_t longest() const {
    int64_t bytes = 0;
    for (int from = 0; from < size_; ++from) bytes = std::max(bytes, begin(from, size_));
    return bytes;
  }

  void check() const {
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        if (sent(from, to) == expected(from, to) && sent(from, to) >= 0 && sent(from, to) <= kMessageBytesMax) continue;
        throw Error(ErrorKind::kInternal, "exchange: rank " + std::to_string(from) + " sends " +
                                              std::to_string(sent(from, to)) + " bytes to rank " + std::to_string(to) +
                                              ", which expects " + std::to_string(expected(from, to)));
      }
    }
  }

 private:
  const int size_;
  std::vector<int64_t> mine_;
  std::vector<int64_t> all_;
};

}  // namespace

void NodeShared::exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) {
  check_messages(rank_, size_, sends, receives);
  const Call call{.kind = Call::Kind::kExchange};
  ExchangeSizes sizes(size_, sends, receives);
  allgather_as(call, sizes.mine(), sizes.all());
  sizes.check();
  copy_bytes(message_to(sends, rank_), message_from(receives, rank_));

  const int64_t room = stage_bytes(size_);
  const int64_t longest = sizes.longest();
  for (int64_t begin = 0; begin < longest; begin += room) {
    const std::vector<std::span<std::byte>> staged = stages();
    for (const SendMessage& message : sends) {
      if (message.to == rank_) continue;
      const Overlap part = overlap(sizes.begin(rank_, message.to), std::ssize(message.data), begin, room);
      if (part.bytes <= 0) continue;
      copy_bytes(message.data.subspan(part.in_first, part.bytes), staged[rank_].subspan(part.in_second));
    }
    meet(call);
    for (const ReceiveMessage& message : receives) {
      if (message.from == rank_) continue;
      const Overlap part = overlap(sizes.begin(message.from, rank_), std::ssize(message.data), begin, room);
      if (part.bytes <= 0) continue;
      copy_bytes(staged[message.from].subspan(part.in_second), message.data.subspan(part.in_first, part.bytes));
    }
  }
}

std::unique_ptr<Comm> NodeShared::duplicate() {
  const Allgather allgather = [this](std::span<const std::byte> mine, std::span<std::byte> all) {
    allgather_as({.kind = Call::Kind::kDuplicate}, mine, all);
  };
  std::string refusal;
  std::unique_ptr<Comm> made = attach(rank_, size_, allgather, refusal);
  if (!made) throw Error(ErrorKind::kUnsupported, "a duplicate of the communicator: " + refusal);
  return made;
}

std::vector<std::span<std::byte>> NodeShared::shared_windows(int64_t bytes) {
  check_window_bytes(bytes);
  if (bytes > window_bytes_) {
    windows_ = SharedSegment();  // freed before the new one is made
    window_bytes_ = 0;
    const Call call{.kind = Call::Kind::kSharedWindows, .bytes = bytes};
    const Allgather allgather = [&](std::span<const std::byte> mine, std::span<std::byte> all) {
      allgather_as(call, mine, all);
    };
    const int64_t part_bytes =
        bytes > INT64_MAX - kPageBytes ? bytes : (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    windows_ = open_segment(rank_, size_, part_bytes, allgather, refusal_);
    if (!refusal_.empty()) return {};
    window_bytes_ = part_bytes;
  }
  std::vector<std::span<std::byte>> views(size_);
  for (int r = 0; r < size_; ++r) views[r] = {windows_.data() + r * window_bytes_, static_cast<size_t>(bytes)};
  return views;
}

}  // namespace swath
