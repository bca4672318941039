#include <algorithm>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/math.h"
#include "chunks/chunks.h"
#include "chunks/encoder.h"
#include "chunks/stored_chunks.h"
#include "chunks/touched.h"
#include "store/new_file.h"

namespace swath {
namespace {

class ChunkWrite {
 public:
  ChunkWrite(const CodedArray& array, const ChunkMemory& memory, std::span<const int64_t> units,
             const ChunkOptions& options)
      : array_(array),
        memory_(memory),
        units_(units),
        stored_(array, options.engine, options.make_stream),
        encoder_(array, stored_),
        touched_(array, memory.parts) {}

  const StoredChunks& stored() const { return stored_; }

  int64_t write_one(int64_t task, Worker& worker) {
    const int64_t unit = units_[static_cast<size_t>(task)];
    const std::span<const TouchedChunk> chunks = touched_in(unit);
    try {
      return write_unit(unit, chunks, worker);
    } catch (const std::bad_alloc&) {
      fail_memory(array_, chunks.front().chunk);
    }
  }

 private:
  int64_t write_unit(int64_t unit, std::span<const TouchedChunk> chunks, Worker& worker) {
    NewFile file(stored_.folder(), array_.file_name(unit), stored_.stream_of(worker), worker.counters);
    int64_t bytes = 0;
    if (array_.shards() == nullptr) {
      for (const TouchedChunk& chunk : chunks) file.append(encoded(chunk, nullptr, worker, &bytes));
    } else {
      bytes = write_shard(unit, chunks, file, worker);
    }
    file.complete();
    return bytes;
  }

  std::span<const TouchedChunk> touched_in(int64_t unit) const {
    const auto& all = touched_.chunks();
    const auto first = std::partition_point(all.begin(), all.end(), [&](const auto& c) { return c.unit < unit; });
    const auto last = std::partition_point(first, all.end(), [&](const auto& c) { return c.unit == unit; });
    return {first, last};
  }

  // The chunk as it will be stored, in the worker's memory; `bytes` grows by those of the caller's elements.
  std::span<const std::byte> encoded(const TouchedChunk& chunk, const std::shared_ptr<const ShardFile>& shard,
                                     Worker& worker, int64_t* bytes) {
    const auto pieces = pieces_of(array_, chunk.chunk, memory_.parts, memory_.addresses, touched_.parts(chunk));
    *bytes += bytes_of(pieces);
    return encoder_.encode(chunk.chunk, pieces, shard, worker);
  }

  // Chunks that are not touched are copied in their stored form.
  int64_t write_shard(int64_t unit, std::span<const TouchedChunk> touched, NewFile& file, Worker& worker) {
    const std::shared_ptr<const ShardFile> old = stored_.open_shard(unit, worker);
    const std::vector<int64_t> chunks = array_.chunks_in(unit);
    std::vector<std::byte> index(16 * chunks.size(), std::byte{0xFF});
    const CodecChain& codecs = array_.shards()->index_codecs;
    const bool at_end = array_.shards()->index_at_end;
    if (!at_end) file.append(codecs.encode(index, worker.codecs));
    int64_t bytes = 0;
    for (size_t entry = 0; entry < chunks.size(); ++entry) {
      if (chunks[entry] < 0) continue;
      const int64_t offset = file.bytes();
      if (!touched.empty() && touched.front().chunk == chunks[entry]) {
        file.append(encoded(touched.front(), old, worker, &bytes));
        touched = touched.subspan(1);
      } else if (const auto kept = stored_.find(chunks[entry], old); kept.has_value()) {
        const auto stored = worker.stored.at_least(kept->bytes);
        stored_.read(*kept->file, kept->offset, stored, worker);
        file.append(stored);
      } else {
        continue;
      }
      for (size_t i = 0; i < 8; ++i) {
        index[16 * entry + i] = static_cast<std::byte>(static_cast<uint64_t>(offset) >> (8 * i));
        index[16 * entry + 8 + i] = static_cast<std::byte>(static_cast<uint64_t>(file.bytes() - offset) >> (8 * i));
      }
    }
    const auto stored_index = codecs.encode(index, worker.codecs);
    at_end ? file.append(stored_index) : file.replace_start(stored_index);
    return bytes;
  }

  const CodedArray& array_;
  const ChunkMemory memory_;
  const std::span<const int64_t> units_;
  const StoredChunks stored_;
  const ChunkEncoder encoder_;
  const TouchedChunks touched_;
};

}  // namespace

TouchedUnits touched_units(const CodedArray& array, const Decomposition& decomposition, int rank) {
  UnitShares shares(array, decomposition);
  const TouchedChunks touched(array, shares.parts(rank));
  TouchedUnits units;
  int64_t last = -1;
  for (const TouchedChunk& chunk : touched.chunks()) {
    if (chunk.unit == last) continue;
    last = chunk.unit;
    const bool is_shared = !shares.holds_all(chunk.unit, rank) && shares.ranks_of(chunk.unit).size() > 1;
    (is_shared ? units.shared : units.own).push_back(chunk.unit);
  }
  return units;
}

Counters write_chunks(const CodedArray& array, const ChunkMemory& memory, std::span<const int64_t> units,
                      const ChunkOptions& options) {
  if (std::holds_alternative<ChunkTable>(array.places)) {
    throw Error(ErrorKind::kInternal,
                "chunks of a table are encoded (encode_chunks), and written where the format's library places them");
  }
  if (units.empty()) return {};
  ChunkWrite write(array, memory, units, options);
  const int64_t decoded = array.chunk_bytes();
  const int64_t coded = array.codecs.stored_bytes_max(decoded);
  const int64_t gathered = 2 * std::min(NewFile::kGatheredBytes, multiply_or_max(coded, array.chunks_of_unit()));
  WorkerLimits limits = options.workers(decoded + 3 * coded + gathered);
  limits.most = limits.first;  // writes end in the page cache: the threads compute, and do not wait
  const auto second_stream = units.size() > 1 ? write.stored().second_stream(limits) : nullptr;
  return run_tasks(
      static_cast<int64_t>(units.size()), limits,
      [&](int64_t task, Worker& worker) { return write.write_one(task, worker); }, options.bytes_done);
}

}  // namespace swath
