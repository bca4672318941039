// A hash that is the same on every machine and in every build, unlike std::hash, so that ranks and files can compare
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swath {

// XXH64 (xxHash, 64 bits): well mixed, about a byte a cycle or better. It does not resist deliberate collisions.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

inline uint64_t hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

}  // namespace swath
