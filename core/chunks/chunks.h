// Reads and writes arrays of coded chunks, many chunks at a time, each directly between its file and the elements'
// memory. Local: it does not know of ranks.
//
// Chunks of a table are in one file, where they have no place before their encoded size is known: they are encoded, the
// owner of the table places them, and then they are written (array/chunk_writing.h).
//
// Memory of a read: the number of workers in counters.buffer_bytes, each with one stored and one decoded chunk (and
// intermediate buffers for several codecs). A chunk whose elements are contiguous in the caller's memory is decoded
// there, and an uncompressed one is read there.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/counters.h"
#include "chunks/coded_array.h"
#include "chunks/encoder.h"
#include "chunks/workers.h"
#include "plan/request.h"
#include "store/engine.h"
#include "store/stream.h"

namespace swath {

// This process's elements, and their memory: one address a part.
struct ChunkMemory {
  std::span<const Part> parts;
  std::span<std::byte* const> addresses;
};

struct ChunkOptions {
  int64_t buffer_bytes_max = int64_t{256} << 20;  // of all workers; at least one worker runs in any case
  int ranks_of_node = 1;                          // the number of ranks that share the cores
  std::atomic<int64_t>* bytes_done = nullptr;     // watched from another thread
  EngineOptions engine = {.engine = "posix"};     // how files are opened, and which engine moves their bytes
  MakeStream make_stream;                         // a stream for each worker; empty: streams without throttling

  // The limits for workers of so many bytes each.
  WorkerLimits workers(int64_t worker_bytes) const;
};

// The maximum buffers of one thread of an operation.
int64_t buffer_bytes_of_thread(const CodedArray& array, Direction direction);

// A chunk to read; it must hold elements of this process. `room`: memory in which other processes find it decoded, at
// least its bytes `wanted`; null: no other process needs it.
struct ChunkTask {
  int64_t chunk = 0;
  std::byte* room = nullptr;
  ByteRange wanted = {};
};

// A decoded chunk of another process, whole.
struct DecodedChunk {
  int64_t chunk;
  const std::byte* bytes;
};

// A read in several steps, with the same open files and memory. Throws the errors of read_chunks().
class ChunkReader {
 public:
  ChunkReader(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // True if a chunk holds elements of this process.
  bool needs(int64_t chunk) const;
  // These chunks, by unit and in each in C order.
  std::vector<int64_t> needed() const;

  // The chunks to read, in this order. Default: all needed chunks.
  void set_tasks(const std::vector<ChunkTask>& tasks);
  int64_t tasks() const;
  // Reads and decodes the tasks [first, last), and copies this process's elements to their places.
  Counters read(int64_t first, int64_t last);
  // Copies this process's elements from chunks that it needs. Their bytes count as exchanged.
  Counters take(std::span<const DecodedChunk> chunks);

 private:
  class Reading;
  std::unique_ptr<Reading> reading_;
};

// Reads the elements of the parts. Absent chunks have the fill value. Throws Error{kFormat} with chunk, file, offset
// and problem; elements may then be old or new.
Counters read_chunks(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options);

// Units (chunks, or shards) that this rank's parts touch. `shared` units hold elements of other ranks, too: only one
// rank at a time may write one.
struct TouchedUnits {
  std::vector<int64_t> own;
  std::vector<int64_t> shared;
};
TouchedUnits touched_units(const CodedArray& array, const Decomposition& decomposition, int rank);

// Writes the elements in `units`. Each unit is replaced as a whole: readers see the old or the new one. Elements that
// no part holds keep their value. Not for chunks of a table.
Counters write_chunks(const CodedArray& array, const ChunkMemory& memory, std::span<const int64_t> units,
                      const ChunkOptions& options);

// An encoded chunk of a table, before it has a place.
struct EncodedChunk {
  int64_t chunk = 0;
  uint32_t skipped = 0;  // codecs that were skipped
  std::vector<std::byte> bytes;
};
struct EncodedChunks {
  std::vector<EncodedChunk> chunks;
  Counters counters;
};
// The elements to write to a chunk: at least one piece.
using PiecesOfChunk = std::function<std::vector<ChunkPiece>(size_t index)>;

// The maximum number of chunks for encode_chunks() within the memory of the options; at least 1.
int64_t encoded_at_once(const CodedArray& array, const ChunkOptions& options);
// Encodes chunks of a table. Elements without a piece keep their value, which is read from the chunk's current place.
EncodedChunks encode_chunks(const CodedArray& array, std::span<const int64_t> chunks, const PiecesOfChunk& pieces,
                            const ChunkOptions& options);

}  // namespace swath
