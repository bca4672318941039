// Writing coded chunks by several ranks: who writes which chunk, and how one of a table gets its place.
//
// A unit that one rank alone holds elements of is written by it. Chunks of files (Zarr) that several share are written
// by one after another. Those of a table (HDF5) are written by one of the ranks that share it, which the others send
// their elements to, and are encoded once. Where they go only the format's library can say, when it is known how long
// they are:
//
//   encode ──▶ gather sizes ──▶ place (rank 0, by the library) ──▶ offsets to all ──▶ each rank writes its chunks
//
// in rounds of as many chunks as memory allows. Where anything fails, the library makes its file what it was.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "array/shared_engine.h"
#include "base/counters.h"
#include "chunks/chunks.h"
#include "chunks/new_chunk.h"
#include "comm/comm.h"
#include "plan/operation.h"

namespace swath {

// Who keeps the table of a file's chunks: the format's library, on rank 0. Its calls may come from any thread, one at a
// time; each may throw an Error.
class ChunkAllocator {
 public:
  virtual ~ChunkAllocator() = default;
  // Gives chunks of an array of that shape room, in place of that which they had, and returns where in the file. It
  // writes nothing there.
  virtual std::vector<int64_t> place(const Shape& shape, std::span<const NewChunk> chunks) = 0;
  // All chunks that were placed are written: so they stay.
  virtual void keep() = 0;
  // The file is what it was when chunks were placed first since keep().
  virtual void undo() = 0;
};

// A write as it is carried out by the ranks of `comm`.
struct ChunkWriting {
  Comm& comm;
  const Operation& operation;
  ChunkMemory memory;
  ChunkOptions options;
  bool will_sync;
};

// Collective. Of chunks or shards that are files.
Counters write_chunk_files(const ChunkWriting& writing, const CodedArray& array);

struct WrittenTable {
  std::shared_ptr<const CodedArray> array;  // as it is stored now, the same on all ranks
  Counters counters;
};
// Collective. Of chunks in one file, whose bytes `engine` moves; `allocator`: used on rank 0. When it throws, the file
// is as it was.
WrittenTable write_chunk_table(const ChunkWriting& writing, const CodedArray& array, SharedEngine& engine,
                               ChunkAllocator& allocator);

}  // namespace swath
