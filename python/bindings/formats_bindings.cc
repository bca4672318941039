// What files hold, and how that is changed, for swath/formats.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "files/staleness.h"
#include "formats/all.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;

// A file that threads may share: one of them at a time reads or changes its metadata.
class OpenFormatFile {
 public:
  explicit OpenFormatFile(std::unique_ptr<formats::FormatFile> file) : file_(std::move(file)) {}
  // HDF5's library may be in use by another thread.
  ~OpenFormatFile() {
    const nb::gil_scoped_release unlocked;
    file_.reset();
  }
  OpenFormatFile(const OpenFormatFile&) = delete;
  OpenFormatFile& operator=(const OpenFormatFile&) = delete;

  // Work that a signal may end: nothing is changed by it.
  template <typename Work>
  auto read(Work work) {
    const Interruptible unlocked;
    const std::lock_guard guard(mutex_);
    return work(*file_);
  }

  // Work that goes on to its end.
  template <typename Work>
  auto change(Work work) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard guard(mutex_);
    return work(*file_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<formats::FormatFile> file_;
};

using formats::FormatFile;
using Names = std::vector<std::string>;

std::unique_ptr<OpenFormatFile> open_file(const std::string& format, const std::string& path, swath::Changes* changes) {
  const formats::Format& known = formats::format_named(format);
  std::unique_ptr<FormatFile> file;
  {
    const Interruptible unlocked;
    file = known.open(path, changes);
  }
  return std::make_unique<OpenFormatFile>(std::move(file));
}

// The file that the changes belong to: opened at first use, and open until the changes are closed or taken back.
nb::object changed_file(const std::string& format, nb::handle changes) {
  constexpr const char* kName = "open_file";
  nb::object held = nb::getattr(changes, kName, nb::none());
  if (!held.is_none()) return held;
  auto& journal = nb::cast<swath::Changes&>(changes);
  held = nb::cast(open_file(format, journal.path(), &journal));
  nb::setattr(changes, kName, held);
  return held;
}

// Its place in the grid, its bytes, the codecs that were left out, and whether it is recoded (chunks/new_chunk.h).
using ChunkTuple = std::tuple<swath::Shape, int64_t, uint32_t, bool>;

std::vector<int64_t> place_chunks(OpenFormatFile& file, const std::string& variable, const swath::Shape& shape,
                                  const std::vector<ChunkTuple>& given) {
  std::vector<swath::NewChunk> chunks;
  for (const auto& [at, bytes, skipped, is_recoded] : given) chunks.push_back({at, bytes, skipped, is_recoded});
  return file.change([&](FormatFile& open) { return open.place_chunks(variable, shape, chunks); });
}

nb::list describe(OpenFormatFile& file, const Names& variables) {
  const auto found = file.read([&](FormatFile& open) {
    std::vector<formats::Description> descriptions;
    for (const std::string& variable : variables) descriptions.push_back(open.describe(variable));
    return descriptions;
  });
  nb::list described;
  for (const formats::Description& one : found) described.append(formats::to_python(one));
  return described;
}

// `known`: a Contents, or a dict of shapes.
void refuse_stale(OpenFormatFile& file, const std::string& path, const nb::handle& known, const swath::Records* records,
                  const std::map<std::string, int64_t>& given_room, bool are_variables_as_long_as_dimensions) {
  std::optional<formats::Contents> lengths;
  swath::Shapes opened;
  if (nb::isinstance<nb::dict>(known)) {
    opened = nb::cast<swath::Shapes>(known);
  } else {
    lengths = formats::lengths_from(known);
  }
  const swath::OwnRows own = {lengths ? &*lengths : nullptr, records, given_room, are_variables_as_long_as_dimensions};
  file.read([&](FormatFile& open) { swath::refuse_stale(path, open, own, opened); });
}

void bind_format_file(nb::module_& m) {
  nb::class_<OpenFormatFile>(m, "FormatFile", "The metadata of one file, open for as long as this lives.")
      .def(
          "contents",
          [](OpenFormatFile& file, bool to_change) {
            return formats::to_python(
                file.read([&](FormatFile& open) { return to_change ? open.contents_to_change() : open.contents(); }));
          },
          nb::kw_only(), "to_change"_a = false,
          "Everything that it holds but the elements; to_change: for who will change the file.")
      .def("refuse_stale", &refuse_stale, "path"_a, "known"_a, "records"_a.none(), "given_room"_a,
           "are_variables_as_long_as_dimensions"_a,
           "Raise StoreError where it holds other variables than its handle knows of, or longer or shorter ones than "
           "it has made them (core/files/staleness.h). known: Contents, or the shapes of those that it has opened.")
      .def(
          "describe",
          [](OpenFormatFile& file, const std::optional<std::string>& variable) {
            return formats::to_python(file.read([&](FormatFile& open) { return open.describe(variable); }));
          },
          "variable"_a.none() = nb::none(), "Where the bytes of a variable are; None: of the only one.")
      .def("describe_many", &describe, "variables"_a)
      .def(
          "add",
          [](OpenFormatFile& file, const nb::handle& array) {
            const formats::NewArray wanted = formats::new_array_from(array);
            return formats::to_python(file.change([&](FormatFile& open) { return open.add(wanted); }));
          },
          "array"_a)
      .def(
          "set_attributes",
          [](OpenFormatFile& file, const std::string& holder, const nb::handle& attributes) {
            const formats::Attributes wanted = formats::attributes_from(attributes);
            file.change([&](FormatFile& open) { open.set_attributes(holder, wanted); });
          },
          "holder"_a, "attributes"_a)
      .def(
          "extend",
          [](OpenFormatFile& file, const std::string& variable, int64_t rows, std::optional<int64_t> written_from) {
            return formats::to_python(
                file.change([&](FormatFile& open) { return open.extend(variable, rows, written_from); }));
          },
          "variable"_a, "rows"_a, "written_from"_a.none() = nb::none())
      .def(
          "set_length",
          [](OpenFormatFile& file, const std::string& dimension, int64_t rows) {
            file.change([&](FormatFile& open) { open.set_length(dimension, rows); });
          },
          "dimension"_a, "rows"_a)
      .def(
          "allocate",
          [](OpenFormatFile& file, const std::string& variable) {
            return formats::to_python(file.change([&](FormatFile& open) { return open.allocate(variable); }));
          },
          "variable"_a)
      .def("place_chunks", &place_chunks, "variable"_a, "shape"_a, "chunks"_a,
           "Give coded chunks room, and return where; nothing is written there.")
      .def(
          "written",
          [](OpenFormatFile& file, const std::string& variable, bool are_chunks) {
            const auto room = are_chunks ? formats::Room::kChunks : formats::Room::kRows;
            file.change([&](FormatFile& open) { open.written(room, variable); });
          },
          "variable"_a, nb::kw_only(), "are_chunks"_a = false,
          "Rows that extend, or chunks that place_chunks gave room for are written: others may read them.")
      .def("has_moved_others",
           [](OpenFormatFile& file) { return file.change([](FormatFile& open) { return open.has_moved_others(); }); })
      .def("has_replaced_file",
           [](OpenFormatFile& file) { return file.change([](FormatFile& open) { return open.has_replaced_file(); }); });
}

}  // namespace

