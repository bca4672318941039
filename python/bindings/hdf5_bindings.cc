// Metadata of HDF5 and netCDF-4 files, and the core's access to h5py, for swath/formats.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/growing.h"
#include "formats/hdf5/library.h"
#include "formats/hdf5/reading.h"
#include "formats/hdf5/survey.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Facts;

namespace {

namespace hdf5 = swath::formats::hdf5;

// The path of a module of h5py, which is linked to the HDF5 library that h5py uses. h5py is imported here, so that no
// thread imports it later, and calls the library, while another thread of Swath uses it.
std::string module_of_h5py() {
  const nb::gil_scoped_acquire interpreter;
  try {
    return nb::cast<std::string>(nb::module_::import_("h5py.h5p").attr("__file__"));
  } catch (nb::python_error&) {
    return "";  // it is not installed, or cannot be imported
  }
}

// The lock that every call of h5py takes. Waiting for it releases the interpreter's lock.
nb::object lock_of_h5py() {
  nb::object module = nb::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), "h5py._objects"));
  return module.is_valid() && nb::hasattr(module, "phil") ? nb::object(module.attr("phil")) : nb::object();
}

bool acquire_lock_of_h5py() {
  const nb::gil_scoped_acquire interpreter;
  const nb::object lock = lock_of_h5py();
  if (!lock.is_valid()) return false;
  lock.attr("__enter__")();
  return true;
}

void release_lock_of_h5py() {
  const nb::gil_scoped_acquire interpreter;
  lock_of_h5py().attr("__exit__")(nb::none(), nb::none(), nb::none());
}

// Imports hdf5plugin, which registers its filters; returns false if it is not installed, or was imported before.
bool register_plugins() {
  const nb::gil_scoped_acquire interpreter;
  try {
    return nb::cast<bool>(nb::module_::import_("swath.formats.hdf5_filters").attr("register_plugins")());
  } catch (nb::python_error&) {
    return false;
  }
}

constexpr hdf5::OuterLock kLockOfH5py = {acquire_lock_of_h5py, release_lock_of_h5py};

using SeenTuples = std::map<std::string, std::tuple<swath::Shape, std::vector<std::string>, bool>>;

nb::typed<nb::list, package_types::Description> describe_datasets(const std::string& path,
                                                                  const std::vector<std::optional<std::string>>& names,
                                                                  const SeenTuples& seen) {
  hdf5::SeenArrays known;
  for (const auto& [name, one] : seen) known[name] = {std::get<0>(one), std::get<1>(one), std::get<2>(one)};
  std::vector<swath::formats::Description> found;
  {
    const Interruptible unlocked;  // the wait for a lock is interruptible
    found = hdf5::describe(path, names, known);
  }
  nb::list list;
  for (const auto& description : found) list.append(swath::formats::to_python(description));
  return list;
}

package_types::Contents contents(const std::string& path) {
  std::optional<swath::formats::Contents> found;
  {
    const Interruptible unlocked;  // the wait for a lock is interruptible
    found = hdf5::read_contents(path);
  }
  return swath::formats::to_python(*found);
}

Facts library_facts() {
  const hdf5::Library* library = nullptr;
  bool is_thread_safe = false;
  {
    const nb::gil_scoped_release release;
    library = &hdf5::library();
    const hdf5::Session session;
    if (library->H5is_library_threadsafe != nullptr) library->H5is_library_threadsafe(&is_thread_safe);
  }
  Facts facts;
  facts["path"] = library->path;
  facts["version"] = library->version.to_string();
  facts["found_as"] = library->found_as;
  facts["is_thread_safe"] = is_thread_safe;
  facts["missing"] = library->missing();
  return facts;
}

}  // namespace

void bind_hdf5(nb::module_& m) {
  hdf5::set_h5py_finder(module_of_h5py);
  hdf5::set_outer_lock(&kLockOfH5py);
  hdf5::set_filter_provider(register_plugins);
  m.def("hdf5_contents", &contents, "path"_a, "Contents of an HDF5 or netCDF-4 file.");
  m.def("hdf5_describe", &describe_datasets, "path"_a, "names"_a, "seen"_a,
        "Descriptions of datasets by name; None stands for the only one with numbers of its own. `seen`: of those that "
        "somebody has listed, by name, the shape, the names of the dimensions, and whether they are as long as they "
        "were, whatever others have added since. Whether the file is long enough is not checked.");
  m.def("hdf5_surveys", &hdf5::survey_count, "How often all datasets of a file were looked at for the length of one.");
  m.def("hdf5_library", &library_facts,
        "Which HDF5 is used: path, version, found_as, is_thread_safe, missing. Raises UnsupportedError where none is.");
}
