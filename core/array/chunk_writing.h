// Collective writing of coded chunks: which rank writes which chunk, and how a chunk of a table gets its offset.
//
// A unit whose elements one rank alone holds is written by that rank. If chunks are files (Zarr), the ranks that share
// one write it one after another. If a file has a table of chunks (HDF5), one of the ranks that share a chunk encodes
// and writes it once; the others send it their elements. Only the format's library can place encoded chunks, when their
// sizes are known:
//
//   encode ──▶ gather sizes ──▶ place (rank 0, by the library) ──▶ offsets to all ──▶ each rank writes its chunks
//
// This happens in rounds, of as many chunks as memory allows. If anything fails, the library restores its file.
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

// The owner of the table of a file's chunks: the format's library, on rank 0. It may be called from any thread, one
// call at a time; each call may throw an Error.
class ChunkAllocator {
 public:
  virtual ~ChunkAllocator() = default;
  // Allocates space for chunks of an array of that shape, in place of the space that they had, and returns their
  // offsets in the file. Writes no bytes.
  virtual std::vector<int64_t> place(const Shape& shape, std::span<const NewChunk> chunks) = 0;
  // All placed chunks are written: commits their places.
  virtual void keep() = 0;
  // Restores the file as it was before the first place() since keep().
  virtual void undo() = 0;
};

// A write of the ranks of `comm`.
struct ChunkWriting {
  Comm& comm;
  const Operation& operation;
  ChunkMemory memory;
  ChunkOptions options;
  bool will_sync;
};

// Collective. For chunks or shards that are files.
Counters write_chunk_files(const ChunkWriting& writing, const CodedArray& array);

struct WrittenTable {
  std::shared_ptr<const CodedArray> array;  // as it is stored now, the same on all ranks
  Counters counters;
};
// Collective. For chunks in one file, whose bytes `engine` moves; `allocator` is used on rank 0. If it throws, the file
// is as it was before.
WrittenTable write_chunk_table(const ChunkWriting& writing, const CodedArray& array, SharedEngine& engine,
                               ChunkAllocator& allocator);

}  // namespace swath
