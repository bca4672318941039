// What an HDF5 file holds besides groups and datasets by their first names: links, and named types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// A name that leads to what has another name, or lies in another file, or is not there; or a named type.
struct Link {
  enum class Kind { kNamedType, kHard, kSoft, kExternal, kOther };
  enum class Target { kNone, kDataset, kGroup, kType };  // kNone: it is not in the file
  Kind kind = Kind::kOther;
  std::string to = {};  // the path of what it leads to by its first name; as the link says it, where that is not there
  Target leads_to = Target::kNone;

  std::string words() const;
};

// All links of a file but the first hard one to each group and dataset, by their paths, in the order of the file.
std::vector<std::pair<std::string, Link>> links(const std::vector<Item>& walked);

}  // namespace swath::formats::hdf5
