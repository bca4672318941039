// The object class without an OSD, compared with a naive copy, and with hostile messages.
//
// SWATH_FUZZ_INPUTS=10000000 sets the number of hostile messages (make sanitize runs few).
#include "rados_class/execute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace swath {
namespace {

using Bytes = std::vector<std::byte>;

class MemoryObject final : public ObjectBytes {
 public:
  std::span<const std::byte> read(int64_t offset, int64_t asked, int&) override {
    EXPECT_GE(offset, 0);
    ++reads;
    read_bytes += asked;
    const int64_t got = std::clamp<int64_t>(std::ssize(bytes) - offset, 0, asked);
    return {bytes.data() + std::min(offset, std::ssize(bytes)), static_cast<size_t>(got)};
  }
  int64_t write(int64_t offset, std::span<const std::byte> given) override {
    EXPECT_GE(offset, 0);
    ++writes;
    if (offset + std::ssize(given) > kBytesMax) return -EFBIG;
    if (std::ssize(bytes) < offset + std::ssize(given)) bytes.resize(static_cast<size_t>(offset) + given.size());
    std::copy(given.begin(), given.end(), bytes.begin() + offset);
    return 0;
  }

  static constexpr int64_t kBytesMax = int64_t{1} << 20;
  Bytes bytes;
  int64_t reads = 0;
  int64_t writes = 0;
  int64_t read_bytes = 0;
};

// Bytes of the requested space that are not written keep a mark.
int read_into(std::span<const std::byte> message, ObjectBytes& object, Bytes& data) {
  return execute_read(message, object, [&](int64_t bytes) {
    data.assign(static_cast<size_t>(bytes), std::byte{0x5a});
    return data.data();
  });
}

Bytes random_bytes(size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// The positions of a view's bytes in one object, one by one.
std::vector<int64_t> naive_places(const ObjectRequest& request) {
  std::vector<int64_t> places;
  for (int64_t p = request.view.first; p < request.view.last; ++p) {
    const StripePiece piece = request.stripes.piece_at(request.view.nest.offset_of(p), 1);
    const bool is_asked = piece.object_offset >= request.begin && piece.object_offset < request.end;
    if (piece.object == request.object && is_asked) places.push_back(piece.object_offset);
  }
  return places;
}

View view_of(int form, std::mt19937& random) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Nest nest;
  if (form == 0) {
    const int64_t block = 1 + below(9);
    nest = Nest::strided(1 + below(80), block + below(50), Nest::block(block)).shifted(below(100));
  } else if (form == 1) {
    std::vector<int64_t> places;
    std::vector<int64_t> lengths;
    for (int64_t at = below(30); std::ssize(places) < 40; at += lengths.back() + below(20)) {
      places.push_back(at);
      lengths.push_back(1 + below(6));
    }
    nest = Nest::blocks(places, lengths);
  } else {
    const Nest inner = Nest::strided(1 + below(5), 7, Nest::block(1 + below(4)));
    nest = Nest::indexed(std::vector<int64_t>{0, 50, 120, 170}, inner).shifted(below(60));
  }
  const int64_t first = below(nest.bytes());
  return {nest, first, first + below(nest.bytes() - first + 1)};
}

TEST(ObjectClass, ReadsAndWritesWhatTheViewHasOfTheObjectAndNoOtherByte) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 2000; ++turn) {
    const StripeLayout stripes[] = {{2, 3, 4}, {13, 2, 39}, {1, 1, 8}, {64, 4, 256}, {5, 1, 5000}};
    ObjectRequest request{.stripes = stripes[random() % 5], .object = static_cast<int64_t>(random() % 6)};
    request.view = view_of(turn % 3, random);
    request.begin = random() % 2 == 0 ? 0 : static_cast<int64_t>(random() % 5);
    request.end = random() % 2 == 0 ? request.stripes.object_bytes
                                    : std::min<int64_t>(request.begin + 30, request.stripes.object_bytes);
    request.end = std::max(request.begin, request.end);
    const std::vector<int64_t> places = naive_places(request);
    MemoryObject object;
    object.bytes = random_bytes(random() % 300, random);
    Bytes message = request.to_bytes();
    Bytes data;
    ASSERT_EQ(read_into(message, object, data), 0);
    ASSERT_EQ(data.size(), places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const auto place = static_cast<size_t>(places[i]);
      ASSERT_EQ(data[i], place < object.bytes.size() ? object.bytes[place] : std::byte{0});
    }
    const Bytes given = random_bytes(places.size(), random);
    Bytes expected = object.bytes;
    for (size_t i = 0; i < places.size(); ++i) {
      if (expected.size() <= static_cast<size_t>(places[i])) expected.resize(static_cast<size_t>(places[i]) + 1);
      expected[static_cast<size_t>(places[i])] = given[i];
    }
    message.insert(message.end(), given.begin(), given.end());
    ASSERT_EQ(execute_write(message, object), 0);
    ASSERT_EQ(object.bytes, expected);
  }
}

