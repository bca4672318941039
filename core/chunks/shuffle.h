// The byte shuffle of HDF5 and numcodecs: all first bytes of the elements, then all second ones, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace swath {

// Elements a1 a2, b1 b2, c1 c2 become a1 b1 c1 a2 b2 c2. An incomplete last element stays at the end. Both sides have
// the same size and do not overlap.
void shuffle_bytes(std::span<const std::byte> elements, std::span<std::byte> shuffled, int64_t element_bytes);
void unshuffle_bytes(std::span<const std::byte> shuffled, std::span<std::byte> elements, int64_t element_bytes);

}  // namespace swath
