// Converts attributes of a Zarr store, which are JSON, to and from the types that all formats share; also fill values.
//
// JSON has no int16: a number becomes an int64 or a double, a list of numbers a one-dimensional array of these. Other
// lists and objects stay JSON.
//
// `_FillValue` marks missing data. In version 2 it is the `fill_value` of the metadata. In version 3, `fill_value`
// always has a value, so `_FillValue` is an attribute as xarray writes it: a floating-point number is the base64 of a
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

// The attributes of a group, or of an array with elements of this type.
formats::Attributes typed_attributes(const Node& node, const std::optional<ElementType>& type = std::nullopt);
// The attribute of version 3 for a fill value; none for elements whose attribute xarray could not read.
std::optional<Json> fill_attribute(std::span<const std::byte> fill, const ElementType& type);
// Attributes as JSON. Throws Error{kArgument} for names that Swath uses itself, and for values that JSON cannot hold.
Json::Members attributes_to_json(const formats::Attributes& attributes);
// Throws Error{kArgument} for a name that Swath uses itself.
void refuse_own_name(const std::string& name);
// The value of the attribute _FillValue as an element. Throws Error{kArgument} if it is no such value.
Bytes element_of(const formats::AttributeValue& value, const ElementType& type);

}  // namespace swath::zarr
