// Adds, replaces and removes attributes of groups and datasets, as h5py and netCDF-4 store them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/attribute.h"
#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

// A group or a dataset.
struct AttributeHolder {
  hid_t id = -1;
  std::string name = {};                  // for messages; "" for the file
  const ElementType* elements = nullptr;  // the type of a dataset's elements, for its _FillValue; else null
};

// Throws Error{kArgument} if the format cannot store the attribute.
void check_attribute(const std::string& name, const AttributeValue& value, bool as_netcdf);

// A null value removes an attribute. Throws Error{kArgument} for what the format cannot store.
void write_attributes(const AttributeHolder& holder, const Attributes& attributes, bool as_netcdf);
// Writes one attribute without checks: also one of the format's own, or a _FillValue that is no value of the type.
void write_attribute(hid_t holder, const std::string& name, const AttributeValue& value, bool as_netcdf);
// Writes a text of fixed length, as netCDF-4 marks its files.
void write_fixed_text(hid_t holder, const std::string& name, const std::string& text);

// A fill value in the type of the variable, which netCDF-4 requires. Throws Error{kArgument}, which begins with
// `where`, if it cannot be converted.
std::vector<std::byte> fill_element(const std::string& where, const AttributeValue& value, const ElementType& type);

}  // namespace swath::formats::hdf5
