// Write-back of files by path (store/write_back.h), for copies.

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "store/write_back.h"

namespace nb = nanobind;
using namespace nb::literals;

void bind_write_back(nb::module_& m) {
  const nb::call_guard<nb::gil_scoped_release> released;
  m.def("begin_write_back", nb::overload_cast<const std::string&, int64_t, int64_t>(&swath::begin_write_back), "path"_a,
        "begin"_a, "end"_a, released,
        "Have the device begin with bytes [begin, end); of the whole file where both are 0.");
  m.def("finish_write_back", &swath::finish_write_back, "path"_a, "begin"_a, "end"_a, released,
        "Return when they are on the device.");
  m.def("forget_cached", &swath::forget_cached, "path"_a, "begin"_a, "end"_a, released,
        "Give up the pages of the cache that hold nothing else.");
}