void bind_formats(nb::module_& m) {
  bind_format_file(m);
  m.def("open_format_file", &open_file, "format"_a, "path"_a, "changes"_a.none() = nb::none(), nb::keep_alive<0, 3>(),
        "An existing file of a format of the core; `changes`: its journal, None where it is only read.");
  m.def("changed_format_file", &changed_file, "format"_a, "changes"_a,
        "The file that changes are of, the same one until they are closed or taken back. It is not used behind them.");
  m.def(
      "create_format_file",
      [](const std::string& format, const std::string& path, const nb::handle& file) {
        const formats::Format& known = formats::format_named(format);
        const formats::NewContents wanted = formats::new_contents_from(file);
        const nb::gil_scoped_release unlocked;
        known.create(path, wanted);
      },
      "format"_a, "path"_a, "file"_a, "Makes a file with all that a NewFile says, but the elements.");
  m.def(
      "format_refusals",
      [](const std::string& format, const nb::handle& file) {
        const formats::NewContents wanted = formats::new_contents_from(file);
        const nb::gil_scoped_release unlocked;
        return formats::format_named(format).refusals(wanted);
      },
      "format"_a, "file"_a, "In words, what the format cannot hold of a NewFile.");
  m.def(
      "finish_format_file",
      [](const std::string& format, const std::string& path) {
        const formats::Format& known = formats::format_named(format);
        const nb::gil_scoped_release unlocked;
        known.finish(path);
      },
      "format"_a, "path"_a, "Makes what other readers of a new file look for.");
}
