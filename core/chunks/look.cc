#include "chunks/look.h"

#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "base/math.h"
#include "chunks/stored_chunks.h"
#include "chunks/touched.h"

namespace swath {
namespace {

struct Seen {
  std::unordered_map<int64_t, int64_t> bytes;  // of chunks; -1 where one is not stored
  std::unordered_map<int64_t, bool> units;
  double all_bytes = 0;
  double cached_bytes = 0;
  bool knows_cached = true;
};

template <typename Value>
std::optional<Value> found_in(const std::unordered_map<int64_t, Value>& seen, int64_t key) {
  const auto found = seen.find(key);
  return found == seen.end() ? std::nullopt : std::optional(found->second);
}

void look_at_cache(const StoredChunk& chunk, Stream& stream, Seen& seen) {
  const std::optional<double> part = chunk.file->engine(stream)->cached_part(chunk.offset, chunk.bytes);
  seen.knows_cached = seen.knows_cached && part.has_value();
  seen.all_bytes += static_cast<double>(chunk.bytes);
  seen.cached_bytes += static_cast<double>(chunk.bytes) * part.value_or(0);
}

void look_at_unit(const StoredChunks& stored, std::span<const TouchedChunk> chunks, Worker& worker, Seen& seen) {
  const int64_t unit = chunks.front().unit;
  const auto shard = stored.open_shard(unit, worker);
  bool is_stored = shard != nullptr;
  for (const TouchedChunk& chunk : chunks) {
    const std::optional<StoredChunk> found = stored.find(chunk.chunk, shard);
    is_stored = is_stored || found.has_value();
    seen.bytes[chunk.chunk] = found ? found->bytes : -1;
    if (found) look_at_cache(*found, stored.stream_of(worker), seen);
  }
  seen.units[unit] = is_stored;
}

}  // namespace

ChunkLook look_at_chunks(const CodedArray& array, std::span<const Part> parts, const ChunkOptions& options,
                         int64_t units_max) {
  ChunkLook look{array.grid(), std::nullopt};
  const TouchedChunks touched(array, parts);
  const std::span<const TouchedChunk> chunks = touched.chunks();
  std::vector<size_t> begins;  // the begin of each unit's chunks
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (i == 0 || chunks[i].unit != chunks[i - 1].unit) begins.push_back(i);
  }
  begins.push_back(chunks.size());
  const int64_t units = std::ssize(begins) - 1;
  const auto step = static_cast<size_t>(std::max<int64_t>(ceil_div(units, units_max), 1));
  const auto seen = std::make_shared<Seen>();
  const StoredChunks stored(array, options.engine, nullptr);
  Worker worker;
  for (size_t i = 0; i + 1 < begins.size(); i += step) {
    try {
      look_at_unit(stored, chunks.subspan(begins[i], begins[i + 1] - begins[i]), worker, *seen);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
    }
  }
  if (seen->knows_cached && seen->all_bytes > 0) look.cached = seen->cached_bytes / seen->all_bytes;
  if (look.grid.is_table) return look;  // a table has all the answers
  look.grid.stored_bytes = [seen](int64_t chunk) { return found_in(seen->bytes, chunk); };
  look.grid.unit_is_stored = [seen](int64_t unit) { return found_in(seen->units, unit); };
  return look;
}

}  // namespace swath
