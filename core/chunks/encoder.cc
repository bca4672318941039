#include "chunks/encoder.h"

#include <optional>

#include "layout/copy.h"

namespace swath {
namespace {

int64_t elements_of(const Panel& box) {
  int64_t elements = 1;
  for (size_t d = 0; d < box.begin.size(); ++d) elements *= box.end[d] - box.begin[d];
  return elements;
}

}  // namespace

std::span<const std::byte> ChunkEncoder::encode(int64_t chunk, std::span<const ChunkPiece> pieces,
                                                const std::shared_ptr<const ShardFile>& shard, Worker& worker,
                                                uint32_t* skipped) const {
  const int64_t chunk_bytes = array_.chunk_bytes();
  worker.counters.chunks_encoded += array_.codecs.is_plain() ? 0 : 1;
  const Regions& first = pieces.front().regions;
  if (first.bytes() == chunk_bytes && first.is_dense() && first.runs() == 1) {
    const std::byte* address = pieces.front().memory + first.memory_of(0);
    return array_.codecs.encode({address, static_cast<size_t>(chunk_bytes)}, worker.codecs, skipped);
  }
  const auto decoded = worker.decoded.at_least(chunk_bytes);
  const int64_t given = bytes_of(pieces);
  if (given < chunk_bytes) {
    const bool keeps_elements = given < elements_of(array_.chunk(chunk)) * array_.element_bytes;
    start_with_old(chunk, keeps_elements, shard, decoded, worker);
  }
  for (const ChunkPiece& piece : pieces) {
    scatter_to_window(piece.regions, 0, piece.regions.count(), {decoded.data(), 0}, piece.memory);
  }
  return array_.codecs.encode(decoded, worker.codecs, skipped);
}

// The initial content of the chunk: the stored elements, or fill values.
void ChunkEncoder::start_with_old(int64_t chunk, bool keeps_elements, const std::shared_ptr<const ShardFile>& shard,
                                  std::span<std::byte> decoded, Worker& worker) const {
  std::optional<StoredChunk> old;
  if (keeps_elements) old = stored_.find(chunk, shard);
  if (old.has_value()) {
    stored_.read_and_decode(chunk, *old, decoded, worker);
  } else {
    fill_with(decoded, array_.fill);
  }
}

std::vector<ChunkPiece> pieces_of(const CodedArray& array, int64_t chunk, std::span<const Part> parts,
                                  std::span<std::byte* const> addresses, std::span<const size_t> indices) {
  const Panel panel = array.chunk(chunk);
  std::vector<ChunkPiece> pieces;
  pieces.reserve(indices.size());
  for (const size_t part : indices) {
    pieces.push_back({regions_in(panel, parts[part], array.element_bytes), addresses[part]});
  }
  return pieces;
}

int64_t bytes_of(std::span<const ChunkPiece> pieces) {
  int64_t bytes = 0;
  for (const ChunkPiece& piece : pieces) bytes += piece.regions.bytes();
  return bytes;
}

}  // namespace swath
