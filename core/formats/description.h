// The description of one array of a file: rank 0 reads it, and sends it to the other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chunks/coded_array.h"
#include "formats/attribute.h"
#include "formats/element_type.h"
#include "space/distribution.h"

namespace swath::formats {

// Element (i, j, …) lies at byte `offset + i * strides[0] + j * strides[1] + …` of the file.
struct StridedLayout {
  int64_t offset = 0;
  std::vector<int64_t> strides;  // bytes
};

// Chunks in C order, each one contiguous range; a chunk at the edge is stored whole. There is one offset for each chunk
// of the grid, in C order; -1 means that the chunk is not in the file, and its elements read as the fill value.
struct ChunkedLayout {
  Shape chunk_shape;
  std::vector<int64_t> offsets;
};

// All chunks follow each other from byte `offset` on, in C order of their grid.
struct TiledLayout {
  int64_t offset = 0;
  Shape chunk_shape;
};

// Chunks that are coded, or whose offsets are known only after a read: core/chunks.
struct CodedLayout {
  std::string path;  // the path of the file with the table, or of the folder with the files
  Shape chunk_shape;
  std::vector<int> order;  // the dimensions of a decoded chunk, from slowest to fastest
  std::vector<Codec> codecs;
  std::variant<ChunkTable, ChunkFiles, Shards> places;
};

// Bytes that only the format's own library can read; `reason` says why, "chunks are compressed (szip)".
struct LibraryLayout {
  std::string reason;
  std::optional<Shape> chunk_shape;          // the box that the library reads at once
  std::optional<std::vector<Codec>> codecs;  // none if Swath does not know all of them
};

using StorageLayout = std::variant<StridedLayout, ChunkedLayout, TiledLayout, CodedLayout, LibraryLayout>;

struct Description {
  std::string path;                     // the file, or the folder of a Zarr store
  std::string format;                   // "raw", "npy", "netcdf-classic", "hdf5" (netCDF-4, too) or "zarr"
  std::optional<std::string> variable;  // none if the format holds one array without a name
  Shape shape;
  ElementType type = {};
  StorageLayout layout;
  std::vector<std::byte> fill;  // one element: what those read as that were never stored
  Attributes attributes;
  int64_t end = 0;                      // the length that the file must have, in bytes; 0: no elements are stored
  std::vector<std::string> dimensions;  // empty if the file has no names
  std::vector<bool> unlimited;          // whether each dimension may grow; empty if none may
  // The shape that has space in the file, if it is less than `shape`: a netCDF-4 array is as long as its dimensions,
  // and elements that were not written read as the fill value. None if all elements have space.
  std::optional<Shape> stored_shape;
  OtherAttributes other_attributes;

  // The name for messages: the path, a colon, and the variable.
  std::string name() const { return variable ? path + ":" + *variable : path; }
};

}  // namespace swath::formats
