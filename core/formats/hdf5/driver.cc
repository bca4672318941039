#include "formats/hdf5/driver.h"

#include <limits>

#include "base/error.h"

namespace swath::formats::hdf5 {
namespace {

using Read = herr_t (*)(void* file, int type, hid_t transfer, haddr_t address, size_t bytes, void* to);
using Write = herr_t (*)(void* file, int type, hid_t transfer, haddr_t address, size_t bytes, const void* from);
using Function = void (*)();  // a function that we do not provide

constexpr size_t kMemoryTypes = 7;  // H5FD_MEM_NTYPES
constexpr haddr_t kLastAddress = std::numeric_limits<int64_t>::max();
constexpr Version kNewLayout = {1, 13, 0};
constexpr Version kUnknown = {3, 0, 0};
constexpr unsigned kLayoutNumber = 1;  // H5FD_CLASS_VERSION: the library refuses any other
constexpr int kDriverNumber = 701;     // one of the numbers that are free for any use

// The members that both layouts share, up to the writes.
struct CommonFunctions {
  const char* name;
  haddr_t maxaddr;
  int fc_degree;
  Function terminate, sb_size, sb_encode, sb_decode;
  size_t fapl_size;
  Function fapl_get, fapl_copy, fapl_free;
  size_t dxpl_size;
  Function dxpl_copy, dxpl_free;
  void* (*open)(const char* name, unsigned flags, hid_t access, haddr_t maxaddr);
  herr_t (*close)(void* file);
  Function cmp, query, get_type_map, alloc, free;
  haddr_t (*get_eoa)(const void* file, int type);
  herr_t (*set_eoa)(void* file, int type, haddr_t address);
  haddr_t (*get_eof)(const void* file, int type);
  herr_t (*get_handle)(void* file, hid_t access, void** handle);
  Read read;
  Write write;
};

// H5FD_class_t of 1.10 and 1.12.
struct OldClass {
  CommonFunctions common;
  Function flush;
  herr_t (*truncate)(void* file, hid_t transfer, bool closing);
  Function lock, unlock;
  int fl_map[kMemoryTypes];
};

// H5FD_class_t since 1.13.
struct NewClass {
  unsigned version;
  int value;
  CommonFunctions common;
  Function read_vector, write_vector, read_selection, write_selection;
  Function flush;
  herr_t (*truncate)(void* file, hid_t transfer, bool closing);
  Function lock, unlock, del, ctl;
  int fl_map[kMemoryTypes];
};

// A file that the library has open by this driver. The first bytes are the library's own (H5FD_t), which is shorter
// than this array in all versions.
struct OpenByDriver {
  std::byte of_library[256];
  haddr_t end_of_allocated;
  std::shared_ptr<DriverFile> file;
};

OpenByDriver& opened(void* file) { return *static_cast<OpenByDriver*>(file); }
const OpenByDriver& opened(const void* file) { return *static_cast<const OpenByDriver*>(file); }

// The properties hold the address of the pointer.
using Info = const std::shared_ptr<DriverFile>*;

void* open_file(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*maxaddr*/) noexcept {
  const void* info = library().H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  try {
    return new OpenByDriver{{}, 0, **static_cast<const Info*>(info)};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

herr_t close_file(void* file) noexcept {
  delete static_cast<OpenByDriver*>(file);
  return 0;
}

haddr_t get_end_of_allocated(const void* file, int /*type*/) noexcept { return opened(file).end_of_allocated; }

herr_t set_end_of_allocated(void* file, int /*type*/, haddr_t address) noexcept {
  opened(file).end_of_allocated = address;
  return 0;
}

haddr_t get_end(const void* file, int /*type*/) noexcept { return static_cast<haddr_t>(opened(file).file->size()); }

herr_t get_handle(void* file, hid_t /*access*/, void** handle) noexcept {
  *handle = opened(file).file->descriptor();
  return 0;
}

bool is_in_file(haddr_t address, size_t bytes) { return address <= kLastAddress && bytes <= kLastAddress - address; }

herr_t read_file(void* file, int /*type*/, hid_t /*transfer*/, haddr_t address, size_t bytes, void* to) noexcept {
  if (!is_in_file(address, bytes)) return -1;
  const std::span target(static_cast<std::byte*>(to), bytes);
  return opened(file).file->read(static_cast<int64_t>(address), target) ? 0 : -1;
}

herr_t write_file(void* file, int /*type*/, hid_t /*transfer*/, haddr_t address, size_t bytes,
                  const void* from) noexcept {
  if (!is_in_file(address, bytes)) return -1;
  opened(file).file->write(static_cast<int64_t>(address), {static_cast<const std::byte*>(from), bytes});
  return 0;
}

// The file ends where the allocated space ends.
herr_t truncate_file(void* file, hid_t /*transfer*/, bool /*closing*/) noexcept {
  const OpenByDriver& of = opened(file);
  of.file->truncate(static_cast<int64_t>(of.end_of_allocated));
  return 0;
}

CommonFunctions common_functions() {
  CommonFunctions made = {};
  made.name = "swath";
  made.maxaddr = kLastAddress;
  made.fc_degree = H5F_CLOSE_STRONG;
  made.fapl_size = sizeof(Info);
  made.open = open_file;
  made.close = close_file;
  made.get_eoa = get_end_of_allocated;
  made.set_eoa = set_end_of_allocated;
  made.get_eof = get_end;
  made.get_handle = get_handle;
  made.read = read_file;
  made.write = write_file;
  return made;
}

}  // namespace

// The library copies the class. A new registration each time works even if another user has closed the library.
Handle register_driver() {
  const Version version = library().version;
  if (version >= kUnknown) {
    throw Error(ErrorKind::kUnsupported, library().to_string() +
                                             ": Swath changes files by HDF5 1.10 to 2.x; install one of them, or name "
                                             "its file in the environment variable SWATH_HDF5");
  }
  if (version < kNewLayout) {
    OldClass made = {};
    made.common = common_functions();
    made.truncate = truncate_file;
    return Handle(library().H5FDregister(&made));
  }
  NewClass made = {};
  made.version = kLayoutNumber;
  made.value = kDriverNumber;
  made.common = common_functions();
  made.truncate = truncate_file;
  return Handle(library().H5FDregister(&made));
}

void set_driver(hid_t access, hid_t driver, const std::shared_ptr<DriverFile>& file) {
  const Info info = &file;
  checked(library().H5Pset_driver(access, driver, static_cast<const void*>(&info)));
}

}  // namespace swath::formats::hdf5
