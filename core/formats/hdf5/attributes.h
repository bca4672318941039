// Attributes of groups and datasets as typed values; the names of those that HDF5 and netCDF-4 use themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/attribute.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/types.h"

namespace swath::formats::hdf5 {

// Whether dimension scales or netCDF-4 use an attribute of this name.
bool is_own_name(const std::string& name);

// The bytes of an attribute's name in the object; UTF-8 if there is no such attribute.
std::string stored_attribute_name(hid_t holder, const std::string& name);
// The names of all attributes of an object, in the order of their creation.
std::vector<std::string> attribute_names(hid_t holder);
bool contains(const std::vector<std::string>& names, const char* name);

struct FoundAttributes {
  Attributes values = {};
  OtherAttributes others = {};  // descriptions of attributes whose types Attributes does not hold
};
// The user's attributes with these names.
FoundAttributes read_attributes(hid_t holder, const std::vector<std::string>& names);

// The text of an attribute; "" if it is no text.
std::string attribute_text(hid_t holder, const char* name);
// The texts of an attribute, one or several; empty if it is no text.
std::vector<std::string> attribute_texts(hid_t holder, const char* name);
// The integers of an attribute; none if there is no such attribute, or if it has other values.
std::optional<std::vector<int64_t>> attribute_integers(hid_t holder, const char* name);
// The single value of an attribute, converted to a type of memory; none if there is no attribute, or no single value.
std::optional<std::vector<std::byte>> attribute_element(hid_t holder, const char* name, hid_t type_in_memory);
// For an attribute of `count` lists of references, the address of the first object in each list; HADDR_UNDEF if a list
// is empty. Empty if the attribute is something else.
std::vector<haddr_t> first_references(hid_t holder, const char* name, size_t count);

// The lengths of a dataspace. Throws Error{kFormat} if it is beyond 64-bit offsets.
Shape shape_of_space(hid_t space);
bool is_null_space(hid_t space);

}  // namespace swath::formats::hdf5
