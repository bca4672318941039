// Requests as entries of one io_uring, queue_depth of them in flight. Pays where the device answers many requests at
// once; a warm page cache answers a system call just as fast.
#pragma once

#include <memory>
#include <string>

#include "store/engine.h"
#include "store/open_file.h"

namespace swath {

// Null where there is no io_uring, with the reason; the file is then as it was.
std::unique_ptr<Engine> make_uring_engine(const std::shared_ptr<OpenFile>& file, const EngineOptions& options,
                                          std::string& reason);

}  // namespace swath
