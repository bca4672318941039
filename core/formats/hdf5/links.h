// The content of an HDF5 file besides groups and datasets by their first names: links and named types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// A named type, or a second name: of an object, of one in another file, or of one that does not exist.
struct Link {
  enum class Kind { kNamedType, kHard, kSoft, kExternal, kOther };
  enum class Target { kNone, kDataset, kGroup, kType };  // kNone: the target is not in the file
  Kind kind = Kind::kOther;
  std::string to = {};  // the target's path by its first name; the link's own text if there is no target
  Target leads_to = Target::kNone;

  std::string words() const;
};

// All links of a file but the first hard link to each group and dataset, by their paths, in the order of the file.
std::vector<std::pair<std::string, Link>> links(const std::vector<Item>& walked);

}  // namespace swath::formats::hdf5
