// Checked arguments of a new array, for a format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chunks/codec.h"
#include "formats/attribute.h"
#include "formats/contents.h"
#include "formats/element_type.h"
#include "space/distribution.h"

namespace swath::formats {

struct NewArray {
  Shape shape;  // 0 along a dimension that grows from nothing
  ElementType type = {};
  std::vector<int> order;                      // dimensions from slowest to fastest; empty: C
  std::optional<std::vector<std::byte>> fill;  // one element, in the byte order of `type`
  std::optional<std::string> variable;         // its path; none: "data"
  std::optional<std::vector<std::string>> dimensions;
  Attributes attributes;
  std::optional<Shape> chunks;  // none: one contiguous array, or the default of the format
  std::optional<Shape> shards;
  // The codecs of a chunk, in the order of encoding. None: the default of the format.
  std::optional<std::vector<Codec>> codecs;
  // Zarr version 3 only: replaces codecs that are not registered by registered ones, which every reader has.
  bool only_registered_codecs = true;
  std::vector<bool> unlimited;  // whether each dimension may grow; empty: none of them
  // Chunked HDF5 only: the largest length of each dimension, none for unlimited; empty: as `unlimited` says.
  std::vector<std::optional<int64_t>> maxshape;
  bool marks_fill = true;  // `fill` also marks missing data: the attribute _FillValue
  // The attribute _FillValue if it is no value of `type`: it is stored as it is.
  std::optional<AttributeValue> stated_fill;
  std::optional<Enumeration> enumeration;

  std::string path() const { return variable.value_or("data"); }
  bool grows(size_t axis) const { return axis < unlimited.size() && unlimited[axis]; }
  bool grows() const { return std::find(unlimited.begin(), unlimited.end(), true) != unlimited.end(); }
  // Whether the dimension may grow, up to a limit or without one.
  bool may_grow() const { return grows() || !maxshape.empty(); }
};

// The contents of a new file, without the elements. Unlike variables that are added one by one, a variable that grows
// has its first length here.
struct NewContents {
  // the text after the colon of a format, "cdf5" of "netcdf-classic:cdf5"; "" for the default
  std::string flavour;
  std::vector<Group> groups;     // the file itself, "", is first; each group precedes the groups in it
  std::vector<NewArray> arrays;  // in the order of their creation
};

}  // namespace swath::formats
