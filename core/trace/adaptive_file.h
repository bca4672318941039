// Notes in the trace that a program lets Swath adapt its use of an array: advice must not propose it once more.
#pragma once

#include <string>

namespace swath::trace {

// Adds the note, once for each array and means. Does nothing if the process is not traced. Never throws.
// `identity`: of the array, as the trace names it. `means`: what Swath decides by itself, such as "prefetch".
void add_adaptive_file(const std::string& identity, const std::string& means) noexcept;

}  // namespace swath::trace
