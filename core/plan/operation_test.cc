// Operations as bytes: equal operations have equal bytes, which can be parsed; other bytes are refused.
#include "plan/operation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "testing/requests.h"

namespace swath {
namespace {

using namespace swath::testing;
using ByteVector = std::vector<std::byte>;

TuningSettings random_settings(Random& random) {
  TuningSettings settings;
  for (const char* name : {"window_bytes", "aggregators", "list_pieces", "chunk_buffer_bytes", "sieve_bytes"}) {
    if (random.chance(30)) settings.emplace_back(name, random.between(1, int64_t{1} << random.between(0, 40)));
  }
  return settings;
}

Operation random_operation(Random& random) {
  RequestCase given = random_request(random, {.overlapping_boxes = true});
  const bool has_layout = random.chance(80);
  auto array =
      std::make_shared<const ArrayForm>("a.nc:u number " + std::to_string(random.between(0, 9)), given.file.shape,
                                        given.file.element_bytes, has_layout ? given.layout : nullptr);
  const auto direction = random.one_of({Direction::kRead, Direction::kWrite});
  const auto method = random.one_of({Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase});
  return {std::move(array), {direction, given.decomposition, method, random_settings(random)}};
}

int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* asked = std::getenv(name);
  return asked == nullptr ? otherwise : std::strtoll(asked, nullptr, 10);
}

TEST(Operation, ParsesBackToAnEqualOne) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Operation operation = random_operation(random);
    const ByteVector bytes = operation.serialise();
    const Operation parsed = Operation::parse(bytes);
    ASSERT_EQ(parsed.serialise(), bytes) << operation.words();
    EXPECT_EQ(parsed.key(), operation.key());
    EXPECT_EQ(parsed.access_bytes(), operation.access_bytes());
    EXPECT_EQ(parsed.words(), operation.words());
    for (int rank = 0; rank < parsed.decomposition().ranks(); ++rank) {
      EXPECT_EQ(parsed.decomposition().local_shapes(rank), operation.decomposition().local_shapes(rank));
    }
  }
}

TEST(Operation, HasAnotherKeyWhereAnythingElseIsAsked) {
  const auto layout = std::make_shared<const Layout>(Layout::ordered({10, 6}, 4, 0, {0, 1}));
  const auto array = std::make_shared<const ArrayForm>("a", Shape{10, 6}, 4, layout);
  const auto other = std::make_shared<const ArrayForm>("b", Shape{10, 6}, 4, layout);
  using Kind = DimensionRule::Kind;
  const auto dealt = [](Kind kind, const Selection& selection, int ranks) {
    return Decomposition::distributed(Distribution({{kind, kind == Kind::kCyclic ? 1 : 0}, {Kind::kWhole, 0}}, {2, 1}),
                                      selection, ranks);
  };
  const Selection all = select_all({10, 6});
  const Selection some{{1, 2, 3, false}, {0, 1, 6, false}};
  const std::vector<Operation> operations{
      {array, {Direction::kRead, dealt(Kind::kBlock, all, 2), Method::kAuto, {}}},
      {other, {Direction::kRead, dealt(Kind::kBlock, all, 2), Method::kAuto, {}}},
      {array, {Direction::kWrite, dealt(Kind::kBlock, all, 2), Method::kAuto, {}}},
      {array, {Direction::kRead, dealt(Kind::kCyclic, all, 2), Method::kAuto, {}}},
      {array, {Direction::kRead, dealt(Kind::kBlock, some, 2), Method::kAuto, {}}},
      {array, {Direction::kRead, dealt(Kind::kBlock, all, 3), Method::kAuto, {}}},
      {array, {Direction::kRead, dealt(Kind::kBlock, all, 2), Method::kList, {}}},
      {array, {Direction::kRead, dealt(Kind::kBlock, all, 2), Method::kAuto, {{"sieve_bytes", 8}}}},
      {array, {Direction::kRead, Decomposition::alone(all), Method::kAuto, {}}},
      {array, {Direction::kRead, Decomposition::own_boxes({}, 0, 2, {10, 6}), Method::kAuto, {}}},
  };
  for (size_t i = 0; i < operations.size(); ++i) {
    for (size_t j = 0; j < operations.size(); ++j) {
      EXPECT_EQ(operations[i].key() == operations[j].key(), i == j) << i << " and " << j;
    }
  }
}

