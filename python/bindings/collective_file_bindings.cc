// Bindings of CollectiveFile, for swath/files. Collective calls run without the interpreter's lock.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "files/collective_file.h"
#include "formats/all.h"
#include "formats_convert.h"
#include "package_types.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;
using package_types::Facts;
using swath::CollectiveFile;
using swath::Error;
using swath::StoredArray;
using WithoutLock = nb::call_guard<nb::gil_scoped_release>;

std::shared_ptr<CollectiveFile> open(std::shared_ptr<swath::Comm> comm, const std::string& format, const Facts& given) {
  CollectiveFile::Options options;
  options.path = nb::cast<std::string>(given["path"]);
  options.final_path = nb::cast<std::string>(given["final_path"]);
  options.number = nb::cast<int64_t>(given["number"]);
  options.mode = nb::cast<bool>(given["may_write"]) ? swath::OpenMode::kReadWrite : swath::OpenMode::kRead;
  options.how = nb::cast<swath::FileOptions>(given["how"]);
  options.new_file = nb::cast<std::shared_ptr<swath::AtomicFile>>(given["new_file"]);
  options.minds_name = nb::cast<bool>(given["minds_name"]);
  if (const nb::object contents = given["contents"]; !contents.is_none()) {
    options.contents = formats::lengths_from(contents);
  }
  auto file = std::make_shared<CollectiveFile>(std::move(comm), formats::format_named(format), std::move(options));
  {
    const nb::gil_scoped_release unlocked;
    file->open_bytes();
  }
  return dropped_unlocked(std::move(file));
}

std::shared_ptr<StoredArray> make_stored_array(CollectiveFile& file, std::shared_ptr<swath::ArrayForm> form,
                                               std::shared_ptr<swath::CodedArray> chunks, const nb::bytes& fill,
                                               const Facts& given) {
  const auto* first = reinterpret_cast<const std::byte*>(fill.c_str());
  swath::Array::Options options;
  options.form = std::move(form);
  options.chunks = std::move(chunks);
  options.fill = {first, first + fill.size()};
  options.name = file.final_path();
  options.is_new = nb::cast<bool>(given["is_new"]);
  StoredArray::Known known{.path = nb::cast<std::string>(given["path"]),
                           .can_grow = nb::cast<bool>(given["can_grow"]),
                           .may_get_chunk_places = nb::cast<bool>(given["may_get_chunk_places"])};
  return dropped_unlocked(file.make_array(std::move(options), std::move(known)));
}

// Calls a Python function that makes an object, and converts the object; on rank 0.
template <typename Made>
Made made_by(Callback& make, Made (*convert)(const nb::handle&)) {
  Made made;
  make.call([&](const nb::object& object) { made = convert(object); });
  return made;
}

package_types::Description add(CollectiveFile& file, const std::string& words, const package_types::Make& make) {
  Callback called(make);
  std::optional<formats::Description> added;
  try {
    const nb::gil_scoped_release unlocked;
    added = file.add(words, [&] { return made_by(called, formats::new_array_from); });
  } catch (const Error&) {
    if (file.comm().size() == 1) called.raise();
    throw;
  }
  return formats::to_python(*added);
}

void set_attributes(CollectiveFile& file, const std::string& words, const std::string& holder,
                    const package_types::Make& make) {
  Callback called(make);
  try {
    const nb::gil_scoped_release unlocked;
    file.set_attributes(words, holder, [&] { return made_by(called, formats::attributes_from); });
  } catch (const Error&) {
    if (file.comm().size() == 1) called.raise();
    throw;
  }
}

// Thrown if Python code has failed to write rows, on all ranks alike.
class UnwrittenOfAll final : public Error {
 public:
  UnwrittenOfAll() : Error(swath::ErrorKind::kInternal, "rows were not written") {}
};
struct UnwrittenHere {};

void append(CollectiveFile& file, const std::vector<std::pair<StoredArray*, int64_t>>& rows,
            const package_types::WriteRows& write, bool writes_all) {
  std::vector<CollectiveFile::Rows> wanted;
  for (const auto& [array, records] : rows) wanted.push_back({array, records});
  const auto write_rows = [&](const std::vector<int64_t>& first) {
    const nb::gil_scoped_acquire locked;
    const nb::object outcome = write(first);
    if (outcome.is_none()) return;
    if (nb::cast<bool>(outcome)) throw UnwrittenOfAll();
    throw UnwrittenHere();
  };
  try {
    const nb::gil_scoped_release unlocked;
    file.append(wanted, {.writes_all = writes_all}, write_rows);
  } catch (const UnwrittenOfAll&) {
  } catch (const UnwrittenHere&) {  // the caller has this rank's error
  }
}