TEST(ObjectClass, WideHolesAreNeitherReadNorWritten) {
  MemoryObject object;
  object.bytes = Bytes(1 << 20);
  const ObjectRequest request{.stripes = {1 << 20, 1, 1 << 20},
                              .end = 1 << 20,
                              .view = View::all(Nest::strided(4, 200'000, Nest::strided(10, 100, Nest::block(8))))};
  Bytes data;
  ASSERT_EQ(read_into(request.to_bytes(), object, data), 0);
  EXPECT_EQ(object.reads, 4);
  EXPECT_EQ(object.read_bytes, 4 * 908);
  Bytes message = request.to_bytes();
  message.resize(message.size() + data.size());
  ASSERT_EQ(execute_write(message, object), 0);
  EXPECT_EQ(object.writes, 4);
}

TEST(ObjectClass, WhatIsTooMuchIsRefusedBeforeAnythingIsTouched) {
  MemoryObject object;
  Bytes data;
  ObjectRequest request{.stripes = {1, 1, 1 << 27}, .end = 1 << 27};
  for (const Nest& nest : {Nest::block(int64_t{1} << 26), Nest::strided(int64_t{1} << 25, 2, Nest::block(1))}) {
    request.view = View::all(nest);
    EXPECT_EQ(read_into(request.to_bytes(), object, data), -E2BIG);
    EXPECT_EQ(execute_write(request.to_bytes(), object), -E2BIG);
  }
  // A view with bytes in every stripe, but not in this object.
  request.stripes = {1, 2, 1 << 27};
  request.object = 1;
  request.view = View::all(Nest::strided(int64_t{1} << 26, 2, Nest::block(1)));
  EXPECT_EQ(read_into(request.to_bytes(), object, data), -E2BIG);
  EXPECT_EQ(object.reads + object.writes, 0);
}

TEST(ObjectClass, MessagesThatCannotBeTrueAreRefused) {
  MemoryObject object;
  Bytes data;
  const ObjectRequest good{.stripes = {4, 2, 8}, .end = 8, .view = View::all(Nest::strided(5, 3, Nest::block(1)))};
  const Bytes message = good.to_bytes();
  EXPECT_EQ(read_into(message, object, data), 0);
  for (size_t size = 0; size < message.size(); ++size) {
    EXPECT_EQ(read_into(std::span(message).first(size), object, data), -EINVAL) << size;
  }
  EXPECT_EQ(execute_write(message, object), -EINVAL);  // without its data
  ObjectRequest wrong = good;
  wrong.view = View::all(Nest::strided(5, -3, Nest::block(1)).shifted(20));
  EXPECT_EQ(read_into(wrong.to_bytes(), object, data), -EINVAL);  // not ascending
  wrong = good;
  wrong.stripes = {3, 2, 8};
  EXPECT_EQ(read_into(wrong.to_bytes(), object, data), -EINVAL);
  wrong = good;
  wrong.end = 9;
  EXPECT_EQ(read_into(wrong.to_bytes(), object, data), -EINVAL);
  wrong = good;
  wrong.stripes = {1 << 20, 1, 1 << 27};
  wrong.object = int64_t{1} << 39;  // its offset would be beyond 64 bits
  EXPECT_EQ(read_into(wrong.to_bytes(), object, data), -EINVAL);
  EXPECT_EQ(object.writes, 0);
}

// Valid messages with changed bytes and numbers, cut off, or combined from two.
TEST(ObjectClass, NoMessageDoesHarm) {
  const char* asked = std::getenv("SWATH_FUZZ_INPUTS");
  const int64_t inputs = asked == nullptr ? 20'000 : std::strtoll(asked, nullptr, 10);
  std::mt19937 random(17);
  std::vector<Bytes> corpus;
  for (int i = 0; i < 64; ++i) {
    const ObjectRequest request{
        .stripes = {8, 2, 64}, .object = static_cast<int64_t>(random() % 4), .end = 64, .view = view_of(i % 3, random)};
    corpus.push_back(request.to_bytes());
    if (i % 2 == 0) continue;
    const Bytes given = random_bytes(naive_places(request).size(), random);
    corpus.back().insert(corpus.back().end(), given.begin(), given.end());
  }
  const int64_t numbers[] = {0,    1,       2,  -1,        7,         8,         64,        65,
                             1000, 1 << 20, -8, INT64_MAX, INT64_MIN, 1LL << 62, 1LL << 61, 1LL << 40};
  MemoryObject object;
  int64_t accepted = 0;
  Bytes data;
  for (int64_t i = 0; i < inputs; ++i) {
    Bytes message = corpus[random() % corpus.size()];
    for (uint32_t changes = random() % 4; changes > 0 && !message.empty(); --changes) {
      const size_t at = random() % message.size();
      switch (random() % 6) {
        case 0:
          message[at] = static_cast<std::byte>(random());
          break;
        case 1:
        case 2: {  // a number, at the position of a number
          const size_t place = at / 8 * 8;
          if (place + 8 > message.size()) break;
          const int64_t number =
              random() % 4 == 0 ? static_cast<int64_t>(random()) : numbers[random() % std::size(numbers)];
          std::memcpy(&message[place], &number, 8);
          break;
        }
        case 3:
          message.resize(at);
          break;
        case 4: {
          const Bytes& other = corpus[random() % corpus.size()];
          message.insert(message.begin() + static_cast<int64_t>(at / 8 * 8), other.begin(),
                         other.begin() + static_cast<int64_t>(random() % other.size() / 8 * 8));
          break;
        }
        default: {
          const int64_t end = static_cast<int64_t>(at / 8 * 8);
          message.erase(message.begin() + end / 2 / 8 * 8, message.begin() + end);
        }
      }
    }
    // The stated length of the description is mostly right, so that later checks are tested, too.
    if (message.size() >= 24 && random() % 2 == 0) {
      const int64_t body = std::ssize(message) - 24;
      std::memcpy(&message[16], &body, 8);
    }
    if (object.bytes.size() > 4096) object.bytes.clear();
    accepted += read_into(message, object, data) == 0;
    accepted += execute_write(message, object) == 0;
  }
  EXPECT_GT(accepted, inputs / 100);
}

}  // namespace
}  // namespace swath
