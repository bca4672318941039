// The interface of files in pools for the rest of Swath.
#pragma once

#include <memory>
#include <string>

#include "store/engine.h"
#include "store/new_name.h"

namespace swath {

// All functions but librados_version() throw Error{kUnsupported} if the process can load no librados.

// Makes engines of one file. If an engine cannot use structured requests, it writes the reason to *reason; else that is
// empty.
MakeEngine open_rados_engines(const std::string& path, OpenMode mode, const EngineOptions& options);

// A name in a pool: `final_path` and `options.working_path` as new_name.cc makes them.
std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& options);
// Begins a new file. From now on other processes can detect if its creator is alive. Throws Error{kStore}.
std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& options);

// The striped file of a name, as argument for `rados --striper get`. Throws Error{kStore} if there is none.
std::string striped_name_of(const std::string& path);

// "3.0.0", the version of this process' librados; empty if it can load none.
std::string librados_version();

}  // namespace swath
