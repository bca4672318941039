// Attributes of a Zarr store, which are JSON, to and from the types that all formats share; among them the fill value.
//
// JSON has no int16: a number is an int64 or a double, a list of numbers a one-dimensional array of these. What a list
// or an object holds else stays as it is.
//
// `_FillValue`, which says where data are missing, is in version 2 the `fill_value` of the metadata. In version 3,
// where that has always a value, it is an attribute as xarray writes it: numbers of floating point as the base64 of a
// double.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/attribute.h"
#include "formats/zarr/nodes.h"
#include "formats/zarr/numbers.h"

namespace swath::zarr {

inline constexpr std::string_view kFill = "_FillValue";

// The attributes of a group, or of an array whose elements have this type.
formats::Attributes typed_attributes(const Node& node, const std::optional<ElementType>& type = std::nullopt);
// The attribute of version 3 for a fill value; none for elements for which xarray could not read it.
std::optional<Json> fill_attribute(std::span<const std::byte> fill, const ElementType& type);
// Attributes as JSON holds them. Throws Error{kArgument} for names that are Swath's, and what JSON cannot hold.
Json::Members attributes_to_json(const formats::Attributes& attributes);
// Throws Error{kArgument} for a name that is Swath's.
void refuse_own_name(const std::string& name);
// The value of the attribute _FillValue as an element. Throws Error{kArgument} where it is none.
Bytes element_of(const formats::AttributeValue& value, const ElementType& type);

}  // namespace swath::zarr
