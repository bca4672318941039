// An open file of any format, with all its arrays: opened, read, defined, grown and completed by all ranks together.
//
//     auto file = DataFile::create(comm, "run.nc", {.format = "netcdf-classic"});
//     formats::NewArray temperature{.shape = {0, 180, 360}, .type = formats::ElementType::parse("<f4"),
//                                   .variable = "t", .dimensions = {{"time", "lat", "lon"}}, .unlimited = {true}};
//     auto t = file->add(temperature);
//     t->append(rows, values);     // this rank's share of the next record, in C order
//     file->close();               // the file gets its name
//
// What a file holds is read, defined and changed by rank 0, which tells the other ranks; elements are moved by all. A
// handle shows one state of the file: what others change meanwhile is seen by whoever opens it anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "formats/contents.h"
#include "formats/new_array.h"
#include "formats/raw_elements.h"
#include "store/open_mode.h"

namespace swath {

class CollectiveFile;
class FileArray;
struct FileOptions;
struct Profile;

namespace formats {
struct Description;
}  // namespace formats

struct DataFileOptions {
  // What moves the bytes, and how many streams a target serves; null: what is measured to be best.
  std::shared_ptr<const FileOptions> file = nullptr;
  std::shared_ptr<const Profile> profile = nullptr;  // what prices are made from; null: the stated defaults
  // What a raw file holds, which says nothing itself; of other formats none.
  std::optional<formats::RawElements> raw = std::nullopt;
};

struct NewFileOptions {
  std::string format;  // "netcdf-classic:cdf2", "zarr", …; empty: by the suffix of the name
  formats::Attributes attributes;
  bool overwrite = false;  // the name may be taken from an existing file
  bool atomic = true;      // it is written under another name until it is complete
};

// Errors of all calls are thrown on all ranks alike. Collective calls are made by all ranks, with the same arguments,
// in the same order; of several threads of one process each change is done by one after the other.
class DataFile : public std::enable_shared_from_this<DataFile> {
 public:
  // Collective. `mode`: kRead, or kReadWrite to write in place, add arrays, change attributes and append records.
  // Throws Error{kStore} where the system refuses, {kFormat} where the file cannot be what it says.
  static std::shared_ptr<DataFile> open(std::shared_ptr<Comm> comm, const std::string& path, OpenMode mode,
                                        const DataFileOptions& options = {});
  // Collective. It gets its name when it is closed; where something in it grows, at the first sync(). Throws
  // Error{kStore} with EEXIST where the name is taken, {kArgument} for a format that holds one array only.
  static std::shared_ptr<DataFile> create(std::shared_ptr<Comm> comm, const std::string& path,
                                          const NewFileOptions& create, const DataFileOptions& options = {});
  // The same, with a first array in it; of a format that holds one array only there must be one. Null: none.
  static std::shared_ptr<DataFile> create_with(std::shared_ptr<Comm> comm, const std::string& path,
                                               const NewFileOptions& create, const formats::NewArray* array,
                                               const DataFileOptions& options = {});
  // Without close(), what was added since the last sync is taken back, and a new file is removed.
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const;
  const formats::Contents& contents() const;
  Comm& comm() const;
  bool is_closed() const;

  // Collective the first time; later the same one. None stands for the only one that can be meant. Throws
  // Error{kArgument} where there is none, listing what there is.
  std::shared_ptr<FileArray> array(const std::optional<std::string>& path);
  // Collective. Along a dimension that has records the new array has them at once; it reads as the fill value.
  std::shared_ptr<FileArray> add(const formats::NewArray& array);
  // Collective. Adds or replaces attributes of the file (""), a group or an array; null removes one.
  void set_attributes(const std::string& holder, const formats::Attributes& changes);
  // Collective. When it returns, what was written is on the medium, and changes stay.
  void sync();
  // Collective. Completes the file, and closes its arrays. Where it throws, a new file is removed, and what was added
  // to an existing one since the last sync is taken back.
  void close();

 private:
  friend class FileArray;

  DataFile(std::unique_ptr<CollectiveFile> file, std::optional<std::vector<std::byte>> fill);

  // Collective.
  std::shared_ptr<FileArray> make_array(const formats::Description& description, bool is_new);
  void take_back() noexcept;
  void release() noexcept;

  const std::unique_ptr<CollectiveFile> file_;
  const std::optional<std::vector<std::byte>> fill_;  // of a new file whose format keeps no fill value
  std::map<std::string, std::shared_ptr<FileArray>> arrays_;
};

}  // namespace swath
