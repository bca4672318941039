// Converts types of elements and fill values from and to Zarr's metadata.
//
// Sources: Zarr version 3, core specification 3.0 ("Data types", "Fill value") and its registered extensions; Zarr
// version 2, "Data type encoding" and "Fill value encoding". Byte order is part of the type, as everywhere in Swath.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "formats/zarr/fields.h"
#include "formats/zarr/numbers.h"

namespace swath::zarr {

// The type in little-endian: the codec `bytes` gives the byte order, not this field. Throws Error{kUnsupported} if
// elements are not a fixed number of bytes, or if Swath has no such type.
ElementType type_of_v3(const Field& data_type);
// `data_type` for a type in either byte order. Throws Error{kArgument} if there is none.
Json type_to_v3(const ElementType& type);
// The type with its byte order. Throws Error{kUnsupported} for objects.
ElementType type_of_v2(const Field& stored);
// `dtype` of the metadata. Throws Error{kArgument} for a structure that it cannot describe.
Json type_to_v2(const ElementType& type);

// One element of a type from `fill_value`; null gives zero bytes. Throws Error{kFormat} if it is no such element,
// {kUnsupported} for an element of more than 16 MiB.
Bytes fill_of(const Field& stored, const ElementType& type);
// `fill_value` of either version for one element.
Json fill_to_json(std::span<const std::byte> fill, const ElementType& type);

}  // namespace swath::zarr
