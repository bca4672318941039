// Changes of an open file, for swath/formats and swath/files. None of them is interrupted: signal handlers of the
// program run when it is done.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "files/chunk_room.h"
#include "files/file_changes.h"
#include "formats/all.h"
#include "formats_convert.h"
#include "package_types.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;
using formats::FormatFile;
using swath::ChunkRoom;
using swath::FileChanges;
using WithoutLock = nb::call_guard<nb::gil_scoped_release>;

// HDF5's library may be in use by another thread, which needs the interpreter's lock: it is not waited for with it.
class PythonChanges final : public FileChanges {
 public:
  using FileChanges::FileChanges;
  ~PythonChanges() {
    const nb::gil_scoped_release unlocked;
    drop();
  }
  PythonChanges(const PythonChanges&) = delete;
  PythonChanges& operator=(const PythonChanges&) = delete;
};

// What a handle of Python knows of its file: `known` returns its Contents, or a dict of shapes, and its records or
// None.
class KnownToPython {
 public:
  KnownToPython(std::string path, nb::object known)
      : path_(std::move(path)), known_(new nb::object(std::move(known)), [](nb::object* held) {
          const nb::gil_scoped_acquire locked;
          delete held;
        }) {}

  void operator()(FormatFile& file, swath::OwnRows own) const {
    std::optional<formats::Contents> lengths;
    swath::Shapes opened;
    std::optional<swath::Error> failure;
    {
      const nb::gil_scoped_acquire locked;
      try {
        const nb::object pair = (*known_)();
        if (nb::isinstance<nb::dict>(pair[0])) {
          opened = nb::cast<swath::Shapes>(pair[0]);
        } else {
          lengths = formats::lengths_from(pair[0]);
        }
        own.records = nb::cast<const swath::Records*>(pair[1], false);
      } catch (nb::python_error& raised) {
        failure = error_of(raised);
      }
    }
    if (failure) throw *failure;
    if (lengths) own.contents = &*lengths;
    refuse_stale(path_, file, own, opened);
  }

 private:
  std::string path_;
  std::shared_ptr<nb::object> known_;
};

void make(PythonChanges* self, const std::string& format, const std::string& path, bool is_new, std::string name,
          nb::object known) {
  FileChanges::Options given{.is_new = is_new};
  if (!known.is_none()) given.refuse_stale = KnownToPython(std::move(name), std::move(known));
  new (self) PythonChanges(formats::format_named(format), path, std::move(given));
}

// What a change returns, which it makes without the interpreter's lock.
template <typename Work>
package_types::Description described(const Work& work) {
  const formats::Description found = [&] {
    const nb::gil_scoped_release unlocked;
    return work();
  }();
  return formats::to_python(found);
}

void bind_changing(nb::class_<PythonChanges>& changes) {
  changes
      .def(
          "add",
          [](PythonChanges& self, const package_types::NewArray& array) {
            const formats::NewArray wanted = formats::new_array_from(array);
            return described([&] { return self.change([&](FormatFile& file) { return file.add(wanted); }); });
          },
          "array"_a)
      .def(
          "set_attributes",
          [](PythonChanges& self, const std::string& holder,
             const nb::typed<nb::mapping, std::string, package_types::Any>& attributes) {
            const formats::Attributes wanted = formats::attributes_from(attributes);
            const nb::gil_scoped_release unlocked;
            self.change([&](FormatFile& file) { file.set_attributes(holder, wanted); });
          },
          "holder"_a, "attributes"_a)
      .def(
          "extend",
          [](PythonChanges& self, const std::string& variable, int64_t rows, std::optional<int64_t> written_from) {
            return described([&] { return self.extend(variable, rows, written_from); });
          },
          "variable"_a, "rows"_a, "written_from"_a.none() = nb::none())
      .def(
          "set_length",
          [](PythonChanges& self, const std::string& dimension, int64_t rows) {
            self.change([&](FormatFile& file) { file.set_length(dimension, rows); });
          },
          "dimension"_a, "rows"_a, WithoutLock())
      .def(
          "allocate",
          [](PythonChanges& self, const std::string& variable) {
            return described([&] { return self.allocate(variable); });
          },
          "variable"_a)
      .def(
          "written",
          [](PythonChanges& self, const std::string& variable) { self.written(formats::Room::kRows, variable); },
          "variable"_a, WithoutLock(), "Rows that extend gave room for are written: others may read them.")
      .def(
          "contents",
          [](PythonChanges& self) -> package_types::Contents {
            const formats::Contents found = [&] {
              const nb::gil_scoped_release unlocked;
              return self.read([](FormatFile& file) { return file.contents(); });
            }();
            return formats::to_python(found);
          },
          "What the file holds now.")
      .def(
          "moved",
          [](PythonChanges& self) {
            const FileChanges::Moved found = self.moved();
            return std::tuple(found.others, found.file);
          },
          WithoutLock(),
          "Whether the last change has moved elements of other variables, and whether another file has the name now, "
          "with more in it. Once.");
}

