#include "simulate/world.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "plan/rank_share.h"

namespace swath::simulate {
namespace {

constexpr size_t kPlaceholderBytes = size_t{1} << 42;  // of address space, which no access reaches

std::byte* map_memory(size_t bytes, int protection) {
  void* const memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::kStore, "simulation: no address space for " + std::to_string(bytes) + " bytes", errno);
  }
  return static_cast<std::byte*>(memory);
}

// The clock of this thread, and the model of its copies; null: those of the machine that we run on.
struct Models {
  Clock* clock = nullptr;
  BulkDataModel* copies = nullptr;
};

// Sets them during its lifetime.
class OfThread {
 public:
  OfThread(const Models& models, const Models& later) : later_(later) { set(models); }
  ~OfThread() { set(later_); }
  OfThread(const OfThread&) = delete;
  OfThread& operator=(const OfThread&) = delete;

 private:
  static void set(const Models& models) {
    set_clock_of_thread(models.clock);
    set_bulk_data_model(models.copies);
  }
  const Models later_;
};

int checked_ranks(const Machine& machine, int ranks) {
  const int64_t rank_count = int64_t{machine.nodes} * machine.ranks_per_node;
  if (ranks < 1 || ranks > rank_count) {
    fail_argument("simulate: " + std::to_string(ranks) + " ranks on machine " + machine.name + "; expected 1 to " +
                  std::to_string(rank_count) + ", on " + std::to_string(machine.nodes) + " nodes of " +
                  std::to_string(machine.ranks_per_node) + " ranks");
  }
  return ranks;
}

}  // namespace

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kOther:
      return "plan";
    case Phase::kAgree:
      return "agree";
    case Phase::kExchange:
      return "exchange";
    case Phase::kTransfer:
      return "transfer";
    case Phase::kCopy:
      return "copy";
  }
  throw Error(ErrorKind::kInternal, "a phase has no name");
}

World::World(const Machine& machine, const WorldOptions& options)
    : machine_(machine),
      options_(options),
      fibers_(checked_ranks(machine, options.ranks)),
      network_(machine_),
      storage_(machine_, network_, fibers_, {.seed = options.seed, .noise = options.noise}),
      uses_(static_cast<size_t>(options.ranks)),
      phases_(uses_.size(), Phase::kOther),
      mapped_(uses_.size()),
      marks_(uses_.size()),
      duplicates_(uses_.size()),
      placeholders_(map_memory(kPlaceholderBytes, PROT_NONE)) {
  communicators_.emplace_back(ranks(), nodes());
}

World::~World() {
  munmap(placeholders_, kPlaceholderBytes);
  for (const Communicator& communicator : communicators_) {
    for (const Node& node : communicator.nodes) {
      if (node.memory != nullptr) munmap(node.memory, node.memory_bytes);
    }
  }
}

int World::ranks_of(int node) const { return std::min(machine_.ranks_per_node, ranks() - first_of(node)); }

void World::run(const std::function<void(int)>& body) {
  const OfThread simulated({&clock_, &copies_}, {});
  fibers_.run(body, [this] {
    const OfThread real({}, {&clock_, &copies_});  // the program's signal handlers work in real time
    check_interrupt_now();
  });
}

void World::let_earlier_run() {
  fibers_.let_earlier_run();
  network_.forget_before(fibers_.now());
}

void World::count_time(int rank) {
  const auto index = static_cast<size_t>(rank);
  uses_[index].seconds[static_cast<size_t>(phases_[index])] += fibers_.now() - marks_[index];
  if (fibers_.now() > marks_[index]) timelines_.add(static_cast<int>(phases_[index]), marks_[index], fibers_.now());
  marks_[index] = fibers_.now();
}

World::InPhase::InPhase(World& world, Phase phase)
    : world_(world), rank_(world.fibers_.running()), before_(world.phases_[static_cast<size_t>(rank_)]) {
  world_.count_time(rank_);
  world_.phases_[static_cast<size_t>(rank_)] = phase;
}

World::InPhase::~InPhase() {
  world_.count_time(rank_);
  world_.phases_[static_cast<size_t>(rank_)] = before_;
}

std::byte* World::placeholder(int64_t bytes) const {
  if (options_.data) return nullptr;
  if (bytes < 0 || static_cast<size_t>(bytes) > kPlaceholderBytes) {
    fail_argument("simulate: a buffer of " + std::to_string(bytes) + " bytes on one rank; expected at most " +
                  std::to_string(kPlaceholderBytes));
  }
  return placeholders_;
}

bool World::is_placeholder(const std::byte* address) const {
  return address >= placeholders_ && address < placeholders_ + kPlaceholderBytes;
}

void World::TimeOfRanks::wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) {
  if (word != expected) return;
  if (deadline == kNever) throw Error(ErrorKind::kInternal, "simulation: a rank waits on memory for ever");
  sleep_until(deadline);
}

bool World::Copies::begin_copy(const BulkCopy& copy) {
  const int rank = world_.fibers_.running();
  const InPhase in_phase(world_, Phase::kCopy);
  world_.fibers_.spend(world_.copy_seconds(rank, copy));
  world_.use(rank).copied_bytes += copy.bytes;
  return world_.options_.data;
}

// A rank gets its part of the node's memory bandwidth, as if all ranks of the node copied at once.
double World::copy_seconds(int rank, const BulkCopy& copy) const {
  const double of_rank = machine_.node.memory_bandwidth / ranks_of(node_of(rank));
  const auto bytes = static_cast<double>(copy.bytes);
  const auto window = static_cast<double>(mapped_[static_cast<size_t>(rank)]);
  if (window == 0) return bytes / std::min(machine_.node.copy_bandwidth, of_rank);
  const MappedUse mapped = mapped_use(window, bytes, static_cast<double>(copy.runs));
  return mapped.bytes / std::min(machine_.page_cache.map_bandwidth, of_rank) +
         mapped.partial_pages() * machine_.page_cache.map_page;
}

void World::make_windows(Node& node, int64_t bytes, int ranks) {
  constexpr int64_t kLineBytes = 64;
  const int64_t each = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  if (node.memory != nullptr) munmap(node.memory, node.memory_bytes);
  node.memory_bytes = static_cast<size_t>(std::max<int64_t>(each * ranks, 1));
  node.memory = map_memory(node.memory_bytes, PROT_READ | PROT_WRITE);
  node.windows.clear();
  for (int i = 0; i < ranks; ++i) node.windows.push_back(node.memory + i * each);
  node.window_bytes = bytes;
}

}  // namespace swath::simulate
