#include "formats/hdf5/objects.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/hdf5/checkpoint_file.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/types.h"
#include "formats/one_array.h"
#include "journal/checkpoint_state.h"
#include "journal/target_lock.h"
#include "store/file_calls.h"

namespace swath::formats::hdf5 {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
// Attempts to read metadata that a program may be writing. HDF5 2.0 waits between attempts, twice as long each time,
// from 1 ns on: these take a second together. HDF5's default of a hundred would never end in a damaged file.
constexpr unsigned kReadAttempts = 30;
constexpr unsigned kSwmrWriter = 4;  // a flag of the superblock: a program writes while others read
constexpr const char* kWrittenInSwmrMode =
    "a program writes it in SWMR mode (single writer, multiple readers), or has ended without closing it; until that "
    "program has closed it, it can be read, and copied, but not changed";
constexpr const char* kWritten =
    "it says of itself that a program has it open for writing: close it there; where that program has ended without "
    "closing it, what it wrote last may be lost, and h5clear -s, of HDF5's tools, lets others open the file";

// Converts errors of HDF5, and of our calls, to errors for users.
[[noreturn]] void rethrow(const std::string& path, const std::string& doing, const CallError& error) {
  const std::string words = error.what();
  const auto says = [&](std::string_view part) { return words.find(part) != std::string::npos; };
  const int os_error = error.os_error();
  const std::string refused = path + ": HDF5 cannot " + doing + " it: ";
  if (says("h5clear")) {  // h5clear is the library's advice; it destroys a file that is being written
    const char* why = is_written_in_swmr_mode(path) ? kWrittenInSwmrMode : kWritten;
    throw Error(ErrorKind::kStore, refused + why, EBUSY);
  }
  if ((os_error == EAGAIN || os_error == EACCES) && says("lock")) {
    throw Error(ErrorKind::kStore, path + ": another program has this HDF5 file open: " + words, os_error);
  }
  if (os_error != 0) throw Error(ErrorKind::kStore, refused + words, os_error);
  if (doing != "read" || says("already open") || says("locking")) throw Error(ErrorKind::kStore, refused + words);
  throw Error(ErrorKind::kFormat, path + ": not a readable HDF5 file: " + words);
}

std::vector<LinkEntry> iterated_links(hid_t group, int index) {
  struct State {
    std::vector<LinkEntry> found;
    Callback callback;
  } state;
  const auto note = [](hid_t, const char* name, const H5L_info1_t* info, void* data) -> herr_t {
    auto* to = static_cast<State*>(data);
    return to->callback.run([&] { to->found.push_back({name, info->type, info->u.address}); });
  };
  hsize_t at = 0;
  state.callback.finish(library().H5Literate1(group, index, H5_ITER_INC, &at, note, &state));
  return std::move(state.found);
}

bool is_linked(hid_t file, const std::string& path) { return library().H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0; }

// Calls `take` with each name of a path, until it returns false.
template <typename Take>
void for_each_name(std::string path, const Take& take) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (!take(path.substr(0, slash))) return;
    path = slash == std::string::npos ? "" : path.substr(slash + 1);
  }
}

}  // namespace

// ---- The file -------------------------------------------------------------------------------------------------------

Superblock read_superblock(const std::string& path) {
  const StoredFile file(path);
  const int64_t size = file.bytes();
  const auto signature_bytes = static_cast<int64_t>(kSignature.size());
  for (int64_t at = 0; at <= size - signature_bytes; at = std::max<int64_t>(512, 2 * at)) {
    const std::string begin = file.read(at, std::min<int64_t>(signature_bytes + 4, size - at));
    if (!begin.starts_with(kSignature)) continue;
    // Version, bytes of an offset, bytes of a length, flags.
    const auto byte = [&](size_t i) -> unsigned { return i < begin.size() ? static_cast<unsigned char>(begin[i]) : 0; };
    const unsigned version = byte(kSignature.size());
    return {true, version, version >= 3 ? byte(kSignature.size() + 3) : 0};
  }
  return {};
}

bool is_written_in_swmr_mode(const std::string& path) { return (read_superblock(path).flags & kSwmrWriter) != 0; }

