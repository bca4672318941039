#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <utility>

#include "base/error.h"
#include "chunks/chunks.h"
#include "chunks/stored_chunks.h"
#include "chunks/touched.h"
#include "layout/copy.h"

namespace swath {
namespace {

constexpr int64_t kWindowBytes = int64_t{256} << 10;  // fits in a core's cache until its elements are gathered
constexpr int64_t kHoleBytes = int64_t{8} << 10;  // a longer hole costs more to read from the page cache than another
                                                  // request

// The positions [k * n, (k + 1) * n) have no hole inside that is worth leaving out. The first holes of each dimension
// give n: for every seventh of 1024 rows of 4 KiB, a column every 28 bytes, it is the 147 positions of one row.
int64_t positions_together(const Regions& regions) {
  int64_t together = 1;
  for (const auto& dimension : std::views::reverse(regions.product()->dimensions())) {
    if (together >= regions.count()) break;
    const int64_t end = regions.offset_of(together - 1) + regions.element_bytes();
    if (regions.offset_of(together) - end > kHoleBytes) return together;
    together *= dimension.indices.count();
  }
  return regions.count();
}

// The shard of a run of tasks: opened by the first of them, closed by the last.
class SharedShard {
 public:
  std::shared_ptr<const ShardFile> get(const StoredChunks& stored, int64_t unit, Worker& worker) {
    const std::lock_guard lock(mutex_);
    if (!is_open_) shard_ = stored.open_shard(unit, worker);
    is_open_ = true;
    return shard_;
  }
  void add_task() { ++tasks_left_; }
  void task_done() {
    const std::lock_guard lock(mutex_);
    if (--tasks_left_ == 0) shard_.reset();
  }

 private:
  std::mutex mutex_;
  bool is_open_ = false;
  std::shared_ptr<const ShardFile> shard_;
  int64_t tasks_left_ = 0;
};

// The next chunks, by task: their files are open, and prefetched, so that the device stays busy while earlier chunks
// are decoded.
class ReadAhead {
 public:
  // As many chunks ahead as decode to kAheadBytes: at least 4, to keep a device busy; at most 32, each an open file.
  ReadAhead(int64_t tasks, int64_t chunk_bytes)
      : tasks_(tasks), ahead_(std::clamp<int64_t>(kAheadBytes / std::max<int64_t>(chunk_bytes, 1), 4, 32)) {}

  // The place of a task's chunk; nullopt if it was not looked up yet.
  std::optional<StoredChunk> take(int64_t task) {
    const std::lock_guard lock(mutex_);
    begun_ = std::max(begun_, task + 1);
    const auto found = found_.extract(task);
    return found.empty() ? std::nullopt : std::optional(found.mapped());
  }
  // The next task after `task` that was not looked up yet; nullopt if it is too far ahead.
  std::optional<int64_t> next(int64_t task) {
    const std::lock_guard lock(mutex_);
    next_ = std::max(next_, begun_);
    if (next_ >= std::min(tasks_, task + 1 + ahead_)) return std::nullopt;
    return next_++;
  }
  void keep(int64_t task, StoredChunk stored) {
    const std::lock_guard lock(mutex_);
    if (task >= begun_) found_.emplace(task, std::move(stored));  // otherwise another worker was faster
  }

 private:
  static constexpr int64_t kAheadBytes = int64_t{8} << 20;

  const int64_t tasks_;
  const int64_t ahead_;
  std::mutex mutex_;
  int64_t next_ = 0;   // the next task to look up
  int64_t begun_ = 0;  // all before it
  std::map<int64_t, StoredChunk> found_;
};

// The memory of one thread.
int64_t reader_bytes(const CodedArray& array) {
  const int64_t decoded = array.chunk_bytes();
  const int64_t coded = array.codecs.is_plain() ? 0 : array.codecs.stored_bytes_max(decoded);
  const int64_t between = array.codecs.codecs().size() > 1 ? 2 * coded : 0;
  return decoded + coded + between;
}

}  // namespace

class ChunkReader::Reading {
 public:
  Reading(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options)
      : array_(array),
        memory_(memory),
        stored_(array, options.engine, options.make_stream),
        touched_(array, memory.parts),
        limits_(options.workers(reader_bytes(array))),
        bytes_done_(options.bytes_done) {
    for (const Part& part : memory.parts) local_bytes_ += part.count() * array.element_bytes;
  }

