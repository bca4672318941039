// The metadata of new groups and arrays.
#pragma once

#include <optional>
#include <utility>

#include "formats/new_array.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

inline constexpr int64_t kChunkBytes = int64_t{4} << 20;  // the default size of a chunk

// "v2" or "v3"; "" means "v3".
int version_of(std::string_view flavour);

Node new_group(const std::string& path, const std::string& name, int version, const Names& grows = {});
// Throws Error{kArgument} for what the version cannot store.
Node new_array(const std::string& path, const std::string& name, int version, const formats::NewArray& array);
// The node with another _FillValue; null removes it. Throws Error{kArgument}, Error{kUnsupported}.
Node with_fill(const Node& node, const formats::AttributeValue& value);

// The shape of a chunk, by default of about kChunkBytes, and of a shard. Throws Error{kArgument} if they do not fit.
std::pair<Shape, std::optional<Shape>> chunks_and_shards(const Shape& shape, int64_t element_bytes,
                                                         const std::optional<Shape>& chunks,
                                                         const std::optional<Shape>& shards);

}  // namespace swath::zarr
