#include "plan/chunk_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/math.h"
#include "plan/chunk_plan.h"
#include "testing/requests.h"

namespace swath {
namespace {

using namespace swath::testing;

struct Case {
  RequestCase given;
  ChunkGrid grid;
  std::vector<std::vector<Part>> shares;
  std::map<int64_t, std::set<int>> ranks_of;  // the ranks that need each chunk, found element by element
};

int64_t chunk_of(const ChunkGrid& grid, int64_t element) {
  Shape at(grid.shape.size());
  for (size_t d = at.size(); d-- > 0;) {
    at[d] = element % grid.shape[d] / grid.chunk_shape[d];
    element /= grid.shape[d];
  }
  int64_t chunk = 0;
  for (size_t d = 0; d < at.size(); ++d) chunk = chunk * ceil_div(grid.shape[d], grid.chunk_shape[d]) + at[d];
  return chunk;
}

Case random_case(Random& random) {
  Case made;
  RequestCase& given = made.given;
  given.file.shape = random_shape(random, static_cast<size_t>(random.between(random.chance(3) ? 0 : 1, 4)));
  given.file.element_bytes = random.one_of<int64_t>({1, 4});
  given.file.strides = c_strides(given.file.shape, given.file.element_bytes);
  const Shape& shape = given.file.shape;
  if (!shape.empty() && random.chance(40)) {
    share_as_boxes(random, given, {.overlapping_boxes = true});
  } else {
    share_as_distribution(random, given, random_selection(random, shape), {});
  }
  ChunkGrid& grid = made.grid;
  grid.shape = shape;
  grid.element_bytes = given.file.element_bytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    grid.chunk_shape.push_back(random.between(1, 7));
    grid.unit_shape.push_back(grid.chunk_shape.back() * random.one_of({1, 1, 2, 3}));
  }
  const int64_t plain = random.one_of<int64_t>({1, 3});
  grid.codecs = {"zstd"};
  grid.is_coded = [plain](int64_t chunk) { return plain == 1 || chunk % plain != 0; };
  for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
    made.shares.push_back(given.decomposition.parts(rank, grid.element_bytes));
    for (const PartCase& part : given.ranks[static_cast<size_t>(rank)]) {
      for (const auto& element : part.list) {
        made.ranks_of[chunk_of(grid, element.offset / grid.element_bytes)].insert(rank);
      }
    }
  }
  return made;
}

TEST(ChunkSharing, VisitShowsEachSharedChunkOnceWithTheRanksThatNeedItAndCountsTheOthers) {
  Random random(26);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    const Case one = random_case(random);
    SCOPED_TRACE(one.given.text + " chunks " + text_of(one.grid.chunk_shape));
    std::map<int64_t, std::set<int>> shared;
    std::map<int, int64_t> alone;
    int64_t last = -1;
    const auto see = [&](int64_t chunk, std::span<const int> ranks) {
      EXPECT_GT(chunk, last);
      last = chunk;
      EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
      shared[chunk].insert(ranks.begin(), ranks.end());
      EXPECT_EQ(shared[chunk].size(), ranks.size());
      return true;
    };
    const auto count = [&](int rank, int64_t chunks) { alone[rank] += chunks; };
    EXPECT_TRUE(visit_chunks(one.grid, one.shares, {see, count}));
    std::map<int64_t, std::set<int>> expected;
    std::map<int, int64_t> expected_alone;
    for (const auto& [chunk, ranks] : one.ranks_of) {
      if (ranks.size() > 1) {
        expected[chunk] = ranks;
      } else {
        ++expected_alone[*ranks.begin()];
      }
    }
    EXPECT_EQ(shared, expected);
    EXPECT_EQ(alone, expected_alone);
  }
}

TEST(ChunkSharing, EachCodedChunkHasOneDecoderAmongThoseThatNeedItAndLoadsAreEven) {
  Random random(27);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const Case one = random_case(random);
    SCOPED_TRACE(one.given.text + " chunks " + text_of(one.grid.chunk_shape));
    const ChunkSharing sharing(one.grid, one.shares);
    std::map<int64_t, int> decoder;
    std::vector<int64_t> loads(one.shares.size());
    for (int rank = 0; rank < sharing.ranks(); ++rank) {
      int64_t last = -1;
      for (const int64_t chunk : sharing.decoded_by(rank)) {
        EXPECT_TRUE(decoder.emplace(chunk, rank).second);
        EXPECT_LE(last, one.grid.unit_of(chunk));
        last = one.grid.unit_of(chunk);
      }
      EXPECT_LE(std::ssize(sharing.decoded_by(rank)), sharing.longest_list());
      loads[static_cast<size_t>(rank)] += std::ssize(sharing.decoded_by(rank));
    }
    for (const auto& [chunk, ranks] : one.ranks_of) {
      if (ranks.size() == 1) ++loads[static_cast<size_t>(*ranks.begin())];
      const bool is_to_share = ranks.size() > 1 && one.grid.is_coded(chunk);
      ASSERT_EQ(decoder.contains(chunk), is_to_share) << chunk;
      if (is_to_share) EXPECT_TRUE(ranks.contains(decoder[chunk]));
    }
    // No other decoder had less work when a chunk was assigned.
    std::map<int, int64_t> latest;
    for (const auto& [chunk, rank] : decoder) latest[rank] = chunk;
    for (const auto& [rank, chunk] : latest) {
      for (const int other : one.ranks_of.at(chunk)) {
        EXPECT_LE(loads[static_cast<size_t>(rank)], loads[static_cast<size_t>(other)] + 1);
      }
    }
  }
}

