// Writing a window that has holes: read, fill in, write back, under a lock on that window only.
#pragma once

#include <cstddef>
#include <functional>

#include "base/counters.h"
#include "layout/access.h"
#include "store/engine.h"

namespace swath {

// `buffer` holds at least window.bytes(). `fill_in(buffer)` puts the caller's elements in their places; the bytes
// between them are written back as they were read. Without holes nothing is read, but the lock is taken all the same:
// another rank's window may hold our elements among its holes, and would write them back as they were before.
void write_sieved(Engine& engine, const Window& window, bool has_holes, std::byte* buffer,
                  const std::function<void(std::byte*)>& fill_in, Counters& counters);

}  // namespace swath
