// The modules `_mpi_mpich`, `_mpi_openmpi` and `_mpi_mpiabi`: hand the communicators of mpi4py to the core
// (core/comm/mpi_comm.h).
//
// They are linked to no MPI: libmpi must be loaded before, its names visible to all (python/swath/ranks/loaded_mpi.py).

#include <mpi.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <type_traits>

#include "comm/comm.h"
#include "comm/mpi_comm.h"
#include "comm/mpi_communicator.h"
#include "text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Comm;
using swath::MpiComm;

// MPI_Comm is a number in one MPI and a pointer in another.
template <typename Communicator>
Communicator communicator_of(uintptr_t handle) {
  if constexpr (std::is_pointer_v<Communicator>) {
    return reinterpret_cast<Communicator>(handle);
  } else {
    return static_cast<Communicator>(handle);
  }
}

}  // namespace

NB_MODULE(SWATH_MPI_MODULE, m) {
  m.doc() = "The ranks of an MPI communicator. Use the package `swath`; this module may change without notice.";
  const nb::module_ core = nb::module_::import_("swath._core");  // the base class, and the exceptions
  // `_core`, which waits for background operations, gets a progress function that calls MPI.
  core.attr("_set_progress_hook")(nb::capsule(reinterpret_cast<void*>(&swath::let_mpi_progress)));
  // No leak: an attribute of a communicator, or the traceback of an uncaught exception, keeps an MpiComm to the end.
  nb::set_leak_warnings(false);
  // After an uncaught exception, a script continues to MPI_Finalize, and would wait there for ranks that wait for it.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&MpiComm::leave_all));

  nb::class_<MpiComm, Comm>(m, "MpiComm", "The ranks of an mpi4py communicator, on a duplicate of it.")
      .def(
          "__init__",
          [](MpiComm* self, uintptr_t handle) {
            nb::gil_scoped_release release;
            new (self) MpiComm(communicator_of<MPI_Comm>(handle));
          },
          "handle"_a, "Collective. `handle` is the `handle` of an mpi4py intracommunicator.")
      .def("close", &MpiComm::close, nb::call_guard<nb::gil_scoped_release>(),
           "Collective. Gives the duplicate and the shared memory back.");
}
