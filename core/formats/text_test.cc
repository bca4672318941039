#include "formats/text.h"

#include <gtest/gtest.h>

namespace swath::formats {
namespace {

TEST(StoredTextTest, WhatIsNoUtf8IsLatin1AndGoesBack) {
  EXPECT_EQ(text_of("temperature"), "temperature");
  EXPECT_EQ(text_of(std::string("K\0\0", 3)), "K");
  EXPECT_EQ(text_of("°C"), "°C");
  EXPECT_EQ(text_of("\xb0"
                    "C"),
            "°C");
  EXPECT_EQ(latin1_of(text_of("\xb0"
                              "C")),
            "\xb0"
            "C");
  for (int code = 0x80; code < 0x100; ++code) {
    const std::string stored(1, static_cast<char>(code));
    EXPECT_TRUE(is_utf8(text_of(stored)));
    EXPECT_EQ(latin1_of(text_of(stored)), stored);
  }
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));  // half of a surrogate pair
}

TEST(StoredTextTest, MessagesShowNoControlCharacters) {
  EXPECT_EQ(escaped("a\nb\x7f\xff"), "a\\x0ab\\x7f\\xff");
  EXPECT_EQ(quoted("größe"), "'größe'");
  EXPECT_EQ(quoted("it's"), "'it\\'s'");
}

}  // namespace
}  // namespace swath::formats
