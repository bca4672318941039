// Codecs as Zarr's metadata write them, to and from the core's (chunks/codec.h).
//
// Sources: Zarr version 3 and its registered codecs; for version 2 numcodecs' configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chunks/codec.h"
#include "formats/zarr/fields.h"
#include "formats/zarr/json.h"

namespace swath::zarr {

// What a version 3 array's `codecs` say: how a chunk's elements follow each other, and what is done to its bytes.
struct Chain {
  std::vector<int> order = {};  // dimensions of a chunk from slowest to fastest
  bool is_big_endian = false;
  std::vector<Codec> codecs = {};  // bytes to bytes
  // The configuration of `sharding_indexed`: then everything else is unused.
  std::optional<Field> sharding = {};
};

// The codecs of an array of `ndim` dimensions. Throws Error{kUnsupported} for one that Swath has not.
Chain chain_of_v3(const Field& codecs, size_t ndim, int64_t element_bytes);
// Filters and compressor of version 2, in the order of encoding.
std::vector<Codec> codecs_of_v2(const Field& filters, const Field& compressor, int64_t element_bytes);
// The core's codec, configured as numcodecs and Zarr's version 3 do. Throws Error{kFormat} for a configuration that
// cannot be, Error{kUnsupported} for a codec that this build has not.
Codec codec_of(const std::string& name, const Field& settings, int64_t element_bytes);

// Codecs that are registered for version 3, which every reader has, in place of those that are not: fletcher32 becomes
// crc32c, zlib gzip; lz4, and a compressor with a shuffle before it, become Blosc, which does both. A shuffle alone,
// which makes nothing smaller, is left out.
std::vector<Codec> registered(std::span<const Codec> codecs, int64_t chunk_bytes);
// As metadata of version 3; those that are not registered have numcodecs' names.
Json codec_to_v3(const Codec& codec);
// As numcodecs configures it.
Json codec_to_v2(const Codec& codec);

}  // namespace swath::zarr
