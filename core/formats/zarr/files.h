// The metadata files of a store: each is read and replaced as a whole.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swath::zarr {

// The properties of a file that change when it is replaced or modified.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;   // nanoseconds: the last change of the content or of the inode
  int64_t bytes = 0;
  bool operator==(const FileState& other) const = default;
};

// None if there is no such file, or if it cannot be examined.
std::optional<FileState> state_of(const std::string& path);

struct ReadFile {
  std::string bytes = {};
  int64_t size = 0;  // of the whole file
};

// The first `bytes_max` + 1 bytes of a file; none if there is no such file. Throws Error{kStore} if the system refuses,
// or if the path is no file.
std::optional<ReadFile> read_file(const std::string& path, int64_t bytes_max);
bool exists(const std::string& path);    // follows links
bool is_taken(const std::string& path);  // also true for a link that leads nowhere
bool is_folder(const std::string& path);
// The names of the folders in a folder, in Python's order. Throws Error{kStore}.
std::vector<std::string> folders_in(const std::string& folder);
// The path of an item in a folder; for "", the folder itself.
std::string joined(const std::string& folder, const std::string& name);
// Makes a folder, and missing folders above it. Throws Error{kStore}, which names `path`.
void make_folders(const std::string& folder, const std::string& path);
// Removes as much of it as possible.
void remove_folder(const std::string& folder) noexcept;

// New files under temporary names in their folders; all are written before the first rename: a full disk changes
// nothing. The destructor removes files that were not renamed.
class NewFiles {
 public:
  // Errors name `path`.
  explicit NewFiles(std::string path) : path_(std::move(path)) {}
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // The new file gets the permissions of the file that it replaces, if there is one. Throws Error{kStore}.
  void write(const std::string& target, const std::string& text);
  // Renames all files, in the order in which they were written.
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
