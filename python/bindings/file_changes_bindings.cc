// Changes of an open file, for swath/formats and swath/files. Changes are not interrupted: the program's signal
// handlers run afterwards.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "files/file_changes.h"
#include "formats/all.h"
#include "formats_convert.h"
#include "package_types.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;
using formats::FormatFile;
using swath::FileChanges;
using WithoutLock = nb::call_guard<nb::gil_scoped_release>;

std::shared_ptr<FileChanges> make(const std::string& format, const std::string& path, bool is_new) {
  const FileChanges::Options given{.is_new = is_new};
  return dropped_unlocked(std::make_shared<FileChanges>(formats::format_named(format), path, given));
}

// Makes a change without the interpreter's lock, and converts its result.
template <typename Work>
package_types::Description described(const Work& work) {
  const formats::Description found = [&] {
    const nb::gil_scoped_release unlocked;
    return work();
  }();
  return formats::to_python(found);
}

void bind_changing(nb::class_<FileChanges>& changes) {
  changes
      .def(
          "add",
          [](FileChanges& self, const package_types::NewArray& array) {
            const formats::NewArray wanted = formats::new_array_from(array);
            return described([&] { return self.change([&](FormatFile& file) { return file.add(wanted); }); });
          },
          "array"_a)
      .def(
          "set_attributes",
          [](FileChanges& self, const std::string& holder,
             const nb::typed<nb::mapping, std::string, package_types::Any>& attributes) {
            const formats::Attributes wanted = formats::attributes_from(attributes);
            const nb::gil_scoped_release unlocked;
            self.change([&](FormatFile& file) { file.set_attributes(holder, wanted); });
          },
          "holder"_a, "attributes"_a)
      .def(
          "extend",
          [](FileChanges& self, const std::string& variable, int64_t rows, std::optional<int64_t> written_from) {
            return described([&] { return self.extend(variable, rows, written_from); });
          },
          "variable"_a, "rows"_a, "written_from"_a.none() = nb::none())
      .def(
          "set_length",
          [](FileChanges& self, const std::string& dimension, int64_t rows) {
            self.change([&](FormatFile& file) { file.set_length(dimension, rows); });
          },
          "dimension"_a, "rows"_a, WithoutLock())
      .def(
          "allocate",
          [](FileChanges& self, const std::string& variable) {
            return described([&] { return self.allocate(variable); });
          },
          "variable"_a)
      .def(
          "contents",
          [](FileChanges& self) -> package_types::Contents {
            const formats::Contents found = [&] {
              const nb::gil_scoped_release unlocked;
              return self.read([](FormatFile& file) { return file.contents(); });
            }();
            return formats::to_python(found);
          },
          "What the file holds now.");
}

void bind_ends(nb::class_<FileChanges>& changes) {
  changes.def_prop_ro("path", &FileChanges::path)
      .def_prop_ro("is_forked", &FileChanges::is_forked,
                   "Whether this process is a child of the one that opened the file.")
      .def_prop_ro("has_begun", &FileChanges::has_begun, WithoutLock())
      .def("refuse_replaced", &FileChanges::refuse_replaced, "doing"_a, WithoutLock(), "Raise StoreError where it is.")
      .def("mark", &FileChanges::mark, WithoutLock(), "What is changed from now on can be taken back alone.")
      .def("checkpoint", &FileChanges::checkpoint, WithoutLock(), "What was changed stays after a kill, too.")
      .def("commit", &FileChanges::commit, WithoutLock(), "What was changed is on the medium, and stays.")
      .def("end", &FileChanges::end, WithoutLock(), "The same, and whoever wants to may change the file now.")
      .def(
          "undo",
          [](FileChanges& self, const swath::Mark* given) {
            const std::optional<swath::Mark> mark = given == nullptr ? std::nullopt : std::optional(*given);
            const nb::gil_scoped_release unlocked;
            self.undo(mark);
          },
          "mark"_a.none() = nb::none(),
          "Make the file what it was at the mark; without one, at the last checkpoint or commit.")
      .def("close", &FileChanges::close, WithoutLock(),
           "Take back what was changed since the last checkpoint or commit, and let go of the file.")
      .def("__enter__", [](nb::typed<nb::object, FileChanges> self) { return self; })
      .def(
          "__exit__", [](FileChanges& self, const nb::args&) { self.close(); }, WithoutLock(),
          nb::sig("def __exit__(self, *error: object) -> None"));
}

}  // namespace

void bind_file_changes(nb::module_& m) {
  auto changes = nb::class_<FileChanges>(
      m, "FileChanges", "Changes of one open file, which begin with the first one (core/files/file_changes.h).");
  changes.def(nb::new_(&make), "format"_a, "path"_a, nb::kw_only(), "is_new"_a = false,
              "is_new: it has no name yet, so that nobody else changes it.");
  bind_changing(changes);
  bind_ends(changes);
}
