// An array of coded chunks: the grid of chunks, their codecs, and the position of each stored chunk.
//
// A *unit* is stored, and replaced, as a whole: a chunk, or a shard, which is a file with a grid of chunks and an index
// of their places in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "chunks/codec.h"
#include "layout/layout.h"
#include "plan/chunk_grid.h"

namespace swath {

inline constexpr int64_t kIndexEntryBytes = 16;  // of one chunk in a shard's index

// All chunks are in one file, as in HDF5. There is one entry per chunk of the grid, in C order.
struct ChunkTable {
  std::vector<int64_t> offsets;   // -1: not stored
  std::vector<int64_t> bytes;     // stored
  std::vector<uint32_t> skipped;  // codecs that were skipped for this chunk
};

// There is one file per unit, in one folder: chunk (1, 2) is "c/1/2", "1.2" and so on.
struct ChunkFiles {
  std::string first;      // before the coordinates: "c/" or nothing
  std::string separator;  // between them
  std::string scalar;     // the name of the only chunk of an array without dimensions

  std::string name(const Shape& coordinates) const;
};

// Source: Zarr version 3, codec sharding_indexed 1.0. The index has two 64-bit numbers per chunk, in C order: the
// offset in the file and the stored bytes; both are all ones if the chunk is absent.
struct Shards {
  ChunkFiles files;
  Shape shape;  // in elements; a multiple of the chunk's
  CodecChain index_codecs;
  bool index_at_end = true;
};

struct CodedArray {
  std::string path;  // of the file, or of the folder
  Shape shape;
  int64_t element_bytes = 1;
  Shape chunk_shape;                   // chunks at the edge are whole, too
  std::vector<int64_t> chunk_strides;  // bytes, inside a decoded chunk
  CodecChain codecs;
  std::vector<std::byte> fill;  // one element
  std::variant<ChunkTable, ChunkFiles, Shards> places;

  // Throws Error{kFormat} if the description is inconsistent.
  void check() const;

  int64_t chunk_bytes() const { return element_count(chunk_shape) * element_bytes; }
  // A chunk as a panel of its decoded bytes.
  Panel chunk(int64_t position) const;
  // "chunk (1, 2) of store.zarr/temperature"
  std::string chunk_name(int64_t position) const;

  const Shards* shards() const { return std::get_if<Shards>(&places); }
  const Shape& unit_shape() const { return shards() == nullptr ? chunk_shape : shards()->shape; }
  // The unit of a chunk, and its position in the unit's index.
  struct InUnit {
    int64_t unit;
    int64_t index;
  };
  InUnit unit_of(int64_t chunk) const;
  int64_t chunks_of_unit() const;  // 1 without shards
  // The chunks of a unit, in the order of its index; -1 for an entry beyond the array.
  std::vector<int64_t> chunks_in(int64_t unit) const;
  // For planning. It refers to this array. For files, it holds only what is common to all.
  ChunkGrid grid() const;
  // The name of the unit's file in the folder, if chunks are files.
  std::string file_name(int64_t unit) const;
};

// The coordinates in the grid of a chunk; `position` is its number in C order.
Shape coordinates_of(const Shape& shape, const Shape& chunk_shape, int64_t position);

}  // namespace swath
