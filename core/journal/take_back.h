// Makes a file, or a folder that is a store, what the records of a log say that it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/log.h"

namespace swath {

// What is to be taken back, and how long the file was before.
struct SinceCheckpoint {
  int64_t size = 0;
  std::vector<RecordPosition> newest_first;
};

struct TakeBackOptions {
  int64_t since = 0;     // the record from which on changes are taken back: the first one, or a mark
  bool is_copy = false;  // the records are taken to be of this file, also where it is another one than they say
};

// Does nothing, and returns false, where there are no records. The file is on the medium when it returns. Throws
// Error{kStore}: the system refuses, the records are of another file (ESTALE), they are none that this version knows
// (EINVAL), or they lead out of the store (EPERM).
bool take_back(const std::string& path, const ChangeLog& log, const TakeBackOptions& options);

// What was changed since the last checkpoint or commit; `first`: the record from which on it is looked for.
// Throws Error{kStore} where the records are of another file (ESTALE), or none that this version knows (EINVAL).
SinceCheckpoint since_checkpoint(const std::string& path, const LogRecords& log, const Record& first,
                                 const TakeBackOptions& options);

// Whether the records are of a file that a younger one has replaced, in which nothing is to be taken back. Throws
// Error{kStore} where they are no records that this version knows.
bool is_of_replaced_file(const std::string& path, const ChangeLog& log);

// The identity of this start of the machine; of one that does not tell it, one that no start before has had.
const std::string& boot_identity();

// Whether a path is one inside of a store: "a/zarr.json", but not "", ".", "/a", "a/../b".
bool is_inside_of_store(const std::string& relative);

// Brings a file, or all of a folder, to the medium. Throws Error{kStore}.
void sync_target(const std::string& path);

}  // namespace swath
