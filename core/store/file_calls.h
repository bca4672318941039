// Calls of the system on files and folders, for what changes their metadata or keeps a journal. Each call is done as a
// whole, and is repeated where a signal ends it. Elements of arrays are moved by engines (engine.h), not by these.
//
// What the system refuses is thrown as a Refusal; store_errors() makes it an Error that names the file.
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

// What the system has refused, by its errno value.
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

// Does `work`, and returns what it returns. What the system refuses in it becomes an Error{kStore}.
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
// Fewer bytes at the end of the file.
std::string read_at(int descriptor, int64_t bytes, int64_t offset);
// All of a file, from where it is read next.
std::string read_rest(int descriptor);
void write_at(int descriptor, std::string_view bytes, int64_t offset);
// Writes where the file goes on.
void write_next(int descriptor, std::string_view bytes);
void set_size(int descriptor, int64_t bytes);
void set_mode(int descriptor, mode_t mode);
// The data of a file, and its size, are on the medium.
void sync_data(int descriptor);
// All that was written to the file system of this file is on the medium.
void sync_file_system(int descriptor);
// The names in a folder are on the medium.
void sync_names(const std::string& folder);

struct stat status_of(int descriptor);
struct stat status_of(const std::string& path);
// Of a symbolic link its own; none where nothing has the name.
std::optional<struct stat> status_of_name(const std::string& path);
// Whether anything has the name, a link that leads to nothing too; false also where that cannot be seen.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);
bool is_same_file(const struct stat& a, const struct stat& b);
// Whether the file of this name is the one that is open.
bool has_name(int descriptor, const std::string& path);
// The file has been changed now, says its time.
void touch(const std::string& path);

void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);
// The same, as far as it can be done.
void try_remove_file(const std::string& path) noexcept;
// A file, or a folder with all that is in it; nothing where nothing has the name. A symbolic link is removed itself.
void remove_all(const std::string& path);

enum class Lock { kShared, kExclusive };
// flock(2), without waiting: false where somebody else has a lock that keeps this one out.
bool try_lock(int descriptor, Lock lock);
// Of an open file that forked children have, too.
void unlock(int descriptor) noexcept;

// Absolute, without symbolic links, "." and ".."; what is not there may have any name.
std::string real_path(const std::string& path);

}  // namespace file_calls
}  // namespace swath
