// Attributes that are added to groups and datasets, replaced and removed, as h5py and as netCDF-4 store them.
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
  std::string name = {};                  // in messages; "" for the file
  const ElementType* elements = nullptr;  // of a dataset of numbers, which its _FillValue is one of; else null
};

// Throws Error{kArgument} for an attribute that the format cannot store.
void check_attribute(const std::string& name, const AttributeValue& value, bool as_netcdf);

// Null removes one. Throws Error{kArgument} for what the format cannot store.
void write_attributes(const AttributeHolder& holder, const Attributes& attributes, bool as_netcdf);
// One, as it is: also one that is the format's own, or a _FillValue that is no value of the variable's type.
void write_attribute(hid_t holder, const std::string& name, const AttributeValue& value, bool as_netcdf);
// One that is text of fixed length, as netCDF-4 marks its files.
void write_fixed_text(hid_t holder, const std::string& name, const std::string& text);

// A fill value in the type of the variable: netCDF-4 opens no other. Throws Error{kArgument}, which begins with
// `where`, where it cannot be.
std::vector<std::byte> fill_element(const std::string& where, const AttributeValue& value, const ElementType& type);

}  // namespace swath::formats::hdf5
