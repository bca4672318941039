// What a format is asked to make: arguments that were checked.
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
  std::optional<Shape> chunks;  // none: one contiguous array, or what the format makes by itself
  std::optional<Shape> shards;
  // In the order of encoding: what to do to the bytes of a chunk. None: what the format does by itself.
  std::optional<std::vector<Codec>> codecs;
  // Of Zarr version 3: those codecs that are not registered there become registered ones, which every reader has.
  bool only_registered_codecs = true;
  std::vector<bool> unlimited;  // whether each dimension may grow; empty: none of them
  // Of HDF5, in chunks: as long as each dimension may become, none for without end; empty: as `unlimited` says.
  std::vector<std::optional<int64_t>> maxshape;
  bool marks_fill = true;  // whether `fill` says where data are missing, too: the attribute _FillValue
  // The attribute _FillValue where it is no value of `type`: stored as it is.
  std::optional<AttributeValue> stated_fill;
  std::optional<Enumeration> enumeration;

  std::string path() const { return variable.value_or("data"); }
  bool grows(size_t axis) const { return axis < unlimited.size() && unlimited[axis]; }
  bool grows() const { return std::find(unlimited.begin(), unlimited.end(), true) != unlimited.end(); }
  // Whether it may become longer, with an end or without.
  bool may_grow() const { return grows() || !maxshape.empty(); }
};

// Everything that a new file is to hold but the elements. Unlike those that are added one by one, variables that grow
// are as long as they are to be at first.
struct NewContents {
  std::string flavour;        // what follows the colon of a format, "cdf5" of "netcdf-classic:cdf5"; "" for the usual
  std::vector<Group> groups;  // the file itself, "", first; each before the groups in it
  std::vector<NewArray> arrays;  // in the order in which they are made
};

}  // namespace swath::formats
