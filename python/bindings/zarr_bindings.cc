// Zarr's metadata, for swath/formats/zarr.py.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "formats/default_chunks.h"
#include "formats/zarr/codecs.h"
#include "formats/zarr/new_metadata.h"
#include "formats/zarr/nodes.h"
#include "formats/zarr/zarr.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;
namespace zarr = swath::zarr;

using swath::Shape;

// Tells Python's changes of a store, while one of its changes is being made.
class PythonJournal : public zarr::StoreJournal {
 public:
  void adds(const std::string& relative) override {
    const nb::gil_scoped_acquire lock;
    told_.attr("adds")(relative);
  }

  void replaces_all(std::span<const std::string> relative) override {
    const nb::gil_scoped_acquire lock;
    nb::list names;
    for (const std::string& name : relative) names.append(name);
    told_.attr("replaces_all")(names);
  }

  void tell(nb::handle changes) { told_ = changes; }

 private:
  nb::handle told_ = {};
};

// A store that threads of the program may share.
class Store {
 public:
  Store(const std::string& path, bool to_change) : path_(path) {
    std::unique_ptr<PythonJournal> journal = to_change ? std::make_unique<PythonJournal>() : nullptr;
    journal_ = journal.get();
    file_ = std::make_unique<zarr::ZarrFile>(path, std::move(journal));
  }

  const std::string& path() const { return path_; }

  // Reads, and ends where a signal handler raises.
  template <class Work>
  auto read(const Work& work) {
    const Interruptible interruptible;
    const std::lock_guard guard(mutex_);
    return work(*file_);
  }

