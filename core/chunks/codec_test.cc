#include "chunks/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "chunks/checksums.h"
#include "chunks/compressors.h"
#include "chunks/shuffle.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Random;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Bytes that can be compressed, but not to nothing.
Bytes sample(size_t size, Random& random) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 8 < 6 ? i / 64 : random.between(0, 255));
  return bytes;
}

Codec codec(CodecKind kind) {
  Codec made;
  made.kind = kind;
  made.element_bytes = 8;
  made.compressor = "lz4";
  made.shuffle = 1;
  return made;
}

std::vector<CodecChain> chains() {
  const auto kinds = {CodecKind::kZstd,    CodecKind::kBlosc, CodecKind::kLz4,
                      CodecKind::kHdf5Lz4, CodecKind::kGzip,  CodecKind::kZlib};
  std::vector<CodecChain> chains{CodecChain{}, CodecChain({codec(CodecKind::kCrc32c)}),
                                 CodecChain({codec(CodecKind::kShuffle)}),
                                 CodecChain({codec(CodecKind::kShuffle), codec(CodecKind::kFletcher32)})};
  for (const CodecKind kind : kinds) {
    if (!compressor_refusal(kind).empty()) continue;
    chains.emplace_back(std::vector{codec(kind)});
    chains.emplace_back(std::vector{codec(CodecKind::kShuffle), codec(kind), codec(CodecKind::kCrc32c)});
    chains.emplace_back(
        std::vector{codec(CodecKind::kCrc32c), codec(kind), codec(CodecKind::kFletcher32), codec(kind)});
  }
  return chains;
}

TEST(Checksums, HaveTheirPublishedValues) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U);  // RFC 3720
  EXPECT_EQ(crc32c(Bytes(32)), 0x8A9136AAU);
  EXPECT_EQ(crc32c(Bytes{}), 0U);
  // Computed by hand: the words 0x6162 0x6364 0x6500 and their running sums, modulo 65,535.
  const uint32_t first = (0x6162 + 0x6364 + 0x6500) % 65535;
  const uint32_t second = (3 * 0x6162 + 2 * 0x6364 + 0x6500) % 65535;
  EXPECT_EQ(fletcher32(bytes_of("abcde")), (second << 16) | first);
}

TEST(Checksums, OfLongBytesAreThoseOfEachByteAfterTheOther) {
  const auto bit_by_bit = [](std::span<const std::byte> bytes) {
    uint32_t crc = ~uint32_t{0};
    for (const std::byte byte : bytes) {
      crc ^= static_cast<uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
    }
    return ~crc;
  };
  Random random(7);
  for (const int size : {7, 8, 4095, 12287, 12288, 12301, 36872, 100001}) {
    Bytes bytes(static_cast<size_t>(size) + 1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
    const auto unaligned = std::span<const std::byte>(bytes).subspan(1);
    EXPECT_EQ(crc32c(unaligned), bit_by_bit(unaligned)) << size << " bytes";
  }
}

TEST(Shuffle, SortsBytesByTheirPlaceInTheElement) {
  const Bytes elements = bytes_of("a1b1c1x");
  Bytes shuffled(7);
  shuffle_bytes(elements, shuffled, 2);
  EXPECT_EQ(shuffled, bytes_of("abc111x"));
  Random random(1);
  for (const int64_t size : {1, 2, 3, 4, 8, 16, 17}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{16}, size_t{1000}, size_t{1003}}) {
      const Bytes before = sample(bytes, random);
      Bytes between(bytes);
      Bytes after(bytes);
      shuffle_bytes(before, between, size);
      unshuffle_bytes(between, after, size);
      EXPECT_EQ(before, after) << size << " " << bytes;
    }
  }
}

TEST(CodecChain, DecodesWhatItEncoded) {
  Random random(2);
  CodecWorkspace workspace;
  for (const CodecChain& chain : chains()) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{1001}, size_t{100000}}) {
      const Bytes before = sample(size, random);
      const auto encoded = chain.encode(before, workspace);
      const Bytes stored(encoded.begin(), encoded.end());
      EXPECT_LE(static_cast<int64_t>(stored.size()), chain.stored_bytes_max(static_cast<int64_t>(size)));
      Bytes after(size);
      chain.decode(stored, after, 0, workspace);
      EXPECT_EQ(before, after);
    }
  }
}

// Blocks of 16 KiB: a range is in one of several, across two, or in the incomplete item at the end.
TEST(CodecChain, DecodesTheBytesThatAreWanted) {
  Random random(4);
  CodecWorkspace workspace;
  for (const size_t size : {size_t{8}, size_t{1001}, size_t{100003}}) {
    for (CodecChain chain : chains()) {
      std::vector<Codec> codecs = chain.codecs();
      for (Codec& one : codecs) one.block_bytes = 16384;
      chain = CodecChain(codecs);
      const Bytes before = sample(size, random);
      const auto encoded = chain.encode(before, workspace);
      const Bytes stored(encoded.begin(), encoded.end());
      for (int i = 0; i < 50; ++i) {
        const int64_t begin = random.between(0, static_cast<int64_t>(size) - 1);
        const int64_t end = i == 0 ? static_cast<int64_t>(size)
                                   : random.between(begin + 1, std::min(begin + 5000, static_cast<int64_t>(size)));
        Bytes after(size);
        chain.decode(stored, after, 0, workspace, ByteRange{.begin = begin, .end = end});
        EXPECT_TRUE(std::equal(before.begin() + begin, before.begin() + end, after.begin() + begin)) << begin << end;
      }
    }
  }
}

