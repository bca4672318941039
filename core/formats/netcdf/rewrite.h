// A file with one header becomes one with another, which has its variables, too: data move where they must.
#pragma once

#include <string>

#include "formats/netcdf/define.h"
#include "journal/changes.h"

namespace swath::formats::netcdf {

// A header with where data lie by it.
struct Version {
  std::string header;
  DataLayout layout;

  static Version of(const Header& header);
};

// What has become of the file.
enum class Rewritten {
  kInPlace,       // data stay where they were
  kMovedInPlace,  // data have other places
  kReplaced,      // another file has the name now, in which data have other places
};

// `now`: the header of the file from `before` on, whose first variables are those of `before`; new ones that grow are
// filled. Data move in place where the file has no name yet, or several (hard links); else the new file is written
// aside and takes the name, with the owner, the rights and the extended attributes of the old one. The latter commits
// `changes`, before and after: it cannot be taken back. Where this throws the file is as it was; one without a name
// whose data were being moved is lost, as Changes::lose() says.
Rewritten rewrite(Changes& changes, const Version& before, const Header& now);

}  // namespace swath::formats::netcdf
