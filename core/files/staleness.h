// Checks that a file still has the variables that its handle has read: other programs may have changed it since.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "files/records.h"
#include "formats/contents.h"
#include "formats/format.h"
#include "space/distribution.h"

namespace swath {

// Shapes by variable path.
using Shapes = std::map<std::string, Shape>;

// The shapes of all variables of a file.
Shapes shapes_of(const formats::Contents& contents);

// Rows that a handle has appended, which other readers may not see yet.
struct OwnRows {
  const formats::Contents* contents = nullptr;      // of the file; null if it was opened for one array
  const Records* records = nullptr;                 // null before the first append
  std::map<std::string, int64_t> given_room;        // by variable: the rows for which extend() made room
  bool are_variables_as_long_as_dimensions = true;  // all as long as the longest, as in netCDF-4

  // The lengths of a variable that this handle's own appends can explain.
  std::set<int64_t> lengths(const std::string& variable, size_t axis) const;

 private:
  std::string dimension_of(const std::string& variable, size_t axis) const;
};

// Throws Error{kStore} with ESTALE if a file's variables or their lengths are not those that its handle has read or
// written. `path` is for the message.
void refuse_changed(const std::string& path, const Shapes& known, const Shapes& now, const OwnRows& own);
// The same for a file that is open for changes. `opened`: the handle's arrays, if it was opened without contents.
void refuse_stale(const std::string& path, formats::FormatFile& file, const OwnRows& own, const Shapes& opened = {});

}  // namespace swath
