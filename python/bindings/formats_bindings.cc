// Contents of files, and creation of files, for swath/formats.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "formats/all.h"
#include "formats_convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace formats = swath::formats;

// An open file that threads may share: one thread at a time reads its metadata.
class OpenFormatFile {
 public:
  explicit OpenFormatFile(std::unique_ptr<formats::FormatFile> file) : file_(std::move(file)) {}
  // Releases the interpreter's lock, since the destructor may wait for a thread that uses HDF5's library.
  ~OpenFormatFile() {
    const nb::gil_scoped_release unlocked;
    file_.reset();
  }
  OpenFormatFile(const OpenFormatFile&) = delete;
  OpenFormatFile& operator=(const OpenFormatFile&) = delete;

  // Runs work that a signal may end.
  template <typename Work>
  auto read(Work work) {
    const Interruptible unlocked;
    const std::lock_guard guard(mutex_);
    return work(*file_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<formats::FormatFile> file_;
};

using formats::FormatFile;
using Names = std::vector<std::string>;

std::unique_ptr<OpenFormatFile> open_file(const std::string& format, const std::string& path) {
  const formats::Format& known = formats::format_named(format);
  std::unique_ptr<FormatFile> file;
  {
    const Interruptible unlocked;
    file = known.open(path, nullptr);
  }
  return std::make_unique<OpenFormatFile>(std::move(file));
}

nb::typed<nb::list, package_types::Description> describe(OpenFormatFile& file, const Names& variables) {
  const auto found = file.read([&](FormatFile& open) {
    std::vector<formats::Description> descriptions;
    for (const std::string& variable : variables) descriptions.push_back(open.describe(variable));
    return descriptions;
  });
  nb::list described;
  for (const formats::Description& one : found) described.append(formats::to_python(one));
  return described;
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
      .def(
          "describe",
          [](OpenFormatFile& file, const std::optional<std::string>& variable) {
            return formats::to_python(file.read([&](FormatFile& open) { return open.describe(variable); }));
          },
          "variable"_a.none() = nb::none(), "Where the bytes of a variable are; None: of the only one.")
      .def("describe_many", &describe, "variables"_a);
}

}  // namespace

void bind_formats(nb::module_& m) {
  bind_format_file(m);
  m.def("open_format_file", &open_file, "format"_a, "path"_a, "An existing file of a format of the core, to be read.");
  m.def(
      "create_format_file",
      [](const std::string& format, const std::string& path, const package_types::NewFile& file) {
        const formats::Format& known = formats::format_named(format);
        const formats::NewContents wanted = formats::new_contents_from(file);
        const nb::gil_scoped_release unlocked;
        known.create(path, wanted);
      },
      "format"_a, "path"_a, "file"_a, "Makes a file with all that a NewFile says, but the elements.");
  m.def(
      "format_refusals",
      [](const std::string& format, const package_types::NewFile& file) {
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
