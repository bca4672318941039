// The option `streams`: the number of streams of this node that a target serves at a time.
#pragma once

#include <string>

#include "array/file.h"

namespace swath::c_interface {

// Parses "auto", "none", "4", "read=4,write=auto". All programs started by the same parent process share the target's
// tokens: these are the ranks of a job on a node. Throws Error{kArgument}.
void limit_streams(const std::string& streams, const std::string& path, FileOptions& file);

}  // namespace swath::c_interface
