#include "formats/hdf5/dataset.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "formats/hdf5/attributes.h"

namespace swath::formats::hdf5 {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::kUnsupported, name + ": " + why);
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<std::byte> zeros(const ElementType& type) {
  return std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(type.bytes, 0)));
}

// The value of `_FillValue`, or else netCDF's default.
std::vector<std::byte> netcdf_fill_of(hid_t dataset, const ElementType& type) {
  const Handle stored(library().H5Dget_type(dataset));
  auto own = attribute_element(dataset, "_FillValue", memory_type(stored.get()).get());
  if (own && own->size() == static_cast<size_t>(type.bytes)) return std::move(*own);
  std::vector<std::byte> fill = netcdf_fill(type);
  return fill.empty() ? zeros(type) : fill;
}

bool is_of_netcdf4(hid_t dataset) {
  return library().H5Aexists(dataset, "_Netcdf4Coordinates") > 0 || library().H5Aexists(dataset, "_Netcdf4Dimid") > 0;
}

}  // namespace

// Source: netcdf.h, NC_FILL_BYTE and so on.
std::vector<std::byte> netcdf_fill(const ElementType& type) {
  constexpr double kFloat = 9.9692099683868690e36;
  static const std::map<std::pair<char, int64_t>, std::vector<std::byte>> fills = {
      {{'i', 1}, bytes_of(int8_t{-127})},
      {{'u', 1}, bytes_of(uint8_t{255})},
      {{'i', 2}, bytes_of(int16_t{-32767})},
      {{'u', 2}, bytes_of(uint16_t{65535})},
      {{'i', 4}, bytes_of(int32_t{-2147483647})},
      {{'u', 4}, bytes_of(uint32_t{4294967295U})},
      {{'i', 8}, bytes_of(int64_t{-9223372036854775806})},
      {{'u', 8}, bytes_of(uint64_t{18446744073709551614U})},
      {{'f', 4}, bytes_of(static_cast<float>(kFloat))},
      {{'f', 8}, bytes_of(kFloat)},
  };
  const auto found = fills.find({type.kind, type.bytes});
  if (found == fills.end()) return {};
  std::vector<std::byte> fill = found->second;
  const bool is_other_order = type.is_big_endian != kIsBigEndianHere;
  if (type.has_byte_order() && is_other_order) swap_bytes(type, fill);
  return fill;
}

Extent extent_of(hid_t dataset) {
  const Handle space(library().H5Dget_space(dataset));
  Extent found;
  found.is_null = is_null_space(space.get());
  if (found.is_null) return found;
  found.shape = shape_of_space(space.get());
  std::vector<hsize_t> lengths(found.shape.size()), longest(found.shape.size());
  checked(library().H5Sget_simple_extent_dims(space.get(), lengths.data(), longest.data()));
  for (const hsize_t one : longest) {
    found.maxshape.push_back(one == H5S_UNLIMITED ? std::nullopt : std::optional(static_cast<int64_t>(one)));
  }
  return found;
}

std::vector<bool> unlimited_of(const Extent& extent) {
  std::vector<bool> grows;
  for (const auto& longest : extent.maxshape) grows.push_back(!longest);
  return std::find(grows.begin(), grows.end(), true) == grows.end() ? std::vector<bool>{} : grows;
}

Storage storage_of(hid_t dataset) {
  Storage found;
  found.properties = Handle(library().H5Dget_create_plist(dataset));
  const hid_t properties = found.properties.get();
  found.layout = checked(library().H5Pget_layout(properties));
  if (found.layout == H5D_CHUNKED) {
    hsize_t lengths[64] = {};
    const int count = checked(library().H5Pget_chunk(properties, 64, lengths));
    found.chunks = Shape(lengths, lengths + std::min(count, 64));
  }
  found.filters = filters_of(properties);
  found.codecs = codecs_of(found.filters);
  return found;
}

ElementType element_type_of(const std::string& name, hid_t dataset) {
  const Handle space(library().H5Dget_space(dataset));
  if (is_null_space(space.get())) refuse(name, "the dataset has no elements at all (a null dataspace)");
  const Handle stored(library().H5Dget_type(dataset));
  MappedType mapped;
  try {
    mapped = map_type(stored.get());
  } catch (const UnmappedType& error) {
    refuse(name, std::string("its elements have a type that NumPy has not (") + error.what() + ")");
  }
  const bool is_plain = !mapped.has_objects && mapped.inner.empty() && mapped.type.bytes > 0;
  if (mapped.kind != MappedType::Kind::kText && !is_plain) {
    refuse(name, "elements of dtype " + mapped.to_string() +
                     " are not a fixed number of bytes (variable-length, object, reference or array elements); read it "
                     "with the format's own library");
  }
  if (mapped.kind == MappedType::Kind::kText && !mapped.inner.empty()) refuse(name, "its elements are arrays of text");
  return mapped.type;
}

bool is_never_filled(hid_t properties) {
  int defined = 0, time = 0;
  checked(library().H5Pfill_value_defined(properties, &defined));
  checked(library().H5Pget_fill_time(properties, &time));
  return defined == H5D_FILL_VALUE_UNDEFINED || time == H5D_FILL_TIME_NEVER;
}

std::vector<std::byte> fill_of(hid_t dataset, const ElementType& type) {
  // In memory, text of variable length is a pointer, here null.
  if (type.is_text()) return std::vector<std::byte>(sizeof(void*));
  const Handle properties(library().H5Dget_create_plist(dataset));
  if (is_never_filled(properties.get())) return is_of_netcdf4(dataset) ? netcdf_fill_of(dataset, type) : zeros(type);
  const Handle stored(library().H5Dget_type(dataset));
  const Handle in_memory = memory_type(stored.get());
  std::vector<std::byte> fill(std::max(library().H5Tget_size(in_memory.get()), static_cast<size_t>(type.bytes)));
  checked(library().H5Pget_fill_value(properties.get(), in_memory.get(), fill.data()));
  fill.resize(static_cast<size_t>(type.bytes));
  return fill;
}

}  // namespace swath::formats::hdf5
