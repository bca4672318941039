// Restores the old content of a file, or of a folder that is a store, from the records of a log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/log.h"

namespace swath {

// The changes to undo, and the length of the file before them.
struct SinceCheckpoint {
  int64_t size = 0;
  std::vector<RecordPosition> newest_first;
};

struct TakeBackOptions {
  int64_t since = 0;     // the record from which on changes are undone: the first one, or a mark
  bool is_copy = false;  // the records are used for this file, even if they name another one
};

// Returns false, and does nothing, if there are no records. The file is on the medium when this returns. Throws
// Error{kStore} if the system refuses, if the records belong to another file (ESTALE), if this version does not know
// them (EINVAL), or if a name leads out of the store (EPERM).
bool take_back(const std::string& path, const ChangeLog& log, const TakeBackOptions& options);

// The changes since the last checkpoint or commit; the search begins at `first`. Throws Error{kStore} if the records
// belong to another file (ESTALE), or if this version does not know them (EINVAL).
SinceCheckpoint since_checkpoint(const std::string& path, const LogRecords& log, const Record& first,
                                 const TakeBackOptions& options);

// Whether a younger file has replaced the one that the records belong to: then there is nothing to undo. Throws
// Error{kStore} if this version does not know the records.
bool is_of_replaced_file(const std::string& path, const ChangeLog& log);

// The identity of the machine's current boot. If the machine does not report it, a random one.
const std::string& boot_identity();

// Whether the path is inside of a store: "a/zarr.json" is; "", ".", "/a" and "a/../b" are not.
bool is_inside_of_store(const std::string& relative);

// Syncs a file, or the whole file system of a folder. Throws Error{kStore}.
void sync_target(const std::string& path);

}  // namespace swath
