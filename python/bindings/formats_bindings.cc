// What files say of themselves, for swath/formats.

#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "bindings.h"
#include "formats/netcdf_classic.h"
#include "store/open_file.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace netcdf = swath::netcdf;

[[noreturn]] void fail_store(const std::string& path, const std::string& doing, int error,
                             const std::string& expected = "") {
  throw swath::Error(swath::ErrorKind::kStore,
                     path + ": cannot " + doing + ": " + swath::system_message(error) + expected, error);
}

swath::Descriptor open_for_reading(const std::string& path) {
  constexpr auto kOpenable = swath::Openable::kRegularFilesAndBlockDevices;
  const int descriptor = swath::open_existing(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, kOpenable);
  if (descriptor < 0) fail_store(path, "open", -descriptor, swath::expected_instead(-descriptor, kOpenable));
  return swath::Descriptor(descriptor);
}

int64_t read_at(int descriptor, const std::string& path, int64_t offset, std::span<std::byte> target) {
  size_t done = 0;
  while (done < target.size()) {
    const auto rest = target.subspan(done);
    const ssize_t bytes = ::pread(descriptor, rest.data(), rest.size(), offset + static_cast<int64_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail_store(path, "read", errno);
    if (bytes == 0) break;
    done += static_cast<size_t>(bytes);
  }
  return static_cast<int64_t>(done);
}

netcdf::Header read_netcdf_header(const std::string& path) {
  const nb::gil_scoped_release release;
  const swath::Descriptor file = open_for_reading(path);
  const int64_t bytes = ::lseek(file.get(), 0, SEEK_END);
  if (bytes < 0) fail_store(path, "read", errno);
  return netcdf::read_header(path, bytes, [&](int64_t offset, std::span<std::byte> target) {
    return read_at(file.get(), path, offset, target);
  });
}

using AttributeTuple = std::tuple<std::string, int, nb::bytes>;
using VariableTuple = std::tuple<std::string, std::vector<std::string>, std::vector<int64_t>,
                                 std::vector<AttributeTuple>, int, int64_t, bool, int64_t>;

VariableTuple tuple_of(const netcdf::Header& header, const netcdf::Variable& variable) {
  std::vector<std::string> dimensions;
  for (const int64_t index : variable.dimensions) {
    dimensions.push_back(header.dimensions[static_cast<size_t>(index)].name);
  }
  std::vector<AttributeTuple> attributes;
  for (const auto& [name, type, values] : variable.attributes) {
    attributes.emplace_back(name, static_cast<int>(type), nb::bytes(values.data(), values.size()));
  }
  return {variable.name,
          std::move(dimensions),
          header.shape_of(variable),
          std::move(attributes),
          static_cast<int>(variable.type),
          variable.begin,
          variable.is_record,
          variable.slab_bytes};
}

}  // namespace

void bind_formats(nb::module_& m) {
  m.def(
      "netcdf_classic_variables",
      [](const std::string& path) {
        const netcdf::Header header = read_netcdf_header(path);
        std::vector<VariableTuple> variables;
        for (const netcdf::Variable& variable : header.variables) variables.push_back(tuple_of(header, variable));
        return std::make_tuple(header.records, header.record_bytes, std::move(variables));
      },
      "path"_a,
      "(records, bytes from one to the next, variables): each (name, dimensions, shape, attributes, type, begin, "
      "whether it has records, bytes of a record or of all), each attribute (name, type, stored bytes).");
}
