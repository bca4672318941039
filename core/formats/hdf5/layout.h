// Where the elements of an HDF5 dataset are.
#pragma once

#include <optional>
#include <string>

#include "formats/description.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// A dataset of an open file, and what its header says.
struct Dataset {
  const OpenFile& file;
  hid_t id = -1;
  std::string name = {};  // in messages: path of the file, and its own behind a colon
  ElementType type = {};
  Extent extent = {};
  Storage storage = {};
};

Dataset open_dataset(const OpenFile& file, hid_t id, const std::string& name);

// Which byte holds which element of an array of that shape; the dataset may be shorter, where it lies along dimensions
// that grow.
StorageLayout layout_of(const Dataset& dataset, const Shape& shape);
// The places of the chunks of an array of that shape.
ChunkTable chunk_table(const Dataset& dataset, const Shape& shape);
bool has_user_block(const OpenFile& file);
// How long the file must be for that; 0 where nothing is stored.
int64_t end_of(const Dataset& dataset, const StorageLayout& layout);

}  // namespace swath::formats::hdf5
