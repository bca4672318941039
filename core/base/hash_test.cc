#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace swath {
namespace {

TEST(Hash, IsXxh64) {
  EXPECT_EQ(hash_text(""), 0xEF46DB3751D8E999);
  EXPECT_EQ(hash_text("a"), 0xD24EC4F1A98C6E5B);
  EXPECT_EQ(hash_text("abc"), 0x44BC2CF5AD770999);
  EXPECT_EQ(hash_text("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1);
}

std::vector<std::byte> counting_bytes(int64_t count) {
  std::vector<std::byte> bytes(count);
  for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

// Covers all combinations of stripes and tails: the hash of all hashes, by the reference implementation.
TEST(Hash, IsXxh64OfAnyLengthWithAnySeed) {
  const std::vector<std::byte> bytes = counting_bytes(256);
  std::vector<uint64_t> hashes;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    hashes.push_back(hash_bytes(std::span(bytes).first(length), length));
  }
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(hashes))), 0x3EF0B99D8AE8707D);
}

TEST(Hash, AnyBitThatDiffersChangesAboutHalfOfIt) {
  std::vector<std::byte> bytes = counting_bytes(77);
  const uint64_t before = hash_bytes(bytes);
  std::set<uint64_t> seen{before};
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const uint64_t hash = hash_bytes(bytes);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(seen.insert(hash).second);
    EXPECT_GT(std::popcount(hash ^ before), 10);
    EXPECT_LT(std::popcount(hash ^ before), 54);
  }
}

}  // namespace
}  // namespace swath
