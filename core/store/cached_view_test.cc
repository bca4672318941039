#include "store/cached_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "store/engine.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr int64_t kPage = 4096;

class CachedViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file.write(bytes);
    engine = open_engine(file.path(), OpenMode::kReadWrite, {});
    if (!engine->cached_part(0, 1)) GTEST_SKIP() << "this kernel or file system has no cachestat";
    view = engine->cached_view();
    ASSERT_NE(view, nullptr);
  }

  // The bytes [offset, offset + count) in the view; nullopt if the view does not show them.
  std::optional<Bytes> seen(int64_t offset, int64_t count) {
    Bytes found;
    const bool is_seen =
        view->map_cached(offset, count, [&](const std::byte* image) { found.assign(image, image + count); }, counters);
    return is_seen ? std::optional(found) : std::nullopt;
  }

  const Bytes bytes = counting_bytes(40 * kPage);
  EngineTestFile file;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<CachedView> view;
  Counters counters;
};

TEST_F(CachedViewTest, ShowsTheBytesOfTheFileAndCountsEachLookAsARequest) {
  EXPECT_EQ(seen(0, 40 * kPage), bytes);
  EXPECT_EQ(seen(4095, 2), Bytes(bytes.begin() + 4095, bytes.begin() + 4097));
  EXPECT_EQ(seen(40 * kPage - 1, 1), Bytes(bytes.end() - 1, bytes.end()));
  EXPECT_EQ(counters.read_requests, 3);
  EXPECT_EQ(counters.read_bytes, 40 * kPage + 3);
}

TEST_F(CachedViewTest, ShowsWhatIsWrittenWhileItIsThere) {
  ASSERT_TRUE(seen(0, 40 * kPage));
  Bytes others = counting_bytes(5000, 77);
  const Transfer batch[] = {transfer_of(3000, others)};
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(seen(3000, 5000), others);
}

TEST_F(CachedViewTest, ShowsNothingBehindTheEndOfTheFile) {
  EXPECT_FALSE(seen(40 * kPage - 1, 2));
  EXPECT_FALSE(seen(40 * kPage, 1));
  EXPECT_EQ(counters.read_requests, 0);
}

// The page stays mapped, with zeros behind the cut: no signal is raised.
TEST_F(CachedViewTest, ShowsNothingOfAPageThatWasCutWhileItWasLookedAt) {
  ASSERT_TRUE(seen(0, 40 * kPage));
  Bytes found;
  const auto cut_and_use = [&](const std::byte* image) {
    ASSERT_EQ(::truncate(file.path().c_str(), 40 * kPage - 100), 0);
    found.assign(image, image + kPage);
  };
  EXPECT_FALSE(view->map_cached(39 * kPage, kPage, cut_and_use, counters));
  EXPECT_EQ(found.back(), std::byte{0});
  EXPECT_EQ(seen(39 * kPage, kPage - 100), Bytes(bytes.begin() + 39 * kPage, bytes.end() - 100));
  EXPECT_FALSE(seen(39 * kPage, kPage));
}

TEST_F(CachedViewTest, ShowsNothingOfAnEmptyFile) {
  engine->resize(0);
  EXPECT_FALSE(seen(0, 1));
}

TEST_F(CachedViewTest, ShowsNothingThatIsNotInThePageCache) {
  engine->sync();
  const int descriptor = ::open(file.path().c_str(), O_RDONLY);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  if (engine->cached_part(0, 40 * kPage) != 0.0) GTEST_SKIP() << "this file system keeps its files in memory";
  EXPECT_FALSE(seen(0, 40 * kPage));
  EXPECT_EQ(engine->cached_part(0, 40 * kPage), 0.0);  // and fetched none of it
}