OpenFile::OpenFile(const std::string& path) : path_(path) {
  try {
    file_ = open(H5F_ACC_RDONLY);
  } catch (const CallError&) {
    if (!is_written_in_swmr_mode(path)) throw;
    file_ = open(H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
    is_swmr_ = true;
  }
  id_ = file_.get();
}

OpenFile::OpenFile(const std::string& path, const std::shared_ptr<DriverFile>& file) : path_(path) {
  const Library& all = library();
  driver_ = register_driver();
  const Handle access(all.H5Pcreate(all.id("H5P_CLS_FILE_ACCESS_ID_g")));
  set_driver(access.get(), driver_.get(), file);
  checked(all.H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG));
  file_ = Handle(all.H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  id_ = file_.get();
}

// The file is locked if the file system has locks. HDF5 requires the same way of closing from all that have a file open
// in the process, and other code of the process may have chosen another way.
Handle OpenFile::open(unsigned flags) const {
  const Library& all = library();
  const Handle access(all.H5Pcreate(all.id("H5P_CLS_FILE_ACCESS_ID_g")));
  if (all.H5Pset_file_locking != nullptr) checked(all.H5Pset_file_locking(access.get(), true, true));
  if ((flags & H5F_ACC_SWMR_READ) != 0) checked(all.H5Pset_metadata_read_attempts(access.get(), kReadAttempts));
  for (const int degree : {H5F_CLOSE_STRONG, H5F_CLOSE_SEMI}) {
    checked(all.H5Pset_fclose_degree(access.get(), degree));
    try {
      return Handle(all.H5Fopen(path_.c_str(), flags, access.get()));
    } catch (const CallError& error) {
      if (std::string_view(error.what()).find("close degree") == std::string_view::npos) throw;
    }
  }
  checked(all.H5Pset_fclose_degree(access.get(), H5F_CLOSE_WEAK));
  return Handle(all.H5Fopen(path_.c_str(), flags, access.get()));
}

namespace {

bool is_locked_out(const CallError& error) {
  return (error.os_error() == EAGAIN || error.os_error() == EACCES) &&
         std::string_view(error.what()).find("lock") != std::string_view::npos;
}

// A file that HDF5 locks while no other process changes it. Null if another process changes it: then the file is newer
// than the last checkpoint.
std::unique_ptr<OpenFile> opened_as_it_is(const std::string& path) {
  if (checkpoint_state(path)) return nullptr;
  auto file = std::make_unique<OpenFile>(path);
  if (checkpoint_state(path)) file.reset();  // a change has begun since, and is between two steps
  return file;
}

// Returns false if there was a checkpoint during the read. No change begins while the file is locked; a change that has
// begun has its old bytes in the journal.
bool read_settled(const std::string& path, const FileWork& work) {
  Descriptor opened = store_errors(path, "open", [&] { return file_calls::open_file(path, O_RDONLY); });
  const bool is_locked = share_target(opened.get());
  const std::optional<CheckpointState> state = checkpoint_state(path, WhoChanges::kAnybody);
  if (!state) return false;
  const auto is_still_so = [&] { return is_locked || checkpoint_state(path, WhoChanges::kAnybody) == state; };
  try {
    work(OpenFile(path, std::make_shared<CheckpointFile>(std::move(opened), *state)));
  } catch (const std::exception&) {
    if (is_still_so()) throw;
    return false;
  }
  return is_still_so();
}

// Returns false if the caller must try again: the file is locked, or the read was not of one moment.
bool try_to_read(const std::string& path, const FileWork& work) {
  const bool had_journal = has_journal(path);  // tested first: the journal may be gone when the locked file is found
  try {
    if (const std::unique_ptr<OpenFile> file = opened_as_it_is(path)) {
      work(*file);
      return true;
    }
  } catch (const CallError& error) {
    if (!is_locked_out(error) || !(had_journal || has_journal(path))) throw;
  }
  return read_settled(path, work);
}

}  // namespace

void with_open_file(const std::string& path, const FileWork& work) {
  const StoredFile is_file(path);  // the library would wait for the other end of a pipe
  translate_errors(path, "read", [&] {
    LockWait wait;
    while (!try_to_read(path, work)) {
      if (wait.again()) continue;
      throw Error(ErrorKind::kStore,
                  path +
                      ": another process is changing it, and does not come to an end of its change; wait for it, or "
                      "give a longer time in $SWATH_LOCK_TIMEOUT",
                  EAGAIN);
    }
  });
}

void translate_errors(const std::string& path, const std::string& doing, const std::function<void()>& work) {
  try {
    work();
  } catch (const CallError& error) {
    rethrow(path, doing, error);
  } catch (const UnmappedType& error) {
    throw Error(ErrorKind::kFormat, path + ": not a readable HDF5 file: " + error.what());
  }
}

void refuse_written(const std::string& path) {
  if (!is_written_in_swmr_mode(path)) return;
  throw Error(ErrorKind::kStore, path + ": HDF5 cannot change it: " + kWrittenInSwmrMode, EBUSY);
}

// ---- What is in it --------------------------------------------------------------------------------------------------

H5O_info1_t object_info(hid_t object) {
  // The array is longer than the declaration: a newer version may write more bytes.
  struct Info {
    H5O_info1_t info = {};
    hsize_t room[16] = {};
  } found;
  checked(library().H5Oget_info1(object, &found.info));
  return found.info;
}

std::vector<LinkEntry> links_by_name(hid_t group) { return iterated_links(group, H5_INDEX_NAME); }

std::vector<LinkEntry> links_of(hid_t group) {
  try {
    return iterated_links(group, H5_INDEX_CRT_ORDER);
  } catch (const CallError&) {  // the group has no record of the order
    return links_by_name(group);
  }
}

namespace {

Item item_of(std::string path, Handle handle) {
  const H5O_info1_t info = object_info(handle.get());
  const bool is_group = library().H5Iget_type(handle.get()) == H5I_GROUP;
  return {std::move(path), std::move(handle), is_group, info.addr, info.hdr.version};
}

// The walk through one file.
class Walk {
 public:
  explicit Walk(const OpenFile& file) : file_(file) {
    Item root = item_of("", Handle(library().H5Oopen(file.id(), "/", H5P_DEFAULT)));
    seen_.insert(root.address);
    waiting_.push_back(std::move(root));
  }

  std::vector<Item> run() {
    while (!waiting_.empty()) {
      Item group = std::move(waiting_.back());
      waiting_.pop_back();
      found_.push_back(std::move(group));
      look_into(found_.size() - 1);
    }
    return std::move(found_);
  }

 private:
  void look_into(size_t group) {
    std::vector<Item> inside;
    std::set<std::string> names;
    for (const LinkEntry& link : links_of(found_[group].handle.get())) {
      if (link.type != H5L_TYPE_HARD || seen_.contains(link.address)) continue;
      seen_.insert(link.address);
      Handle opened(library().H5Oopen(found_[group].handle.get(), link.name.c_str(), H5P_DEFAULT));
      const std::string below = joined(found_[group].path, path_text(link.name));
      if (!names.insert(below).second) {
        throw Error(ErrorKind::kFormat, file_.path() + ": it has the name '" + below +
                                            "' in UTF-8 and in Latin-1: they cannot be told apart");
      }
      const int kind = library().H5Iget_type(opened.get());
      if (kind == H5I_GROUP) {
        inside.push_back(item_of(below, std::move(opened)));
      } else if (kind == H5I_DATASET) {
        found_.push_back(item_of(below, std::move(opened)));
      }
    }
    std::move(inside.rbegin(), inside.rend(), std::back_inserter(waiting_));
  }

  const OpenFile& file_;
  std::set<haddr_t> seen_;
  std::vector<Item> found_;
  std::vector<Item> waiting_;
};

template <typename Ask>
std::string asked_text(const Ask& ask) {
  const ssize_t count = checked(ask(nullptr, 0));
  std::string found(static_cast<size_t>(count) + 1, '\0');
  checked(ask(found.data(), found.size()));
  found.resize(static_cast<size_t>(count));
  return found;
}

}  // namespace

std::vector<Item> walk(const OpenFile& file) { return Walk(file).run(); }

std::string stored_path(const OpenFile& file, const std::string& path) {
  const bool is_ascii =
      std::all_of(path.begin(), path.end(), [](char one) { return static_cast<unsigned char>(one) < 0x80; });
  if (is_ascii) return path;
  std::string found;
  bool is_there = true;
  for_each_name(without_slashes(path), [&](const std::string& name) {
    for (const std::string& one : encodings(name)) {
      const std::string below = joined(found, one);
      is_there = is_linked(file.id(), below);
      if (is_there) {
        found = below;
        return true;
      }
    }
    return false;
  });
  return is_there && !found.empty() ? found : path;
}

Handle item_at(const OpenFile& file, const std::string& path) {
  const std::string stored = stored_path(file, path);
  const hid_t found = library().H5Oopen(file.id(), stored.empty() ? "/" : stored.c_str(), H5P_DEFAULT);
  return found < 0 ? Handle() : Handle(found);
}

Handle dataset_called(const OpenFile& file, const std::string& name) {
  if (!is_name(name)) return {};
  const auto [group, last] = group_and_name(without_slashes(name));
  for (const std::string& stored : {joined(group, std::string(kOtherName) + last), joined(group, last)}) {
    Handle found = item_at(file, stored);
    if (found.is_open() && library().H5Iget_type(found.get()) == H5I_DATASET) return found;
  }
  return {};
}

std::string name_of(hid_t object) {
  return asked_text([&](char* to, size_t bytes) { return library().H5Iget_name(object, to, bytes); });
}

std::string file_name_of(hid_t object) {
  return asked_text([&](char* to, size_t bytes) { return library().H5Fget_name(object, to, bytes); });
}

}  // namespace swath::formats::hdf5
