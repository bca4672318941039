// Left after a kill: tables and windows in /dev/shm/swath-UID. The next process that opens the folder removes them.
#include "base/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/per_process.h"
#include "base/process.h"

namespace swath {
namespace {

constexpr const char* kEverybodys = "/dev/shm";
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr int64_t kAttachSecondsMax = 3600;  // a window with a name after this time was left behind
constexpr int kRandomWords = 2;

std::string path_of_folder() {
  const char* const given = std::getenv("SWATH_SHM_DIR");
  if (given != nullptr && *given != '\0') return given;
  return std::string(kEverybodys) + "/swath-" + std::to_string(geteuid());
}

// Why what is open may not be trusted; empty where it may.
std::string distrust(const Descriptor& opened, mode_t type) {
  struct stat status{};
  if (fstat(opened.get(), &status) != 0) return std::strerror(errno);
  if ((status.st_mode & S_IFMT) != type) return type == S_IFDIR ? "it is no folder" : "it is no plain file";
  if (status.st_uid != geteuid()) {
    return "it belongs to user " + std::to_string(status.st_uid) + ", expected " + std::to_string(geteuid());
  }
  if ((status.st_mode & kOthers) != 0) {
    char modes[64];
    std::snprintf(modes, sizeof modes, "other users may use it (mode %04o, expected %04o)", status.st_mode & 07777,
                  type == S_IFDIR ? 0700U : 0600U);
    return modes;
  }
  if (type == S_IFREG && status.st_nlink > 1) return "it has several names";
  return "";
}

// Of `folder`, which is read from its beginning.
std::vector<std::string> names_in(int folder, const std::string& prefix) {
  std::vector<std::string> names;
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close_folder = [](DIR* opened) { closedir(opened); };
  const std::unique_ptr<DIR, decltype(close_folder)> opened(again < 0 ? nullptr : fdopendir(again));
  if (!opened) return names;
  while (const dirent* entry = readdir(opened.get())) {
    if (std::string(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  }
  return names;
}

// O_NONBLOCK: a pipe must not hold us up before we have seen that it is one.
Descriptor open_in(int folder, const std::string& name, int flags) {
  return Descriptor(
      openat(folder, name.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

bool remove_from(int folder, const Descriptor& file, const std::string& name) {
  if (!hold_alone(file) || !has_name(file)) return false;
  return unlinkat(folder, name.c_str(), 0) == 0;
}

bool is_older_than_attaching_takes(int folder, const std::string& name) {
  struct stat status{};
  return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         time(nullptr) - status.st_mtime > kAttachSecondsMax;
}

// Takes "123-" off the beginning of a name; false where it is not there.
bool take_number(std::string_view& name, uint64_t& number) {
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || rest == name.data() + name.size() || *rest != '-') return false;
  name.remove_prefix(rest + 1 - name.data());
  return true;
}

// "PID-STARTED-NAMESPACE-RANDOM", which is how a window's name goes on.
bool has_dead_maker(std::string_view name) {
  uint64_t id = 0;
  Process maker;
  if (!take_number(name, id) || !take_number(name, maker.started) || !take_number(name, maker.id_namespace)) {
    return false;
  }
  maker.id = static_cast<int64_t>(id);
  return has_died(maker, this_process());
}

// "PID-" and 16 hexadecimal digits, which is how a window's name went on in earlier versions.
bool is_old_window(std::string_view name) {
  uint64_t maker = 0;
  return take_number(name, maker) && name.size() == 16 &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void remove_unheld(int folder, const std::string& name) {
  struct stat status{};  // looked at before it is opened: it may be anybody's
  if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return;
  const Descriptor file = open_in(folder, name, 0);
  if (file.is_open() && distrust(file, S_IFREG).empty()) remove_from(folder, file, name);
}

// Before they had a folder, files of shared memory lay in /dev/shm itself: what earlier versions have left there goes,
// where it is this user's own.
void sweep_old_places() {
  const Descriptor folder(open(kEverybodys, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return;
  for (const std::string& name : names_in(folder.get(), "swath-tokens-" + std::to_string(geteuid()) + "-")) {
    remove_unheld(folder.get(), name);
  }
  const std::string windows = "swath-";
  for (const std::string& name : names_in(folder.get(), windows)) {
    if (!is_old_window(std::string_view(name).substr(windows.size()))) continue;
    if (is_older_than_attaching_takes(folder.get(), name)) remove_unheld(folder.get(), name);
  }
}

// Which folders this process has swept.
struct Swept {
  std::mutex mutex;
  std::set<std::string> paths;

  bool is_first(const std::string& path) {
    const std::lock_guard lock(mutex);
    return paths.insert(path).second;
  }
};
PerProcess<Swept> swept;

}  // namespace

bool hold_alone(const Descriptor& file) { return flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

bool hold_with_others(const Descriptor& file) { return flock(file.get(), LOCK_SH | LOCK_NB) == 0; }

bool has_name(const Descriptor& file) {
  struct stat status{};
  return fstat(file.get(), &status) == 0 && status.st_nlink > 0;
}

std::shared_ptr<const SharedFolder> SharedFolder::open(std::string& reason) {
  const std::string path = path_of_folder();
  const auto refused = [&](const std::string& why) {
    reason = path + ": " + why + "; SWATH_SHM_DIR names another folder for shared memory";
    return nullptr;
  };
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return refused(std::strerror(errno));
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) {
    return refused(errno == ELOOP || errno == ENOTDIR ? "it is no folder, or a link" : std::strerror(errno));
  }
  if (const std::string why = distrust(folder, S_IFDIR); !why.empty()) return refused(why);
  std::shared_ptr<const SharedFolder> opened(new SharedFolder(path, std::move(folder)));
  if (swept.get().is_first(path)) opened->sweep();
  return opened;
}

Descriptor SharedFolder::create(const std::string& name) const {
  return open_in(folder_.get(), name, O_CREAT | O_EXCL);
}

Descriptor SharedFolder::open_file(const std::string& name, std::string& reason) const {
  return open_trusted(name, 0, reason);
}

Descriptor SharedFolder::open_or_create(const std::string& name, std::string& reason) const {
  return open_trusted(name, O_CREAT, reason);
}

Descriptor SharedFolder::open_trusted(const std::string& name, int flags, std::string& reason) const {
  Descriptor file = open_in(folder_.get(), name, flags);
  const int error = file.is_open() ? EPERM : errno;
  const std::string why = file.is_open() ? distrust(file, S_IFREG) : std::strerror(error);
  if (why.empty()) return file;
  reason = path_ + "/" + name + ": " + why;
  errno = error;
  return {};
}

void SharedFolder::remove(const std::string& name) const { unlinkat(folder_.get(), name.c_str(), 0); }

bool SharedFolder::remove_if_unheld(const Descriptor& file, const std::string& name) const {
  return remove_from(folder_.get(), file, name);
}

std::vector<std::string> SharedFolder::tables() const { return names(kTablePrefix); }

std::vector<std::string> SharedFolder::names(const std::string& prefix) const {
  return names_in(folder_.get(), prefix);
}

std::string SharedFolder::new_window_name() {
  uint64_t random[kRandomWords] = {};
  if (getentropy(random, sizeof random) != 0) return "";
  const Process maker = this_process();
  char name[128];
  std::snprintf(name, sizeof name, "%s%lld-%llu-%llu-%016llx%016llx", kWindowPrefix, static_cast<long long>(maker.id),
                static_cast<unsigned long long>(maker.started), static_cast<unsigned long long>(maker.id_namespace),
                static_cast<unsigned long long>(random[0]), static_cast<unsigned long long>(random[1]));
  return name;
}

void SharedFolder::sweep() const {
  for (const std::string& name : tables()) remove_unheld(folder_.get(), name);
  for (const std::string& name : names(kWindowPrefix)) {
    const bool is_left = has_dead_maker(std::string_view(name).substr(std::strlen(kWindowPrefix)));
    if (is_left || is_older_than_attaching_takes(folder_.get(), name)) remove(name);
  }
  sweep_old_places();
}

}  // namespace swath
