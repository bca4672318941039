// Attributes of groups and datasets as typed values; those that HDF5 and netCDF-4 keep for themselves.
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

// Dimension scales and netCDF-4 store what they need themselves in these.
bool is_own_name(const std::string& name);

// The bytes of an attribute's name, as the object has it; those of UTF-8 where it has none of that name.
std::string stored_attribute_name(hid_t holder, const std::string& name);
// The names of all attributes of an object, in the order in which they were made.
std::vector<std::string> attribute_names(hid_t holder);
bool contains(const std::vector<std::string>& names, const char* name);

struct FoundAttributes {
  Attributes values = {};
  OtherAttributes others = {};  // in words, of types that Attributes do not hold
};
// The attributes that are the user's, of those names.
FoundAttributes read_attributes(hid_t holder, const std::vector<std::string>& names);

// One attribute that is a text; "" where it is none.
std::string attribute_text(hid_t holder, const char* name);
// One attribute that is several texts, or one; empty where it is none.
std::vector<std::string> attribute_texts(hid_t holder, const char* name);
// One attribute that is integers; none where there is none, or it is something else.
std::optional<std::vector<int64_t>> attribute_integers(hid_t holder, const char* name);
// One attribute that is one value, converted to a type of memory; none where there is none, or it is not one value.
std::optional<std::vector<std::byte>> attribute_element(hid_t holder, const char* name, hid_t type_in_memory);
// The addresses of the first object that each element of a list of references names, for an attribute of `count`
// lists; HADDR_UNDEF where it names none. Empty where the attribute is something else.
std::vector<haddr_t> first_references(hid_t holder, const char* name, size_t count);

// The lengths of a dataspace. Throws Error{kFormat} for one beyond 64-bit offsets.
Shape shape_of_space(hid_t space);
bool is_null_space(hid_t space);

}  // namespace swath::formats::hdf5
