// An open dataset: the facts in its header about its elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/calls.h"
#include "formats/hdf5/filters.h"
#include "formats/hdf5/types.h"

namespace swath::formats::hdf5 {

struct Extent {
  bool is_null = false;  // a null dataspace: there are no elements
  Shape shape = {};
  std::vector<std::optional<int64_t>> maxshape;  // the largest length of each dimension; none: unlimited

  bool is_unlimited(size_t axis) const { return !maxshape[axis]; }
  bool may_grow(size_t axis) const { return maxshape[axis] != shape[axis]; }
};
Extent extent_of(hid_t dataset);

// Whether each dimension may grow; empty if none may.
std::vector<bool> unlimited_of(const Extent& extent);

// The storage of the elements, from the dataset's creation properties.
struct Storage {
  Handle properties = {};
  int layout = H5D_CONTIGUOUS;
  std::optional<Shape> chunks = {};
  std::vector<Filter> filters = {};
  std::optional<std::vector<Codec>> codecs = {};  // empty without filters; none if Swath lacks one of them
};
Storage storage_of(hid_t dataset);

// The type of the elements; text of variable length is ElementType::text(). Throws Error{kUnsupported}, with `name`
// first, if Swath has no such type.
ElementType element_type_of(const std::string& name, hid_t dataset);

// Whether HDF5 leaves elements undefined until they are written. Otherwise chunks have the fill value where nothing was
// written, also after the end of the dataset.
bool is_never_filled(hid_t properties);
// netCDF's default fill value, in the byte order of the type: it is read if nothing was written, and no other fill
// value was given. Empty if netCDF has no such type.
std::vector<std::byte> netcdf_fill(const ElementType& type);
// The value that is read if nothing is stored: HDF5's fill value, or zeros if HDF5 must never fill. A netCDF-4 variable
// that is never filled reads as its `_FillValue`, or as netCDF's default.
std::vector<std::byte> fill_of(hid_t dataset, const ElementType& type);

}  // namespace swath::formats::hdf5
