// How the elements of a new dataset are stored: chunks, filters, and when they get their room.
#pragma once

#include <optional>
#include <vector>

#include "chunks/codec.h"
#include "formats/hdf5/calls.h"
#include "formats/new_array.h"

namespace swath::formats::hdf5 {

// The codecs that were asked for. Throws Error{kArgument} for one that HDF5 has not, or an order that makes no sense,
// {kUnsupported} for one that the library has no filter for.
std::vector<Codec> codecs_of_new(const NewArray& array);
// The shape of its chunks, which by default it has where it has codecs or grows; none for a contiguous one. Throws
// Error{kArgument} where there can be no chunks, or no codecs.
std::optional<Shape> chunks_of_new(const NewArray& array);
// The same of one that is added to a file, whose chunks are rows where it grows.
std::optional<Shape> chunks_of_rows(const NewArray& array);

// Sets it in the properties that a dataset of that shape is created with.
void set_storage(hid_t properties, const NewArray& array, const std::optional<Shape>& chunks);
// Throws Error{kArgument} where a dataset says something else than was asked for.
void check_kept(hid_t properties, const std::vector<Codec>& codecs);

}  // namespace swath::formats::hdf5
