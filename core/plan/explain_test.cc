#include "plan/explain.h"

#include <gtest/gtest.h>

namespace swath {
namespace {

using Kind = DimensionRule::Kind;

// 4 x 60 elements of 8 bytes in C order after a header of 128.
Plan plan_of(Decomposition decomposition, Direction direction = Direction::kRead, bool synced = false) {
  Request request;
  request.direction = direction;
  request.synced = synced;
  request.cached = 1;
  request.layout = std::make_shared<Layout>(Layout::ordered({4, 60}, 8, 128, {0, 1}));
  request.decomposition = std::move(decomposition);
  return make_plan(std::move(request));
}

Decomposition columns(int ranks) {
  return Decomposition::distributed(Distribution({{Kind::kWhole, 0}, {Kind::kBlock, 0}}, {1, ranks}),
                                    select_all({4, 60}), ranks);
}

TEST(Explain, SaysWhatIsDoneByWhomAndWhatElseItWouldCost) {
  EXPECT_EQ(explain(plan_of(columns(2)), "float64 (4, 60) in a.raw"), R"(read float64 (4, 60) in a.raw
  distribution  (whole, block) over grid (1, 2), 2 ranks
  layout        C order at offset 128
  data          1.9 KiB, at most 960 B a rank
  runs          R_dist = 8 contiguous runs, S_dist = 240 bytes the longest
  method        sieve: predicted 24.1 us; next direct, 25.7 us (1.1 x)
  priced from   stated defaults; 100 % in the page cache

All ranks together, by method (> chosen):
  method                         requests  mean size     read  written  exchanged  buffers a rank  predicted
    direct                              8      240 B  1.9 KiB      0 B        0 B             0 B    25.7 us
  > sieve, windows of 512.0 KiB         2    1.6 KiB  3.3 KiB      0 B        0 B         4.0 KiB    24.1 us
    list                                8      240 B  1.9 KiB      0 B        0 B        24.0 KiB    26.0 us
    two-phase                           1    1.9 KiB  1.9 KiB      0 B      960 B        12.0 KiB    29.2 us
  of them 844 ns transfer, 298 ns copying, 0.00 ns exchange, 23.0 us fixed

Each rank, by sieve (direct beside it):
  rank  requests  mean size     read  written  exchanged  buffers  holds  direct requests
  0            1    1.6 KiB  1.6 KiB      0 B        0 B  4.0 KiB  960 B                4
  1            1    1.6 KiB  1.6 KiB      0 B        0 B  4.0 KiB  960 B                4
)");
}

TEST(Explain, OfAWriteCountsWhatIsReadToFillHoles) {
  EXPECT_EQ(explain(plan_of(Decomposition::alone({{0, 1, 4, false}, {0, 2, 30, false}}), Direction::kWrite), "a.raw"),
            R"(write a.raw
  distribution  whole, 1 rank
  layout        C order at offset 128
  data          960 B, at most 960 B a rank
  runs          R_dist = 120 contiguous runs, S_dist = 8 bytes the longest
  method        sieve: predicted 24.4 us; next two-phase, 24.8 us (1.0 x)
  priced from   stated defaults; 100 % in the page cache

All ranks together, by method (> chosen):
  method                         requests  mean size     read  written  exchanged  buffers a rank  predicted
    direct                            120        8 B      0 B    960 B        0 B             0 B     160 us
  > sieve, windows of 512.0 KiB         2    1.9 KiB  1.9 KiB  1.9 KiB        0 B         4.0 KiB    24.4 us
    list                              120        8 B      0 B    960 B        0 B        24.0 KiB     173 us
    two-phase                           2    1.9 KiB  1.9 KiB  1.9 KiB        0 B        16.0 KiB    24.8 us
  of them 4.02 us transfer, 382 ns copying, 0.00 ns exchange, 20.0 us fixed

Each rank, by sieve (direct beside it):
  rank  requests  mean size     read  written  exchanged  buffers  holds  direct requests
  0            2    1.9 KiB  1.9 KiB  1.9 KiB        0 B  4.0 KiB  960 B              120
)");
}

TEST(Explain, ShowsAsManyRanksAsAskedFor) {
  const std::string text = explain(plan_of(columns(6)), "a.raw", 2);
  EXPECT_NE(text.find("\n  1  "), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  2  "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("  ... and 4 more ranks\n")) << text;
}

TEST(Explain, ASyncThatWillFollowHasAColumn) {
  EXPECT_EQ(explain(plan_of(columns(2), Direction::kWrite), "a.raw").find("a sync then"), std::string::npos);
  const std::string text = explain(plan_of(columns(2), Direction::kWrite, true), "a.raw");
  EXPECT_NE(text.find("  a sync then\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" of a sync; next "), std::string::npos) << text;
}

TEST(Explain, SaysWhereItIsNotKnownWhatIsCached) {
  Request request = plan_of(columns(2)).request;
  request.cached = std::nullopt;
  const auto priced_from = [&](const std::string& words) {
    const std::string text = explain(make_plan(request), "a.raw");
    return text.find("\n  priced from   stated defaults; not known what is in the page cache" + words + "\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(priced_from(": priced as if nothing were"));
  Profile profile = default_profile();
  profile.device = {};
  request.profile = std::make_shared<Profile>(profile);
  EXPECT_TRUE(priced_from(", and the device was not measured: priced as cached"));
}

TEST(Explain, MarksEstimates) {
  Request request;
  const int64_t pages = int64_t{1} << 28;
  request.layout = std::make_shared<Layout>(Layout::ordered({pages}, 4096, 0, {0}));
  request.decomposition = Decomposition::alone({{0, 256, pages / 256, false}});
  request.asked_tuning.sieve_bytes = true;
  const std::string text = explain(make_plan(request), "a.raw");
  EXPECT_NE(text.find("  ~262,144"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("  ~ an estimate: too many to count one by one\n")) << text;
}

}  // namespace
}  // namespace swath
