// The undo journal, for swath/formats/changes.py, and Swath's own locked files. Calls are not interrupted: the
// program's signal handlers run afterwards.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "journal/changes.h"
#include "journal/own_file.h"
#include "journal/target_lock.h"
#include "store/file_calls.h"
#include "store/open_file.h"

namespace nb = nanobind;
using namespace nb::literals;
using swath::Changes;
using swath::ChangesOptions;
using swath::KeptRange;
using swath::LockWait;
using swath::Mark;
using swath::OwnFile;
using swath::Replacing;

namespace {

using WithoutLock = nb::call_guard<nb::gil_scoped_release>;

template <typename Item>
std::vector<Item> items_of(const nb::typed<nb::iterable, Item>& given) {
  std::vector<Item> items;
  for (const nb::handle item : given) items.push_back(nb::cast<Item>(item));
  return items;
}

void keep_all(Changes& changes, int descriptor, const nb::typed<nb::iterable, std::pair<int64_t, int64_t>>& given) {
  std::vector<KeptRange> ranges;
  for (const auto& [offset, bytes] : items_of(given)) ranges.push_back({offset, bytes});
  const nb::gil_scoped_release release;
  changes.keep_all(descriptor, ranges);
}

void replaces_all(Changes& changes, const nb::typed<nb::iterable, std::string>& given) {
  const auto names = items_of(given);
  const nb::gil_scoped_release release;
  changes.replaces_all(names);
}

void undo(Changes& changes, const Mark* given) {
  const std::optional<Mark> mark = given == nullptr ? std::nullopt : std::optional(*given);
  const nb::gil_scoped_release release;
  mark ? changes.undo(*mark) : changes.undo();
}

void bind_changes(nb::module_& m) {
  nb::class_<Mark>(m, "Mark", "A moment between two changes of a file.");
  nb::class_<Changes>(m, "Changes",
                      "Changes of one file, or of a folder that is a store, that can be taken back until they are "
                      "committed, also after their process was killed. They are taken back where nobody closes them.")
      .def(
          "__init__",
          [](Changes* self, const std::string& path, bool is_durable, double lock_seconds, int64_t long_bytes) {
            new (self) Changes(path, {is_durable, lock_seconds, long_bytes});
          },
          "path"_a, nb::kw_only(), "is_durable"_a = true, "lock_seconds"_a = ChangesOptions{}.lock_seconds,
          "long_bytes"_a = ChangesOptions{}.long_bytes, WithoutLock(),
          "is_durable: whether they can be taken back after a kill, too; False for a file that has no name yet. "
          "lock_seconds: to wait for another process that has the journal. long_bytes: of a journal that is written "
          "anew at a checkpoint. Raises StoreError.")
      .def("__enter__", [](nb::typed<nb::object, Changes> self) { return self; })
      .def(
          "__exit__", [](Changes& self, const nb::args&) { self.close(); }, WithoutLock(),
          nb::sig("def __exit__(self, *error: object) -> None"))
      .def_prop_ro("path", &Changes::path)
      .def_prop_ro("is_durable", &Changes::is_durable)
      .def("begin", &Changes::begin, WithoutLock(), "Note how long the file is, before it grows.")
      .def("mark", &Changes::mark, WithoutLock(), "What is changed from now on can be taken back alone.")
      .def("keep", &Changes::keep, "descriptor"_a, "offset"_a, "count"_a, WithoutLock(),
           "So many bytes of the file are overwritten, or cut off, next.")
      .def("keep_all", &keep_all, "descriptor"_a, "ranges"_a, "The same of several ranges (offset, count).")
      .def("adds", &Changes::adds, "relative"_a, WithoutLock(),
           "A file or folder of the store is made next. Raises ExistsError where it is there.")
      .def("replaces_all", &replaces_all, "names"_a, "Files of the store are replaced, or added, next.")
      .def("checkpoint", &Changes::checkpoint, WithoutLock(),
           "What was changed stays after a kill, too; waits for no medium.")
      .def("commit", &Changes::commit, WithoutLock(), "What was changed is on the medium, and stays.")
      .def("undo", &undo, "mark"_a.none() = nb::none(),
           "Make the file what it was at the mark; without one, at the last checkpoint or commit.")
      .def("close", &Changes::close, WithoutLock(),
           "Take back what was changed since the last checkpoint or commit, and let go of the file.")
      .def("abandon", &Changes::abandon, WithoutLock(), "Let go of a file that is removed: nothing is taken back.")
      .def("lose", &Changes::lose, "why"_a, WithoutLock(),
           "A change failed that cannot be taken back: the file can neither be changed nor committed any more.");
  m.def("changes_of", &swath::changes_of, "path"_a, nb::kw_only(), "is_durable"_a = true, WithoutLock(),
        "The changes of a file. Where nothing may be written into its folder, a kill may leave them half done. Raises "
        "StoreError, and UnsupportedError of a file in a pool.");
}

void bind_repair(nb::module_& m) {
  m.def("journal_path", &swath::journal_path, "path"_a, WithoutLock(),
        "The name of the journal of a file's changes: in the folder of the file itself, not of a link to it.");
  m.def(
      "repair", &swath::repair, "path"_a, nb::kw_only(), "is_copy"_a = false, WithoutLock(),
      "Take back what a dead process left uncommitted; False where there is nothing, or its owner lives. is_copy: the "
      "file and its journal were copied together. Raises StoreError where it may not.");
  nb::class_<Replacing>(m, "Replacing", "Lets a new file take the name of one that a killed process has left changed.")
      .def(nb::init<const std::string&>(), "path"_a, WithoutLock())
      .def("taken", &Replacing::taken, WithoutLock(), "The new file has the name: the old one's journal goes.")
      .def("close", &Replacing::close, WithoutLock());
  nb::class_<LockWait>(m, "LockWait", "Whoever is locked out tries again from time to time.")
      .def(nb::init<>())
      .def("again", &LockWait::again, WithoutLock(),
           "Sleep a moment; False where as much time has passed as $SWATH_LOCK_TIMEOUT says, else ten seconds.");
  m.def("lock_target", &swath::lock_target, "descriptor"_a, "path"_a, "doing"_a, WithoutLock(),
        "Lock a file as HDF5 does. Raises StoreError where another program has locked it.");
}

// Raises an OSError with the system's errno; the caller adds the file's name.
void raise_os_error(PyObject* kind, int error, const std::string& words) {
  const nb::object exception = nb::steal(PyObject_CallFunction(kind, "is", error, words.c_str()));
  if (exception.is_valid()) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void make_own_file(OwnFile* self, const std::string& path) {
  std::optional<int> refused;
  std::string holder;
  try {
    const nb::gil_scoped_release release;
    new (self) OwnFile(path);
    return;
  } catch (const swath::HeldByOther& held) {
    holder = held.what();
  } catch (const swath::Refusal& refusal) {
    refused = refusal.error();
  }
  if (!refused) raise_os_error(PyExc_BlockingIOError, EWOULDBLOCK, holder);
  raise_os_error(PyExc_OSError, *refused, swath::system_message(*refused));
}

void bind_own_file(nb::module_& m) {
  nb::class_<OwnFile>(m, "OwnFile",
                      "A file whose name others can guess, open for reading and appending, and locked for this process "
                      "as long as this lives.")
      .def("__init__", &make_own_file, "path"_a,
           "Raises BlockingIOError, whose text says which process has locked it; StoreError where another user has "
           "planted something there; OSError.")
      .def("fileno", &OwnFile::descriptor)
      .def(
          "has_name",
          [](const OwnFile& file) {
            try {
              return file.has_name();
            } catch (const swath::Refusal&) {
              return false;
            }
          },
          "Whether the file still has its name.")
      .def("close", &OwnFile::close);
  m.def("refuse_planted", &swath::refuse_planted, "path"_a, "target"_a = "", WithoutLock(),
        "Raise StoreError where what has the name is not this user's own file or folder; nothing may have it. It may "
        "have a second name where that is `target`.");
}

}  // namespace

void bind_journal(nb::module_& m) {
  bind_changes(m);
  bind_repair(m);
  bind_own_file(m);
}
