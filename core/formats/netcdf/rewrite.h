// Changes a file from one header to another, which has the same variables and perhaps more; data move if they must.
#pragma once

#include <string>

#include "formats/netcdf/define.h"
#include "journal/changes.h"

namespace swath::formats::netcdf {

// A header and the offsets of its data.
struct Version {
  std::string header;
  DataLayout layout;

  static Version of(const Header& header);
};

// What happened to the file.
enum class Rewritten {
  kInPlace,       // data stayed at their offsets
  kMovedInPlace,  // data have other offsets
  kReplaced,      // another file took the name, in which data have other offsets
};

// `now`: the new header; its first variables are those of `before`, and new record variables are filled. Data move in
// place if the file has no name yet, or several (hard links); otherwise a new file is written and takes the name, with
// the owner, the permissions and the extended attributes of the old one. In this case `changes` are committed before
// and after: there is no undo. After an error the file is as it was; a file without a name whose data were being moved
// is lost (Changes::lose()).
Rewritten rewrite(Changes& changes, const Version& before, const Header& now);

}  // namespace swath::formats::netcdf
