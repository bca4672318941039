// Capabilities of stores, and new files.

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>

#include "bindings.h"
#include "store/atomic_file.h"
#include "store/capabilities.h"
#include "store/rados/driver.h"

namespace nb = nanobind;
using namespace nb::literals;
using swath::AtomicFile;
using swath::AtomicFileOptions;
using swath::Capabilities;

namespace {

// The state of an AtomicFile that ranks send to each other.
using AtomicFileState = std::tuple<std::string, bool, bool, bool, std::string, std::string>;

void bind_atomic_file(nb::module_& m) {
  nb::class_<AtomicFile>(m, "AtomicFile", "A new file, and the name that it gets when it is complete.")
      .def(
          "__init__",
          [](AtomicFile* self, const std::string& path, bool overwrite, bool atomic, bool is_folder,
             const std::string& working_path) {
            new (self) AtomicFile(path, {overwrite, atomic, is_folder, working_path, {}});
            self->keep();  // its owner removes it, not the garbage collector
          },
          "path"_a, "overwrite"_a, "atomic"_a, "is_folder"_a, "working_path"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def("__getstate__",
           [](const AtomicFile& file) {
             const AtomicFileOptions& options = file.options();
             return AtomicFileState(file.final_path(), options.overwrite, options.atomic, options.is_folder,
                                    options.working_path, options.replaced_path);
           })
      .def("__setstate__",
           [](AtomicFile& self, const AtomicFileState& state) {
             const auto& [final_path, overwrite, atomic, is_folder, working_path, replaced_path] = state;
             new (&self) AtomicFile(
                 AtomicFile::made_elsewhere(final_path, {overwrite, atomic, is_folder, working_path, replaced_path}));
           })
      .def_prop_ro("final_path", &AtomicFile::final_path)
      .def_prop_ro("working_path", &AtomicFile::working_path)
      .def_prop_ro("is_aside", &AtomicFile::is_aside, "Whether it has another name until it is complete.")
      .def("check_name", &AtomicFile::check_name, nb::call_guard<nb::gil_scoped_release>(),
           "Raises ExistsError where the name is taken, and may not be.")
      .def("drop_replaced", &AtomicFile::drop_replaced, nb::call_guard<nb::gil_scoped_release>())
      .def("complete", &AtomicFile::complete, nb::call_guard<nb::gil_scoped_release>())
      .def("remove", &AtomicFile::remove, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_store(nb::module_& m) {
  bind_atomic_file(m);
  m.def("striped_name", &swath::striped_name_of, "path"_a, nb::call_guard<nb::gil_scoped_release>(),
        "What `rados --striper` calls the file that a name in a pool means now.");
  m.def("librados_version", &swath::librados_version,
        "\"3.0.0\", of the librados that this process has; empty where it can load none.");
  nb::class_<Capabilities>(m, "Capabilities", "What a plan may know of a store.")
      .def_ro("read_ranges_max", &Capabilities::read_ranges_max)
      .def_ro("write_ranges_max", &Capabilities::write_ranges_max)
      .def_ro("structured_requests", &Capabilities::structured_requests)
      .def_ro("lock_for_holes", &Capabilities::lock_for_holes)
      .def_ro("reports_cached", &Capabilities::reports_cached)
      .def_ro("shows_cache", &Capabilities::shows_cache)
      .def_ro("durable_when_answered", &Capabilities::durable_when_answered)
      .def_ro("round_trip_seconds", &Capabilities::round_trip_seconds);
}
