#include "array/chunk_reading.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "array/collectively.h"
#include "base/stopwatch.h"

namespace swath {
namespace {

constexpr int64_t kHasNotFailed = INT64_MAX;

// At the start of each rank's window: the round in which this rank failed.
using FailedRound = std::atomic<int64_t>;
static_assert(sizeof(FailedRound) <= ChunkWindows::kLineBytes && FailedRound::is_always_lock_free);

std::vector<std::vector<Part>> shares_of(const Decomposition& decomposition, const std::vector<int>& ranks,
                                         int64_t element_bytes) {
  std::vector<std::vector<Part>> shares;
  shares.reserve(ranks.size());
  for (const int rank : ranks) shares.push_back(decomposition.parts(rank, element_bytes));
  return shares;
}

}  // namespace

ChunkReading::ChunkReading(const CodedArray& array, const Decomposition& decomposition, const ChunkOptions& options,
                           const Comm& comm)
    : array_(array), decomposition_(decomposition), options_(options) {
  std::vector<int> of_node(static_cast<size_t>(comm.node_count()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int node = comm.node_of(rank);
    ranks_of_node_ = std::max(ranks_of_node_, ++of_node[static_cast<size_t>(node)]);
    if (node != comm.node_of(comm.rank())) continue;
    if (rank == comm.rank()) own_ = static_cast<int>(ranks_.size());
    ranks_.push_back(rank);
  }
  if (ranks_.size() == 1 || !comm.shared_refusal().empty() || array.codecs.is_plain()) return;
  sharing_.emplace(array.grid(), shares_of(decomposition, ranks_, array.element_bytes));
  const int64_t thread_bytes = buffer_bytes_of_thread(array, Direction::kRead);
  needs_ = {sharing_->longest_list(), options.workers(thread_bytes).first};
}

// The byte range of a decoded chunk that covers all elements wanted by ranks of the node.
ByteRange ChunkReading::wanted_of(int64_t chunk) const {
  ByteRange wanted{0, array_.chunk_bytes()};
  if (!array_.codecs.decodes_parts() || decomposition_.is_boxes()) return wanted;
  wanted = {array_.chunk_bytes(), 0};
  const Panel panel = array_.chunk(chunk);
  for (const int rank : ranks_) {
    for (const Part& part : decomposition_.parts(rank, array_.element_bytes)) {
      const Regions regions = regions_in(panel, part, array_.element_bytes);
      if (regions.count() == 0) continue;
      wanted = {std::min(wanted.begin, regions.begin_offset()), std::max(wanted.end, regions.end_offset())};
    }
  }
  return wanted;
}

class ChunkReading::Rounds {
 public:
  Rounds(const ChunkReading& reading, const ChunkMemory& memory, const ChunkWindows& windows,
         std::vector<std::span<std::byte>> memory_of_ranks)
      : reading_(reading),
        memory_(memory),
        windows_(windows),
        memory_of_ranks_(std::move(memory_of_ranks)),
        rounds_(windows.rounds(reading.needs_.longest_list)) {
    new (window_of(reading_.own_).data()) FailedRound(kHasNotFailed);
  }

  // An exception comes from the communicator only.
  void run(Comm& comm) {
    attempt(0, [this] { begin(); });
    attempt(0, [this] { decode(0); });
    for (int64_t round = 0; round < rounds_; ++round) {
      comm.node_arrive();
      attempt(round + 1, [&] { decode(round + 1); });
      const Stopwatch watch;
      comm.node_wait();
      if (somebody_failed_by(round)) break;
      attempt(round + 1, [&] { take(round); });
      counters_.exchange_seconds += watch.seconds();
    }
  }

  const std::optional<Error>& failure() const { return failure_; }
  const Counters& counters() const { return counters_; }

 private:
  std::span<std::byte> window_of(int rank) const {
    return memory_of_ranks_[static_cast<size_t>(reading_.ranks_[static_cast<size_t>(rank)])];
  }
  // The address of a rank's n-th chunk of a round.
  std::byte* room_of(int rank, int64_t round, int64_t n) const {
    const int64_t place = round % windows_.windows * windows_.chunks + n;
    return window_of(rank).data() + ChunkWindows::kLineBytes + place * windows_.place_bytes;
  }
  FailedRound& failed_round_of(int rank) const {
    return *std::launder(reinterpret_cast<FailedRound*>(window_of(rank).data()));
  }
  ChunkSpan of_round(int64_t count, int64_t round) const { return ChunkWindows::part_of(count, round, rounds_); }

  // Runs this rank's work between two barriers. A rank that fails continues to meet the others until all know of the
  // failure, which they do in the round `told_in`.
  template <typename Work>
  void attempt(int64_t told_in, const Work& work) {
    if (failure_) return;
    failure_ = failure_of(work);
    if (failure_) failed_round_of(reading_.own_) = told_in;
  }

  // Called by all ranks after the barrier of `round`, with the same result: a rank that fails later reports it in a
  // later round.
  bool somebody_failed_by(int64_t round) const {
    for (int rank = 0; rank < std::ssize(reading_.ranks_); ++rank) {
      if (failed_round_of(rank) <= round) return true;
    }
    return false;
  }

  // Orders all chunks that this rank decodes, round by round, the shared chunks of a round first.
  void begin() {
    reader_.emplace(reading_.array_, memory_, reading_.options_);
    const std::vector<int64_t>& shared = reading_.sharing_->decoded_by(reading_.own_);
    const std::vector<int64_t> alone = needed_by_nobody_else();
    std::vector<ChunkTask> tasks;
    tasks.reserve(shared.size() + alone.size());
    for (int64_t round = 0; round < rounds_; ++round) {
      const ChunkSpan for_all = of_round(std::ssize(shared), round);
      for (int64_t i = for_all.begin; i < for_all.end; ++i) {
        const int64_t chunk = shared[static_cast<size_t>(i)];
        tasks.push_back({chunk, room_of(reading_.own_, round, i - for_all.begin), reading_.wanted_of(chunk)});
      }
      const ChunkSpan own = of_round(std::ssize(alone), round);
      for (int64_t i = own.begin; i < own.end; ++i) tasks.push_back({alone[static_cast<size_t>(i)], nullptr, {}});
      round_ends_.push_back(std::ssize(tasks));
    }
    reader_->set_tasks(tasks);
  }

  std::vector<int64_t> needed_by_nobody_else() const {
    std::vector<int64_t> shared;
    for (int rank = 0; rank < reading_.sharing_->ranks(); ++rank) {
      std::ranges::copy_if(reading_.sharing_->decoded_by(rank), std::back_inserter(shared),
                           [&](int64_t chunk) { return reader_->needs(chunk); });
    }
    std::sort(shared.begin(), shared.end());
    std::vector<int64_t> alone = reader_->needed();
    std::erase_if(alone, [&](int64_t chunk) { return std::binary_search(shared.begin(), shared.end(), chunk); });
    return alone;
  }

  void decode(int64_t round) {
    if (round >= rounds_) return;
    const int64_t first = round == 0 ? 0 : round_ends_[static_cast<size_t>(round) - 1];
    const int64_t last = round_ends_[static_cast<size_t>(round)];
    if (first < last) counters_ += reader_->read(first, last);
  }

  // Copies from the windows what other ranks have decoded in a round.
  void take(int64_t round) {
    std::vector<DecodedChunk> chunks;
    for (int rank = 0; rank < reading_.sharing_->ranks(); ++rank) {
      if (rank == reading_.own_) continue;
      const std::vector<int64_t>& list = reading_.sharing_->decoded_by(rank);
      const ChunkSpan theirs = of_round(std::ssize(list), round);
      for (int64_t i = theirs.begin; i < theirs.end; ++i) {
        const int64_t chunk = list[static_cast<size_t>(i)];
        if (reader_->needs(chunk)) chunks.push_back({chunk, room_of(rank, round, i - theirs.begin)});
      }
    }
    if (!chunks.empty()) counters_ += reader_->take(chunks);
  }

  const ChunkReading& reading_;
  const ChunkMemory memory_;
  const ChunkWindows windows_;
  const std::vector<std::span<std::byte>> memory_of_ranks_;
  const int64_t rounds_;
  std::optional<ChunkReader> reader_;
  std::vector<int64_t> round_ends_;  // of this rank's tasks
  std::optional<Error> failure_;
  Counters counters_;
};

Counters ChunkReading::read(Comm& comm, const ChunkMemory& memory, const ChunkNeeds& needs) const {
  const Stopwatch watch;
  ChunkWindows windows = ChunkWindows::of(needs, array_.chunk_bytes(), options_.buffer_bytes_max / ranks_of_node_);
  std::vector<std::span<std::byte>> memory_of_ranks;
  if (windows.chunks > 0) memory_of_ranks = comm.shared_windows(windows.bytes());
  while (memory_of_ranks.empty() && windows.chunks > 1) {  // the node has too little memory: the same on all ranks
    windows = windows.smaller(needs);
    memory_of_ranks = comm.shared_windows(windows.bytes());
  }
  if (needs_.longest_list == 0 || memory_of_ranks.empty()) return read_chunks(array_, memory, options_);
  Rounds rounds(*this, memory, windows, std::move(memory_of_ranks));
  rounds.run(comm);
  if (rounds.failure()) throw Error(*rounds.failure());
  Counters counters = rounds.counters();
  counters.buffer_bytes += windows.bytes();
  counters.total_seconds = watch.seconds();
  return counters;
}

}  // namespace swath