TEST(ChunkWindows, HaveEachChunkOfAListInOneRoundAndStayWithinTheirRoom) {
  Random random(28);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const ChunkNeeds needs{random.between(0, 50), random.between(1, 8)};
    const int64_t chunk_bytes = random.one_of<int64_t>({1, 64, 1000, 3 << 20});
    const int64_t room_bytes = random.one_of<int64_t>({1, 1000, 5000, 100'000, 64 << 20});
    ChunkWindows windows = ChunkWindows::of(needs, chunk_bytes, room_bytes);
    EXPECT_EQ(windows.chunks == 0, needs.longest_list == 0);
    EXPECT_EQ(windows.bytes() == 0, needs.longest_list == 0);
    if (windows.chunks == 0) continue;
    EXPECT_LE(windows.bytes() - ChunkWindows::kLineBytes,
              std::max(room_bytes, ChunkWindows::kWindowsMax * windows.place_bytes));
    const int64_t bytes = windows.bytes();
    if (windows.chunks > 1 && random.chance(50)) {
      windows = windows.smaller(needs);
      EXPECT_GE(windows.chunks, 1);
      EXPECT_TRUE(windows.bytes() < bytes || windows.windows > 1);
    }
    // A node with shorter lists uses the same windows.
    for (const int64_t longest : {needs.longest_list, (needs.longest_list + 1) / 2}) {
      const int64_t rounds = windows.rounds(longest);
      EXPECT_GE(windows.windows, std::min(rounds, ChunkWindows::kWindowsMax));
      for (const int64_t count : {int64_t{0}, int64_t{1}, longest / 2, longest}) {
        int64_t next = 0;
        for (int64_t round = 0; round < rounds; ++round) {
          const ChunkSpan part = ChunkWindows::part_of(count, round, rounds);
          EXPECT_EQ(part.begin, next);
          EXPECT_LE(part.count(), windows.chunks);
          next = part.end;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

ChunkRequest request_of(const Case& one, Direction direction) {
  ChunkRequest request;
  request.direction = direction;
  request.decomposition = one.given.decomposition;
  request.grid = one.grid;
  request.grid.is_coded = [](int64_t) { return true; };
  request.grid.stored_bytes = [](int64_t) { return std::optional<int64_t>(); };
  request.grid.unit_is_stored = [](int64_t) { return std::optional<bool>(); };
  request.buffer_bytes_max = 1 << 20;
  return request;
}

TEST(ChunkPlan, ThatIsEstimatedSaysSoAndKnowsStillHowManyChunksThereAre) {
  Random random(29);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const Case one = random_case(random);
    if (one.given.decomposition.is_boxes()) continue;  // ranks share chunks, which are then counted several times
    SCOPED_TRACE(one.given.text + " chunks " + text_of(one.grid.chunk_shape));
    const ChunkPlan counted = make_chunk_plan(request_of(one, Direction::kRead));
    const ChunkPlan estimated = make_chunk_plan(request_of(one, Direction::kRead), 0);
    EXPECT_TRUE(counted.counts_are_exact);
    EXPECT_EQ(counted.sum.chunks, std::ssize(one.ranks_of));
    EXPECT_EQ(estimated.counts_are_exact, one.ranks_of.empty());
    EXPECT_EQ(estimated.sum.chunks, counted.sum.chunks);
    EXPECT_EQ(estimated.sum.bytes, counted.sum.bytes);
    EXPECT_EQ(counted.sum.chunks_decoded, counted.sum.chunks) << "each once on one node";
    EXPECT_NEAR(static_cast<double>(estimated.sum.chunks_decoded), static_cast<double>(counted.sum.chunks_decoded),
                counted.ranks);
    EXPECT_GT(counted.price.seconds(), 0);
  }
}

TEST(ChunkPlan, OfVeryManyChunksIsMadeWithoutGoingThroughThem) {
  ChunkRequest request;
  request.grid.shape = {1'000'000, 1'000'000, 100};
  request.grid.chunk_shape = request.grid.unit_shape = {10, 10, 10};
  request.grid.codecs = {"zstd"};
  request.grid.is_coded = [](int64_t) { return true; };
  const std::vector<DimensionRule> rules{
      {DimensionRule::Kind::kBlock, 0}, {DimensionRule::Kind::kCyclic, 1}, {DimensionRule::Kind::kWhole, 0}};
  request.decomposition =
      Decomposition::distributed(Distribution(rules, {8, 25, 1}), select_all(request.grid.shape), 200);
  const ChunkPlan plan = make_chunk_plan(std::move(request));
  EXPECT_FALSE(plan.counts_are_exact);
  EXPECT_EQ(plan.sum.chunks, int64_t{100'000} * 100'000 * 10);
  EXPECT_EQ(plan.sum.units, plan.sum.chunks);
  EXPECT_NEAR(plan.times_decoded(), 1, 1e-6);
}

}  // namespace
}  // namespace swath
