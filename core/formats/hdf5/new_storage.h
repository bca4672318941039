// The storage of a new dataset: chunks, filters, and the time of allocation.
#pragma once

#include <optional>
#include <vector>

#include "chunks/codec.h"
#include "formats/hdf5/calls.h"
#include "formats/new_array.h"

namespace swath::formats::hdf5 {

// The codecs of a new array. Throws Error{kArgument} if HDF5 lacks one, or if their order makes no sense,
// {kUnsupported} if the library has no filter for one.
std::vector<Codec> codecs_of_new(const NewArray& array);
// The shape of the chunks; by default an array has chunks if it has codecs or grows; none for a contiguous one. Throws
// Error{kArgument} if chunks or codecs are not possible.
std::optional<Shape> chunks_of_new(const NewArray& array);
// The same for an array that is added to a file: if it grows, its chunks are rows.
std::optional<Shape> chunks_of_rows(const NewArray& array);

// Sets the storage in the properties of a new dataset of that shape.
void set_storage(hid_t properties, const NewArray& array, const std::optional<Shape>& chunks);
// Throws Error{kArgument} if the dataset has other codecs than the caller asked for.
void check_kept(hid_t properties, const std::vector<Codec>& codecs);

}  // namespace swath::formats::hdf5
