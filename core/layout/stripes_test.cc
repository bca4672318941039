#include "layout/stripes.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "store/rados/name.h"

namespace swath {
namespace {

struct Position {
  int64_t object;
  int64_t offset;
};

// Computes each byte by the definition in libradosstriper's documentation.
std::vector<Position> naive_places(const StripeLayout& stripes, int64_t bytes) {
  std::vector<Position> places;
  int64_t set = 0;
  std::vector<int64_t> filled(static_cast<size_t>(stripes.count));
  for (int64_t turn = 0; std::ssize(places) < bytes; turn = (turn + 1) % stripes.count) {
    if (turn == 0 && filled.front() == stripes.object_bytes) {
      ++set;
      filled.assign(filled.size(), 0);
    }
    for (int64_t i = 0; i < stripes.unit && std::ssize(places) < bytes; ++i) {
      places.push_back({set * stripes.count + turn, filled[static_cast<size_t>(turn)]++});
    }
    if (std::ssize(places) == bytes) break;
  }
  return places;
}

TEST(Stripes, BytesLieWhereDealingThemOutPutsThem) {
  for (const StripeLayout& stripes :
       {StripeLayout{2, 3, 4}, StripeLayout{1, 1, 1}, StripeLayout{5, 2, 15}, StripeLayout{13, 4, 13}}) {
    constexpr int64_t kBytes = 257;
    const std::vector<Position> places = naive_places(stripes, kBytes);
    std::map<int64_t, int64_t> ends;
    for (int64_t offset = 0; offset < kBytes; ++offset) {
      const Position& place = places[static_cast<size_t>(offset)];
      const StripePiece piece = stripes.piece_at(offset, kBytes - offset);
      ASSERT_EQ(piece.object, place.object) << offset;
      ASSERT_EQ(piece.object_offset, place.offset) << offset;
      ASSERT_EQ(stripes.file_offset(place.object, place.offset), offset);
      ends[place.object] = place.offset + 1;
      const int64_t end = offset + piece.bytes;
      ASSERT_TRUE(end == kBytes || end % stripes.unit == 0) << offset;
      ASSERT_EQ(stripes.objects(offset + 1), std::ssize(ends)) << offset;
      for (const auto& [object, bytes] : ends) ASSERT_EQ(stripes.bytes_of_object(object, offset + 1), bytes);
      ASSERT_EQ(stripes.bytes_of_object(std::ssize(ends), offset + 1), 0);
    }
    for (int64_t begin = 0; begin < kBytes; begin += 7) {
      for (int64_t end = begin + 1; end <= kBytes; end += 5) {
        std::set<int64_t> touched;
        for (int64_t offset = begin; offset < end; ++offset) touched.insert(places[static_cast<size_t>(offset)].object);
        ASSERT_EQ(stripes.objects_of(begin, end), std::vector<int64_t>(touched.begin(), touched.end()));
      }
    }
  }
}

TEST(Stripes, WhatCannotBeIsRefused) {
  EXPECT_EQ(StripeLayout{}.refusal(), "");
  EXPECT_NE((StripeLayout{0, 1, 1}.refusal()), "");
  EXPECT_NE((StripeLayout{3, 1, 4}.refusal()), "");
  EXPECT_NE((StripeLayout{1, 100'000, 4}.refusal()), "");
  EXPECT_NE((StripeLayout{1, 1, int64_t{1} << 30}.refusal()), "");
}

TEST(RadosName, SaysPoolFileAndHowToReachThem) {
  const RadosName name = RadosName::parse("rados:climate/a/b.npy?conf=/etc/x.conf&id=ann&timeout=7&stripe=2,3,4");
  EXPECT_EQ(name.pool, "climate");
  EXPECT_EQ(name.file, "a/b.npy");
  EXPECT_EQ(name.conf, "/etc/x.conf");
  EXPECT_EQ(name.id, "ann");
  EXPECT_EQ(name.timeout_seconds, 7);
  EXPECT_EQ(name.stripes, (StripeLayout{2, 3, 4}));
  EXPECT_EQ(RadosName::beside("rados:p/a?id=b", "c.gd"), "rados:p/c.gd?id=b");
  EXPECT_FALSE(is_rados("./rados:p/a"));
}

TEST(RadosName, WhatIsNoneSaysWhatWasExpected) {
  for (const char* wrong :
       {"rados:", "rados:pool", "rados:/a", "rados:p/", "rados:p/a?stripe=1,2", "rados:p/a?stripe=3,1,4",
        "rados:p/a?timeout=soon", "rados:p/a?timeout=0", "rados:p/a?colour=red", "rados:p?id=a/b"}) {
    try {
      RadosName::parse(wrong);
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      EXPECT_NE(std::string(error.what()).find("expected rados:POOL/NAME"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace swath
