#include "posix_trace/traced_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "base/per_process.h"
#include "trace/trace.h"

namespace swath::posix_trace {
namespace {

// Files in memory have paths that begin with "/memfd:".
constexpr std::array<std::string_view, 11> kFoldersOfTheSystem{"/proc/", "/sys/", "/dev/", "/etc/",  "/usr/",  "/bin/",
                                                               "/sbin/", "/lib",  "/run/", "/boot/", "/memfd:"};
constexpr std::array<std::string_view, 7> kSuffixesOfPrograms{".so",  ".py",   ".pyc",      ".pyd",
                                                              ".pth", "._pth", "pyvenv.cfg"};
constexpr std::array<std::string_view, 4> kPartsOfPrograms{"/site-packages/", "/dist-packages/", "/lib/python3",
                                                           ".so."};

// Cached paths of open files, by descriptor. A forked child starts with an empty cache.
struct OpenFiles {
  std::mutex mutex;
  std::unordered_map<int, Path> paths;  // null: not traced
};

PerProcess<OpenFiles>& open_files() {
  static auto* const kept = new PerProcess<OpenFiles>();
  return *kept;
}

bool is_regular(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// The path from the kernel: absolute, without symbolic links.
Path path_if_traced(int descriptor) {
  if (!is_regular(descriptor)) return nullptr;
  std::array<char, PATH_MAX> text{};
  const ssize_t length =
      readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), text.data(), text.size() - 1);
  if (length <= 0) return nullptr;
  const std::string_view path(text.data(), static_cast<size_t>(length));
  return is_traced_path(path) ? std::make_shared<const std::string>(path) : nullptr;
}

const std::string& folder_of_the_trace() {
  static const auto* const kept = [] {
    const char* const said = std::getenv("SWATH_TRACE");
    return new std::string(said == nullptr ? "" : absolute(said) + "/");
  }();
  return *kept;
}

}  // namespace

bool is_traced_path(std::string_view path) {
  const auto begins = [&](std::string_view folder) { return path.starts_with(folder); };
  const auto ends = [&](std::string_view suffix) { return path.ends_with(suffix); };
  const auto contains = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  return std::ranges::none_of(kFoldersOfTheSystem, begins) && std::ranges::none_of(kSuffixesOfPrograms, ends) &&
         std::ranges::none_of(kPartsOfPrograms, contains) && !path.starts_with(folder_of_the_trace());
}

std::string absolute(const char* path) {
  if (*path == '/') return path;
  std::array<char, PATH_MAX> folder{};
  return getcwd(folder.data(), folder.size()) == nullptr ? path : std::string(folder.data()) + "/" + path;
}

Path path_of(int descriptor) {
  OpenFiles& files = open_files().get();
  const std::lock_guard guard(files.mutex);
  const auto known = files.paths.find(descriptor);
  if (known != files.paths.end()) return known->second;
  return files.paths.emplace(descriptor, path_if_traced(descriptor)).first->second;
}

void forget(int descriptor) {
  if (!trace::is_active()) return;
  OpenFiles& files = open_files().get();
  const std::lock_guard guard(files.mutex);
  files.paths.erase(descriptor);
}

}  // namespace swath::posix_trace
