#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "chunks/chunks.h"
#include "chunks/stored_chunks.h"
#include "chunks/touched.h"
#include "layout/copy.h"

namespace swath {
namespace {

constexpr int64_t kWindowBytes = int64_t{256} << 10;  // stays in a core's cache until it is gathered from
constexpr int64_t kHoleBytes = int64_t{8} << 10;      // costs more to read, from the page cache, than another request

// Positions [k * n, (k + 1) * n) have no hole between them that is worth leaving out, but one may follow them. Told by
// the first holes of each dimension: every seventh of 1024 rows of 4 KiB, a column every 28 bytes: the 147 of one row.
int64_t positions_together(const Regions& regions) {
  int64_t together = 1;
  for (auto dimension = regions.dimensions().rbegin(); dimension != regions.dimensions().rend(); ++dimension) {
    if (together >= regions.count()) break;
    const int64_t end = regions.offset_of(together - 1) + regions.element_bytes();
    if (regions.offset_of(together) - end > kHoleBytes) return together;
    together *= dimension->indices.count();
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

// Chunks whose turn comes soon, by task: their files are open, and the device has been told to read them, so that it
// does not rest while chunks before them are decoded.
class ReadAhead {
 public:
  // As many chunks ahead as decode to kAheadBytes: at least 4, to keep a device busy; at most 32, each an open file.
  ReadAhead(int64_t tasks, int64_t chunk_bytes)
      : tasks_(tasks), ahead_(std::clamp<int64_t>(kAheadBytes / std::max<int64_t>(chunk_bytes, 1), 4, 32)) {}

  // What was found for a task, whose turn it is; nothing where nobody has looked.
  std::optional<StoredChunk> take(int64_t task) {
    const std::lock_guard lock(mutex_);
    begun_ = std::max(begun_, task + 1);
    const auto found = found_.extract(task);
    return found.empty() ? std::nullopt : std::optional(found.mapped());
  }
  // The next task behind `task` that nobody has looked for; nothing where it is too far away.
  std::optional<int64_t> next(int64_t task) {
    const std::lock_guard lock(mutex_);
    next_ = std::max(next_, begun_);
    if (next_ >= std::min(tasks_, task + 1 + ahead_)) return std::nullopt;
    return next_++;
  }
  void keep(int64_t task, StoredChunk stored) {
    const std::lock_guard lock(mutex_);
    if (task >= begun_) found_.emplace(task, std::move(stored));  // else another worker was faster
  }

 private:
  static constexpr int64_t kAheadBytes = int64_t{8} << 20;

  const int64_t tasks_;
  const int64_t ahead_;
  std::mutex mutex_;
  int64_t next_ = 0;   // to be looked for
  int64_t begun_ = 0;  // all before it
  std::map<int64_t, StoredChunk> found_;
};

class ChunkRead {
 public:
  ChunkRead(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options)
      : array_(array),
        memory_(memory),
        stored_(array, options.engine, options.make_stream),
        touched_(array, memory.parts),
        ahead_(tasks(), array.chunk_bytes()) {
    for (const Part& part : memory.parts) local_bytes_ += part.count() * array.element_bytes;
    if (array.shards() == nullptr) return;
    shard_of_.reserve(touched_.chunks().size());
    int64_t unit = -1;
    for (const TouchedChunk& chunk : touched_.chunks()) {  // sorted by unit
      if (chunk.unit != unit) shards_.push_back(std::make_unique<SharedShard>());
      unit = chunk.unit;
      shard_of_.push_back(shards_.back().get());
      shards_.back()->add_task();
    }
  }

  const StoredChunks& stored() const { return stored_; }
  int64_t tasks() const { return static_cast<int64_t>(touched_.chunks().size()); }

  int64_t read_one(int64_t task, Worker& worker) {
    try {
      return read_task(task, worker);
    } catch (const std::bad_alloc&) {
      fail_memory(array_, touched_.chunks()[static_cast<size_t>(task)].chunk);
    }
  }

 private:
  int64_t read_task(int64_t task, Worker& worker) {
    const bool looks_ahead = !array_.codecs.is_plain() || picks_from_device_;
    std::optional<StoredChunk> stored = looks_ahead ? ahead_.take(task) : std::nullopt;
    if (!stored.has_value()) stored = find(task, worker);
    if (looks_ahead) look_ahead(task, stored, worker);
    const int64_t bytes = read_chunk(touched_.chunks()[static_cast<size_t>(task)], stored, worker);
    if (!shard_of_.empty()) shard_of_[static_cast<size_t>(task)]->task_done();
    return bytes;
  }

  std::optional<StoredChunk> find(int64_t task, Worker& worker) {
    const TouchedChunk& chunk = touched_.chunks()[static_cast<size_t>(task)];
    if (shard_of_.empty()) return stored_.find(chunk.chunk, nullptr);
    return stored_.find(chunk.chunk, shard_of_[static_cast<size_t>(task)]->get(stored_, chunk.unit, worker));
  }

  // So that the device does not rest while chunks are decoded, or elements picked from them. Plain chunks that are read
  // in one piece keep it busy themselves.
  void look_ahead(int64_t task, const std::optional<StoredChunk>& stored, Worker& worker) {
    bool has_told = false;
    while (const std::optional<int64_t> next = ahead_.next(task)) {
      if (!has_told && stored.has_value()) stored_.will_need(*stored, worker);  // before those that can wait
      has_told = true;
      try {
        auto found = find(*next, worker);
        if (!found.has_value()) continue;
        stored_.will_need(*found, worker);
        ahead_.keep(*next, std::move(*found));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kInterrupted) throw;
        return;  // whose turn it is will find it again, and say so
      }
    }
  }

  int64_t read_chunk(const TouchedChunk& chunk, const std::optional<StoredChunk>& stored, Worker& worker) {
    const Panel panel = array_.chunk(chunk.chunk);
    const std::span<const size_t> parts = touched_.parts(chunk);
    if (stored.has_value() && !array_.codecs.is_plain(stored->skipped) && parts.size() > 1) {
      return decode_for_several(chunk, *stored, panel, worker);
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

  // Whether the elements are one piece of the chunk, and one piece of memory.
  static bool is_one_piece(const Regions& regions) {
    return regions.dense_positions() == regions.count() && regions.runs() == 1;
  }

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

  int64_t decode_for_several(const TouchedChunk& chunk, const StoredChunk& stored, const Panel& panel,
                             Worker& worker) const {
    const auto decoded = decoded_room(worker);
    stored_.read_and_decode(chunk.chunk, stored, decoded, worker);
    int64_t bytes = 0;
    for (const size_t part : touched_.parts(chunk)) {
      const Regions regions = regions_in(panel, memory_.parts[part], array_.element_bytes);
      place(regions, decoded, 0, memory_.addresses[part]);
      bytes += regions.bytes();
    }
    return bytes;
  }

  // Only from the first byte that is wanted to the last; straight into place where that is one piece.
  void read_plain(const TouchedChunk& chunk, const StoredChunk& stored, const Regions& regions, std::byte* address,
                  Worker& worker) {
    if (stored.bytes != array_.chunk_bytes()) {
      stored_.read_and_decode(chunk.chunk, stored, decoded_room(worker), worker);  // says what is wrong
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

  // Window by window, wide holes left out, for as long as the page cache has them; returns the first position that it
  // has not. What must come from the device comes in one piece: a hole costs less than another request.
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
  ReadAhead ahead_;
  std::vector<std::unique_ptr<SharedShard>> shards_;
  std::vector<SharedShard*> shard_of_;           // of each task
  std::atomic<bool> picks_from_device_ = false;  // plain chunks, of which most bytes have to be read for some of them
  int64_t local_bytes_ = 0;
};

}  // namespace

Counters read_chunks(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options) {
  ChunkRead read(array, memory, options);
  const int64_t decoded = array.chunk_bytes();
  const int64_t coded = array.codecs.is_plain() ? 0 : array.codecs.stored_bytes_max(decoded);
  const int64_t between = array.codecs.codecs().size() > 1 ? 2 * coded : 0;
  const WorkerLimits limits = options.workers(decoded + coded + between);
  const auto beside = read.tasks() > 1 ? read.stored().stream_beside(limits) : nullptr;
  return run_tasks(
      read.tasks(), limits, [&](int64_t task, Worker& worker) { return read.read_one(task, worker); },
      options.bytes_done);
}

}  // namespace swath
