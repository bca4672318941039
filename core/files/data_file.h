// An open file of any format, with all its arrays. All ranks open, read, change, extend and close it together.
//
//     auto file = DataFile::create(comm, "run.nc", {.format = "netcdf-classic"});
//     formats::NewArray temperature{.shape = {0, 180, 360}, .type = formats::ElementType::parse("<f4"),
//                                   .variable = "t", .dimensions = {{"time", "lat", "lon"}}, .unlimited = {true}};
//     auto t = file->add(temperature);
//     t->append(rows, values);     // this rank's share of the next record, in C order
//     file->close();               // the file gets its name
//
// Rank 0 reads and changes the file's contents and broadcasts the result; all ranks transfer elements. A handle shows
// the contents as they were when it was opened, and its own changes. To see other programs' changes, open the file
// again.
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
  // The engine, and the number of concurrent streams of a target; null: chosen by measurement.
  std::shared_ptr<const FileOptions> file = nullptr;
  std::shared_ptr<const Profile> profile = nullptr;  // measured speeds for cost estimates; null: documented defaults
  // Shape and type of a raw file's elements, since the file does not store them. None for other formats.
  std::optional<formats::RawElements> raw = std::nullopt;
};

struct NewFileOptions {
  std::string format;  // "netcdf-classic:cdf2", "zarr", …; empty: by the suffix of the name
  formats::Attributes attributes;
  bool overwrite = false;  // an existing file of that name is replaced
  bool atomic = true;      // the file has a temporary name until it is complete
};

// All calls throw the same error on all ranks. All ranks make collective calls in the same order, with the same
// arguments. Threads of one process make their changes one after another.
class DataFile : public std::enable_shared_from_this<DataFile> {
 public:
  // Collective. `mode`: kRead, or kReadWrite to write in place, add arrays, change attributes and append records.
  // Throws Error{kStore} for errors of the system, {kFormat} for an invalid file.
  static std::shared_ptr<DataFile> open(std::shared_ptr<Comm> comm, const std::string& path, OpenMode mode,
                                        const DataFileOptions& options = {});
  // Collective. The file gets its name at close(); with growing arrays, at the first sync(). Throws Error{kStore} with
  // EEXIST if the name is taken, {kArgument} for a format that holds one array only.
  static std::shared_ptr<DataFile> create(std::shared_ptr<Comm> comm, const std::string& path,
                                          const NewFileOptions& create, const DataFileOptions& options = {});
  // The same with a first array, which is required for a format that holds one array only. Null: no array.
  static std::shared_ptr<DataFile> create_with(std::shared_ptr<Comm> comm, const std::string& path,
                                               const NewFileOptions& create, const formats::NewArray* array,
                                               const DataFileOptions& options = {});
  // Without close(), undoes the changes since the last sync, and removes a new file.
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const;
  const formats::Contents& contents() const;
  Comm& comm() const;
  bool is_closed() const;

  // Collective at the first call for an array; later calls return the same object. No path: the file's only array.
  // Throws Error{kArgument} with a list of the arrays if there is no such array.
  std::shared_ptr<FileArray> array(const std::optional<std::string>& path);
  // Collective. If its first dimension has records already, the new array has them too, with the fill value.
  std::shared_ptr<FileArray> add(const formats::NewArray& array);
  // Collective. Adds or replaces attributes of the file (""), a group or an array; null removes one.
  void set_attributes(const std::string& holder, const formats::Attributes& changes);
  // Collective. On return, written data is on the medium, and changes are permanent.
  void sync();
  // Collective. Completes the file, and closes its arrays. If it throws, it removes a new file, and undoes the changes
  // of an existing one since the last sync.
  void close();

 private:
  friend class FileArray;

  DataFile(std::unique_ptr<CollectiveFile> file, std::optional<std::vector<std::byte>> fill);

  // Collective.
  std::shared_ptr<FileArray> make_array(const formats::Description& description, bool is_new);
  void take_back() noexcept;
  void release() noexcept;

  const std::unique_ptr<CollectiveFile> file_;
  const std::optional<std::vector<std::byte>> fill_;  // for a new file whose format stores no fill value
  std::map<std::string, std::shared_ptr<FileArray>> arrays_;
};

}  // namespace swath