  // Is not interrupted from the first byte to the last.
  template <class Work>
  auto change(const nb::handle& changes, const Work& work) {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(mutex_);
    if (journal_ != nullptr) journal_->tell(changes);
    return work(*file_);
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  PythonJournal* journal_ = nullptr;
  std::unique_ptr<zarr::ZarrFile> file_;
};

formats::NewArray new_array_of(const nb::handle& array, bool only_registered_codecs) {
  formats::NewArray found = formats::new_array_from(array);
  found.only_registered_codecs = only_registered_codecs;
  return found;
}

void create(const std::string& path, const formats::NewContents& contents) {
  const nb::gil_scoped_release release;
  zarr::format().create(path, contents);
}

std::string flavour_of(const std::optional<std::string>& flavour) { return flavour.value_or(""); }

void bind_open_stores(nb::module_& m) {
  nb::class_<Store>(m, "ZarrStore", nb::is_weak_referenceable(), "A Zarr store whose metadata are read once.")
      .def(nb::init<const std::string&, bool>(), "path"_a, "to_change"_a)
      .def_prop_ro("path", &Store::path)
      .def_prop_ro("version", [](Store& store) { return store.read([](auto& file) { return file.version(); }); })
      .def("contents",
           [](Store& store) {
             const formats::Contents found = store.read([](auto& file) { return file.contents(); });
             return formats::to_python(found);
           })
      .def(
          "describe",
          [](Store& store, const std::optional<std::string>& variable) {
            return formats::to_python(store.read([&](auto& file) { return file.describe(variable); }));
          },
          "variable"_a.none())
      .def(
          "add",
          [](Store& store, const nb::object& changes, const nb::object& array, bool only_registered_codecs) {
            const formats::NewArray asked = new_array_of(array, only_registered_codecs);
            return formats::to_python(store.change(changes, [&](auto& file) { return file.add(asked); }));
          },
          "changes"_a, "array"_a, "only_registered_codecs"_a)
      .def(
          "set_attributes",
          [](Store& store, const nb::object& changes, const std::string& holder, const nb::object& attributes) {
            const formats::Attributes asked = formats::attributes_from(attributes);
            store.change(changes, [&](auto& file) { file.set_attributes(holder, asked); });
          },
          "changes"_a, "holder"_a, "attributes"_a)
      .def(
          "extend",
          [](Store& store, const std::string& variable, int64_t rows) {
            return formats::to_python(store.read([&](auto& file) { return file.extend(variable, rows, {}); }));
          },
          "variable"_a, "rows"_a)
      .def(
          "set_length",
          [](Store& store, const nb::object& changes, const std::string& dimension, int64_t rows) {
            store.change(changes, [&](auto& file) { file.set_length(dimension, rows); });
          },
          "changes"_a, "dimension"_a, "rows"_a)
      .def("consolidate", [](Store& store) { store.change(nb::none(), [](auto& file) { file.consolidate(); }); });
}

void bind_new_stores(nb::module_& m) {
  m.def(
      "zarr_start",
      [](const std::string& path, const std::optional<std::string>& flavour) {
        create(path, {.flavour = flavour_of(flavour)});
      },
      "path"_a, "flavour"_a.none(), "Makes a store whose root is a group that holds nothing.");
  m.def(
      "zarr_create_array",
      [](const std::string& path, const std::optional<std::string>& flavour, const nb::object& array,
         bool only_registered_codecs) {
        create(path, {.flavour = flavour_of(flavour), .arrays = {new_array_of(array, only_registered_codecs)}});
      },
      "path"_a, "flavour"_a.none(), "array"_a, "only_registered_codecs"_a, "Makes a store that is one array.");
  m.def(
      "zarr_create_file",
      [](const std::string& path, const nb::object& file, const std::vector<bool>& only_registered_codecs) {
        formats::NewContents contents = formats::new_contents_from(file);
        for (size_t i = 0; i < contents.arrays.size(); ++i) {
          contents.arrays[i].only_registered_codecs = only_registered_codecs.at(i);
        }
        create(path, contents);
      },
      "path"_a, "file"_a, "only_registered_codecs"_a, "Makes a store with all that it is to hold but the elements.");
  m.def(
      "zarr_refusals", [](const nb::object& file) { return zarr::format().refusals(formats::new_contents_from(file)); },
      "file"_a, "In words, what a store cannot hold of a new file.");
  m.def(
      "zarr_finish",
      [](const std::string& path) {
        const nb::gil_scoped_release release;
        zarr::format().finish(path);
      },
      "path"_a, "Writes the consolidated metadata of a new store; one that is an array needs none.");
}

void bind_codecs(nb::module_& m) {
  m.def(
      "codec_of",
      [](const std::string& name, const std::string& settings, int64_t element_bytes) {
        const zarr::Field field(zarr::parse_json(settings, "codecs"), "codecs", "configuration");
        return formats::to_python(zarr::codec_of(name, field, element_bytes));
      },
      "name"_a, "settings"_a, "element_bytes"_a,
      "The codec of that name, configured as numcodecs and Zarr's version 3 do: by JSON.");
  m.def(
      "zarr_registered_codecs",
      [](const nb::object& codecs, int64_t chunk_bytes) {
        nb::list found;
        for (const swath::Codec& codec : zarr::registered(formats::codecs_from(codecs), chunk_bytes)) {
          found.append(formats::to_python(codec));
        }
        return nb::tuple(found);
      },
      "codecs"_a, "chunk_bytes"_a, "Codecs that are registered for version 3 in place of those that are not.");
  m.def(
      "zarr_codec_json",
      [](const nb::object& codec, int version) {
        const swath::Codec found = formats::codec_from(codec);
        return zarr::to_text(version == 2 ? zarr::codec_to_v2(found) : zarr::codec_to_v3(found), 0);
      },
      "codec"_a, "version"_a, "A codec as metadata of a version have it, as JSON.");
}

}  // namespace

void bind_zarr(nb::module_& m) {
  bind_open_stores(m);
  bind_new_stores(m);
  bind_codecs(m);
  m.def("zarr_is_store", &zarr::is_store, "path"_a, "Whether a folder holds a Zarr array or group.");
  m.def(
      "check_attribute", [](const std::string& name, const nb::object& value) { formats::attribute_from(name, value); },
      "name"_a, "value"_a.none(),
      "Raises ArgumentError for what is neither text nor numbers, and what JSON cannot hold.");
  m.def(
      "zarr_chunks_and_shards",
      [](const Shape& shape, int64_t element_bytes, const std::optional<Shape>& chunks,
         const std::optional<Shape>& shards) { return zarr::chunks_and_shards(shape, element_bytes, chunks, shards); },
      "shape"_a, "element_bytes"_a, "chunks"_a.none(), "shards"_a.none(),
      "The shapes of a new array's chunks and shards.");
  m.def(
      "default_chunks",
      [](const Shape& shape, int64_t element_bytes, int64_t bytes_max) {
        return formats::default_chunks(shape, element_bytes, bytes_max);
      },
      "shape"_a, "element_bytes"_a, "bytes_max"_a, "Chunks of at most so many bytes, where nobody says which.");
}
