// The core's Python module: names, conversions and the release of the interpreter's lock, without logic of its own.

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/error.h"
#include "base/fork.h"
#include "base/progress_hook.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Error;
using swath::ErrorKind;

// swath.errors.from_core(kind, message, errno) makes the Python exception.
void raise(const Error& error) {
  nb::object exception =
      nb::module_::import_("swath.errors")
          .attr("from_core")(static_cast<int>(error.kind()), std::string(error.what()), error.os_error());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    if (!raise_from_signal()) raise(error);
  } catch (const std::bad_alloc&) {
    raise(Error(ErrorKind::kStore, "out of memory", ENOMEM));
  } catch (const std::length_error&) {  // a container larger than any memory
    raise(Error(ErrorKind::kStore, "out of memory", ENOMEM));
  }
}

}  // namespace

Error error_of(const nb::python_error& raised) {
  const auto [kind, message, os_error] =
      nb::cast<std::tuple<int, std::string, int>>(nb::module_::import_("swath.errors").attr("to_core")(raised.value()));
  return {static_cast<ErrorKind>(kind), message, os_error};
}

NB_MODULE(_core, m) {
  m.doc() = "Swath's C++ core. Use the package `swath`; this module may change without notice.";
  // No leak warnings: arrays and communicators that a script never closes are not errors for its user.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);

  m.def(
      "_set_progress_hook",
      [](const nb::capsule& function) {
        swath::set_progress_hook(reinterpret_cast<swath::ProgressHook>(function.data()));
      },
      "function"_a, "What a thread of the program does where it waits: the address of a C function without arguments.");
  bind_interrupt(m);
  bind_comm(m);
  bind_counters(m);
  bind_model(m);
  bind_profile(m);
  bind_calibrate(m);
  bind_throttle(m);
  bind_trace(m);

  m.def("fork_generation", &swath::fork_generation, "Another number in every forked child.");

  bind_space(m);
  bind_store(m);
  bind_write_back(m);
  bind_plan(m);
  bind_open_file(m);
  bind_array(m);
  bind_memory(m);
  bind_chunks(m);
  bind_journal(m);
  bind_formats(m);
  bind_hdf5(m);
  bind_zarr(m);
  bind_file_changes(m);
  bind_collective_file(m);
  bind_simulation(m);
}
