// What a format says about one array of a file: all that a rank needs to tell the others.
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

// C-ordered chunks, each one contiguous range; a chunk at the edge is stored whole. One offset a chunk of the grid, in
// C order; -1 where it is not in the file: its elements read as the fill value.
struct ChunkedLayout {
  Shape chunk_shape;
  std::vector<int64_t> offsets;
};

// All chunks one behind the other from byte `offset` on, in C order of their grid.
struct TiledLayout {
  int64_t offset = 0;
  Shape chunk_shape;
};

// Chunks whose bytes are coded, or whose places only reading tells: core/chunks.
struct CodedLayout {
  std::string path;  // of the file with the table, or of the folder with the files
  Shape chunk_shape;
  std::vector<int> order;  // its dimensions from slowest to fastest, inside a decoded chunk
  std::vector<Codec> codecs;
  std::variant<ChunkTable, ChunkFiles, Shards> places;
};

// Bytes that only the format's own library reaches; `reason` says why, "chunks are compressed (szip)".
struct LibraryLayout {
  std::string reason;
  std::optional<Shape> chunk_shape;          // what the library reads at once
  std::optional<std::vector<Codec>> codecs;  // none where Swath does not know all of them
};

using StorageLayout = std::variant<StridedLayout, ChunkedLayout, TiledLayout, CodedLayout, LibraryLayout>;

struct Description {
  std::string path;                     // the file, or the folder of a Zarr store
  std::string format;                   // "raw", "npy", "netcdf-classic", "hdf5" (which netCDF-4 is, too) or "zarr"
  std::optional<std::string> variable;  // none where the format holds one array without a name
  Shape shape;
  ElementType type = {};
  StorageLayout layout;
  std::vector<std::byte> fill;  // one element: what those read as that were never stored
  Attributes attributes;
  int64_t end = 0;                      // how many bytes long the file must be to hold the bytes; 0: nothing is stored
  std::vector<std::string> dimensions;  // empty where the file names none
  std::vector<bool> unlimited;          // whether each may grow; empty for none of them
  // What the file has room for, where that is less than `shape`: an array of netCDF-4 is as long as its dimensions, and
  // what nobody has written of it reads as the fill value. None where it has room for all.
  std::optional<Shape> stored_shape;
  OtherAttributes other_attributes;

  // In messages: its path, and its variable behind a colon.
  std::string name() const { return variable ? path + ":" + *variable : path; }
};

}  // namespace swath::formats
