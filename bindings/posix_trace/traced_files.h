// Finds out which open files are traced, and their paths.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace swath::posix_trace {

// The path of an open file; null if the file is not traced. Threads may share it.
using Path = std::shared_ptr<const std::string>;

// Regular files are traced, except libraries, Python modules, and files in folders of the system such as /usr and
// /proc. The result is cached until forget(descriptor).
Path path_of(int descriptor);
// To be called when the descriptor was closed, or refers to another file.
void forget(int descriptor);

// True if a file of this path is traced, whether it exists or not.
bool is_traced_path(std::string_view path);
// The path; if it is relative, with the current folder in front.
std::string absolute(const char* path);

}  // namespace swath::posix_trace
