// Converts codecs between Zarr's metadata and the core (chunks/codec.h).
//
// Sources: Zarr version 3 and its registered codecs; numcodecs' configurations for version 2.
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

// The `codecs` of a version 3 array: the order of a chunk's elements, and the codecs of its bytes.
struct Chain {
  std::vector<int> order = {};  // dimensions of a chunk from slowest to fastest
  bool is_big_endian = false;
  std::vector<Codec> codecs = {};  // from bytes to bytes
  // The configuration of `sharding_indexed`; if it is there, the other members are unused.
  std::optional<Field> sharding = {};
};

// The codecs of an array of `ndim` dimensions. Throws Error{kUnsupported} for a codec that Swath lacks.
Chain chain_of_v3(const Field& codecs, size_t ndim, int64_t element_bytes);
// Filters and compressor of version 2, in the order of encoding.
std::vector<Codec> codecs_of_v2(const Field& filters, const Field& compressor, int64_t element_bytes);
// The core's codec for a configuration of numcodecs or version 3. Throws Error{kFormat} for an impossible
// configuration, Error{kUnsupported} for a codec that this build lacks.
Codec codec_of(const std::string& name, const Field& settings, int64_t element_bytes);

// Replaces codecs that version 3 has not registered by registered ones, which every reader has: fletcher32 becomes
// crc32c, zlib gzip; lz4, and a compressor after a shuffle, become Blosc, which does both. A shuffle alone is left out,
// since it compresses nothing.
std::vector<Codec> registered(std::span<const Codec> codecs, int64_t chunk_bytes);
// The codec as metadata of version 3; a codec that is not registered has numcodecs' name.
Json codec_to_v3(const Codec& codec);
// The codec in numcodecs' configuration.
Json codec_to_v2(const Codec& codec);

}  // namespace swath::zarr
