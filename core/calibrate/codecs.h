// What coding costs: seconds of one core for each byte of a decoded chunk, measured on bytes that are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunks/codec.h"

namespace swath {

// A number for each chunk that was encoded, and decoded again.
struct CodingTimes {
  std::vector<double> encode;  // seconds a decoded byte
  std::vector<double> decode;
  int64_t decoded_bytes = 0;  // of these chunks
  int64_t stored_bytes = 0;   // what the codecs made of them
};

// Encodes `elements` in chunks of `chunk_bytes` and decodes each again: the first chunk at least, the others until
// `seconds_max` have passed. Seconds are the thread's processor time, so that a busy machine tells the same.
// Throws Error{kArgument} where there is no whole chunk.
CodingTimes time_coding(const CodecChain& codecs, std::span<const std::byte> elements, int64_t chunk_bytes,
                        double seconds_max);

}  // namespace swath
