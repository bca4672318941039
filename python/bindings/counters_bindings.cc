// Counters and progress of operations.
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

  nb::class_<Counters> counters(m, "Counters", "What an operation did on this rank.");
  counters.def(nb::init<>()).def(nb::self += nb::self);
  swath::for_each_counter([&](const char* name, auto member) { counters.def_ro(name, member); });
}
