#include "base/hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace swath {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;
constexpr size_t kStripeBytes = 32;

// Reads numbers as the little-endian machines that the library runs on hold them.
static_assert(std::endian::native == std::endian::little);

template <typename T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t mix(uint64_t lane, uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ mix(0, lane)) * kPrime1 + kPrime4; }

// Of whole stripes.
uint64_t hash_stripes(std::span<const std::byte> stripes, uint64_t seed) {
  std::array<uint64_t, 4> lanes{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (size_t begin = 0; begin < stripes.size(); begin += kStripeBytes) {
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = mix(lanes[i], read<uint64_t>(&stripes[begin + 8 * i]));
  }
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) hash = merge(hash, lane);
  return hash;
}

// Of the less than a stripe at the end.
uint64_t add_tail(uint64_t hash, std::span<const std::byte> tail) {
  for (; tail.size() >= 8; tail = tail.subspan(8)) {
    hash = std::rotl(hash ^ mix(0, read<uint64_t>(tail.data())), 27) * kPrime1 + kPrime4;
  }
  if (tail.size() >= 4) {
    hash = std::rotl(hash ^ (read<uint32_t>(tail.data()) * kPrime1), 23) * kPrime2 + kPrime3;
    tail = tail.subspan(4);
  }
  for (const std::byte byte : tail) hash = std::rotl(hash ^ (static_cast<uint64_t>(byte) * kPrime5), 11) * kPrime1;
  return hash;
}

uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  const size_t stripes_bytes = bytes.size() / kStripeBytes * kStripeBytes;
  const uint64_t hash = stripes_bytes > 0 ? hash_stripes(bytes.first(stripes_bytes), seed) : seed + kPrime5;
  return avalanche(add_tail(hash + bytes.size(), bytes.subspan(stripes_bytes)));
}

}  // namespace swath
