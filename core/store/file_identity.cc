#include "store/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/file_calls.h"

namespace swath {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;

// Nullopt if the file system does not report creation times.
std::optional<FileIdentity> identity_with_birth(int folder, const char* path, int flags) {
  struct statx found = {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &found) != 0) return std::nullopt;
  if ((found.stx_mask & STATX_INO) == 0 || (found.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  return FileIdentity{found.stx_ino, found.stx_btime.tv_sec * kNanoseconds + found.stx_btime.tv_nsec};
}

}  // namespace

FileIdentity FileIdentity::of(const std::string& path) {
  const std::optional<FileIdentity> found = identity_with_birth(AT_FDCWD, path.c_str(), 0);
  return found ? *found : FileIdentity{file_calls::status_of(path).st_ino, std::nullopt};
}

FileIdentity FileIdentity::of(int descriptor) {
  const std::optional<FileIdentity> found = identity_with_birth(descriptor, "", AT_EMPTY_PATH);
  return found ? *found : FileIdentity{file_calls::status_of(descriptor).st_ino, std::nullopt};
}

bool FileIdentity::may_be(const FileIdentity& other) const {
  return inode == other.inode && (!born || !other.born || *born == *other.born);
}

}  // namespace swath
