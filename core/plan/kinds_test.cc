#include "plan/kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "plan/explain.h"
#include "plan/io_counts.h"
#include "plan/make_plan.h"
#include "plan/steps.h"
#include "store/request.h"
#include "store/structured.h"
#include "testing/allocations.h"
#include "testing/requests.h"

namespace swath {
namespace {

using testing::Random;
using Kind = DimensionRule::Kind;

constexpr Method kMethods[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

std::string text_of(const IoCounts& cost) {
  return "reads " + std::to_string(cost.read_requests) + " of " + std::to_string(cost.read_bytes) + " bytes, writes " +
         std::to_string(cost.write_requests) + " of " + std::to_string(cost.written_bytes) + ", exchanged " +
         std::to_string(cost.exchanged_bytes) + ", locks " + std::to_string(cost.locks) + ", buffers " +
         std::to_string(cost.buffer_bytes) + (cost.exact ? "" : ", estimated");
}

IoCounts counts_of_rank(const Request& request, Method method, const FileDomains& domains, const Access& together,
                        int rank) {
  switch (method) {
    case Method::kDirect:
      return count_direct(request, access_of(request, rank));
    case Method::kSieve:
      return count_sieve(request, access_of(request, rank));
    case Method::kList:
      return count_list(request, access_of(request, rank));
    default:
      return count_two_phase(request, domains, true, together, rank);
  }
}

void expect_sums_over_ranks(const Request& request, Method method) {
  const Access together = access_together(request);
  const FileDomains domains(together, request.decomposition.ranks(), request.tuning);
  IoCounts sum;
  int64_t buffer_bytes_max = 0;
  for (int rank = 0; rank < request.decomposition.ranks(); ++rank) {
    const IoCounts cost = counts_of_rank(request, method, domains, together, rank);
    sum += cost;
    buffer_bytes_max = std::max(buffer_bytes_max, cost.buffer_bytes);
  }
  const TotalIoCounts total = count_total(request, method, domains, true, together);
  EXPECT_EQ(text_of(total.sum), text_of(sum)) << to_string(method);
  EXPECT_EQ(total.buffer_bytes_max, buffer_bytes_max) << to_string(method);
}

void expect_runs_of_all_ranks(const Request& request) {
  Runs all;
  for (int rank = 0; rank < request.decomposition.ranks(); ++rank) {
    const Runs runs = runs_of(access_of(request, rank));
    all.count += runs.count;
    all.bytes += runs.bytes;
    all.bytes_max = std::max(all.bytes_max, runs.bytes_max);
    all.bytes_of_rank_max = std::max(all.bytes_of_rank_max, runs.bytes_of_rank_max);
  }
  const Runs runs = runs_of(*request.layout, request.decomposition);
  EXPECT_TRUE(runs.exact);
  EXPECT_EQ(runs.count, all.count);
  EXPECT_EQ(runs.bytes, all.bytes);
  EXPECT_EQ(runs.bytes_max, all.bytes_max);
  EXPECT_EQ(runs.bytes_of_rank_max, all.bytes_of_rank_max);
}

TEST(Kinds, TotalsAreTheSumsOverTheRanks) {
  Random random(1);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const Direction direction = random.one_of({Direction::kRead, Direction::kWrite});
    const auto given = testing::random_request(
        random, {.ranks_max = 16, .overlapping_boxes = direction == Direction::kRead && random.chance(50)});
    Request request = given.request(direction, Method::kAuto, testing::random_tuning(random));
    request.tuning.bounce_bytes = random.one_of<int64_t>({5, 40, 4 << 20});
    request.tuning.request_bytes_max = random.one_of<int64_t>({100, 1 << 30});
    request.messages = random.chance(30);
    SCOPED_TRACE(given.text);
    expect_runs_of_all_ranks(request);
    for (const Method method : kMethods) expect_sums_over_ranks(request, method);
  }
}

TEST(Kinds, ListedRequestsAreThoseOfTheBatches) {
  Random random(4);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const auto given = testing::random_request(random, {});
    Request request = given.request(Direction::kRead);
    request.tuning.list_pieces = random.one_of<int64_t>({1, 3, 6, 20, 1024});
    request.tuning.request_bytes_max = random.one_of<int64_t>({100, 1 << 30});
    SCOPED_TRACE(given.text + " pieces " + std::to_string(request.tuning.list_pieces));
    for (int rank = 0; rank < request.decomposition.ranks(); ++rank) {
      const Access access = access_of(request, rank);
      int64_t requests = 0;
      for_each_flat_batch({access, {}, request.tuning.list_pieces}, [&](std::span<const Transfer> batch) {
        requests += count_requests(batch, request.tuning.request_bytes_max);
      });
      EXPECT_EQ(count_list(request, access).read_requests, requests) << rank;
    }
  }
}

// A distribution over hundreds of ranks, some beyond its grid, of a strided array.
Request of_many_ranks(Random& random) {
  Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(1, 3)));
  for (auto& extent : shape) extent = random.one_of<int64_t>({extent, 3 * extent, random.between(20, 50)});
  const Selection selection = testing::random_selection(random, shape);
  std::vector<DimensionRule> rules;
  std::vector<int64_t> grid;
  for (const auto& dimension : selection) {
    if (dimension.dropped) continue;
    rules.push_back(random.chance(50) ? DimensionRule{Kind::kBlock, 0}
                                      : DimensionRule{Kind::kCyclic, random.between(1, 4)});
    grid.push_back(random.between(1, 9));
  }
  const Distribution distribution(rules, grid);
  const int ranks = static_cast<int>(distribution.places() + random.between(0, 100));
  Request request;
  request.direction = random.one_of({Direction::kRead, Direction::kWrite});
  request.layout = std::make_shared<Layout>(testing::random_strided_file(random, shape, 8).layout());
  request.decomposition = Decomposition::distributed(distribution, selection, ranks);
  return request;
}

