#include "file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/error.h"
#include "model/presets.h"
#include "store/file_identity.h"

namespace swath::instruments {
namespace {

FileSystem& here() { return *static_cast<FileSystem*>(fuse_get_context()->private_data); }
std::string backing_of(const char* path) { return here().backing + path; }
bool is_control(const char* path) { return path != nullptr && std::strcmp(path, kControlPath) == 0; }
FileKey key_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
int descriptor_of(const fuse_file_info* info) { return static_cast<int>(info->fh); }

// What the kernel wants: 0 or a negative errno.
int result_of(int returned) { return returned < 0 ? -errno : 0; }

// Errors of the model are errors of the disk.
template <typename Action>
int guarded(Action action) {
  try {
    return action();
  } catch (const Error& error) {
    return error.os_error() != 0 ? -error.os_error() : -EINVAL;
  } catch (const std::exception&) {
    return -EIO;
  }
}

struct stat control_status() {
  struct stat status = {};
  status.st_mode = S_IFREG | 0644;
  status.st_nlink = 1;
  status.st_uid = ::getuid();
  status.st_gid = ::getgid();
  return status;
}

int get_status(const char* path, struct stat* status, fuse_file_info* info) {
  if (is_control(path)) {
    *status = control_status();
    return 0;
  }
  if (info != nullptr) return result_of(::fstat(descriptor_of(info), status));
  return result_of(::lstat(backing_of(path).c_str(), status));
}

int read_link(const char* path, char* target, size_t size) {
  const ssize_t length = ::readlink(backing_of(path).c_str(), target, size - 1);
  if (length < 0) return -errno;
  target[length] = '\0';
  return 0;
}

int make_node(const char* path, mode_t mode, dev_t device) {
  return result_of(::mknod(backing_of(path).c_str(), mode, device));
}
int make_folder(const char* path, mode_t mode) { return result_of(::mkdir(backing_of(path).c_str(), mode)); }
int remove_folder(const char* path) { return result_of(::rmdir(backing_of(path).c_str())); }
int make_symlink(const char* target, const char* path) {
  return result_of(::symlink(target, backing_of(path).c_str()));
}
int make_link(const char* from, const char* to) {
  return result_of(::link(backing_of(from).c_str(), backing_of(to).c_str()));
}

// After `action` has taken the name `path` away, its places on the disk are free if it was the file's last.
template <typename Action>
int taking_away(const std::string& path, Action action) {
  struct stat status = {};
  const bool was_there = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  const int result = action();
  if (result == 0 && was_there && status.st_nlink == 1) here().disk.forget(key_of(status));
  return result;
}

int remove_file(const char* path) {
  if (is_control(path)) return -EPERM;
  const std::string name = backing_of(path);
  return taking_away(name, [&] { return result_of(::unlink(name.c_str())); });
}

int rename_file(const char* from, const char* to, unsigned int flags) {
  if (is_control(from) || is_control(to)) return -EPERM;
  const std::string source = backing_of(from);
  const std::string target = backing_of(to);
  const auto rename = [&] {
    return result_of(flags == 0 ? ::rename(source.c_str(), target.c_str())
                                : ::renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), flags));
  };
  struct stat a = {};
  struct stat b = {};
  const bool same = ::lstat(source.c_str(), &a) == 0 && ::lstat(target.c_str(), &b) == 0 && a.st_ino == b.st_ino;
  return flags != 0 || same ? rename() : taking_away(target, rename);
}

int change_mode(const char* path, mode_t mode, fuse_file_info* info) {
  if (is_control(path)) return -EPERM;
  if (info != nullptr) return result_of(::fchmod(descriptor_of(info), mode));
  return result_of(::chmod(backing_of(path).c_str(), mode));
}

int change_owner(const char* path, uid_t owner, gid_t group, fuse_file_info* info) {
  if (is_control(path)) return -EPERM;
  if (info != nullptr) return result_of(::fchown(descriptor_of(info), owner, group));
  return result_of(::lchown(backing_of(path).c_str(), owner, group));
}

