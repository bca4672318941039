// Open files: their engines, and the order of writes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/file.h"
#include "bindings.h"
#include "store/engine.h"
#include "throttle/throttled_engine.h"

namespace nb = nanobind;
using namespace nb::literals;
using swath::File;

namespace {

swath::OpenMode mode_named(const std::string& mode) {
  return mode == "r"    ? swath::OpenMode::kRead
         : mode == "r+" ? swath::OpenMode::kReadWrite
                        : swath::OpenMode::kCreateNew;
}

std::optional<swath::StreamLimit> limit_of(std::optional<int32_t> streams) {
  return streams ? std::optional(swath::StreamLimit{*streams}) : std::nullopt;
}

}  // namespace

void bind_open_file(nb::module_& m) {
  nb::class_<File>(m, "File", "An open file, for any number of arrays and threads.")
      .def_prop_ro("path", &File::path)
      .def_prop_ro("engine", &File::engine_name)
      .def_prop_ro("engine_reason", &File::engine_reason, "Why it is another than the one asked for, else empty.")
      .def_prop_ro("size", &File::size)
      .def_prop_ro("capabilities", [](File& file) { return file.engine().lease()->capabilities(); })
      .def(
          "cached_range",
          [](File& file, int64_t offset, int64_t bytes) { return file.engine().lease()->cached_part(offset, bytes); },
          "offset"_a, "bytes"_a, "What part of so many bytes is in the page cache; None where that is not known.")
      .def(
          "resize", [](File& file, int64_t bytes) { file.engine().lease()->resize(bytes); }, "bytes"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "read_at",
          [](File& file, int64_t offset, int64_t bytes) {
            std::vector<std::byte> read(static_cast<size_t>(std::max<int64_t>(bytes, 0)));
            {
              const nb::gil_scoped_release released;
              read.resize(static_cast<size_t>(file.read(offset, read)));
            }
            return nb::bytes(read.data(), read.size());
          },
          "offset"_a, "bytes"_a, "So many bytes, fewer at the end.")
      .def(
          "write_at",
          [](File& file, int64_t offset, const nb::bytes& data) {
            const auto* begin = reinterpret_cast<const std::byte*>(data.c_str());
            const nb::gil_scoped_release released;
            file.write(offset, {begin, data.size()});
          },
          "offset"_a, "data"_a, "The file grows to hold them.")
      .def_prop_ro("may_lose_writes", &File::may_lose_writes)
      .def("check_written", &File::check_written, nb::call_guard<nb::gil_scoped_release>())
      .def("sync", &File::sync, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<swath::ThrottleOptions>(m, "ThrottleOptions", "How many streams of a target are served at a time.")
      .def(
          "__init__",
          [](swath::ThrottleOptions* self, std::optional<int32_t> reads, std::optional<int32_t> writes,
             int64_t burst_bytes) {
            new (self) swath::ThrottleOptions{
                .reads = limit_of(reads), .writes = limit_of(writes), .burst_bytes = burst_bytes};
          },
          "reads"_a.none() = nb::none(), "writes"_a.none() = nb::none(), "burst_bytes"_a = int64_t{4} << 20,
          "0: as many as the controller says; None: all.");
  nb::class_<swath::FileOptions>(m, "FileOptions", "What moves a file's bytes, and in whose turn.")
      .def(
          "__init__",
          [](swath::FileOptions* self, const std::string& engine, std::shared_ptr<swath::Tokens> tokens,
             const swath::ThrottleOptions& throttle, std::optional<double> lock_timeout, std::string server_scope) {
            new (self) swath::FileOptions{{.engine = engine}, std::move(tokens), throttle, std::move(server_scope)};
            if (lock_timeout) self->engine.lock_timeout_seconds = *lock_timeout;
          },
          "engine"_a = "auto", "tokens"_a.none() = nb::none(), "throttle"_a = swath::ThrottleOptions(),
          "lock_timeout"_a.none() = nb::none(), "server_scope"_a = "",
          "With tokens it is served in turns; with a scope each server of a pool serves its operations in turns. "
          "`lock_timeout`: seconds that a lock is waited for, None for ever.");
  m.def(
      "open_file",
      [](const std::string& path, const std::string& mode, const swath::FileOptions& options) {
        return File::open(path, mode_named(mode), options);
      },
      "path"_a, "mode"_a, "options"_a = swath::FileOptions());
  m.def("open_folder", &File::open_folder, "path"_a, "options"_a = swath::FileOptions(), "Whose files are chunks.");
}
