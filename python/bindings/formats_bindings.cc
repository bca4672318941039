// What files say of themselves, for swath/formats.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "bindings.h"
#include "formats/netcdf_classic.h"
#include "store/engine.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace netcdf = swath::netcdf;

// Short work, of a file that may be slow all the same.
netcdf::Header read_netcdf_header(const std::string& path) {
  const Interruptible interruptible;
  const auto file = swath::open_engine(path, swath::OpenMode::kRead, {.engine = "posix"});
  const int64_t file_bytes = file->size();
  swath::Counters counters;
  return netcdf::read_header(path, file_bytes, [&](int64_t offset, std::span<std::byte> target) {
    const int64_t bytes = std::min(static_cast<int64_t>(target.size()), file_bytes - offset);
    const swath::Transfer piece{offset, target.data(), bytes};
    file->transfer(swath::Direction::kRead, {&piece, 1}, counters);
    return bytes;
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
