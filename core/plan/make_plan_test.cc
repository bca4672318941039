#include "plan/make_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/explain.h"
#include "testing/requests.h"

namespace swath {
namespace {

using testing::ElementPosition;
using testing::PartCase;
using testing::Random;
using testing::RequestCase;
using Kind = DimensionRule::Kind;

constexpr Method kMethods[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

std::string text_of(const IoCounts& cost) {
  return "reads " + std::to_string(cost.read_requests) + " of " + std::to_string(cost.read_bytes) + " bytes, writes " +
         std::to_string(cost.write_requests) + " of " + std::to_string(cost.written_bytes) + ", exchanged " +
         std::to_string(cost.exchanged_bytes) + ", locks " + std::to_string(cost.locks) +
         (cost.exact ? "" : ", estimated");
}

// ---- What each method costs, counted on the plain list -------------------------------------------------------------

// The number of runs of contiguous elements in the file. `within_part`: a run must be in one part of one panel.
int64_t count_runs(const std::vector<ElementPosition>& list, int64_t element_bytes, bool within_part) {
  int64_t runs = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool joins = i > 0 && list[i].offset == list[i - 1].offset + element_bytes &&
                       (!within_part || (list[i].panel == list[i - 1].panel && list[i].part == list[i - 1].part));
    runs += joins ? 0 : 1;
  }
  return runs;
}

// The elements of each window by the definition of Access::next_window, for offsets in [begin, end).
std::vector<std::vector<int64_t>> windows_of(const std::vector<int64_t>& offsets, int64_t begin, int64_t end,
                                             int64_t window_bytes) {
  std::vector<std::vector<int64_t>> windows;
  for (const int64_t offset : offsets) {
    if (offset < begin || offset >= end) continue;
    if (windows.empty() || windows.back().front() / window_bytes != offset / window_bytes) windows.emplace_back();
    windows.back().push_back(offset);
  }
  return windows;
}

void add(IoCounts& cost, Direction direction, int64_t requests, int64_t bytes) {
  (direction == Direction::kRead ? cost.read_requests : cost.write_requests) += requests;
  (direction == Direction::kRead ? cost.read_bytes : cost.written_bytes) += bytes;
}

void add_sieved_write(IoCounts& cost, int64_t span, bool has_holes) {
  if (has_holes) add(cost, Direction::kRead, 1, span);
  add(cost, Direction::kWrite, 1, span);
  ++cost.locks;
}

IoCounts plain_sieve(const RequestCase& given, const Request& request, int rank) {
  IoCounts cost;
  const int64_t element_bytes = given.file.element_bytes;
  const auto offsets = testing::sorted_offsets(given.ranks[static_cast<size_t>(rank)]);
  for (const auto& window : windows_of(offsets, 0, INT64_MAX, request.tuning.sieve_bytes)) {
    const int64_t span = window.back() + element_bytes - window.front();
    if (request.direction == Direction::kRead) {
      add(cost, Direction::kRead, 1, span);
    } else {
      add_sieved_write(cost, span, std::ssize(window) * element_bytes < span);
    }
  }
  return cost;
}

IoCounts plain_two_phase(const RequestCase& given, const Plan& plan, int rank) {
  IoCounts cost;
  const Tuning& tuning = plan.request.tuning;
  const int64_t element_bytes = given.file.element_bytes;
  const auto mine = testing::sorted_offsets(given.ranks[static_cast<size_t>(rank)]);
  cost.exchanged_bytes = std::ssize(mine) * element_bytes;
  const auto all = testing::in_visit_order(given.file, given.together);
  for (size_t i = 0; i < plan.domains.size(); ++i) {
    const FileDomain domain = plan.domains[i];
    if (domain.rank != rank) continue;
    for (const int64_t offset : mine) {
      if (offset >= domain.begin && offset < domain.end) cost.exchanged_bytes -= element_bytes;
    }
    const auto offsets = testing::sorted_offsets(given.together);
    for (const auto& window : windows_of(offsets, domain.begin, domain.end, tuning.window_bytes)) {
      const int64_t span = window.back() + element_bytes - window.front();
      std::vector<ElementPosition> elements;
      std::copy_if(all.begin(), all.end(), std::back_inserter(elements), [&](const ElementPosition& element) {
        return element.offset >= window.front() && element.offset <= window.back();
      });
      const int64_t bytes = std::ssize(elements) * element_bytes;
      const Direction direction = plan.request.direction;
      const bool long_runs = bytes / count_runs(elements, element_bytes, true) >= tuning.runs_bytes_min;
      const bool reads_boxes = direction == Direction::kRead && given.together.size() > 1;
      if (bytes != span && long_runs && !reads_boxes) {
        add(cost, direction, count_runs(elements, element_bytes, false), bytes);
      } else if (direction == Direction::kRead || bytes == span) {
        add(cost, direction, 1, span);
      } else {
        add_sieved_write(cost, span, true);
      }
    }
  }
  return cost;
}

IoCounts count_plain(const RequestCase& given, const Plan& plan, Method method, int rank) {
  if (method == Method::kSieve) return plain_sieve(given, plan.request, rank);
  if (method == Method::kTwoPhase) return plain_two_phase(given, plan, rank);
  const auto list = testing::in_visit_order(given.file, given.ranks[static_cast<size_t>(rank)]);
  const int64_t element_bytes = given.file.element_bytes;
  IoCounts cost;
  add(cost, plan.request.direction, count_runs(list, element_bytes, method == Method::kDirect),
      std::ssize(list) * element_bytes);
  return cost;
}

TEST(MakePlan, CostsAreThoseOfThePlainList) {
  Random random(1);
  for (int i = 0; i < 600 && !HasFailure(); ++i) {
    const Direction direction = random.one_of({Direction::kRead, Direction::kWrite});
    const RequestCase given =
        testing::random_request(random, {.overlapping_boxes = direction == Direction::kRead && random.chance(50)});
    const Plan plan = make_plan(given.request(direction, Method::kAuto, testing::random_tuning(random)));
    SCOPED_TRACE(given.text);
    for (const Method method : kMethods) {
      for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
        EXPECT_EQ(text_of(plan.cost(method, rank)), text_of(count_plain(given, plan, method, rank)))
            << to_string(method) << " of rank " << rank << " of " << given.decomposition.ranks()
            << (direction == Direction::kRead ? " reads" : " writes");
      }
    }
  }
}

TEST(MakePlan, RunsAndLocalBytesAreThoseOfThePlainList) {
  Random random(2);
  for (int i = 0; i < 600 && !HasFailure(); ++i) {
    const RequestCase given = testing::random_request(random, {});
    const Plan plan = make_plan(given.request(Direction::kRead));
    SCOPED_TRACE(given.text);
    int64_t runs = 0, bytes_max = 0;
    for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
      const auto list = testing::in_visit_order(given.file, given.ranks[static_cast<size_t>(rank)]);
      const int64_t bytes = std::ssize(list) * given.file.element_bytes;
      runs += count_runs(list, given.file.element_bytes, true);
      bytes_max = std::max(bytes_max, bytes);
      EXPECT_EQ(plan.local_bytes(rank), bytes);
    }
    EXPECT_EQ(plan.runs.count, runs);
    EXPECT_EQ(plan.runs.bytes_of_rank_max, bytes_max);
  }
}