int change_times(const char* path, const timespec times[2], fuse_file_info* info) {
  if (is_control(path)) return 0;
  if (info != nullptr) return result_of(::futimens(descriptor_of(info), times));
  return result_of(::utimensat(AT_FDCWD, backing_of(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}

int change_size(const char* path, off_t size, fuse_file_info* info) {
  if (is_control(path)) return 0;  // a shell's `>` does so before it writes
  const std::string name = backing_of(path);
  const int result =
      result_of(info != nullptr ? ::ftruncate(descriptor_of(info), size) : ::truncate(name.c_str(), size));
  struct stat status = {};
  if (result == 0 && ::stat(name.c_str(), &status) == 0) here().disk.resize(key_of(status), size);
  return result;
}

int file_system_status(const char* path, struct statvfs* status) {
  return result_of(::statvfs(backing_of(path).c_str(), status));
}

// The report as it was when the file was opened: two reads of it must fit together.
int open_control(fuse_file_info* info) {
  return guarded([&] {
    info->fh = reinterpret_cast<uint64_t>(new std::string(here().report()));
    info->direct_io = 1;
    return 0;
  });
}

std::string* control_text(const fuse_file_info* info) {
  return reinterpret_cast<std::string*>(info->fh);  // NOLINT(performance-no-int-to-ptr): libfuse keeps a number
}

// The kernel tells where to append, and the model's requests have no alignment that O_DIRECT could rely on.
int flags_of(const fuse_file_info* info) { return (info->flags & ~(O_APPEND | O_DIRECT)) | O_CLOEXEC; }

int opened(int descriptor, fuse_file_info* info) {
  if (descriptor < 0) return -errno;
  const int result = guarded([&] {
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0) return -errno;
    if (status.st_size == 0) here().disk.resize(key_of(status), 0);
    here().disk.adopt(key_of(status), FileIdentity::of(descriptor).born.value_or(0), status.st_size);
    return 0;
  });
  if (result != 0) {
    ::close(descriptor);
    return result;
  }
  info->fh = static_cast<uint64_t>(descriptor);
  info->direct_io = 1;
  return 0;
}

int open_file(const char* path, fuse_file_info* info) {
  if (is_control(path)) return open_control(info);
  return opened(::open(backing_of(path).c_str(), flags_of(info)), info);
}

int create_file(const char* path, mode_t mode, fuse_file_info* info) {
  if (is_control(path)) return open_control(info);
  return opened(::open(backing_of(path).c_str(), flags_of(info) | O_CREAT, mode), info);
}

// Requests of the preset's size, one after another, each until the disk has done it.
int take_the_disks_time(int descriptor, Direction direction, off_t offset, int64_t bytes) {
  FileSystem& system = here();
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return -errno;
  const int64_t request_bytes = system.disk.request_bytes();
  for (int64_t done = 0; done < bytes;) {
    const int64_t length = std::min(request_bytes, bytes - done);
    const double until =
        system.disk.transfer(key_of(status), direction, offset + done, length, [&system] { return system.time.now(); });
    system.time.sleep_until(until);
    done += length;
  }
  return 0;
}

int read_file(const char* path, char* data, size_t size, off_t offset, fuse_file_info* info) {
  if (is_control(path)) {
    const std::string& text = *control_text(info);
    if (offset >= std::ssize(text)) return 0;
    return static_cast<int>(text.copy(data, size, static_cast<size_t>(offset)));
  }
  return guarded([&] {
    const int descriptor = descriptor_of(info);
    const ssize_t got = ::pread(descriptor, data, size, offset);
    if (got < 0) return -errno;
    const int failed = take_the_disks_time(descriptor, Direction::kRead, offset, got);
    return failed != 0 ? failed : static_cast<int>(got);
  });
}

int change_preset(const char* data, size_t size) {
  std::string name(data, size);
  std::erase_if(name, [](char c) { return c == '\n' || c == ' '; });
  here().disk.replace(disk_preset(name));
  std::printf("modelled disk: now %s\n", name.c_str());
  std::fflush(stdout);
  return static_cast<int>(size);
}

int write_file(const char* path, const char* data, size_t size, off_t offset, fuse_file_info* info) {
  return guarded([&] {
    if (is_control(path)) return change_preset(data, size);
    const int descriptor = descriptor_of(info);
    const int failed = take_the_disks_time(descriptor, Direction::kWrite, offset, static_cast<int64_t>(size));
    if (failed != 0) return failed;
    const ssize_t written = ::pwrite(descriptor, data, size, offset);
    return written < 0 ? -errno : static_cast<int>(written);
  });
}

int flush_file(const char* path, fuse_file_info* info) {
  return is_control(path) ? 0 : result_of(::close(::dup(descriptor_of(info))));
}

int sync_file(const char* path, int data_only, fuse_file_info* info) {
  if (is_control(path)) return 0;
  return result_of(data_only != 0 ? ::fdatasync(descriptor_of(info)) : ::fsync(descriptor_of(info)));
}

int release_file(const char* path, fuse_file_info* info) {
  if (is_control(path)) {
    delete control_text(info);
    return 0;
  }
  return result_of(::close(descriptor_of(info)));
}

int read_folder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t /*offset*/, fuse_file_info* /*info*/,
                fuse_readdir_flags /*flags*/) {
  DIR* folder = ::opendir(backing_of(path).c_str());
  if (folder == nullptr) return -errno;
  while (const dirent* entry = ::readdir(folder)) {
    struct stat status = {};
    status.st_ino = entry->d_ino;
    status.st_mode = static_cast<mode_t>(entry->d_type) << 12;
    if (fill(buffer, entry->d_name, &status, 0, static_cast<fuse_fill_dir_flags>(0)) != 0) break;
  }
  ::closedir(folder);
  return 0;
}

int check_access(const char* path, int mode) {
  return is_control(path) ? 0 : result_of(::access(backing_of(path).c_str(), mode));
}

void* begin(fuse_conn_info* connection, fuse_config* config) {
  config->use_ino = 1;
  config->direct_io = 1;
  connection->max_background = 64;
  return &here();
}

}  // namespace

