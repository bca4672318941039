// The files of a store's metadata: read whole, and replaced as a whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swath::zarr {

// What tells that a file is another one, or holds something else, than when it was looked at last.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;   // nanoseconds: its bytes, or what is known of it
  int64_t bytes = 0;
  bool operator==(const FileState& other) const = default;
};

// None where there is no such file, or it cannot be looked at.
std::optional<FileState> state_of(const std::string& path);

struct ReadFile {
  std::string bytes = {};
  int64_t size = 0;  // of all of it
};

// The first `bytes_max` + 1 bytes of a file; none where there is no such file. Throws Error{kStore}: what the system
// refuses, and what is no file.
std::optional<ReadFile> read_file(const std::string& path, int64_t bytes_max);
bool exists(const std::string& path);    // where a link leads
bool is_taken(const std::string& path);  // by a link that leads nowhere, too
bool is_folder(const std::string& path);
// The names of the folders in a folder, sorted as Python sorts them. Throws Error{kStore}.
std::vector<std::string> folders_in(const std::string& folder);
// The path of something in a folder; the folder's own for "".
std::string joined(const std::string& folder, const std::string& name);
// Makes folders, those that are missing above them too. Throws Error{kStore}, which names `path`.
void make_folders(const std::string& folder, const std::string& path);
// As much of it as can be removed.
void remove_folder(const std::string& folder) noexcept;

// Files that are written aside, each in its folder under a name that nobody else has, before any of them gets its
// name: a full disk changes nothing. What has no name yet is removed in the end.
class NewFiles {
 public:
  // `path` is what errors name.
  explicit NewFiles(std::string path) : path_(std::move(path)) {}
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // Has the permissions of the file that it replaces, where that is there. Throws Error{kStore}.
  void write(const std::string& target, const std::string& text);
  // All of them, in the order in which they were written.
  void rename();

 private:
  struct Aside {
    std::string path = {};
    std::string target = {};
  };

  const std::string path_;
  std::vector<Aside> asides_ = {};
  size_t renamed_ = 0;
};

}  // namespace swath::zarr
