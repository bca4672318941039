// What the rest of Swath asks of files in pools.
#pragma once

#include <memory>
#include <string>

#include "store/engine.h"
#include "store/new_name.h"

namespace swath {

// All functions but librados_version() throw Error{kUnsupported} where the process can load no librados.

// Makes engines of one file. An engine writes into *reason why it does not ask objects by structure; empty where it
// does.
MakeEngine open_rados_engines(const std::string& path, OpenMode mode, const EngineOptions& options);

// A name in a pool: `final_path` and `options.working_path` as new_name.cc makes them.
std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& options);
// Where the new file is written meanwhile; its maker is known to be there from now on. Throws Error{kStore}.
std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& options);

// The striped file that a name means now: what `rados --striper get` is to be given. Throws Error{kStore} where there
// is none.
std::string striped_name_of(const std::string& path);

// "3.0.0", of the librados that this process has; empty where it can load none.
std::string librados_version();

}  // namespace swath
