// What an open file knows of itself, for swath/files: how far its variables are.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>

#include "bindings.h"
#include "files/records.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Records;
using swath::formats::lengths_from;

void follow(Records& records, const package_types::Contents& contents, const std::string& variable) {
  if (!records.follows(variable)) records.follow(lengths_from(contents, variable), variable);
}

void begin(Records& records, const package_types::Contents& contents, const std::string& variable) {
  records.begin(lengths_from(contents, variable), variable);
}

void bind_records(nb::module_& m) {
  nb::class_<Records>(m, "Records", "How far the variables of a file are that grow (core/files/records.h).")
      .def(
          "__init__",
          [](Records* self, const package_types::Contents& contents) { new (self) Records(lengths_from(contents)); },
          "contents"_a)
      .def("follows", &Records::follows, "variable"_a)
      .def("is_empty", &Records::is_empty)
      .def("rows", &Records::rows, "variable"_a, "Rows that all ranks have written.")
      .def("dimension_of", &Records::dimension_of, "variable"_a)
      .def("length", &Records::length, "dimension"_a, "Rows that every reader sees.")
      .def("follow", &follow, "contents"_a, "variable"_a, "Count the rows of a variable, too.")
      .def("begin", &begin, "contents"_a, "variable"_a, "The same of a new variable.")
      .def("synced", &Records::synced)
      .def("has_rows", &Records::has_rows, "variable"_a, "rows"_a, "A variable that has so many rows was written to.")
      .def("wrote", &Records::wrote, "variable"_a, "rows"_a,
           "A variable has so many rows: the new length of its dimension where that grows, else None.")
      .def("set_rows", &Records::set_rows, "variable"_a, "rows"_a)
      .def("set_length", &Records::set_length, "dimension"_a, "rows"_a)
      .def("unfinished", &Records::unfinished)
      .def("behind", &Records::behind, "dimension"_a, "rows"_a);
}

}  // namespace

void bind_files(nb::module_& m) { bind_records(m); }