TEST_F(CachedViewTest, KeepsNothingInThePageCacheWhenItIsGone) {
  ASSERT_TRUE(seen(0, 40 * kPage));
  view.reset();
  engine->sync();
  const int descriptor = ::open(file.path().c_str(), O_RDONLY);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  const double left = engine->cached_part(0, 40 * kPage).value();
  view = engine->cached_view();
  if (left == 1) GTEST_SKIP() << "this file system keeps its files in memory";
  EXPECT_EQ(left, 0);
}

TEST_F(CachedViewTest, AFileThatIsCutShortMeanwhileIsNoEndOfTheProcess) {
  int64_t zeros = 0;
  const auto cut_and_use = [&](const std::byte* image) {
    std::byte first = image[0];
    engine->resize(10 * kPage);
    for (int64_t at = 0; at < 40 * kPage; at += kPage) zeros += image[at + 1] == std::byte{0} ? 1 : 0;
    EXPECT_EQ(first, bytes[0]);
  };
  EXPECT_FALSE(view->map_cached(0, 40 * kPage, cut_and_use, counters));
  EXPECT_EQ(zeros, 30);
  EXPECT_EQ(counters.read_requests, 0);
  // Reading the missing bytes gives the error. The broken view shows nothing of the file any more.
  EXPECT_FALSE(seen(0, kPage));
  Bytes wanted(40 * kPage);
  const Transfer batch[] = {transfer_of(0, wanted)};
  const Error error = error_of([&] { engine->transfer(Direction::kRead, batch, counters); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  // A new view shows the file as it is now.
  view = engine->cached_view();
  EXPECT_EQ(seen(0, 10 * kPage), Bytes(bytes.begin(), bytes.begin() + 10 * kPage));
}

TEST_F(CachedViewTest, ManyViewsAtOnceShowOrDecline) {
  std::vector<std::unique_ptr<CachedView>> views;
  int shown = 0;
  for (int i = 0; i < 300; ++i) {
    views.push_back(engine->cached_view());
    const auto check = [&](const std::byte* image) { EXPECT_EQ(image[1], bytes[1]); };
    shown += views.back()->map_cached(0, kPage, check, counters) ? 1 : 0;
  }
  EXPECT_EQ(shown, 256);
  views.clear();
  EXPECT_TRUE(seen(0, kPage));
}

void touch_what_was_cut_off(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR);
  auto* data = static_cast<volatile char*>(::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, descriptor, 0));
  if (::ftruncate(descriptor, 0) == 0) ::_exit(data[kPage]);
}

TEST_F(CachedViewTest, ABusErrorOfSomebodyElseStillEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_TRUE(seen(0, kPage));
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, SIG_DFL);
        const auto again = open_engine(file.path(), OpenMode::kRead, {});
        const auto own = again->cached_view();
        Counters others;
        own->map_cached(0, kPage, [](const std::byte*) {}, others);
        touch_what_was_cut_off(file.path());
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

void say_bus_error(int /*signal*/) {
  constexpr char kText[] = "their own words\n";
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) > 0) ::_exit(3);
}

TEST_F(CachedViewTest, ABusErrorOfSomebodyElseGoesToTheHandlerThatWasThere) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, say_bus_error);
        const auto again = open_engine(file.path(), OpenMode::kRead, {});
        const auto own = again->cached_view();
        Counters others;
        own->map_cached(0, kPage, [](const std::byte*) {}, others);
        touch_what_was_cut_off(file.path());
      },
      ::testing::ExitedWithCode(3), "their own words");
}

TEST(CachedViews, AreOfEnginesWhoseRequestsNobodyWantsToSee) {
  const EngineTestFile file;
  file.write(counting_bytes(100));
  for (const std::string name : {"posix", "fault:read@0=EIO", "model:ssd"}) {
    EXPECT_EQ(open_engine(file.path(), OpenMode::kRead, {.engine = name})->cached_view(), nullptr) << name;
  }
  EXPECT_NE(open_engine(file.path(), OpenMode::kRead, {})->cached_view(), nullptr);
}

}  // namespace
}  // namespace swath
