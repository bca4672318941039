// Converts names, types and values between netCDF classic and the core.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/attribute.h"
#include "formats/element_type.h"
#include "formats/netcdf/header.h"

namespace swath::formats::netcdf {

// The name as a file stores it, in Unicode's form NFC. Throws Error{kArgument} if netCDF does not allow the name.
std::string checked_name(const std::string& name);

// The stored type, which is big-endian.
ElementType element_type(Type type);
// The type for elements in either byte order. Throws Error{kArgument} if the version has none.
Type type_of(const ElementType& elements, int version);

// In the order of the file; of two with the same name, the first, as in netCDF's library. Numbers have native byte
// order.
Attributes attributes_of(const std::vector<StoredAttribute>& stored);

// An attribute as the version stores it. Its type is kept, but int64, Python's type, becomes int32 in CDF-1 and -2 if
// it fits. Throws Error{kArgument} for a name or a value that it cannot store.
StoredAttribute stored_attribute(const std::string& name, const AttributeValue& value, int version);

// Adds attributes, replaces them in place, or (null) removes them.
std::vector<StoredAttribute> with_changes(const std::vector<StoredAttribute>& stored, const Attributes& changes,
                                          int version);

// A _FillValue for an attribute of a variable, as one value of its type. Throws Error{kArgument} if it is no such
// value.
AttributeValue checked_fill(const AttributeValue& value, const ElementType& type);

// One element, as stored: the attribute _FillValue if it is a value of the type (netCDF ignores others, too); otherwise
// the value that netCDF reads for elements that were not written (netcdf.h, NC_FILL_BYTE and so on).
std::vector<std::byte> fill_of(const ElementType& type, const AttributeValue* fill);

}  // namespace swath::formats::netcdf
