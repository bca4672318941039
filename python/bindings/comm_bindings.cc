// Communicators and agreements.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>

#include "base/error.h"
#include "bindings.h"
#include "comm/agreement.h"
#include "comm/comm.h"
#include "comm/gather.h"
#include "comm/nodes.h"
#include "comm/simulated.h"

namespace nb = nanobind;
using namespace nb::literals;
using swath::Comm;
using swath::Error;
using swath::ErrorKind;

namespace {

std::vector<nb::bytes> allgather(Comm& comm, const nb::bytes& mine) {
  std::vector<swath::Bytes> all;
  {
    const std::span source(reinterpret_cast<const std::byte*>(mine.c_str()), mine.size());
    nb::gil_scoped_release release;
    all = swath::gather_bytes(comm, source);
  }
  std::vector<nb::bytes> parts;
  for (const swath::Bytes& part : all) parts.emplace_back(part.data(), part.size());
  return parts;
}

nb::bytes broadcast(Comm& comm, const nb::bytes& data, int root) {
  int64_t size = static_cast<int64_t>(data.size());
  std::vector<std::byte> buffer;
  const std::span source(reinterpret_cast<const std::byte*>(data.c_str()), data.size());
  {
    nb::gil_scoped_release release;
    comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
    buffer.resize(static_cast<size_t>(size));
    if (comm.rank() == root && size > 0) std::memcpy(buffer.data(), source.data(), buffer.size());
    comm.broadcast(buffer, root);
  }
  return nb::bytes(buffer.data(), buffer.size());
}

std::optional<Error> optional_error(int kind, const std::string& message, int os_error) {
  if (kind == 0) return std::nullopt;
  return Error(static_cast<ErrorKind>(kind), message, os_error);
}

}  // namespace

void bind_comm(nb::module_& m) {
  nb::class_<Comm>(m, "Comm", "The ranks of an operation.", nb::is_weak_referenceable())
      .def_prop_ro("name", &Comm::name)
      .def_prop_ro("rank", &Comm::rank)
      .def_prop_ro("size", &Comm::size)
      .def("node_of", &Comm::node_of, "rank"_a)
      .def_prop_ro("node_count", &Comm::node_count)
      .def_prop_ro("most_on_a_node", &swath::most_on_a_node, "How many ranks the fullest node has.")
      .def_prop_ro("is_first_of_node", &swath::is_first_of_node, "Whether no lower rank is on this rank's node.")
      .def_prop_ro("shared_refusal", &Comm::shared_refusal)
      .def(
          "begin_turn",
          [](Comm& comm, const std::string& doing, const std::string& what) { comm.turn().begin(doing, what); },
          "doing"_a, "what"_a = "",
          "Collective calls are of this thread alone until `end_turn`. Raises ArgumentError where another thread has "
          "the "
          "turn, and in a process that was forked from a rank.")
      .def("end_turn", [](Comm& comm) { comm.turn().end(); })
      .def("barrier", &Comm::barrier, nb::call_guard<nb::gil_scoped_release>())
      .def("allgather", &allgather, "mine"_a, "Of any size on every rank.")
      .def("broadcast", &broadcast, "data"_a, "root"_a, "Of any size; what other ranks pass is not looked at.")
      .def(
          "agree_same",
          [](Comm& comm, const std::string& words, int kind, const std::string& message, int os_error, bool says_yes) {
            const auto mine = optional_error(kind, message, os_error);
            const nb::gil_scoped_release release;
            return swath::agree_same(comm, words, mine, says_yes);
          },
          "words"_a, "kind"_a = 0, "message"_a = "", "os_error"_a = 0, "says_yes"_a = false,
          "Raises the same error on every rank if any brings one, or if they ask for different things. Returns whether "
          "any rank says yes.");
  m.def("solo_comm", &swath::make_solo_comm);

  nb::class_<swath::Simulation>(m, "Simulation", "Many ranks in one process, a thread each, for tests.")
      .def(nb::init<int, int, uint64_t, bool>(), "ranks"_a, "nodes"_a = 1, "seed"_a = 0, "shared_memory"_a = true)
      .def("comm", &swath::Simulation::comm, "rank"_a, nb::keep_alive<0, 1>())
      .def("enter", &swath::Simulation::enter, "rank"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("leave", &swath::Simulation::leave, "rank"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("interrupt", &swath::Simulation::interrupt, nb::call_guard<nb::gil_scoped_release>());
}
