#include "mpi_io/profiles.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace swath::mpi_io {
namespace {

constexpr const char* kMount = "mount ";

bool is_below(const std::string& path, const std::string& mount) {
  return path.starts_with(mount) && (mount.ends_with('/') || path.size() == mount.size() || path[mount.size()] == '/');
}

}  // namespace

std::string profile_text_of(const std::string& path) {
  const char* const file = std::getenv("SWATH_MPI_IO_PROFILES");
  if (file == nullptr) return "";
  std::error_code ignored;
  const std::string real = std::filesystem::weakly_canonical(path, ignored).string();
  std::ifstream stream(file);
  std::string found;
  size_t longest = 0;
  bool is_wanted = false;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(kMount)) {
      if (is_wanted) found += line + "\n";
      continue;
    }
    const std::string mount = line.substr(std::string(kMount).size());
    is_wanted = is_below(real, mount) && mount.size() > longest;
    if (is_wanted) {
      longest = mount.size();
      found.clear();
    }
  }
  return found;
}

}  // namespace swath::mpi_io