TEST(CodecChain, LeavesOutWhatTheMaskSays) {
  CodecWorkspace workspace;
  const CodecChain chain({codec(CodecKind::kShuffle), codec(CodecKind::kFletcher32)});
  const Bytes elements = bytes_of("abcdefgh12345678");
  Bytes decoded(16);
  chain.decode(elements, decoded, 0b11, workspace);
  EXPECT_EQ(decoded, elements);
  const auto summed = CodecChain({codec(CodecKind::kFletcher32)}).encode(elements, workspace);
  const Bytes stored(summed.begin(), summed.end());
  chain.decode(stored, decoded, 0b01, workspace);
  EXPECT_EQ(decoded, elements);
  EXPECT_TRUE(chain.is_plain(0b11));
  EXPECT_FALSE(chain.is_plain(0b01));
}

TEST(CodecChain, RefusesAnotherSize) {
  CodecWorkspace workspace;
  for (const CodecChain& chain : chains()) {
    const Bytes before = bytes_of("0123456789abcdef");
    const auto encoded = chain.encode(before, workspace);
    const Bytes stored(encoded.begin(), encoded.end());
    for (const size_t size : {size_t{0}, size_t{15}, size_t{17}, size_t{4000}}) {
      Bytes decoded(size);
      EXPECT_THROW(chain.decode(stored, decoded, 0, workspace), Error) << size;
    }
  }
}

// Under the address sanitizer, this also shows that no byte outside is touched.
TEST(CodecChain, SurvivesDamage) {
  Random random(3);
  CodecWorkspace workspace;
  for (const CodecChain& chain : chains()) {
    const Bytes before = sample(3000, random);
    const auto encoded = chain.encode(before, workspace);
    const Bytes stored(encoded.begin(), encoded.end());
    int noticed = 0;
    for (int i = 0; i < 300; ++i) {
      Bytes damaged = stored;
      if (i % 3 == 0) damaged.resize(static_cast<size_t>(random.between(0, static_cast<int64_t>(stored.size()) - 1)));
      for (int flips = i % 3; flips > 0 && !damaged.empty(); --flips) {
        damaged[static_cast<size_t>(random.between(0, static_cast<int64_t>(damaged.size()) - 1))] ^=
            static_cast<std::byte>(1 << random.between(0, 7));
      }
      Bytes decoded(before.size());
      try {
        chain.decode(damaged, decoded, 0, workspace);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kFormat);
        ++noticed;
      }
    }
    EXPECT_GE(noticed, 100);  // at least every truncated one
  }
}

TEST(CodecChain, SurvivesDamageWhereOnlySomeBytesAreWanted) {
  if (!compressor_refusal(CodecKind::kBlosc).empty()) GTEST_SKIP() << compressor_refusal(CodecKind::kBlosc);
  Random random(5);
  CodecWorkspace workspace;
  Codec blocks = codec(CodecKind::kBlosc);
  blocks.block_bytes = 4096;
  for (const char* compressor : {"lz4", "blosclz", "zstd", "zlib"}) {
    blocks.compressor = compressor;
    const CodecChain chain({blocks});
    const Bytes before = sample(30000, random);
    const auto encoded = chain.encode(before, workspace);
    const Bytes stored(encoded.begin(), encoded.end());
    int noticed = 0;
    for (int i = 0; i < 2000; ++i) {
      Bytes damaged = stored;
      if (i % 4 == 0) damaged.resize(static_cast<size_t>(random.between(0, static_cast<int64_t>(stored.size()) - 1)));
      // Half of the time, the damage is in the header, and in the table of blocks after it.
      const int64_t last = std::min<int64_t>(i % 2 == 0 ? 48 : INT64_MAX, static_cast<int64_t>(damaged.size()));
      for (int flips = i % 4; flips > 0 && last > 0; --flips) {
        damaged[static_cast<size_t>(random.between(0, last - 1))] ^= static_cast<std::byte>(1 << random.between(0, 7));
      }
      Bytes decoded(before.size());
      const int64_t begin = random.between(0, 29000);
      try {
        chain.decode(damaged, decoded, 0, workspace, ByteRange{.begin = begin, .end = begin + 1000});
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kFormat);
        ++noticed;
      }
    }
    EXPECT_GE(noticed, 500);  // at least every truncated one
  }
}

TEST(CodecChain, SaysWhatAChecksumShouldBe) {
  CodecWorkspace workspace;
  const CodecChain chain({codec(CodecKind::kCrc32c)});
  Bytes stored = bytes_of("123456789....");
  Bytes decoded(9);
  try {
    chain.decode(stored, decoded, 0, workspace);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "crc32c: the checksum is 0xe3069283, but 0x2e2e2e2e is stored: the bytes have changed");
  }
}

TEST(Codec, IsRefusedByNameWhereItIsUnknown) {
  EXPECT_EQ(codec_named("crc32c"), CodecKind::kCrc32c);
  try {
    codec_named("szip");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  }
}

}  // namespace
}  // namespace swath
