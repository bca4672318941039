// What operations did, and how far they are.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>

#include "base/counters.h"
#include "bindings.h"
#include "method/run.h"

namespace nb = nanobind;
using swath::Counters;

void bind_counters(nb::module_& m) {
  nb::class_<swath::Progress>(m, "Progress")
      .def(nb::init<>())
      .def_prop_ro("bytes_done", [](const swath::Progress& progress) { return progress.bytes_done.load(); })
      .def_prop_ro("bytes_total", [](const swath::Progress& progress) { return progress.bytes_total.load(); });

  nb::class_<Counters>(m, "Counters", "What an operation did on this rank.")
      .def(nb::init<>())
      .def(nb::self += nb::self)
      .def_ro("read_requests", &Counters::read_requests)
      .def_ro("write_requests", &Counters::write_requests)
      .def_ro("read_bytes", &Counters::read_bytes)
      .def_ro("written_bytes", &Counters::written_bytes)
      .def_ro("exchanged_bytes", &Counters::exchanged_bytes)
      .def_ro("locks", &Counters::locks)
      .def_ro("buffer_bytes", &Counters::buffer_bytes)
      .def_ro("token_waits", &Counters::token_waits)
      .def_ro("token_seconds", &Counters::token_seconds)
      .def_ro("transfer_seconds", &Counters::transfer_seconds)
      .def_ro("exchange_seconds", &Counters::exchange_seconds)
      .def_ro("total_seconds", &Counters::total_seconds);
}