std::string FileSystem::report() const {
  const DiskParameters parameters = disk.parameters();
  const DiskStatistics s = disk.statistics();
  std::array<char, 1024> text = {};
  std::snprintf(
      text.data(), text.size(),
      "{\"what\": \"modelled disk\", \"preset\": \"%s\", \"description\": \"%s\", \"scale\": %g,\n"
      " \"requests\": %lld, \"read_bytes\": %lld, \"written_bytes\": %lld, \"seeks\": %lld, \"skips\": %lld,\n"
      " \"prefetched_bytes\": %lld, \"prefetch_hits\": %lld, \"busy_seconds\": %.6f, \"seek_seconds\": %.6f}\n",
      parameters.name.c_str(), parameters.description.c_str(), time.scale(), static_cast<long long>(s.requests),
      static_cast<long long>(s.read_bytes), static_cast<long long>(s.written_bytes), static_cast<long long>(s.seeks),
      static_cast<long long>(s.skips), static_cast<long long>(s.prefetched_bytes),
      static_cast<long long>(s.prefetch_hits), s.busy_seconds, s.seek_seconds);
  return text.data();
}

fuse_operations operations() {
  fuse_operations all = {};
  all.init = begin;
  all.getattr = get_status;
  all.readlink = read_link;
  all.mknod = make_node;
  all.mkdir = make_folder;
  all.unlink = remove_file;
  all.rmdir = remove_folder;
  all.symlink = make_symlink;
  all.rename = rename_file;
  all.link = make_link;
  all.chmod = change_mode;
  all.chown = change_owner;
  all.truncate = change_size;
  all.open = open_file;
  all.create = create_file;
  all.read = read_file;
  all.write = write_file;
  all.statfs = file_system_status;
  all.flush = flush_file;
  all.release = release_file;
  all.fsync = sync_file;
  all.readdir = read_folder;
  all.access = check_access;
  all.utimens = change_times;
  // Locks are the kernel's own: with neither `lock` nor `flock` here they hold within the machine, all kinds of them.
  return all;
}

}  // namespace swath::instruments
