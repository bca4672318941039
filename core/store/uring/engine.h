// Requests as entries of one io_uring, queue_depth of them in flight. It is faster for devices that serve many requests
// at once; for cached data, system calls are as fast.
#pragma once

#include <memory>
#include <string>

#include "store/engine.h"
#include "store/open_file.h"

namespace swath {

// Null if there is no io_uring, with the reason; the file is then unchanged.
std::unique_ptr<Engine> make_uring_engine(const std::shared_ptr<OpenFile>& file, const EngineOptions& options,
                                          std::string& reason);

}  // namespace swath