void bind_ends(nb::class_<PythonChanges>& changes) {
  changes.def_prop_ro("path", &FileChanges::path)
      .def_prop_ro("is_forked", &FileChanges::is_forked,
                   "Whether this process is a child of the one that opened the file.")
      .def_prop_ro("has_begun", &FileChanges::has_begun, WithoutLock())
      .def_prop_ro("has_changed", &FileChanges::has_changed, "Whether what it holds has, since the last sync.")
      .def("note_changed", &FileChanges::note_changed)
      .def("note_synced", &FileChanges::note_synced)
      .def("note_name", &FileChanges::note_name, "path"_a, WithoutLock(),
           "Which file has the name that is opened next.")
      .def("is_replaced", &FileChanges::is_replaced, WithoutLock(), "Whether another file has it since.")
      .def("refuse_replaced", &FileChanges::refuse_replaced, "doing"_a, WithoutLock(), "Raise StoreError where it is.")
      .def("has_name", &FileChanges::has_name, "path"_a, WithoutLock(), "A new file has its name.")
      .def("mark", &FileChanges::mark, WithoutLock(), "What is changed from now on can be taken back alone.")
      .def("checkpoint", &FileChanges::checkpoint, WithoutLock(), "What was changed stays after a kill, too.")
      .def("commit", &FileChanges::commit, WithoutLock(), "What was changed is on the medium, and stays.")
      .def("end", &FileChanges::end, WithoutLock(), "The same, and whoever wants to may change the file now.")
      .def(
          "undo",
          [](PythonChanges& self, const swath::Mark* given) {
            const std::optional<swath::Mark> mark = given == nullptr ? std::nullopt : std::optional(*given);
            const nb::gil_scoped_release unlocked;
            self.undo(mark);
          },
          "mark"_a.none() = nb::none(),
          "Make the file what it was at the mark; without one, at the last checkpoint or commit.")
      .def("take_back", &FileChanges::take_back, WithoutLock(),
           "The same, unless the file is to be removed, or another one has its name.")
      .def("close", &FileChanges::close, WithoutLock(),
           "Take back what was changed since the last checkpoint or commit, and let go of the file.")
      .def("__enter__", [](nb::typed<nb::object, PythonChanges> self) { return self; })
      .def(
          "__exit__", [](PythonChanges& self, const nb::args&) { self.close(); }, WithoutLock(),
          nb::sig("def __exit__(self, *error: object) -> None"));
}

}  // namespace

void bind_file_changes(nb::module_& m) {
  auto changes = nb::class_<PythonChanges>(
      m, "FileChanges", "Changes of one open file, which begin with the first one (core/files/file_changes.h).");
  changes.def("__init__", &make, "format"_a, "path"_a, nb::kw_only(), "is_new"_a = false, "name"_a = "",
              "known"_a.none() = nb::none(),
              "is_new: it has no name yet, so that nobody else changes it. known: returns what its handle knows of it, "
              "Contents or the shapes of the variables that it has opened, and its Records or None: where the file "
              "`name` holds something else, the first change raises StoreError.");
  bind_changing(changes);
  bind_ends(changes);
  nb::class_<ChunkRoom>(m, "ChunkRoom",
                        "Who gives the coded chunks of one array room in their file, while they are written.")
      .def(
          "__init__",
          [](ChunkRoom* self, std::shared_ptr<PythonChanges> of, std::string variable) {
            new (self) ChunkRoom(std::move(of), std::move(variable));
          },
          "changes"_a, "variable"_a);
}