TEST(Kinds, OfStridedSharesAreExactForAnyNumberOfRanks) {
  Random random(2);
  int many = 0;
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    const Request request = of_many_ranks(random);
    many += request.decomposition.ranks() > kRanksCounted ? 1 : 0;
    SCOPED_TRACE(request.layout->to_string() + " " + request.decomposition.to_string());
    expect_runs_of_all_ranks(request);
    expect_sums_over_ranks(request, Method::kDirect);
    expect_sums_over_ranks(request, Method::kList);
  }
  EXPECT_GT(many, 50);
}

TEST(Kinds, StandForAllRanksAndEstimatesSaySo) {
  const Distribution cyclic({{Kind::kCyclic, 3}}, {100});
  const Layout row = Layout::ordered({1000}, 8, 0, {0});
  const auto ranks_of = [](const Kinds& kinds) {
    return std::accumulate(kinds.all.begin(), kinds.all.end(), int64_t{0},
                           [](int64_t sum, const RankKind& kind) { return sum + kind.ranks; });
  };
  const Decomposition decomposition = Decomposition::distributed(cyclic, select_all({1000}), 110);
  const Kinds by_form = kinds_by_form(row, decomposition);
  EXPECT_TRUE(by_form.exact);
  EXPECT_EQ(by_form.all.size(), 4U);  // 12, 10 or 9 elements, or none
  EXPECT_EQ(ranks_of(by_form), 110);
  const Kinds by_place = kinds_by_place(decomposition);
  EXPECT_FALSE(by_place.exact);
  EXPECT_EQ(ranks_of(by_place), 110);
  EXPECT_GE(by_place.all.size(), 50U);
  EXPECT_LE(by_place.all.size(), 70U);
  std::vector<int64_t> offsets;
  for (int64_t chunk = 0; chunk < 100; ++chunk) offsets.push_back(chunk * 80);
  EXPECT_FALSE(runs_of(Layout::chunked({1000}, 8, {10}, offsets), decomposition).exact);
}

