// System calls on files and folders, for changes of their metadata and for journals. Each call is completed, and
// repeated after EINTR. Engines (engine.h) move the elements of arrays, not these functions.
//
// A failed call throws a Refusal; store_errors() turns it into an Error that names the file.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"

namespace swath {

// A failed system call, with its errno value.
class Refusal : public std::exception {
 public:
  explicit Refusal(int error) : error_(error) {}
  int error() const { return error_; }
  const char* what() const noexcept override { return "the system has refused a call"; }

 private:
  int error_;
};

// "PATH: cannot DOING: No space left on device".
[[noreturn]] void fail_refused(const std::string& path, const std::string& doing, const Refusal& refusal);

// Runs `work`, and returns its result. A Refusal in it becomes an Error{kStore}.
template <typename Work>
auto store_errors(const std::string& path, const std::string& doing, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Refusal& refusal) {
    fail_refused(path, doing, refusal);
  }
}

namespace file_calls {

// O_CLOEXEC is always added to `flags`.
Descriptor open_file(const std::string& path, int flags, mode_t mode = 0);
// Returns fewer bytes at the end of the file.
std::string read_at(int descriptor, int64_t bytes, int64_t offset);
// All bytes from the current file position on.
std::string read_rest(int descriptor);
void write_at(int descriptor, std::string_view bytes, int64_t offset);
// Writes at the current file position.
void write_next(int descriptor, std::string_view bytes);
void set_size(int descriptor, int64_t bytes);
void set_mode(int descriptor, mode_t mode);
// Puts the file's data and its size on the medium.
void sync_data(int descriptor);
// Puts all writes to this file's file system on the medium.
void sync_file_system(int descriptor);
// Puts the names in a folder on the medium.
void sync_names(const std::string& folder);

struct stat status_of(int descriptor);
struct stat status_of(const std::string& path);
// The status of a symbolic link itself; nullopt if the name does not exist.
std::optional<struct stat> status_of_name(const std::string& path);
// True if the name exists, even as a link to nothing; false also if that cannot be checked.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);
bool is_same_file(const struct stat& a, const struct stat& b);
// True if the path leads to the open file.
bool has_name(int descriptor, const std::string& path);
// Sets the file's modification time to now.
void touch(const std::string& path);

void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);
// The same, without errors.
void try_remove_file(const std::string& path) noexcept;
// Removes a file, or a folder with its contents; does nothing if the name does not exist. Removes a symbolic link
// itself.
void remove_all(const std::string& path);

enum class Lock { kShared, kExclusive };
// flock(2) without waiting: false if another process has a conflicting lock.
bool try_lock(int descriptor, Lock lock);
// Unlocks an open file that forked children share.
void unlock(int descriptor) noexcept;

// The absolute path without symbolic links, "." and ".."; components that do not exist are kept.
std::string real_path(const std::string& path);

}  // namespace file_calls
}  // namespace swath
