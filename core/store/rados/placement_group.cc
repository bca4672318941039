#include "store/rados/placement_group.h"

#include <array>
#include <bit>

namespace swath {
namespace {

using State = std::array<uint32_t, 3>;

// One third of a round: subtracts the two other words from each word, and combines it with the shifted previous one.
void stir(State& s, uint32_t first, uint32_t second, uint32_t third) {
  s[0] = (s[0] - s[1] - s[2]) ^ (s[2] >> first);
  s[1] = (s[1] - s[2] - s[0]) ^ (s[0] << second);
  s[2] = (s[2] - s[0] - s[1]) ^ (s[1] >> third);
}

void mix(State& state) {
  stir(state, 13, 8, 13);
  stir(state, 12, 16, 5);
  stir(state, 3, 10, 15);
}

uint32_t value(char byte) { return static_cast<uint8_t>(byte); }

}  // namespace

uint32_t jenkins_hash(std::string_view bytes) {
  constexpr uint32_t kGolden = 0x9e3779b9;
  constexpr size_t kBlock = 12;
  State state{kGolden, kGolden, 0};
  const auto length = static_cast<uint32_t>(bytes.size());
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    for (size_t i = 0; i < kBlock; ++i) state[i / 4] += value(bytes[i]) << (i % 4 * 8);
    mix(state);
  }
  state[2] += length;  // in the lowest byte of the last word; the remaining bytes use the upper three
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t byte = i < 8 ? i % 4 : i % 4 + 1;
    state[i / 4] += value(bytes[i]) << (byte * 8);
  }
  mix(state);
  return state[2];
}

uint32_t placement_group(uint32_t hash, uint32_t groups) {
  const uint32_t mask = std::bit_ceil(groups) - 1;
  const uint32_t folded = hash & mask;
  return folded < groups ? folded : hash & (mask >> 1);
}

}  // namespace swath
