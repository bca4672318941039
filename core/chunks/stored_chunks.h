// Where the stored bytes of chunks are, and reading them: the one place in this folder that reads files.
//
// A stream token (core/throttle) would be taken in `read_stored` and given back before decoding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "chunks/coded_array.h"
#include "chunks/workers.h"

namespace swath {

// A file open for reading, and its length.
struct StoredFile {
  Descriptor descriptor;
  std::string path;
  int64_t bytes = 0;
};

// A shard's file with its index.
struct ShardFile {
  StoredFile file;
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
  explicit StoredChunks(const CodedArray& array);

  // Where a chunk is stored; nothing where it is not. `shard`: of the chunk's unit, null without shards.
  std::optional<StoredChunk> find(int64_t chunk, const std::shared_ptr<const ShardFile>& shard) const;
  // The shard of a unit with its index; null where there is none.
  std::shared_ptr<const ShardFile> open_shard(int64_t unit, Worker& worker) const;

 private:
  std::shared_ptr<StoredFile> open_unit(int64_t unit) const;

  const CodedArray& array_;
  Descriptor folder_;
  std::shared_ptr<const StoredFile> only_file_;  // of a table
};

// Tells the kernel that it will be read, all of it: what is not in the page cache is asked of the device at once, and
// nobody waits. A hint: where it fails, reading tells why.
void will_need(const StoredChunk& stored);

// Fills `room` from `offset` of the chunk's file on. Throws Error{kFormat} where the file ends before.
void read_stored(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker);

// Where memory ran out for a chunk. Says how much it takes: Error{kStore}.
[[noreturn]] void fail_memory(const CodedArray& array, int64_t chunk);

// The same without waiting for the device: false where the page cache has not all of it. `room` is then anything.
bool read_cached(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker);

// The decoded bytes of a stored chunk, in `decoded`; of them those `wanted` (CodecChain::decode). Throws Error{kFormat}
// naming chunk, file, offset and what is wrong.
void read_and_decode(const CodedArray& array, int64_t chunk, const StoredChunk& stored, std::span<std::byte> decoded,
                     Worker& worker, std::optional<ByteRange> wanted = std::nullopt);

// `count` times one element.
void fill_with(std::span<std::byte> room, std::span<const std::byte> element);

}  // namespace swath