  const TouchedChunks& touched() const { return touched_; }
  size_t place_of(int64_t chunk) const {
    const std::optional<size_t> place = touched_.find(array_, chunk);
    if (!place) throw Error(ErrorKind::kInternal, array_.chunk_name(chunk) + " is read in vain");
    return *place;
  }
  bool needs(int64_t chunk) const { return touched_.find(array_, chunk).has_value(); }

  void set_tasks(const std::vector<ChunkTask>& tasks) {
    tasks_.clear();
    for (const ChunkTask& task : tasks) tasks_.push_back({place_of(task.chunk), task.room, task.wanted});
    has_tasks_ = true;
  }
  int64_t tasks() const { return has_tasks_ ? std::ssize(tasks_) : std::ssize(touched_.chunks()); }

  Counters read(int64_t first, int64_t last) {
    begin();
    return run_tasks(
        last - first, limits_, [&](int64_t task, Worker& worker) { return read_one(first + task, worker); },
        bytes_done_, has_tasks_ ? &idle_ : nullptr);
  }

  Counters take(std::span<const DecodedChunk> chunks) {
    return run_tasks(
        std::ssize(chunks), {limits_.first, limits_.first},
        [&](int64_t task, Worker& worker) {
          const DecodedChunk& chunk = chunks[static_cast<size_t>(task)];
          const int64_t bytes = place_all(touched_.chunks()[place_of(chunk.chunk)],
                                          {chunk.bytes, static_cast<size_t>(array_.chunk_bytes())});
          worker.counters.exchanged_bytes += bytes;
          return bytes;
        },
        bytes_done_, &idle_);
  }

 private:
  struct Task {
    size_t touched;
    std::byte* room;
    ByteRange wanted;
  };

  Task task_at(int64_t task) const {
    const auto place = static_cast<size_t>(task);
    return has_tasks_ ? tasks_[place] : Task{place, nullptr, {}};
  }
  const TouchedChunk& touched_at(int64_t task) const { return touched_.chunks()[task_at(task).touched]; }

  // Called once, when all tasks are known.
  void begin() {
    if (ahead_) return;
    ahead_.emplace(tasks(), array_.chunk_bytes());
    if (tasks() > 1) second_stream_ = stored_.second_stream(limits_);
    if (array_.shards() == nullptr) return;
    for (int64_t task = 0; task < tasks(); ++task) {
      std::unique_ptr<SharedShard>& shard = shards_[touched_at(task).unit];
      if (shard == nullptr) shard = std::make_unique<SharedShard>();
      shard->add_task();
      shard_of_.push_back(shard.get());
    }
  }

  int64_t read_one(int64_t task, Worker& worker) {
    try {
      return read_task(task, worker);
    } catch (const std::bad_alloc&) {
      fail_memory(array_, touched_at(task).chunk);
    }
  }

  int64_t read_task(int64_t task, Worker& worker) {
    const bool looks_ahead = !array_.codecs.is_plain() || picks_from_device_;
    std::optional<StoredChunk> stored = looks_ahead ? ahead_->take(task) : std::nullopt;
    if (!stored.has_value()) stored = find(task, worker);
    if (looks_ahead) look_ahead(task, stored, worker);
    const Task& one = task_at(task);
    const TouchedChunk& chunk = touched_at(task);
    const int64_t bytes =
        one.room == nullptr ? read_chunk(chunk, stored, worker) : read_for_all(chunk, one, stored, worker);
    if (!shard_of_.empty()) shard_of_[static_cast<size_t>(task)]->task_done();
    return bytes;
  }

  std::optional<StoredChunk> find(int64_t task, Worker& worker) {
    const TouchedChunk& chunk = touched_at(task);
    if (shard_of_.empty()) return stored_.find(chunk.chunk, nullptr);
    return stored_.find(chunk.chunk, shard_of_[static_cast<size_t>(task)]->get(stored_, chunk.unit, worker));
  }

