// Encodes chunks from elements in memory, and from the stored chunk for elements that are not in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chunks/coded_array.h"
#include "chunks/stored_chunks.h"
#include "chunks/workers.h"
#include "layout/regions.h"

namespace swath {

// Elements of one chunk: their places in the decoded chunk and in memory (`memory` is place 0).
struct ChunkPiece {
  Regions regions;
  const std::byte* memory;
};

// May be used by any number of threads.
class ChunkEncoder {
 public:
  ChunkEncoder(const CodedArray& array, const StoredChunks& stored) : array_(array), stored_(stored) {}

  // Encodes a chunk from at least one piece; its other elements keep their stored value. The result is in the worker's
  // memory. `shard`: the shard of the chunk, null without shards. `skipped`: see CodecChain::encode.
  std::span<const std::byte> encode(int64_t chunk, std::span<const ChunkPiece> pieces,
                                    const std::shared_ptr<const ShardFile>& shard, Worker& worker,
                                    uint32_t* skipped = nullptr) const;

 private:
  void start_with_old(int64_t chunk, bool keeps_elements, const std::shared_ptr<const ShardFile>& shard,
                      std::span<std::byte> decoded, Worker& worker) const;

  const CodedArray& array_;
  const StoredChunks& stored_;
};

// The elements of a chunk that the parts at `indices` hold.
std::vector<ChunkPiece> pieces_of(const CodedArray& array, int64_t chunk, std::span<const Part> parts,
                                  std::span<std::byte* const> addresses, std::span<const size_t> indices);

int64_t bytes_of(std::span<const ChunkPiece> pieces);

}  // namespace swath
