// The metadata of groups and arrays that are made.
#pragma once

#include <optional>
#include <utility>

#include "formats/new_array.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

inline constexpr int64_t kChunkBytes = int64_t{4} << 20;  // of a chunk where nobody says how large it is to be

// "v2" or "v3"; the latter for "".
int version_of(std::string_view flavour);

Node new_group(const std::string& path, const std::string& name, int version, const Names& grows = {});
// Throws Error{kArgument} for what the version cannot store.
Node new_array(const std::string& path, const std::string& name, int version, const formats::NewArray& array);
// A node with another _FillValue; null for none. Throws Error{kArgument}, Error{kUnsupported}.
Node with_fill(const Node& node, const formats::AttributeValue& value);

// The shape of a chunk, by default of about kChunkBytes, and of a shard. Throws Error{kArgument} where they do not fit.
std::pair<Shape, std::optional<Shape>> chunks_and_shards(const Shape& shape, int64_t element_bytes,
                                                         const std::optional<Shape>& chunks,
                                                         const std::optional<Shape>& shards);

}  // namespace swath::zarr