  // Keeps the device busy while chunks are decoded, or elements picked from them. Uncoded chunks read in one piece keep
  // it busy themselves.
  void look_ahead(int64_t task, const std::optional<StoredChunk>& stored, Worker& worker) {
    bool has_told = false;
    while (const std::optional<int64_t> next = ahead_->next(task)) {
      if (!has_told && stored.has_value()) stored_.will_need(*stored, worker);  // before chunks that can wait
      has_told = true;
      try {
        auto found = find(*next, worker);
        if (!found.has_value()) continue;
        stored_.will_need(*found, worker);
        ahead_->keep(*next, std::move(*found));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kInterrupted) throw;
        return;  // the read of this task will report the error
      }
    }
  }

  // Reads a chunk that other processes take elements from, too.
  int64_t read_for_all(const TouchedChunk& chunk, const Task& task, const std::optional<StoredChunk>& stored,
                       Worker& worker) const {
    const std::span<std::byte> room{task.room, static_cast<size_t>(array_.chunk_bytes())};
    if (stored.has_value()) {
      stored_.read_and_decode(chunk.chunk, *stored, room, worker, task.wanted);
    } else {
      fill_with(room, array_.fill);
    }
    return place_all(chunk, room);
  }

  int64_t read_chunk(const TouchedChunk& chunk, const std::optional<StoredChunk>& stored, Worker& worker) {
    const Panel panel = array_.chunk(chunk.chunk);
    const std::span<const size_t> parts = touched_.parts(chunk);
    if (stored.has_value() && !array_.codecs.is_plain(stored->skipped) && parts.size() > 1) {
      const auto decoded = decoded_room(worker);
      stored_.read_and_decode(chunk.chunk, *stored, decoded, worker);
      return place_all(chunk, decoded);
    }
    int64_t bytes = 0;
    for (const size_t part : parts) {
      const Regions regions = regions_in(panel, memory_.parts[part], array_.element_bytes);
      bytes += regions.bytes();
      if (!stored.has_value()) {
        fill(regions, memory_.addresses[part], worker);
      } else if (array_.codecs.is_plain(stored->skipped)) {
        read_plain(chunk, *stored, regions, memory_.addresses[part], worker);
      } else {
        decode(chunk, *stored, regions, memory_.addresses[part], worker);
      }
    }
    return bytes;
  }

  std::span<std::byte> decoded_room(Worker& worker) const { return worker.decoded.at_least(array_.chunk_bytes()); }

  // True if the elements are one piece of the chunk, and one piece of memory.
  static bool is_one_piece(const Regions& regions) { return regions.is_dense() && regions.runs() == 1; }

  void place(const Regions& regions, std::span<const std::byte> decoded, int64_t offset, std::byte* address) const {
    place(regions, 0, regions.count(), decoded, offset, address);
  }
  void place(const Regions& regions, int64_t first, int64_t last, std::span<const std::byte> decoded, int64_t offset,
             std::byte* address) const {
    gather_from_window(regions, first, last, {decoded.data(), offset}, address, {target_of(local_bytes_)});
  }

  void decode(const TouchedChunk& chunk, const StoredChunk& stored, const Regions& regions, std::byte* address,
              Worker& worker) const {
    if (regions.bytes() == array_.chunk_bytes() && is_one_piece(regions)) {
      std::byte* target = address + regions.memory_of(0);
      stored_.read_and_decode(chunk.chunk, stored, {target, static_cast<size_t>(regions.bytes())}, worker);
      return;
    }
    const auto decoded = decoded_room(worker);
    stored_.read_and_decode(chunk.chunk, stored, decoded, worker,
                            ByteRange{.begin = regions.begin_offset(), .end = regions.end_offset()});
    place(regions, decoded, 0, address);
  }

  // Copies the elements of all parts.
  int64_t place_all(const TouchedChunk& chunk, std::span<const std::byte> decoded) const {
    const Panel panel = array_.chunk(chunk.chunk);
    int64_t bytes = 0;
    for (const size_t part : touched_.parts(chunk)) {
      const Regions regions = regions_in(panel, memory_.parts[part], array_.element_bytes);
      place(regions, decoded, 0, memory_.addresses[part]);
      bytes += regions.bytes();
    }
    return bytes;
  }

