#include "mpi_io/file_name.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace swath::mpi_io {

std::string without_file_system(const std::string& name) {
  const auto colon = name.find(':');
  const bool has_prefix = colon != std::string::npos && colon > 0 &&
                          std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colon),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!has_prefix || ::access(name.c_str(), F_OK) == 0) return name;
  return name.substr(colon + 1);
}

}  // namespace swath::mpi_io
