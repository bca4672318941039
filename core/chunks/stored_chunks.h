// Finds and reads the stored bytes of chunks. A throttled stream gives its token back before the chunk is decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chunks/coded_array.h"
#include "chunks/workers.h"
#include "store/folder_store.h"

namespace swath {

// A shard's file with its index.
struct ShardFile {
  std::shared_ptr<const StoredFile> file;
  std::vector<uint64_t> index;  // offset and bytes of each chunk; both kAbsent if the chunk is absent
};

// Stored bytes [offset, offset + bytes) of a file, which this object keeps open.
struct StoredChunk {
  std::shared_ptr<const StoredFile> file;
  int64_t offset = 0;
  int64_t bytes = 0;
  uint32_t skipped = 0;
};

// Opens files on demand; for several threads. Throws Error{kStore} for errors of the system, Error{kFormat} for an
// invalid index or size.
class StoredChunks {
 public:
  StoredChunks(const CodedArray& array, const EngineOptions& options, MakeStream make_stream);

  // The folder of the array's files, if chunks are files.
  const FolderStore& folder() const { return *folder_; }
  // The stream of this worker's reads and writes.
  Stream& stream_of(Worker& worker) const;
  // The caller keeps it while several workers may run: the first worker then counts as one of several streams, and
  // takes tokens.
  std::unique_ptr<Stream> second_stream(const WorkerLimits& limits) const;

  // Where a chunk is stored; nullopt if it is absent. `shard`: the shard of the chunk, null without shards.
  std::optional<StoredChunk> find(int64_t chunk, const std::shared_ptr<const ShardFile>& shard) const;
  // The shard of a unit with its index; null if it is absent.
  std::shared_ptr<const ShardFile> open_shard(int64_t unit, Worker& worker) const;

  // Prefetches a chunk from the device; a hint that does not wait.
  void will_need(const StoredChunk& stored, Worker& worker) const;
  // Fills `room` from `offset` of the file on. Throws Error{kFormat} if the file is too short.
  void read(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) const;
  // The same without a wait for the device: false if a part is not cached. `room` is then undefined.
  bool read_cached(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) const;
  // Reads and decodes a stored chunk to `decoded`, at least its bytes `wanted` (CodecChain::decode). Throws
  // Error{kFormat} with chunk, file, offset and problem.
  void read_and_decode(int64_t chunk, const StoredChunk& stored, std::span<std::byte> decoded, Worker& worker,
                       std::optional<ByteRange> wanted = std::nullopt) const;

 private:
  const CodedArray& array_;
  const MakeStream make_stream_;
  std::optional<FolderStore> folder_;
  std::shared_ptr<const StoredFile> only_file_;  // of a table
};

// Throws Error{kStore} for a chunk without memory, with the bytes that it needs.
[[noreturn]] void fail_memory(const CodedArray& array, int64_t chunk);

// `count` times one element.
void fill_with(std::span<std::byte> room, std::span<const std::byte> element);

}  // namespace swath
