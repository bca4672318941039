#include "base/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace swath {
namespace {

TEST(Crc32, IsThatOfZlib) {
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
  EXPECT_EQ(crc32(std::string(1000, '\xFF')), 0xE0533230u);
}

TEST(Crc32, GoesOnBehindOtherBytesWhereverTheyEnd) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(crc32(text.substr(at), crc32(text.substr(0, at))), 0x414FA339u) << at;
  }
}

}  // namespace
}  // namespace swath
