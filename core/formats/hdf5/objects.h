// HDF5 files that are open; their groups and datasets by name.
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

// What the file says of itself, before HDF5's library opens it.
struct Superblock {
  bool is_there = false;
  unsigned version = 0;
  unsigned flags = 0;  // of programs that have it open for writing; from version 3 of the superblock on
};

// HDF5's signature is at byte 0 or, behind a user block, at 512, 1024, 2048 and so on. Throws Error{kStore}.
Superblock read_superblock(const std::string& path);
// Whether a program writes the file in SWMR mode (single writer, multiple readers), or has ended without closing it.
bool is_written_in_swmr_mode(const std::string& path);

// An open file: of as few moments as can be, because HDF5 overwrites at close what others wrote behind a cached chunk.
class OpenFile {
 public:
  // Throws CallError.
  explicit OpenFile(const std::string& path);
  // One that is read through a driver file.
  OpenFile(const std::string& path, const std::shared_ptr<DriverFile>& file);
  // One that somebody else has open, and keeps open (ChangedFile).
  OpenFile(std::string path, hid_t borrowed) : path_(std::move(path)), id_(borrowed) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& path() const { return path_; }
  hid_t id() const { return id_; }
  bool is_swmr() const { return is_swmr_; }  // its writer may add chunks meanwhile

 private:
  Handle open(unsigned flags) const;

  std::string path_;
  Session session_;  // before the handle: it goes last
  Handle driver_;    // of a file that is read through one; HDF5 1.10 needs it until the file is closed
  Handle file_;
  hid_t id_ = -1;
  bool is_swmr_ = false;
};

using FileWork = std::function<void(const OpenFile& file)>;

// Does `work` with the file open, as it is at one moment: while another process changes it, as it was when the changes
// had their last checkpoint; `work` may be done again then. Where the file is locked for a change it waits (LockWait).
// What it throws of HDF5's errors becomes an Error: kFormat for a damaged file, kStore where the system refuses or
// another program has it open for writing.
void with_open_file(const std::string& path, const FileWork& work);
// The same of work with a file that is open. `doing`: "read", "change" or "create".
void translate_errors(const std::string& path, const std::string& doing, const std::function<void()>& work);
// Throws Error{kStore} where a program writes the file in SWMR mode, when there is no lock on it that says so.
void refuse_written(const std::string& path);

struct Item {
  std::string path = {};  // in the file, as text; "" for the file itself
  Handle handle = {};
  bool is_group = false;
  haddr_t address = HADDR_UNDEF;
  unsigned header_version = 0;
};

// The path in the file of every group, the file itself first, and of every dataset once. A group's datasets come before
// its groups, in the order in which they were made. Soft links, and links into other files, are left out.
std::vector<Item> walk(const OpenFile& file);

H5O_info1_t object_info(hid_t object);

struct LinkEntry {
  std::string name = {};  // as stored
  int type = H5L_TYPE_HARD;
  haddr_t address = HADDR_UNDEF;  // of a hard link
};
// The links of a group, in the order in which they were made where it has noted that, else by name.
std::vector<LinkEntry> links_of(hid_t group);
// By name.
std::vector<LinkEntry> links_by_name(hid_t group);

// The bytes of a path in the file; those of UTF-8 where nothing is there.
std::string stored_path(const OpenFile& file, const std::string& path);
// The group, dataset or type at a path; not open where there is none, or a link leads nowhere.
Handle item_at(const OpenFile& file, const std::string& path);
// The dataset that is called so; not open where there is none, or it is no variable.
Handle dataset_called(const OpenFile& file, const std::string& name);

std::string name_of(hid_t object);  // its path, as stored
std::string file_name_of(hid_t object);

}  // namespace swath::formats::hdf5
