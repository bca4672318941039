// Names, types and values of netCDF classic, and what the core calls them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/attribute.h"
#include "formats/element_type.h"
#include "formats/netcdf/header.h"

namespace swath::formats::netcdf {

// The name as a file may have it, in Unicode's form NFC. Throws Error{kArgument} for what netCDF allows no name.
std::string checked_name(const std::string& name);

// As stored: big-endian.
ElementType element_type(Type type);
// The type of elements in either byte order. Throws Error{kArgument} where the version has none.
Type type_of(const ElementType& elements, int version);

// In their order; of two with one name the first, as netCDF's library finds it. Numbers are in this machine's order.
Attributes attributes_of(const std::vector<StoredAttribute>& stored);

// An attribute as the version stores it. Its type is kept; int64, Python's type, fits CDF-1 and -2 as int32. Throws
// Error{kArgument} for a name or a value that it cannot store.
StoredAttribute stored_attribute(const std::string& name, const AttributeValue& value, int version);

// Others added, replaced in their places, and (null) removed.
std::vector<StoredAttribute> with_changes(const std::vector<StoredAttribute>& stored, const Attributes& changes,
                                          int version);

// A _FillValue that is to become an attribute of a variable, as one value of its type. Throws Error{kArgument} where
// it is none.
AttributeValue checked_fill(const AttributeValue& value, const ElementType& type);

// One element, as stored: the attribute _FillValue where it is a value of the type (netCDF ignores others, too), else
// what netCDF reads where nothing was written (netcdf.h, NC_FILL_BYTE and so on).
std::vector<std::byte> fill_of(const ElementType& type, const AttributeValue* fill);

}  // namespace swath::formats::netcdf
