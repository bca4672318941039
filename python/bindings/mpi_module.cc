// The module `_mpi`: hands the communicators of mpi4py to the core (core/comm/mpi_comm.h).
//
// libmpi must be loaded before: import mpi4py.MPI first.

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "comm/mpi_comm.h"
#include "text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Comm;
using swath::MpiComm;
using swath::ReceiveMessage;
using swath::SendMessage;

// MPI_Comm is a number in one MPI and a pointer in another.
template <typename Communicator>
Communicator communicator_of(uintptr_t handle) {
  if constexpr (std::is_pointer_v<Communicator>) {
    return reinterpret_cast<Communicator>(handle);
  } else {
    return static_cast<Communicator>(handle);
  }
}

std::vector<nb::bytes> exchange(MpiComm& comm, const std::vector<std::pair<int, nb::bytes>>& out,
                                const std::vector<std::pair<int, size_t>>& in) {
  std::vector<SendMessage> sends;
  for (const auto& [to, data] : out) sends.push_back({to, {static_cast<const std::byte*>(data.data()), data.size()}});
  std::vector<std::vector<std::byte>> received;
  for (const auto& [from, size] : in) received.emplace_back(size);
  std::vector<ReceiveMessage> receives;
  for (size_t i = 0; i < in.size(); ++i) receives.push_back({in[i].first, received[i]});
  {
    const nb::gil_scoped_release release;
    comm.exchange(sends, receives);
  }
  std::vector<nb::bytes> messages;
  for (const auto& data : received) messages.emplace_back(data.data(), data.size());
  return messages;
}

std::vector<std::pair<uintptr_t, size_t>> shared_windows(MpiComm& comm, int64_t bytes) {
  std::vector<std::span<std::byte>> windows;
  {
    const nb::gil_scoped_release release;
    windows = comm.shared_windows(bytes);
  }
  std::vector<std::pair<uintptr_t, size_t>> places;
  for (const auto& window : windows) places.emplace_back(reinterpret_cast<uintptr_t>(window.data()), window.size());
  return places;
}

}  // namespace

NB_MODULE(_mpi, m) {
  m.doc() = "The ranks of an MPI communicator. Use the package `swath`; this module may change without notice.";
  nb::module_::import_("swath._core");  // the base class, and the exceptions
  // No leak: an attribute of a communicator, or the traceback of an uncaught exception, keeps an MpiComm to the end.
  nb::set_leak_warnings(false);
  // A script that ends by an exception goes on to MPI_Finalize, and waits there for ranks that wait for it.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&MpiComm::leave_all));

  nb::class_<MpiComm, Comm>(m, "MpiComm", "The ranks of an mpi4py communicator, on a duplicate of it.")
      .def(
          "__init__",
          [](MpiComm* self, uintptr_t handle) {
            nb::gil_scoped_release release;
            new (self) MpiComm(communicator_of<MPI_Comm>(handle));
          },
          "handle"_a, "Collective. `handle` is the `handle` of an mpi4py intracommunicator.")
      .def("node_barrier", &MpiComm::node_barrier, nb::call_guard<nb::gil_scoped_release>())
      .def("exchange", &exchange, "sends"_a, "receives"_a,
           "Collective. [(to, bytes)] and [(from, size)] to the bytes received, in the order of `receives`.")
      .def("shared_windows", &shared_windows, "bytes"_a,
           "Collective. (address, size) of every rank's window, no list where they cannot be had.")
      .def("close", &MpiComm::close, nb::call_guard<nb::gil_scoped_release>(),
           "Collective. Gives the duplicate and the shared memory back.");
}
