// One dataset that is open: what its header says of its elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/calls.h"
#include "formats/hdf5/filters.h"
#include "formats/hdf5/types.h"

namespace swath::formats::hdf5 {

struct Extent {
  bool is_null = false;  // a null dataspace: there are no elements at all
  Shape shape = {};
  std::vector<std::optional<int64_t>> maxshape;  // as long as each dimension may become; none: without end

  bool is_unlimited(size_t axis) const { return !maxshape[axis]; }
  bool may_grow(size_t axis) const { return maxshape[axis] != shape[axis]; }
};
Extent extent_of(hid_t dataset);

// Whether some dimension may grow; else empty.
std::vector<bool> unlimited_of(const Extent& extent);

// How the elements are stored, by the dataset's creation properties.
struct Storage {
  Handle properties = {};
  int layout = H5D_CONTIGUOUS;
  std::optional<Shape> chunks = {};
  std::vector<Filter> filters = {};
  std::optional<std::vector<Codec>> codecs = {};  // empty without filters; none where Swath does not have all of them
};
Storage storage_of(hid_t dataset);

// The type of the elements; text of variable length is ElementType::text(). Throws Error{kUnsupported}, with `name` of
// the dataset first, for what Swath has no words for.
ElementType element_type_of(const std::string& name, hid_t dataset);

// Whether HDF5 leaves elements as they happen to be that nobody writes. Else chunks hold the fill value where nothing
// was written, also behind the end of the dataset.
bool is_never_filled(hid_t properties);
// What netCDF reads where nothing was written and no fill value was asked for, in the byte order of the type. Empty for
// what netCDF has no type for.
std::vector<std::byte> netcdf_fill(const ElementType& type);
// What HDF5 reads where nothing is stored: the fill value, or zeros where it is told never to fill. A variable of
// netCDF-4 that is never filled reads as netCDF's own fill value there, or as its `_FillValue`.
std::vector<std::byte> fill_of(hid_t dataset, const ElementType& type);

}  // namespace swath::formats::hdf5
