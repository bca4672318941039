#include "formats/zarr/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "formats/zarr/unicode.h"
#include "store/file_calls.h"
#include "store/new_name.h"
#include "store/open_file.h"

namespace swath::zarr {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& doing, int error) {
  throw Error(ErrorKind::kStore, path + ": cannot " + doing + ": " + system_message(error), error);
}

std::string aside_of(const std::string& target) {
  const size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  return folder + "." + name + ".swath-" + random_digits();
}

int64_t nanoseconds(const timespec& time) { return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec; }

// Follows links.
bool is_folder_in(int folder, const dirent& entry) {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat status{};
  return ::fstatat(folder, entry.d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::optional<FileState> state_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{status.st_dev, status.st_ino, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
                   status.st_size};
}

std::optional<ReadFile> read_file(const std::string& path, int64_t bytes_max) {
  const int opened = open_existing(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, Openable::kRegularFilesAndBlockDevices);
  if (opened == -ENOENT || opened == -ENOTDIR || opened == -ENAMETOOLONG) return std::nullopt;
  if (opened < 0) {
    const char* expected = expected_instead(-opened, Openable::kRegularFilesAndBlockDevices);
    throw Error(ErrorKind::kStore, path + ": cannot open: " + system_message(-opened) + expected, -opened);
  }
  const Descriptor file(opened);
  ReadFile found;
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0) refuse(path, "read", errno);
  found.size = size;
  // The read wants one byte more, to detect a file that is too long; a file that grows is read up to its old size.
  const int64_t wanted = std::min(bytes_max, found.size) + 1;
  found.bytes = store_errors(path, "read", [&] { return file_calls::read_at(file.get(), wanted, 0); });
  return found;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_taken(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> folders_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), &::closedir);
  if (stream == nullptr) refuse(folder, "list", errno);
  std::vector<std::pair<std::u32string, std::string>> found;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && is_folder_in(::dirfd(stream.get()), *entry)) {
      found.emplace_back(code_points(name), name);
    }
    errno = 0;
  }
  if (errno != 0) refuse(folder, "list", errno);
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [order, name] : found) names.push_back(std::move(name));
  return names;
}

std::string joined(const std::string& folder, const std::string& name) {
  return name.empty() ? folder : folder.ends_with('/') ? folder + name : folder + "/" + name;
}

void make_folders(const std::string& folder, const std::string& path) {
  for (size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
    const std::string part = folder.substr(0, slash);
    const int error = ::mkdir(part.c_str(), 0777) == 0 ? 0 : errno;
    if (error != 0 && !is_folder(part)) refuse(path, "create", error);
    if (slash == std::string::npos) return;
  }
}

void remove_folder(const std::string& folder) noexcept {
  try {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  } catch (...) {  // without memory the folder stays
    return;
  }
}

NewFiles::~NewFiles() {
  for (size_t i = renamed_; i < asides_.size(); ++i) {
    try {
      file_calls::remove_file(asides_[i].path);
    } catch (const Refusal&) {  // it does not exist, or it stays
      continue;
    }
  }
}

void NewFiles::write(const std::string& target, const std::string& text) {
  const std::string aside = aside_of(target);
  store_errors(path_, "change", [&] {
    const Descriptor file = file_calls::open_file(aside, O_WRONLY | O_CREAT | O_EXCL, 0666);
    asides_.push_back({aside, target});
    struct stat old{};
    if (::stat(target.c_str(), &old) == 0) file_calls::set_mode(file.get(), old.st_mode & 07777);
    file_calls::write_next(file.get(), text);
  });
}

void NewFiles::rename() {
  store_errors(path_, "change", [&] {
    for (; renamed_ < asides_.size(); ++renamed_) {
      file_calls::rename_file(asides_[renamed_].path, asides_[renamed_].target);
    }
  });
}

}  // namespace swath::zarr