TEST(Operation, OfBoxesHasTheSameKeyOnEveryRank) {
  const auto array = std::make_shared<const ArrayForm>("a", Shape{10}, 4, nullptr);
  const Operation first(array,
                        {Direction::kRead, Decomposition::own_boxes({{{0}, {3}}}, 0, 2, {10}), Method::kAuto, {}});
  const Operation second(array,
                         {Direction::kRead, Decomposition::own_boxes({{{5}, {9}}}, 1, 2, {10}), Method::kAuto, {}});
  EXPECT_EQ(first.key(), second.key());
  EXPECT_NE(first.serialise(), second.serialise());
}

TEST(Operation, TellsWhatIsAskedInWords) {
  const auto array = std::make_shared<const ArrayForm>("run.nc:u", Shape{10, 6}, 4, nullptr);
  const Selection selection{{8, -2, 5, false}, {3, 1, 1, true}};
  const Operation operation(
      array, {Direction::kWrite,
              Decomposition::distributed(Distribution({{DimensionRule::Kind::kBlock, 0}}, {2}), selection, 2),
              Method::kList,
              {{"window_bytes", 64}, {"list_pieces", 3}}});
  EXPECT_EQ(operation.words(),
            "write run.nc:u\ndistribution=(block) over grid (2)\nselection=[8::-2, 3]\nmethod='list'\n"
            "tuning[list_pieces]=3\ntuning[window_bytes]=64");
}

TEST(Operation, RefusesWhatDoesNotGoTogether) {
  const auto array = std::make_shared<const ArrayForm>("a", Shape{10}, 4, nullptr);
  const auto of = [&](const Selection& selection, const TuningSettings& tuning) {
    return [=] { Operation(array, {Direction::kRead, Decomposition::alone(selection), Method::kAuto, tuning}); };
  };
  EXPECT_NO_THROW(of({{0, 1, 10, false}}, {})());
  for (const Selection& wrong : std::vector<Selection>{
           {}, {{0, 1, 11, false}}, {{-1, 1, 2, false}}, {{0, 5, 3, false}}, {{3, -2, 3, false}}, {{0, 0, 2, false}}}) {
    EXPECT_THROW(of(wrong, {})(), Error);
  }
  EXPECT_THROW(of({{0, 1, 10, false}}, {{"windows", 1}})(), Error);
  EXPECT_THROW(of({{0, 1, 10, false}}, {{"window_bytes", 0}})(), Error);
  EXPECT_THROW(ArrayForm("a", {3}, 4, std::make_shared<Layout>(Layout::ordered({4}, 4, 0, {0}))), Error);
}

// Changes bytes of a valid operation, replaces numbers by similar ones, cuts the end, or extends it.
void mutate(ByteVector& bytes, Random& random) {
  for (int64_t changes = random.between(1, 4); changes > 0; --changes) {
    const auto place = static_cast<size_t>(random.between(0, std::ssize(bytes) - 1));
    switch (random.between(0, 4)) {
      case 0:
        bytes[place] = static_cast<std::byte>(random.between(0, 255));
        break;
      case 1: {
        const int64_t number = random.one_of<int64_t>({-1, 0, 1, 2, 3, INT64_MAX, INT64_MIN, int64_t{1} << 40});
        for (size_t i = 0; i < 8 && place / 8 * 8 + i < bytes.size(); ++i) {
          bytes[place / 8 * 8 + i] = static_cast<std::byte>(static_cast<uint64_t>(number) >> (8 * i));
        }
        break;
      }
      case 2:
        bytes.resize(place + 1);
        break;
      case 3:
        bytes.insert(bytes.begin() + static_cast<int64_t>(place), 8, std::byte{1});
        break;
      default:
        bytes[place] ^= static_cast<std::byte>(1 << random.between(0, 7));
    }
  }
}

// This number takes a second or two; SWATH_FUZZ_INPUTS sets another one.
TEST(Operation, MutatedBytesAreRefusedOrMeanWhatTheySay) {
  Random random(25);
  std::vector<ByteVector> valid;
  for (int i = 0; i < 100; ++i) valid.push_back(random_operation(random).serialise());
  int64_t refused = 0;
  const int64_t inputs = number_from_environment("SWATH_FUZZ_INPUTS", 100'000);
  for (int64_t i = 0; i < inputs; ++i) {
    ByteVector bytes = valid[static_cast<size_t>(random.between(0, 99))];
    mutate(bytes, random);
    try {
      const Operation operation = Operation::parse(bytes);
      ASSERT_EQ(operation.serialise(), bytes) << "input " << i;
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.kind(), ErrorKind::kFormat) << error.what();
      ASSERT_TRUE(std::string(error.what()).starts_with("operation: byte ") ||
                  std::string(error.what()).starts_with("layout: "))
          << error.what();
    }
  }
  EXPECT_GT(refused, inputs / 4);
}

}  // namespace
}  // namespace swath
