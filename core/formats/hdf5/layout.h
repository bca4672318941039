// The positions of the elements of an HDF5 dataset.
#pragma once

#include <optional>
#include <string>

#include "formats/description.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// A dataset of an open file, and the facts in its header.
struct Dataset {
  const OpenFile& file;
  hid_t id = -1;
  std::string name = {};  // for messages: the path of the file, a colon, and its own path
  ElementType type = {};
  Extent extent = {};
  Storage storage = {};
};

Dataset open_dataset(const OpenFile& file, hid_t id, const std::string& name);

// The positions of the elements of an array of this shape; the dataset may be shorter along dimensions that grow.
StorageLayout layout_of(const Dataset& dataset, const Shape& shape);
// The positions of the chunks of an array of this shape.
ChunkTable chunk_table(const Dataset& dataset, const Shape& shape);
bool has_user_block(const OpenFile& file);
// The length that the file must have for these positions; 0 if nothing is stored.
int64_t end_of(const Dataset& dataset, const StorageLayout& layout);

}  // namespace swath::formats::hdf5
