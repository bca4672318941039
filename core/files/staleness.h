// Whether a file holds what its handle knows of: others may have changed it since it was opened.
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

// By variable.
using Shapes = std::map<std::string, Shape>;

// The shapes of all variables of a file.
Shapes shapes_of(const formats::Contents& contents);

// What a handle knows of rows that it has written, and that not all readers need see yet.
struct OwnRows {
  const formats::Contents* contents = nullptr;      // of the file; null where it was opened for one array
  const Records* records = nullptr;                 // null where nothing has grown
  std::map<std::string, int64_t> given_room;        // by variable: the rows that it was given room for
  bool are_variables_as_long_as_dimensions = true;  // each is as long as the longest one along its dimension: netCDF-4

  // How long readers may find a variable by what the handle has written.
  std::set<int64_t> lengths(const std::string& variable, size_t axis) const;

 private:
  std::string dimension_of(const std::string& variable, size_t axis) const;
};

// Throws Error{kStore} with ESTALE where a file holds other variables than its handle knows of, or longer or shorter
// ones. `path`: of the file, for the message.
void refuse_changed(const std::string& path, const Shapes& known, const Shapes& now, const OwnRows& own);
// The same of a file that is open to be changed. `opened`: the arrays that its handle knows of, where it knows no
// contents.
void refuse_stale(const std::string& path, formats::FormatFile& file, const OwnRows& own, const Shapes& opened = {});

}  // namespace swath
