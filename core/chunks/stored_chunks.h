// Where the stored bytes of chunks are, and reading them. A stream that takes turns gives its token back before what
// was read is decoded.
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
  std::vector<uint64_t> index;  // offset and bytes of each chunk, both kAbsent where it is not stored
};

// Stored bytes [offset, offset + bytes) of a file that stays open as long as this does.
struct StoredChunk {
  std::shared_ptr<const StoredFile> file;
  int64_t offset = 0;
  int64_t bytes = 0;
  uint32_t skipped = 0;
};

// Opens what is needed; from several threads at once. Throws Error{kStore} where the system refuses, Error{kFormat}
// where an index or a size cannot be true.
class StoredChunks {
 public:
  StoredChunks(const CodedArray& array, const EngineOptions& options, MakeStream make_stream);

  // The folder that the array's files are in; only where there is one.
  const FolderStore& folder() const { return *folder_; }
  // Who moves the bytes that this worker reads and writes.
  Stream& stream_of(Worker& worker) const;
  // To be kept while several workers may come: the first one is then not served as a stream that is alone, without a
  // token.
  std::unique_ptr<Stream> second_stream(const WorkerLimits& limits) const;

  // Where a chunk is stored; nothing where it is not. `shard`: of the chunk's unit, null without shards.
  std::optional<StoredChunk> find(int64_t chunk, const std::shared_ptr<const ShardFile>& shard) const;
  // The shard of a unit with its index; null where there is none.
  std::shared_ptr<const ShardFile> open_shard(int64_t unit, Worker& worker) const;

  // Asks the device for a chunk that will be read, all of it, and waits for nothing. A hint.
  void will_need(const StoredChunk& stored, Worker& worker) const;
  // Fills `room` from `offset` of the file on. Throws Error{kFormat} where the file ends before.
  void read(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) const;
  // The same without waiting for the device: false where the page cache has not all of it. `room` is then anything.
  bool read_cached(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) const;
  // The decoded bytes of a stored chunk, in `decoded`; of them those `wanted` (CodecChain::decode). Throws
  // Error{kFormat} naming chunk, file, offset and what is wrong.
  void read_and_decode(int64_t chunk, const StoredChunk& stored, std::span<std::byte> decoded, Worker& worker,
                       std::optional<ByteRange> wanted = std::nullopt) const;

 private:
  const CodedArray& array_;
  const MakeStream make_stream_;
  std::optional<FolderStore> folder_;
  std::shared_ptr<const StoredFile> only_file_;  // of a table
};

// Where memory ran out for a chunk. Says how much it takes: Error{kStore}.
[[noreturn]] void fail_memory(const CodedArray& array, int64_t chunk);

// `count` times one element.
void fill_with(std::span<std::byte> room, std::span<const std::byte> element);

}  // namespace swath
