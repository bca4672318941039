// How many streams of this node a target serves at a time, as the option `streams` says.
#pragma once

#include <string>

#include "array/file.h"

namespace swath::c_interface {

// "auto", "none", "4", "read=4,write=auto". Streams of all programs that were started by one process share the target's
// tokens: the ranks of a job on a node. Throws Error{kArgument}.
void limit_streams(const std::string& streams, const std::string& path, FileOptions& file);

}  // namespace swath::c_interface