TEST(Kinds, EstimatesOfManyRanksAreNearTheSum) {
  Random random(3);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const int64_t rows = random.between(300, 700);
    const int64_t columns = random.between(300, 700);
    const Distribution distribution({{Kind::kCyclic, random.between(1, 4)}, {Kind::kBlock, 0}}, {20, 16});
    Request request;
    request.direction = random.one_of({Direction::kRead, Direction::kWrite});
    request.layout = std::make_shared<Layout>(Layout::ordered({rows, columns}, 8, 0, {0, 1}));
    request.decomposition =
        Decomposition::distributed(distribution, {{0, 1, rows, false}, {0, 2, columns / 2, false}}, 320);
    request.tuning.sieve_bytes = random.one_of<int64_t>({10'000, 1 << 20});
    request.tuning.window_bytes = random.one_of<int64_t>({500, 10'000, 1 << 19});
    request.tuning.domain_bytes_min = 1000;
    const Access together = access_together(request);
    const FileDomains domains(together, 320, request.tuning);
    for (const Method method : {Method::kSieve, Method::kTwoPhase}) {
      IoCounts sum;
      for (int rank = 0; rank < 320; ++rank) sum += counts_of_rank(request, method, domains, together, rank);
      const IoCounts total = count_total(request, method, domains, true, together).sum;
      EXPECT_FALSE(total.exact);
      const auto near = [&](int64_t estimate, int64_t value) {
        EXPECT_LE(std::abs(estimate - value), value / 5 + 2) << text_of(total) << "\n" << text_of(sum);
      };
      near(total.read_requests, sum.read_requests);
      near(total.write_requests, sum.write_requests);
      near(total.read_bytes, sum.read_bytes);
      near(total.written_bytes, sum.written_bytes);
      near(total.exchanged_bytes, sum.exchanged_bytes);
    }
  }
}

// ---- Ten thousand ranks ---------------------------------------------------------------------------------------------

struct Planning {
  int64_t peak_bytes = 0;
  int64_t allocations = 0;
  double seconds = 1e9;  // the least of a few runs
};

// A plan with all its candidates, and its text.
Planning planning_of(const Shape& shape, std::vector<DimensionRule> rules, const std::vector<int64_t>& grid,
                     Direction direction) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto ranks = static_cast<int>(element_count(grid));
  Request request;
  request.direction = direction;
  request.layout = std::make_shared<Layout>(Layout::ordered(shape, 8, 128, order));
  request.decomposition = Decomposition::distributed(Distribution(std::move(rules), grid), select_all(shape), ranks);
  Planning planning;
  for (int repetition = 0; repetition < 3; ++repetition) {
    testing::Allocations& seen = testing::allocations();
    const testing::Allocations before = seen;
    seen.peak_bytes = seen.live_bytes;
    const auto begin = std::chrono::steady_clock::now();
    const Plan plan = make_plan(request);
    const std::string text = explain(plan, "an array");
    const auto end = std::chrono::steady_clock::now();
    planning.seconds = std::min(planning.seconds, std::chrono::duration<double>(end - begin).count());
    planning.peak_bytes = seen.peak_bytes - before.live_bytes;
    planning.allocations = seen.count - before.count;
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(plan.runs.bytes, 8 * element_count(shape));
  }
  std::cout << "  " << ranks << " ranks of " << to_string(shape) << ": " << planning.seconds * 1e3 << " ms, "
            << planning.allocations << " allocations, at most " << planning.peak_bytes << " bytes at once\n";
  return planning;
}

// The steps of planning are bounded by the steps that run one by one; 2 % and 200 allow for longer numbers in texts.
void expect_no_growth(const Planning& small, const Planning& large) {
  if (SWATH_COUNTS_ALLOCATIONS) EXPECT_GT(small.allocations, 0);
  EXPECT_LE(large.peak_bytes, small.peak_bytes * 102 / 100 + 200);
  EXPECT_LE(large.allocations, 3 * small.allocations);
}

constexpr DimensionRule kBlock{Kind::kBlock, 0};
constexpr DimensionRule cyclic(int64_t size) { return {Kind::kCyclic, size}; }

TEST(TenThousandRanks, PlanWithoutAVisitToEachAndInTheMemoryOfAHundred) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const Planning hundred = planning_of({1009, 2011}, {cyclic(3), kBlock}, {10, 10}, direction);
    const Planning many = planning_of({10'007, 20'011}, {cyclic(3), kBlock}, {100, 100}, direction);
    const Planning huge = planning_of({1'000'003, 2'000'003}, {cyclic(3), kBlock}, {100, 100}, direction);
    expect_no_growth(hundred, many);
    expect_no_growth(many, huge);
  }
}

TEST(TenThousandRanks, PlanInThreeDimensions) {
  const Planning hundred = planning_of({101, 103, 517}, {cyclic(3), kBlock, cyclic(1)}, {5, 5, 4}, Direction::kWrite);
  const Planning many = planning_of({1009, 1013, 517}, {cyclic(3), kBlock, cyclic(1)}, {20, 50, 10}, Direction::kWrite);
  expect_no_growth(hundred, many);
}

TEST(TenThousandRanks, PlanInOneDimension) {
  const Planning hundred = planning_of({1'234'567}, {cyclic(1)}, {100}, Direction::kRead);
  const Planning many = planning_of({123'456'789}, {cyclic(1)}, {10'000}, Direction::kRead);
  expect_no_growth(hundred, many);
}

}  // namespace
}  // namespace swath
