// Existing HDF5 and netCDF-4 files, as they are read: what they hold, and where the bytes of a dataset are.
//
// No handle of HDF5 is open when a function here returns, because HDF5 overwrites at close what others wrote behind a
// cached chunk. A file that another process has open for writing is refused (its metadata may not be in the file yet);
// a file system without locks is accepted; the environment variable HDF5_USE_FILE_LOCKING overrules it. A handle that
// this process itself has open for writing is not noticed: flush and close it before.
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

// What is known of arrays that are described again, by their names.
using SeenArrays = std::map<std::string, Seen>;

// Everything that the file holds but the elements. Throws Error: kFormat for a damaged file, kStore where the system
// refuses, also because another process has the file open for writing.
Contents read_contents(const std::string& path);

// One dataset of a file that is open.
Description describe_open(const OpenFile& file, hid_t dataset, const SeenArrays& seen);

// Several datasets of a file that is open.
std::vector<Description> describe_open(const OpenFile& file, const std::vector<std::optional<std::string>>& names,
                                       const SeenArrays& seen);

// Several datasets, the file opened once; none stands for the only one that holds numbers of its own. Each is as long
// as its dimensions are, which the file's other datasets say where it was not seen before. Throws Error as
// read_contents() does, kArgument, with a list of what there is, for a name of no dataset, kUnsupported for sequences
// of numbers of different lengths and the like. Whether the file is long enough is not checked.
std::vector<Description> describe(const std::string& path, const std::vector<std::optional<std::string>>& names,
                                  const SeenArrays& seen);

}  // namespace swath::formats::hdf5
