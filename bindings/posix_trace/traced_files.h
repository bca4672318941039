// Which open files are traced, and their paths.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace swath::posix_trace {

// The path of an open file; null if the file is not traced. Any thread may hold it.
using Path = std::shared_ptr<const std::string>;

// Regular files are traced, except those of the system and of programs: libraries, modules of Python, and what lies in
// folders such as /usr and /proc. The answer is kept until forget(descriptor).
Path path_of(int descriptor);
// The descriptor was closed, or is another file now.
void forget(int descriptor);

// True if a file of this path is traced, whether it exists or not.
bool is_traced_path(std::string_view path);
// With the current folder in front of it, if it is relative.
std::string absolute(const char* path);

}  // namespace swath::posix_trace