  // Reads from the first wanted byte to the last; without a buffer if that is one piece.
  void read_plain(const TouchedChunk& chunk, const StoredChunk& stored, const Regions& regions, std::byte* address,
                  Worker& worker) {
    if (stored.bytes != array_.chunk_bytes()) {
      stored_.read_and_decode(chunk.chunk, stored, decoded_room(worker), worker);  // reports the problem
    }
    const int64_t begin = regions.begin_offset();
    const auto bytes = static_cast<size_t>(regions.end_offset() - begin);
    if (is_one_piece(regions)) {
      stored_.read(*stored.file, stored.offset + begin, {address + regions.memory_of(0), bytes}, worker);
      return;
    }
    const int64_t rest = read_from_cache(stored, regions, address, worker);
    if (rest == regions.count()) return;
    const int64_t rest_begin = regions.offset_of(rest);
    if (2 * (regions.end_offset() - rest_begin) >= array_.chunk_bytes()) picks_from_device_ = true;
    const auto window = decoded_room(worker).first(static_cast<size_t>(regions.end_offset() - rest_begin));
    stored_.read(*stored.file, stored.offset + rest_begin, window, worker);
    place(regions, rest, regions.count(), window, rest_begin, address);
  }

  // Reads window by window without wide holes, as long as the page cache has them; returns the first position that is
  // not cached. The device reads the rest in one piece: a hole costs less than another request.
  int64_t read_from_cache(const StoredChunk& stored, const Regions& regions, std::byte* address, Worker& worker) const {
    const int64_t together = positions_together(regions);
    const auto room = decoded_room(worker);
    int64_t position = 0;
    while (position < regions.count()) {
      const int64_t begin = regions.offset_of(position);
      const int64_t group_end = std::min((position / together + 1) * together, regions.count());
      const int64_t last = std::clamp(regions.elements_before(begin + kWindowBytes), position + 1, group_end);
      const int64_t end = regions.offset_of(last - 1) + regions.element_bytes();
      const auto window = room.first(static_cast<size_t>(end - begin));
      if (!stored_.read_cached(*stored.file, stored.offset + begin, window, worker)) break;
      place(regions, position, last, window, begin, address);
      position = last;
    }
    return position;
  }

  void fill(const Regions& regions, std::byte* address, Worker& worker) const {
    const int64_t begin = regions.begin_offset();
    const auto bytes = static_cast<size_t>(regions.end_offset() - begin);
    if (is_one_piece(regions)) {
      fill_with({address + regions.memory_of(0), bytes}, array_.fill);
      return;
    }
    const auto window = decoded_room(worker).first(bytes);
    fill_with(window, array_.fill);
    place(regions, window, begin, address);
  }

  const CodedArray& array_;
  const ChunkMemory memory_;
  const StoredChunks stored_;
  const TouchedChunks touched_;
  const WorkerLimits limits_;
  std::atomic<int64_t>* const bytes_done_;
  bool has_tasks_ = false;
  std::vector<Task> tasks_;
  std::optional<ReadAhead> ahead_;
  std::unique_ptr<Stream> second_stream_;
  std::map<int64_t, std::unique_ptr<SharedShard>> shards_;  // by unit
  std::vector<SharedShard*> shard_of_;                      // of each task
  std::atomic<bool> picks_from_device_ = false;             // plain chunks; most bytes must be read for some of them
  int64_t local_bytes_ = 0;
  IdleWorkers idle_;
};

ChunkReader::ChunkReader(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options)
    : reading_(std::make_unique<Reading>(array, memory, options)) {}
ChunkReader::~ChunkReader() = default;

bool ChunkReader::needs(int64_t chunk) const { return reading_->needs(chunk); }

std::vector<int64_t> ChunkReader::needed() const {
  std::vector<int64_t> chunks;
  for (const TouchedChunk& chunk : reading_->touched().chunks()) chunks.push_back(chunk.chunk);
  return chunks;
}

void ChunkReader::set_tasks(const std::vector<ChunkTask>& tasks) { reading_->set_tasks(tasks); }
int64_t ChunkReader::tasks() const { return reading_->tasks(); }
Counters ChunkReader::read(int64_t first, int64_t last) { return reading_->read(first, last); }
Counters ChunkReader::take(std::span<const DecodedChunk> chunks) { return reading_->take(chunks); }

int64_t buffer_bytes_of_thread(const CodedArray& array, Direction direction) {
  const int64_t decoded = array.chunk_bytes();
  return direction == Direction::kRead ? reader_bytes(array) : decoded + 3 * array.codecs.stored_bytes_max(decoded);
}

Counters read_chunks(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options) {
  ChunkReader reader(array, memory, options);
  return reader.read(0, reader.tasks());
}

}  // namespace swath
