#include <algorithm>
#include <new>

#include "chunks/chunks.h"
#include "chunks/stored_chunks.h"

namespace swath {
namespace {

// The memory of one worker: a decoded chunk in its stored state, and buffers between the codecs of a chain.
int64_t worker_bytes(const CodedArray& array) {
  const int64_t decoded = array.chunk_bytes();
  return decoded + 3 * array.codecs.stored_bytes_max(decoded);
}

// Encoding does not wait for a device: no more workers than cores.
WorkerLimits encoders(const CodedArray& array, const ChunkOptions& options) {
  ChunkOptions of_workers = options;
  of_workers.buffer_bytes_max /= 2;  // the other half is for their results
  WorkerLimits limits = of_workers.workers(worker_bytes(array));
  limits.most = limits.first;
  return limits;
}

}  // namespace

int64_t encoded_at_once(const CodedArray& array, const ChunkOptions& options) {
  const int64_t workers = encoders(array, options).first;
  const int64_t rest = options.buffer_bytes_max - workers * worker_bytes(array);
  return std::max<int64_t>(rest / array.codecs.stored_bytes_max(array.chunk_bytes()), 1);
}

EncodedChunks encode_chunks(const CodedArray& array, std::span<const int64_t> chunks, const PiecesOfChunk& pieces,
                            const ChunkOptions& options) {
  EncodedChunks encoded;
  if (chunks.empty()) return encoded;
  encoded.chunks.resize(chunks.size());
  const StoredChunks stored(array, options.engine, options.make_stream);
  const ChunkEncoder encoder(array, stored);
  const auto encode_one = [&](int64_t task, Worker& worker) {
    const auto index = static_cast<size_t>(task);
    EncodedChunk& made = encoded.chunks[index];
    made.chunk = chunks[index];
    try {
      const std::vector<ChunkPiece> given = pieces(index);
      const auto bytes = encoder.encode(made.chunk, given, nullptr, worker, &made.skipped);
      made.bytes.assign(bytes.begin(), bytes.end());
      return bytes_of(given);
    } catch (const std::bad_alloc&) {
      fail_memory(array, made.chunk);
    }
  };
  const WorkerLimits limits = encoders(array, options);
  const auto second_stream = chunks.size() > 1 ? stored.second_stream(limits) : nullptr;
  encoded.counters = run_tasks(std::ssize(chunks), limits, encode_one, options.bytes_done);
  for (const EncodedChunk& chunk : encoded.chunks) encoded.counters.buffer_bytes += std::ssize(chunk.bytes);
  return encoded;
}

}  // namespace swath
