// Reading and writing arrays of coded chunks, many chunks at a time, each from its file straight to where its elements
// belong. From one process; ranks are not known here.
//
// Chunks of a table, which lie in one file, have no place there before it is known how long they are encoded: they are
// encoded, given a place by whoever keeps the table, and written there (array/chunk_writing.h).
//
// Memory of a read: as many workers as counters.buffer_bytes says, each with one stored and one decoded chunk (and what
// a chain of several codecs needs between two of them); a chunk that the caller's memory holds in one piece is decoded
// there, and an uncompressed one read there.
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

// The elements of this process, and where they are in its memory: one address a part.
struct ChunkMemory {
  std::span<const Part> parts;
  std::span<std::byte* const> addresses;
};

struct ChunkOptions {
  int64_t buffer_bytes_max = int64_t{256} << 20;  // of all workers; one works in any case
  int ranks_of_node = 1;                          // with whom the cores are shared
  std::atomic<int64_t>* bytes_done = nullptr;     // for whoever watches
  EngineOptions engine = {.engine = "posix"};     // how files are opened, and what moves their bytes
  MakeStream make_stream;                         // each worker is one; empty: streams that wait for nobody

  // How many may work, each with so many bytes.
  WorkerLimits workers(int64_t worker_bytes) const;
};

// What one of the threads of an operation works with, at most.
int64_t buffer_bytes_of_thread(const CodedArray& array, Direction direction);

// A chunk that is read, which must hold elements of this process. `room`: where others will find all of it decoded, of
// which somebody wants the bytes `wanted`; null where nobody else does.
struct ChunkTask {
  int64_t chunk = 0;
  std::byte* room = nullptr;
  ByteRange wanted = {};
};

// A chunk that another process has decoded, whole.
struct DecodedChunk {
  int64_t chunk;
  const std::byte* bytes;
};

// A reading in several steps, by the same open files and with the same memory. Errors are those of read_chunks().
class ChunkReader {
 public:
  ChunkReader(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // Whether a chunk holds elements of this process.
  bool needs(int64_t chunk) const;
  // The chunks that do, by unit and in each in C order.
  std::vector<int64_t> needed() const;

  // What will be read, in this order: each chunk that is needed, where nothing is set.
  void set_tasks(const std::vector<ChunkTask>& tasks);
  int64_t tasks() const;
  // Reads those of tasks [first, last), decodes them, and puts this process's elements to their places.
  Counters read(int64_t first, int64_t last);
  // Takes this process's elements out of chunks that it needs. Their bytes count as exchanged.
  Counters take(std::span<const DecodedChunk> chunks);

 private:
  class Reading;
  std::unique_ptr<Reading> reading_;
};

// Reads the elements of the parts. Chunks that are not stored have the fill value. Throws Error{kFormat} naming chunk,
// file, offset and what is wrong; elements may then be old or new.
Counters read_chunks(const CodedArray& array, const ChunkMemory& memory, const ChunkOptions& options);

// Units (chunks, or shards) that this rank's parts touch. `shared` ones hold elements of other ranks, too: no two ranks
// may write one at a time.
struct TouchedUnits {
  std::vector<int64_t> own;
  std::vector<int64_t> shared;
};
TouchedUnits touched_units(const CodedArray& array, const Decomposition& decomposition, int rank);

// Writes the elements that lie in `units`, each of which is replaced as a whole: a reader finds the old or the new one.
// Elements of a unit that no part holds keep their value. Not for chunks of a table.
Counters write_chunks(const CodedArray& array, const ChunkMemory& memory, std::span<const int64_t> units,
                      const ChunkOptions& options);

// A chunk of a table as it is to be stored, wherever it will have a place.
struct EncodedChunk {
  int64_t chunk = 0;
  uint32_t skipped = 0;  // codecs that were left out
  std::vector<std::byte> bytes;
};
struct EncodedChunks {
  std::vector<EncodedChunk> chunks;
  Counters counters;
};
// What is to be written into a chunk: at least one piece.
using PiecesOfChunk = std::function<std::vector<ChunkPiece>(size_t index)>;

// How many chunks encode_chunks() may be given, so that it and its result stay within the options' memory; at least 1.
int64_t encoded_at_once(const CodedArray& array, const ChunkOptions& options);
// Encodes chunks of a table. Elements that no piece holds keep their value, which is read from where the table says.
EncodedChunks encode_chunks(const CodedArray& array, std::span<const int64_t> chunks, const PiecesOfChunk& pieces,
                            const ChunkOptions& options);

}  // namespace swath