TEST(MakePlan, EqualRequestsGiveEqualPlans) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::string texts[2];
    for (auto& text : texts) {  // each from new objects
      Random random(seed);
      const RequestCase given = testing::random_request(random, {});
      const Plan plan = make_plan(given.request(Direction::kWrite, Method::kAuto, testing::random_tuning(random)));
      text = explain(plan, "an array");
      for (size_t i = 0; i < plan.domains.size(); ++i) {
        const FileDomain domain = plan.domains[i];
        text += std::to_string(domain.rank) + " " + std::to_string(domain.begin) + " " + std::to_string(domain.end);
      }
    }
    EXPECT_EQ(texts[0], texts[1]);
  }
}

TEST(MakePlan, CandidatesAreTheSumsOverTheRanks) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const RequestCase given = testing::random_request(random, {});
    const Plan plan = make_plan(given.request(Direction::kWrite));
    const auto candidates = plan.candidates();
    ASSERT_EQ(candidates.size(), std::size(kMethods));
    for (size_t m = 0; m < candidates.size(); ++m) {
      IoCounts total;
      int64_t buffer_bytes_max = 0;
      for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
        const IoCounts cost = plan.cost(kMethods[m], rank);
        total += cost;
        buffer_bytes_max = std::max(buffer_bytes_max, cost.buffer_bytes);
      }
      EXPECT_EQ(candidates[m].option.method, kMethods[m]);
      EXPECT_EQ(text_of(candidates[m].cost.sum), text_of(total));
      EXPECT_EQ(candidates[m].cost.buffer_bytes_max, buffer_bytes_max);
    }
  }
}

