// Reads existing HDF5 and netCDF-4 files: their contents, and the positions of a dataset's bytes.
//
// When these functions return, no handle of HDF5 is open, because at close HDF5 overwrites bytes that others wrote
// after a cached chunk. A file that another process has open for writing is refused, since its metadata may be
// incomplete. A file system without locks is accepted; the environment variable HDF5_USE_FILE_LOCKING overrules this.
// Swath does not notice a handle for writing in this same process: flush and close it first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/contents.h"
#include "formats/description.h"
#include "formats/format.h"
#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// The known shapes of arrays that are described again, by their names.
using SeenArrays = std::map<std::string, Seen>;

// The contents of a file without the elements. Throws Error: kFormat for a damaged file, kStore if the system refuses,
// or if another process has the file open for writing.
Contents read_contents(const std::string& path);

// The description of a dataset of an open file.
Description describe_open(const OpenFile& file, hid_t dataset, const SeenArrays& seen);

// The descriptions of several datasets of an open file.
std::vector<Description> describe_open(const OpenFile& file, const std::vector<std::optional<std::string>>& names,
                                       const SeenArrays& seen);

// The descriptions of several datasets, with one open of the file; no name means the only variable that is no
// coordinate. A dataset is as long as its dimensions, which the other datasets of the file define unless `seen` has
// them. Throws Error as read_contents() does; kArgument, with the list of names, if there is no such dataset;
// kUnsupported for sequences of different lengths and similar types. The length of the file is not checked.
std::vector<Description> describe(const std::string& path, const std::vector<std::optional<std::string>>& names,
                                  const SeenArrays& seen);

}  // namespace swath::formats::hdf5
