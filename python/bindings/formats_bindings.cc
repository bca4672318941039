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
  const auto file = swath::open_engine(path, swath::OpenMode::kRead, {});
  const int64_t file_bytes = file->size();
  swath::Counters counters;
  return netcdf::read_header(path, file_bytes, [&](int64_t offset, std::span<std::byte> target) {
    const int64_t bytes = std::min(static_cast<int64_t>(target.size()), file_bytes - offset);
    const swath::Transfer piece{offset, target.data(), bytes};
    file->transfer(swath::Direction::kRead, {&piece, 1}, counters);
    return bytes;
  });
}

using DimensionTuple = std::tuple<std::string, int64_t>;
using AttributeTuple = std::tuple<std::string, int, nb::bytes>;
using VariableTuple =
    std::tuple<std::string, std::vector<int64_t>, std::vector<AttributeTuple>, int, int64_t, bool, int64_t>;

std::vector<DimensionTuple> tuples_of(const std::vector<netcdf::Dimension>& dimensions) {
  std::vector<DimensionTuple> tuples;
  for (const auto& [name, length] : dimensions) tuples.emplace_back(name, length);
  return tuples;
}

std::vector<AttributeTuple> tuples_of(const std::vector<netcdf::Attribute>& attributes) {
  std::vector<AttributeTuple> tuples;
  for (const auto& [name, type, values] : attributes) {
    tuples.emplace_back(name, static_cast<int>(type), nb::bytes(values.data(), values.size()));
  }
  return tuples;
}

std::vector<VariableTuple> tuples_of(const std::vector<netcdf::Variable>& variables) {
  std::vector<VariableTuple> tuples;
  for (const netcdf::Variable& variable : variables) {
    tuples.emplace_back(variable.name, variable.dimensions, tuples_of(variable.attributes),
                        static_cast<int>(variable.type), variable.begin, variable.is_record, variable.slab_bytes);
  }
  return tuples;
}

}  // namespace

void bind_formats(nb::module_& m) {
  m.def(
      "netcdf_classic_header",
      [](const std::string& path) {
        const netcdf::Header header = read_netcdf_header(path);
        return std::make_tuple(header.version, header.records, tuples_of(header.dimensions),
                               tuples_of(header.attributes), tuples_of(header.variables));
      },
      "path"_a,
      "(version, records, dimensions, attributes, variables): each dimension (name, length or 0 for records), each "
      "attribute (name, type, stored bytes), each variable (name, dimensions' indices, attributes, type, begin, "
      "whether "
      "it has records, bytes of a record or of all).");
}