// ---- Cuts, and counts that are too large to be made one by one ------------------------------------------------------

Request of_rows(const Shape& shape, int64_t element_bytes, Decomposition decomposition,
                Direction direction = Direction::kRead) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  return {direction,
          std::make_shared<Layout>(Layout::ordered(shape, element_bytes, 0, order)),
          std::move(decomposition),
          Method::kAuto,
          {},
          false};
}

TEST(MakePlan, LongRunsAreCutAtTheLargestRequestAndBouncedOnesAtTheirBuffer) {
  Request contiguous = of_rows({1000}, 8, Decomposition::alone(select_all({1000})));
  contiguous.tuning.request_bytes_max = 3000;  // 375 elements
  EXPECT_EQ(make_plan(contiguous).cost(Method::kDirect, 0).read_requests, 3);
  EXPECT_EQ(make_plan(contiguous).cost(Method::kDirect, 0).buffer_bytes, 0);

  // F order in the file, C order in memory: one run of the file, scattered memory.
  Request turned = of_rows({100, 10}, 8, Decomposition::alone(select_all({100, 10})));
  turned.layout = std::make_shared<Layout>(Layout::ordered({100, 10}, 8, 0, {1, 0}));
  turned.tuning.bounce_bytes = 1001;  // 125 elements
  EXPECT_EQ(make_plan(turned).cost(Method::kDirect, 0).read_requests, 8);
}

TEST(MakePlan, TooManyWindowsAreEstimatedAndSaySo) {
  // A page of every MiB of a TiB: 262,144 windows of 4 MiB with 4 pages each; the last page ends earlier.
  const int64_t pages = int64_t{1} << 28;
  Request sparse = of_rows({pages}, 4096, Decomposition::alone({{0, 256, pages / 256, false}}));
  sparse.asked_tuning.sieve_bytes = true;
  const IoCounts cost = count_sieve(sparse, access_of(sparse, 0));
  EXPECT_FALSE(cost.exact);
  const int64_t windows = int64_t{1} << 18;
  EXPECT_EQ(cost.read_requests, windows);
  EXPECT_LE(std::abs(cost.read_bytes - windows * ((int64_t{3} << 20) + 4096)), windows * 4096);
  EXPECT_TRUE(make_plan(sparse).cost(Method::kDirect, 0).exact);
}

TEST(MakePlan, StripesMultiplyTheRequestsByEquationOne) {
  const Runs runs{.count = 10, .bytes_max = 100, .bytes = 1000};
  EXPECT_EQ(requests_with_stripes(runs, 30), 40);
  EXPECT_EQ(requests_with_stripes(runs, 50), 20);
  EXPECT_EQ(requests_with_stripes(runs, 1000), 10);
  EXPECT_EQ(requests_with_stripes({}, 30), 0);
}

