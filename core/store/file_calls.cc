#include "store/file_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "store/open_file.h"

namespace swath {

void fail_refused(const std::string& path, const std::string& doing, const Refusal& refusal) {
  throw Error(ErrorKind::kStore, path + ": cannot " + doing + ": " + system_message(refusal.error()), refusal.error());
}

namespace file_calls {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCallBytesMax = int64_t{1} << 30;  // Linux moves less than 2 GiB in a call
constexpr int kLinksMax = 40;                        // as Linux itself

// Repeats the call after signals, and returns its result.
template <typename SystemCall>
auto repeated(SystemCall call) {
  while (true) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) throw Refusal(errno);
  }
}

size_t bytes_of_call(int64_t bytes) { return static_cast<size_t>(std::min(bytes, kCallBytesMax)); }

struct stat of_status_call(int result, const struct stat& found) {
  if (result != 0) throw Refusal(errno);
  return found;
}

}  // namespace

Descriptor open_file(const std::string& path, int flags, mode_t mode) {
  return Descriptor(repeated([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

std::string read_at(int descriptor, int64_t bytes, int64_t offset) {
  std::string data(static_cast<size_t>(bytes), '\0');
  int64_t done = 0;
  while (done < bytes) {
    const auto read =
        repeated([&] { return ::pread(descriptor, data.data() + done, bytes_of_call(bytes - done), offset + done); });
    if (read == 0) break;
    done += read;
  }
  data.resize(static_cast<size_t>(done));
  return data;
}

std::string read_rest(int descriptor) {
  constexpr size_t kPieceBytes = 1 << 16;
  std::string data;
  while (true) {
    const size_t done = data.size();
    data.resize(done + std::max(kPieceBytes, done));
    const auto read = repeated([&] { return ::read(descriptor, data.data() + done, data.size() - done); });
    data.resize(done + static_cast<size_t>(read));
    if (read == 0) return data;
  }
}

void write_at(int descriptor, std::string_view bytes, int64_t offset) {
  const auto count = static_cast<int64_t>(bytes.size());
  for (int64_t done = 0; done < count;) {
    done +=
        repeated([&] { return ::pwrite(descriptor, bytes.data() + done, bytes_of_call(count - done), offset + done); });
  }
}

void write_next(int descriptor, std::string_view bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  for (int64_t done = 0; done < count;) {
    done += repeated([&] { return ::write(descriptor, bytes.data() + done, bytes_of_call(count - done)); });
  }
}

void set_size(int descriptor, int64_t bytes) {
  repeated([&] { return ::ftruncate(descriptor, bytes); });
}

void set_mode(int descriptor, mode_t mode) {
  repeated([&] { return ::fchmod(descriptor, mode); });
}

void sync_data(int descriptor) {
  repeated([&] { return ::fdatasync(descriptor); });
}

void sync_file_system(int descriptor) {
  repeated([&] { return ::syncfs(descriptor); });
}

void sync_names(const std::string& folder) {
  const Descriptor opened = open_file(folder, O_RDONLY | O_DIRECTORY);
  repeated([&] { return ::fsync(opened.get()); });
}

struct stat status_of(int descriptor) {
  struct stat found = {};
  return of_status_call(::fstat(descriptor, &found), found);
}

struct stat status_of(const std::string& path) {
  struct stat found = {};
  return of_status_call(::stat(path.c_str(), &found), found);
}

std::optional<struct stat> status_of_name(const std::string& path) {
  struct stat found = {};
  const int result = ::lstat(path.c_str(), &found);
  if (result != 0 && errno == ENOENT) return std::nullopt;
  return of_status_call(result, found);
}

bool is_there(const std::string& path) {
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0;
}

bool is_folder(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_ino == b.st_ino && a.st_dev == b.st_dev; }

bool has_name(int descriptor, const std::string& path) {
  const std::optional<struct stat> named = status_of_name(path);
  return named && is_same_file(status_of(descriptor), *named);
}

void touch(const std::string& path) {
  repeated([&] { return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); });
}

void rename_file(const std::string& from, const std::string& to) {
  repeated([&] { return std::rename(from.c_str(), to.c_str()); });
}

void remove_file(const std::string& path) {
  repeated([&] { return ::unlink(path.c_str()); });
}

void try_remove_file(const std::string& path) noexcept { ::unlink(path.c_str()); }

void remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw Refusal(error.value());
}

bool try_lock(int descriptor, Lock lock) {
  const int kind = lock == Lock::kShared ? LOCK_SH : LOCK_EX;
  while (::flock(descriptor, kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw Refusal(errno);
  }
  return true;
}

void unlock(int descriptor) noexcept {
  while (::flock(descriptor, LOCK_UN) != 0 && errno == EINTR) {
  }
}

std::string real_path(const std::string& path) {
  // The system resolves an existing path. For another path, the existing components are resolved, and the rest is kept.
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  for (int links = 0; links < kLinksMax && fs::is_symlink(at, ignored); ++links) {
    at = at.parent_path() / fs::read_symlink(at, ignored);
  }
  std::string real = fs::weakly_canonical(at, ignored).string();
  while (real.size() > 1 && real.back() == '/') real.pop_back();
  return real;
}

}  // namespace file_calls
}  // namespace swath
