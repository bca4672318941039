// The HDF5 types in which elements and attributes are stored, as h5py makes them from NumPy's types.
#pragma once

#include <cstdint>
#include <string>

#include "formats/element_type.h"
#include "formats/hdf5/calls.h"

namespace swath::formats::hdf5 {

Handle integer_type(const ElementType& type);
Handle float_type(const ElementType& type);
Handle complex_type(const ElementType& type);
Handle boolean_type();  // an enumeration of FALSE and TRUE
Handle fixed_text_type(int64_t bytes, int encoding);
Handle characters_type(int64_t bytes, int encoding);  // of fixed length, as netCDF-4 stores them
Handle variable_text_type();                          // UTF-8, of any length
Handle opaque_type(int64_t bytes, const std::string& tag);

// The stored type of elements. Throws Error{kArgument} if HDF5 has none.
Handle stored_type(const ElementType& type);
// Throws Error{kArgument} if netCDF-4 lacks this type of elements.
void check_is_of_netcdf4(const ElementType& type);

}  // namespace swath::formats::hdf5