TEST(MakePlan, TenThousandRanksPlan) {
  const Shape shape = {10'000, 10'000};
  const Distribution blocks({{Kind::kBlock, 0}, {Kind::kBlock, 0}}, {100, 100});
  Request request = of_rows(shape, 8, Decomposition::distributed(blocks, select_all(shape), 10'000));
  request.cached = 1;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.runs.count, 10'000 * 100);
  EXPECT_EQ(plan.runs.bytes_max, 800);
  EXPECT_EQ(plan.runs.bytes, 800'000'000);
  EXPECT_EQ(plan.runs.bytes_of_rank_max, 80'000);
  EXPECT_EQ(plan.method, Method::kTwoPhase);
  EXPECT_EQ(plan.domains.size(), 10'000U);
  EXPECT_EQ(plan.domains[9'999].end, 800'000'000);
  EXPECT_EQ(plan.cost(Method::kDirect, 9'999).read_requests, 100);
  EXPECT_EQ(plan.cost(Method::kTwoPhase, 9'999).read_bytes, plan.domains[9'999].end - plan.domains[9'999].begin);
}

TEST(Choice, MethodsHaveNamesAndOtherNamesAreRefused) {
  for (const Method method :
       {Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kDatatype, Method::kTwoPhase}) {
    EXPECT_EQ(parse_method(to_string(method)), method);
  }
  try {
    parse_method("magic");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "method \"magic\" is not known; expected \"auto\", \"direct\", \"sieve\", \"list\", \"datatype\", "
                 "\"two-phase\", or \"two-phase/sieve\", \"two-phase/list\" or \"two-phase/datatype\"");
  }
  for (const std::string name :
       {"auto", "list", "two-phase", "two-phase/sieve", "two-phase/list", "two-phase/datatype"}) {
    EXPECT_EQ(to_string(parse_choice(name)), name);
  }
  EXPECT_THROW(parse_choice("two-phase/direct"), Error);
}

// ---- What cannot be shared ------------------------------------------------------------------------------------------

template <typename Action>
void expect_refused(const Action& action, const std::string& message) {
  try {
    action();
    ADD_FAILURE() << "not refused: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    EXPECT_EQ(error.what(), message);
  }
}

TEST(DecompositionErrors, AGridWithMorePlacesThanRanks) {
  const Distribution blocks({{Kind::kBlock, 0}, {Kind::kBlock, 0}}, {2, 3});
  expect_refused([&] { Decomposition::distributed(blocks, select_all({10, 10}), 4); },
                 "distribution (block, block) over grid (2, 3) needs 6 ranks, there are 4; give a smaller grid or "
                 "start more ranks");
}

TEST(DecompositionErrors, ADistributionOfOtherDimensions) {
  const Distribution blocks({{Kind::kBlock, 0}}, {2});
  expect_refused([&] { Decomposition::distributed(blocks, select_all({10, 10}), 4); },
                 "distribution (block) over grid (2) has 1 dimensions, the (selected) array (10, 10) has 2");
}

TEST(DecompositionErrors, ABoxThatReachesOutOfTheArray) {
  expect_refused([] { Decomposition::boxes({{}, {{{0, 2}, {4, 7}}}}, {4, 6}); },
                 "rank 1: box (0, 2) to (4, 7): dimension 1 must lie within [0, 6) with start <= stop");
  expect_refused([] { Decomposition::boxes({{{{3}, {2}}}}, {4}); },
                 "rank 0: box (3,) to (2,): dimension 0 must lie within [0, 4) with start <= stop");
}

TEST(DecompositionErrors, ABoxOfOtherDimensions) {
  expect_refused([] { Decomposition::boxes({{{{0}, {4}}}}, {4, 6}); },
                 "rank 0: box (0,) to (4,): expected corners of 2 dimensions");
}

Decomposition overlapping_boxes() {
  return Decomposition::boxes({{{{0, 0}, {3, 4}}}, {{{4, 0}, {6, 6}}, {{2, 3}, {4, 6}}}}, {6, 6});
}

TEST(DecompositionErrors, BoxesThatOverlapAreRefusedOnWrite) {
  expect_refused([] { make_plan(of_rows({6, 6}, 8, overlapping_boxes(), Direction::kWrite)); },
                 "write of boxes: rank 0's box (0, 0) to (3, 4) and rank 1's box (2, 3) to (4, 6) share elements; each "
                 "element must be written once (pass views without the ghost cells)");
}

TEST(DecompositionErrors, BoxesThatOverlapAreReadByBoth) {
  EXPECT_EQ(make_plan(of_rows({6, 6}, 8, overlapping_boxes())).runs.bytes, (12 + 12 + 6) * 8);
}

TEST(DecompositionErrors, BoxesThatTouchOrAreEmptyShareNothing) {
  const Decomposition boxes =
      Decomposition::boxes({{{{0, 0}, {3, 3}}}, {{{0, 3}, {3, 6}}, {{1, 1}, {1, 5}}}, {{{3, 0}, {6, 6}}}}, {6, 6});
  EXPECT_NO_THROW(make_plan(of_rows({6, 6}, 8, boxes, Direction::kWrite)));
}

TEST(DecompositionErrors, OverlapIsFoundWhereverItIs) {
  Random random(4);
  int overlaps = 0;
  for (int i = 0; i < 500; ++i) {
    const Shape shape = {6, 7};
    const auto boxes = testing::random_boxes(random, shape, 3, true);
    std::vector<int> writers(42);
    for (const auto& boxes_here : boxes) {
      for (const auto& box : boxes_here) {
        for (int64_t row = box.begin[0]; row < box.end[0]; ++row) {
          for (int64_t column = box.begin[1]; column < box.end[1]; ++column)
            ++writers[static_cast<size_t>(row * 7 + column)];
        }
      }
    }
    const Decomposition decomposition = Decomposition::boxes(boxes, shape);
    if (*std::max_element(writers.begin(), writers.end()) > 1) {
      ++overlaps;
      EXPECT_THROW(decomposition.check_written_once(), Error);
    } else {
      EXPECT_NO_THROW(decomposition.check_written_once());
    }
  }
  EXPECT_GT(overlaps, 25);
  EXPECT_LT(overlaps, 475);
}

}  // namespace
}  // namespace swath
