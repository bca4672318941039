#include "formats/hdf5/library.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "formats/hdf5/call_lock.h"

namespace swath::formats::hdf5 {
namespace {

// The names of the system's library, the newest version first; Debian calls the one without MPI "serial".
constexpr const char* kSystemNames[] = {
    "libhdf5.so",     "libhdf5_serial.so", "libhdf5.so.320",        "libhdf5.so.310",         "libhdf5_serial.so.310",
    "libhdf5.so.200", "libhdf5.so.103",    "libhdf5_serial.so.103", "libhdf5_openmpi.so.103", "libhdf5_mpich.so.103",
};
constexpr Version kOldest = {1, 10, 0};

std::atomic<std::string (*)()> h5py_finder = nullptr;

// The paths of all shared objects that the process has loaded.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* found) {
        static_cast<std::vector<std::string>*>(found)->emplace_back(object->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_module_of_h5py(std::string_view path) { return path.find("/h5py/") != std::string_view::npos; }

bool is_hdf5(std::string_view path) {
  const std::string_view name = file_name(path);
  for (const std::string_view other : {"libhdf5_hl", "libhdf5_cpp", "libhdf5_fortran", "libhdf5_tools"}) {
    if (name.starts_with(other)) return false;
  }
  return name.starts_with("libhdf5") && name.find("_hl") == std::string_view::npos &&
         name.find("_fortran") == std::string_view::npos && name.find("_cpp") == std::string_view::npos;
}

// The path without "..": h5py's library is found relative to the folder of its modules.
std::string real_path(const char* path) {
  char* found = ::realpath(path, nullptr);
  const std::string real = found == nullptr ? path : found;
  std::free(found);
  return real;
}

// The search for the library; it records each attempt, and why it failed.
class Search {
 public:
  // Takes the functions of a shared object and of its dependencies; false if one is missing.
  bool take(void* handle, const std::string& found_as) {
    void* first = dlsym(handle, "H5open");
    if (first == nullptr) return false;
    Dl_info where = {};
    const bool is_known = dladdr(first, &where) != 0 && where.dli_fname != nullptr;
    library_.path = is_known ? real_path(where.dli_fname) : "the program";
    library_.handle = handle;
    library_.found_as = found_as;
    const std::string lacks = fill();
    if (lacks.empty()) return true;
    tried_.push_back(library_.path + ": " + lacks);
    library_ = {};
    return false;
  }

  bool open(const std::string& path, int flags, const std::string& found_as) {
    dlerror();
    // Local: calls must not reach another HDF5 of the process. Never closed: the library has functions to run at exit.
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | flags);
    if (handle != nullptr) {
      if (take(handle, found_as)) return true;
      if (dlsym(handle, "H5open") == nullptr) tried_.push_back(path + ": it is no HDF5");
      return false;
    }
    const char* why = dlerror();
    if ((flags & RTLD_NOLOAD) == 0) tried_.push_back(why == nullptr ? path : std::string(why));
    return false;
  }

  const Library& library() const { return library_; }

  [[noreturn]] void fail() const {
    std::string message =
        "HDF5 and netCDF-4 files need HDF5's library, 1.10 or newer, and none is found: install h5py (pip install "
        "h5py) or the system's (Debian: libhdf5-103-1), or name its file in the environment variable SWATH_HDF5";
    for (size_t i = 0; i < tried_.size() && i < 4; ++i) message += (i == 0 ? "; tried: " : "; ") + tried_[i];
    throw Error(ErrorKind::kUnsupported, message);
  }

 private:
  // Returns a description of the missing functions.
  std::string fill() {
    Library& all = library_;
    std::string lacks;
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments of a function have theirs
#define SWATH_HDF5_FIND(result, name, arguments)                              \
  all.name = reinterpret_cast<result(*) arguments>(dlsym(all.handle, #name)); \
  if (all.name == nullptr && lacks.empty()) lacks = std::string("it has no ") + #name;
    SWATH_HDF5_FUNCTIONS(SWATH_HDF5_FIND)
#undef SWATH_HDF5_FIND
#define SWATH_HDF5_FIND(result, name, arguments) \
  all.name = reinterpret_cast<result(*) arguments>(dlsym(all.handle, #name));
    SWATH_HDF5_OPTIONAL_FUNCTIONS(SWATH_HDF5_FIND)
#undef SWATH_HDF5_FIND
    // NOLINTEND(bugprone-macro-parentheses)
    all.H5Oget_info1 = reinterpret_cast<decltype(all.H5Oget_info1)>(either("H5Oget_info1", "H5Oget_info"));
    all.H5Literate1 = reinterpret_cast<decltype(all.H5Literate1)>(either("H5Literate1", "H5Literate"));
    if (all.H5get_libversion == nullptr) return "it has no H5get_libversion";
    {
      const CallLock lock;
      all.H5get_libversion(&all.version.major, &all.version.minor, &all.version.release);
    }
    if (all.version < kOldest) return "it is version " + all.version.to_string() + ", older than 1.10";
    if (!lacks.empty()) return lacks;
    if (all.H5Oget_info1 == nullptr || all.H5Literate1 == nullptr) return "it was built without deprecated functions";
    if (all.version < Version{1, 14, 0}) all.H5Dchunk_iter = nullptr;  // its callback had other arguments
    return "";
  }

  void* either(const char* name, const char* other) const {
    void* found = dlsym(library_.handle, name);
    return found != nullptr ? found : dlsym(library_.handle, other);
  }

  Library library_;
  std::vector<std::string> tried_;
};

bool find_named(Search& search) {
  const char* named = std::getenv("SWATH_HDF5");
  if (named == nullptr || *named == '\0') return false;
  if (search.open(named, 0, "the one that SWATH_HDF5 names")) return true;
  search.fail();  // the user's choice is not replaced silently
}

bool find_of_h5py(Search& search) {
  const auto find = h5py_finder.load();
  if (find != nullptr) {
    if (const std::string module = find(); !module.empty() && search.open(module, 0, "h5py's")) return true;
  }
  for (const std::string& path : loaded_objects()) {
    if (is_module_of_h5py(path) && search.open(path, RTLD_NOLOAD, "h5py's")) return true;
  }
  return false;
}

bool find_loaded(Search& search) {
  if (search.take(RTLD_DEFAULT, "the program's own")) return true;
  for (const std::string& path : loaded_objects()) {
    if (is_hdf5(path) && search.open(path, RTLD_NOLOAD, "one that the process has loaded")) return true;
  }
  return false;
}

bool find_of_system(Search& search) {
  for (const char* name : kSystemNames) {
    if (search.open(name, 0, "the system's")) return true;
  }
  return false;
}

Library find_library() {
  Search search;
  if (!find_named(search) && !find_of_h5py(search) && !find_loaded(search) && !find_of_system(search)) search.fail();
  const CallLock lock;
  search.library().H5open();
  return search.library();
}

}  // namespace

std::string Version::to_string() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

hid_t Library::id(const char* name) const {
  const void* variable = symbol(name);
  return variable == nullptr ? 0 : *static_cast<const hid_t*>(variable);
}

void* Library::symbol(const char* name) const { return dlsym(handle, name); }

std::string Library::to_string() const { return "HDF5 " + version.to_string() + " (" + path + ", " + found_as + ")"; }

std::vector<std::string> Library::missing() const {
  std::vector<std::string> words;
  if (H5Dget_chunk_info == nullptr) words.emplace_back("where chunks are (HDF5 1.10.5 or newer)");
  if (H5Pset_file_locking == nullptr) words.emplace_back("file systems without locks (HDF5 1.10.7 or newer)");
  if (H5Dchunk_iter == nullptr) words.emplace_back("all chunks of a dataset at once (HDF5 1.14 or newer)");
  return words;
}

// Several threads may search at the same time, and find the same library. No thread waits for another: a thread that
// holds h5py's lock could otherwise wait for one that waits for this lock.
const Library& library() {
  static std::atomic<const Library*> found = nullptr;
  if (const Library* known = found.load()) return *known;
  auto searched = std::make_unique<const Library>(find_library());
  const Library* known = nullptr;
  if (found.compare_exchange_strong(known, searched.get())) known = searched.release();
  return *known;
}

void set_h5py_finder(std::string (*find)()) { h5py_finder.store(find); }

}  // namespace swath::formats::hdf5
