// Notes for the trace of a run (trace/trace.h).

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "trace/adaptive_file.h"

namespace nb = nanobind;
using namespace nb::literals;

void bind_trace(nb::module_& m) {
  m.def("trace_adaptive_file", &swath::trace::add_adaptive_file, "identity"_a, "means"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Note in the trace that Swath adapts the use of an array by itself, and by which means, such as \"prefetch\".");
}
