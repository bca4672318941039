// The cost of codecs: seconds of one core for each byte of a decoded chunk, measured on given bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunks/codec.h"

namespace swath {

// One number for each chunk, which is encoded and decoded again.
struct CodingTimes {
  std::vector<double> encode;  // seconds a decoded byte
  std::vector<double> decode;
  int64_t decoded_bytes = 0;  // of these chunks
  int64_t stored_bytes = 0;   // their encoded size
};

// Encodes `elements` in chunks of `chunk_bytes` and decodes each: at least the first chunk, the others until
// `seconds_max` have passed. Measures the thread's processor time, which does not depend on other load. Throws
// Error{kArgument} if there is no whole chunk.
CodingTimes time_coding(const CodecChain& codecs, std::span<const std::byte> elements, int64_t chunk_bytes,
                        double seconds_max);

}  // namespace swath