void bind_facts(nb::class_<CollectiveFile>& file) {
  file.def_prop_ro("path", &CollectiveFile::path, "Where it is: under another name as long as it is not complete.")
      .def_prop_ro("is_new", &CollectiveFile::is_new, "Whether it has not got its name yet.")
      .def_prop_ro("is_closed", &CollectiveFile::is_closed)
      .def_prop_ro(
          "file", [](const CollectiveFile& self) { return self.file(); }, nb::sig("def file(self) -> swath._core.File"),
          "What moves its bytes.")
      .def_prop_ro("changes", [](const CollectiveFile& self) { return dropped_unlocked(self.changes()); })
      .def("learn", &CollectiveFile::learn, "learning"_a, "What the operations of its arrays teach.")
      .def("make_array", &make_stored_array, "form"_a, "chunks"_a.none(), "fill"_a, "given"_a,
           "An array that the caller describes. `given`: path, can_grow, may_get_chunk_places, is_new.")
      .def("note_written", &CollectiveFile::note_written, "array"_a, "Elements of it are about to be written.")
      .def("known_rows", &CollectiveFile::known_rows, "variable"_a,
           "How many rows it has for this handle; None where it does not grow, or has not yet.")
      .def("take_new_lengths", &CollectiveFile::take_new_lengths,
           "The dimensions that are longer since this was asked last, and how long.")
      .def("refuse_closed", &CollectiveFile::refuse_closed, "doing"_a)
      .def("refuse_changing", &CollectiveFile::refuse_changing, "doing"_a);
}

void bind_collective(nb::class_<CollectiveFile>& file) {
  file.def("add", &add, "words"_a, "make"_a,
           "Add the NewArray that `make` returns on rank 0; its description. `words`: what ranks compare.")
      .def("set_attributes", &set_attributes, "words"_a, "holder"_a, "make"_a,
           "Add, replace or remove (None) the attributes that `make` returns on rank 0.")
      .def(
          "rows_to_append_to",
          [](CollectiveFile& self, const StoredArray& array) { return self.rows_to_append_to(array); }, "array"_a,
          WithoutLock(), "How many rows an array has. Raise ArgumentError where it does not grow.")
      .def(
          "append", &append, "rows"_a, "write"_a, nb::kw_only(), "writes_all"_a = true,
          "Have `write(first)` write the next rows of arrays, so many of each: `first` has the first of each array. It "
          "raises nothing; it returns None, or where it failed whether all ranks know: then the arrays are as long as "
          "before. `writes_all`: every element is written.")
      .def(
          "finish_started",
          [](CollectiveFile& self) {
            const Interruptible interruptible(self.comm());
            self.finish_started();
          },
          "Wait for what its arrays do in the background.")
      .def("sync", &CollectiveFile::sync, WithoutLock())
      .def("complete_records", &CollectiveFile::complete_records, WithoutLock(),
           "Let every dimension have all rows that any variable has.")
      .def("refuse_lost_writes", &CollectiveFile::refuse_lost_writes, WithoutLock())
      .def(
          "stop",
          [](CollectiveFile& self, bool is_alone) {
            const Interruptible interruptible(is_alone);
            return self.stop();
          },
          "is_alone"_a, "Wait until nobody uses an array of it. False: it was closed meanwhile.")
      .def("complete", &CollectiveFile::complete, WithoutLock(), "It is on the medium, under its name.")
      .def("take_back", &CollectiveFile::take_back, WithoutLock(), "Remove it, or what was added to it.")
      .def("release", &CollectiveFile::release, WithoutLock());
}

}  // namespace

void bind_collective_file(nb::module_& m) {
  auto file =
      nb::class_<CollectiveFile>(m, "CollectiveFile", "An open file of all its ranks (core/files/collective_file.h).");
  file.def(nb::new_(&open), "comm"_a, "format"_a, "given"_a,
           "Open what moves its bytes. `given`: path, final_path, number, may_write, how, new_file, minds_name, "
           "contents.");
  bind_facts(file);
  bind_collective(file);
}
