// Open HDF5 files; their groups and datasets by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/calls.h"
#include "formats/hdf5/driver.h"

namespace swath::formats::hdf5 {

// The facts that the file states before HDF5's library opens it.
struct Superblock {
  bool is_there = false;
  unsigned version = 0;
  unsigned flags = 0;  // set by programs that have it open for writing; since version 3 of the superblock
};

// HDF5's signature is at byte 0 or, after a user block, at 512, 1024, 2048 and so on. Throws Error{kStore}.
Superblock read_superblock(const std::string& path);
// Whether a program writes the file in SWMR mode (single writer, multiple readers), or ended without closing it.
bool is_written_in_swmr_mode(const std::string& path);

// An open file. Close it soon: at close, HDF5 overwrites bytes that other programs wrote after a cached chunk.
class OpenFile {
 public:
  // Throws CallError.
  explicit OpenFile(const std::string& path);
  // Opens a file that is read through a driver file.
  OpenFile(const std::string& path, const std::shared_ptr<DriverFile>& file);
  // Uses a file that its owner keeps open (ChangedFile).
  OpenFile(std::string path, hid_t borrowed) : path_(std::move(path)), id_(borrowed) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& path() const { return path_; }
  hid_t id() const { return id_; }
  bool is_swmr() const { return is_swmr_; }  // its writer may add chunks at any time

 private:
  Handle open(unsigned flags) const;

  std::string path_;
  Session session_;  // declared before the handle, so that it ends last
  Handle driver_;    // of a file that is read through one; HDF5 1.10 needs it until the file is closed
  Handle file_;
  hid_t id_ = -1;
  bool is_swmr_ = false;
};

using FileWork = std::function<void(const OpenFile& file)>;

// Runs `work` with the file open, in the state of one moment; while another process changes the file, in the state of
// its last checkpoint. `work` may run again. If the file is locked for a change, this waits (LockWait). Errors of HDF5
// in `work` become an Error: kFormat for a damaged file, kStore if the system refuses, or if another program has the
// file open for writing.
void with_open_file(const std::string& path, const FileWork& work);
// The same for work with a file that is open. `doing`: "read", "change" or "create".
void translate_errors(const std::string& path, const std::string& doing, const std::function<void()>& work);
// Throws Error{kStore} if a program writes the file in SWMR mode: such a program may hold no lock.
void refuse_written(const std::string& path);

struct Item {
  std::string path = {};  // in the file, as text; "" for the file itself
  Handle handle = {};
  bool is_group = false;
  haddr_t address = HADDR_UNDEF;
  unsigned header_version = 0;
};

// The paths of every group, the file itself first, and of every dataset, once each. A group's datasets precede its
// groups, in the order of their creation. Soft and external links are left out.
std::vector<Item> walk(const OpenFile& file);

H5O_info1_t object_info(hid_t object);

struct LinkEntry {
  std::string name = {};  // as stored
  int type = H5L_TYPE_HARD;
  haddr_t address = HADDR_UNDEF;  // of a hard link
};
// The links of a group: in the order of their creation if the group records it, else by name.
std::vector<LinkEntry> links_of(hid_t group);
// The links of a group, by name.
std::vector<LinkEntry> links_by_name(hid_t group);

// The bytes of a path in the file; UTF-8 if there is no such object.
std::string stored_path(const OpenFile& file, const std::string& path);
// The group, dataset or type at a path; not open if there is none, or if a link leads nowhere.
Handle item_at(const OpenFile& file, const std::string& path);
// The dataset with this name; not open if there is none, or if it is no variable.
Handle dataset_called(const OpenFile& file, const std::string& name);

std::string name_of(hid_t object);  // the path of an object, as stored
std::string file_name_of(hid_t object);

}  // namespace swath::formats::hdf5
