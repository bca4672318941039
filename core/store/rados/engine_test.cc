// The contract of the engine for Ceph pools beyond that of all engines (engine_contract_test.cc), and creation of
// files. Needs a cluster with a pool "swath", whose configuration SWATH_TEST_CEPH_CONF names (make rados-test).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/process.h"
#include "layout/access.h"
#include "store/atomic_file.h"
#include "store/rados/test_file.h"

namespace swath {
namespace {

class Rados : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_cluster()) GTEST_SKIP() << kNoCluster;
  }

  std::string path() const { return file_.path(); }
  std::unique_ptr<Engine> open(OpenMode mode, const EngineOptions& options = {}) const {
    return file_.open(mode, options);
  }
  void write(const Bytes& bytes) const { file_.write(bytes); }
  Bytes contents() const { return file_.contents(); }
  bool exists(const std::string& of_path) const {
    try {
      open_engine(of_path, OpenMode::kRead, {});
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.os_error(), ENOENT) << error.what();
      return false;
    }
  }

  const RadosTestFile file_{GetParam()};
  Counters counters;
};

INSTANTIATE_TEST_SUITE_P(Stripes, Rados, testing::Values("65536,4,4194304", "13,3,39", "1000,2,4000", "7,1,7000"),
                         [](const testing::TestParamInfo<std::string>& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), ',', '_');
                           return name;
                         });

// All forms of regions: a product whose elements cross stripe borders, a view of blocks, a long list.
TEST_P(Rados, DescriptionsAreCarriedOutOnTheServersAsListsAre) {
  constexpr int64_t kBytes = 200'000;
  Bytes expected = counting_bytes(kBytes);
  write(expected);
  auto engine = open(OpenMode::kReadWrite);
  const bool has_class = engine->capabilities().structured_requests;
  if (!has_class) GTEST_SKIP() << "no object class swath on the OSDs";
  const auto check = [&](const Access& access, int64_t begin, int64_t end) {
    Bytes data(static_cast<size_t>(access.bytes()));
    std::mt19937 random(11);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random());
    std::vector<std::byte*> addresses{data.data()};
    StructuredTransfer described{access, addresses, 64, begin, end};
    for_each_flat_batch(described, [&](std::span<const Transfer> batch) {
      for (const Transfer& piece : batch) std::copy_n(piece.data, piece.bytes, expected.begin() + piece.offset);
    });
    described.as_described = true;
    counters = {};
    engine->transfer_structured(Direction::kWrite, described, counters);
    ASSERT_EQ(contents(), expected);
    const Bytes before = data;
    for_each_flat_batch(described, [&](std::span<const Transfer> batch) {
      for (const Transfer& piece : batch) std::fill_n(piece.data, piece.bytes, std::byte{0});
    });
    engine->transfer_structured(Direction::kRead, described, counters);
    ASSERT_EQ(data, before);
    EXPECT_EQ(counters.read_bytes, counters.written_bytes);
    EXPECT_EQ(counters.read_requests, counters.write_requests);
  };
  for (const int64_t element : {1, 3, 8}) {
    const Layout layout = Layout::ordered({30, 20, 40}, element, 17, {0, 1, 2});
    const Part part = selected_part(select_all(layout.shape()), element);
    check(Access(layout, {part}), 0, INT64_MAX);
    check(Access(layout, {part}), 1001, 9001);
  }
  const Layout bytes = Layout::ordered({kBytes}, 1, 0, {0});
  const Nest blocks = Nest::blocks(std::vector<int64_t>{0, 10, 31}, std::vector<int64_t>{3, 5, 1});
  const View view = View::all(Nest::strided(60, 1021, blocks).shifted(7));
  const MemoryNest memory{Nest::strided(view.bytes(), -1, Nest::block(1)).shifted(view.bytes() - 1), 0};
  check(Access(bytes, view, memory), 0, INT64_MAX);
  check(Access(bytes, view, memory), 5000, 50'000);
  std::vector<int64_t> places;
  std::mt19937 random(3);
  for (int64_t at = 0; at + 8 < kBytes; at += 3 + static_cast<int64_t>(random() % 4)) places.push_back(at);
  const View listed = View::all(Nest::indexed(places, Nest::block(2)));
  EXPECT_GT(listed.nest.listed(), 30'000);
  check(Access(bytes, listed, MemoryNest::packed(listed.bytes())), 0, INT64_MAX);
}

TEST_P(Rados, RangesBeyondWhatARequestCanCountAreAllCarriedOut) {
  constexpr int64_t kRanges = 65'540;
  write(counting_bytes(2 * kRanges));
  Bytes seen(kRanges);
  std::vector<Transfer> batch;
  for (int64_t i = 0; i < kRanges; ++i) batch.push_back({2 * i, &seen[static_cast<size_t>(i)], 1});
  auto engine = open(OpenMode::kRead);
  engine->transfer(Direction::kRead, batch, counters);
  const Bytes all = counting_bytes(2 * kRanges);
  for (int64_t i = 0; i < kRanges; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], all[static_cast<size_t>(2 * i)]) << i;
  EXPECT_EQ(counters.read_bytes, kRanges);
  EXPECT_GE(counters.read_requests, kRanges / 1000);
}

TEST_P(Rados, ResizeShrinksAndGrowsWithZeros) {
  write(counting_bytes(300));
  auto engine = open(OpenMode::kReadWrite);
  for (const int64_t bytes : {104, 41, 26, 4}) {
    engine->resize(bytes);
    engine->resize(200);
    Bytes expected = counting_bytes(static_cast<size_t>(bytes));
    expected.resize(200);
    EXPECT_EQ(contents(), expected);
  }
  Bytes end = counting_bytes(5);
  const Transfer batch[] = {transfer_of(400, end)};
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(engine->size(), 405);
  EXPECT_EQ(error_of([&] { engine->resize(-1); }).kind(), ErrorKind::kArgument);
}

TEST_P(Rados, WhatAnotherEngineHasAppendedIsRead) {
  write(counting_bytes(10));
  auto engine = open(OpenMode::kRead);
  Bytes bytes(20);
  const Transfer batch[] = {transfer_of(0, bytes)};
  EXPECT_EQ(error_of([&] { engine->transfer(Direction::kRead, batch, counters); }).kind(), ErrorKind::kStore);
  auto other = open(OpenMode::kReadWrite);
  Bytes more = counting_bytes(10, 11);
  const Transfer append[] = {transfer_of(10, more)};
  other->transfer(Direction::kWrite, append, counters);
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(bytes, counting_bytes(20));
}

TEST_P(Rados, PoolsAndEnginesThatThereAreNotAreNamed) {
  write(counting_bytes(10));
  EXPECT_EQ(error_of([&] { open(OpenMode::kRead, {.engine = "posix"}); }).kind(), ErrorKind::kArgument);
  const Error pool = error_of([&] { open_engine("rados:no-such-pool/a" + file_.settings(), OpenMode::kRead, {}); });
  EXPECT_NE(std::string(pool.what()).find("no pool of that name"), std::string::npos) << pool.what();
}

TEST_P(Rados, AnUpdateKeepsWhatOthersWriteMeanwhile) {
  write(counting_bytes(300));
  auto engine = open(OpenMode::kReadWrite);
  auto other = open(OpenMode::kReadWrite);
  Bytes image(200);
  int attempts = 0;
  const auto fill_in = [&](std::byte* bytes) {
    for (size_t i = 0; i < 200; i += 2) bytes[i] = std::byte{0xaa};
    if (++attempts > 3) return;
    Bytes foreign(1, std::byte(attempts));  // at an odd offset, with a new value each time
    const Transfer batch[] = {transfer_of(50 + 2 * attempts + 1, foreign)};
    other->transfer(Direction::kWrite, batch, counters);
  };
  engine->update(transfer_of(50, image), true, fill_in, counters);
  EXPECT_EQ(attempts, 4);
  EXPECT_EQ(counters.locks, 0);
  Bytes expected = counting_bytes(300);
  for (size_t i = 50; i < 250; i += 2) expected[i] = std::byte{0xaa};
  for (size_t i = 1; i <= 3; ++i) expected[50 + 2 * i + 1] = std::byte(i);
  EXPECT_EQ(contents(), expected);
}

TEST_P(Rados, AnUpdateReachesBeyondTheEndAndMakesObjectsThatAnotherMakesToo) {
  write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  auto other = open(OpenMode::kReadWrite);
  Bytes image(5000);
  int attempts = 0;
  engine->update(
      transfer_of(5, image), true,
      [&](std::byte* bytes) {
        for (size_t i = 0; i < 5000; i += 10) bytes[i] = std::byte{0xaa};
        if (++attempts > 1) return;
        Bytes foreign(1, std::byte{0x55});
        const Transfer batch[] = {transfer_of(4001, foreign)};
        other->transfer(Direction::kWrite, batch, counters);
      },
      counters);
  EXPECT_EQ(attempts, 2);
  Bytes expected = counting_bytes(10);
  expected.resize(5005);
  for (size_t i = 5; i < 5005; i += 10) expected[i] = std::byte{0xaa};
  expected[4001] = std::byte{0x55};
  EXPECT_EQ(contents(), expected);
}

TEST_P(Rados, AnUpdateThatOthersNeverLetEndTimesOut) {
  write(counting_bytes(300));
  auto engine = open(OpenMode::kReadWrite, {.lock_timeout_seconds = 0.2});
  auto other = open(OpenMode::kReadWrite);
  Bytes image(100);
  const auto interfere = [&](std::byte*) {
    Bytes foreign(1);
    const Transfer batch[] = {transfer_of(3, foreign)};
    other->transfer(Direction::kWrite, batch, counters);
  };
  EXPECT_EQ(error_of([&] { engine->update(transfer_of(0, image), true, interfere, counters); }).os_error(), ETIMEDOUT);
}

// An update that needs several operations on one object: they do not conflict with each other.
TEST(RadosUpdate, ManyRangesOfAnObjectDoNotHinderEachOther) {
  if (!has_cluster()) GTEST_SKIP() << kNoCluster;
  Counters counters;
  const RadosTestFile file("20000,1,5000000");
  file.write(Bytes(5'000'000));
  const auto engine = file.open(OpenMode::kReadWrite, {.lock_timeout_seconds = 1e-9});
  Bytes image(5'000'000);
  const auto fill_in = [&](std::byte* bytes) {
    for (size_t i = 0; i < image.size(); i += 1000) bytes[i] = std::byte{0xaa};
  };
  engine->update(transfer_of(0, image), true, fill_in, counters);
  EXPECT_EQ(counters.read_requests, 3);
  EXPECT_EQ(counters.write_requests, 3);
  const Bytes all = file.contents();
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], std::byte(i % 1000 == 0 ? 0xaa : 0)) << i;
}

TEST_P(Rados, AForkedChildConnectsAnew) {
  write(counting_bytes(1000));
  auto engine = open(OpenMode::kReadWrite);
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = contents() == counting_bytes(1000);
      Bytes bytes = counting_bytes(10, 70);
      const Transfer batch[] = {transfer_of(500, bytes)};
      Counters ignored;
      engine->transfer(Direction::kWrite, batch, ignored);
    } catch (const Error&) {
      good = false;
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Bytes seen(10);
  const Transfer batch[] = {transfer_of(500, seen)};
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(seen, counting_bytes(10, 70));
}

TEST_P(Rados, ThreadsWriteIntoEachOthersGaps) {
  write(Bytes(4000));
  const MakeEngine make = open_for_engines(path(), OpenMode::kReadWrite, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto engine = make(nullptr);
      Bytes mine(250, static_cast<std::byte>(t + 1));
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<Transfer> batch;
        for (int64_t i = 0; i < 250; ++i) batch.push_back({16 * i + int64_t{4} * t, &mine[static_cast<size_t>(i)], 1});
        Counters ignored;
        engine->transfer(Direction::kWrite, batch, ignored);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Bytes all = contents();
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], static_cast<std::byte>(i % 4 == 0 ? i / 4 % 4 + 1 : 0)) << i;
  }
}

// ---- creation -----------------------------------------------------------------------------------------------------

void fill(const std::string& path, Bytes bytes) {
  auto engine = open_engine(path, OpenMode::kCreateNew, {});
  const Transfer whole[] = {transfer_of(0, bytes)};
  Counters ignored;
  engine->transfer(Direction::kWrite, whole, ignored);
}

TEST_P(Rados, ANewFileHasItsNameWhenItIsComplete) {
  {
    AtomicFile file(path(), {});
    EXPECT_TRUE(file.is_aside());
    fill(file.working_path(), counting_bytes(100));
    EXPECT_FALSE(exists(path()));
    file.complete();
  }
  EXPECT_EQ(contents(), counting_bytes(100));
  EXPECT_EQ(error_of([&] { AtomicFile again(path(), {}); }).os_error(), EEXIST);
}

TEST_P(Rados, WhatIsLetGoOfLeavesNothing) {
  std::string working;
  {
    const AtomicFile file(path(), {});
    working = file.working_path();
    fill(working, counting_bytes(100));
  }
  EXPECT_FALSE(exists(path()));
  EXPECT_FALSE(exists(working));
}

TEST_P(Rados, ReplacingAFileShowsTheOldOneOrTheNewOneAndWhoReadsTheOldOneIsTold) {
  for (int generation = 0; generation < 3; ++generation) {
    std::unique_ptr<Engine> reading;
    if (generation > 0) reading = open(OpenMode::kRead);
    AtomicFile file(path(), {.overwrite = true});
    fill(file.working_path(), counting_bytes(100, generation));
    if (generation > 0) {
      EXPECT_EQ(contents(), counting_bytes(100, generation - 1));
    }
    file.complete();
    EXPECT_EQ(contents(), counting_bytes(100, generation));
    if (reading == nullptr) continue;
    Bytes bytes(100);
    const Transfer whole[] = {transfer_of(0, bytes)};
    EXPECT_EQ(error_of([&] { reading->transfer(Direction::kRead, whole, counters); }).os_error(), ESTALE);
  }
}

TEST_P(Rados, ANameThatWasTakenMeanwhileIsRefused) {
  AtomicFile first(path(), {});
  AtomicFile second(path(), {});
  fill(first.working_path(), counting_bytes(10));
  fill(second.working_path(), counting_bytes(10, 50));
  first.complete();
  EXPECT_EQ(error_of([&] { second.complete(); }).os_error(), EEXIST);
  EXPECT_EQ(contents(), counting_bytes(10));
}

TEST_P(Rados, WritesIntoAFileThatWasReplacedAreMissed) {
  write(counting_bytes(100));
  const auto engine = open(OpenMode::kReadWrite);
  engine->check_written();
  Bytes bytes(100);
  const Transfer whole[] = {transfer_of(0, bytes)};
  engine->transfer(Direction::kWrite, whole, counters);
  engine->check_written();
  AtomicFile file(path(), {.overwrite = true});
  fill(file.working_path(), counting_bytes(100));
  file.complete();
  engine->check_written();  // nothing was lost
  engine->transfer(Direction::kWrite, whole, counters);
  EXPECT_EQ(error_of([&] { engine->check_written(); }).os_error(), ESTALE);
  EXPECT_EQ(contents(), counting_bytes(100));
}

TEST_P(Rados, AFileThatHasBecomeShorterIsNotReadAsZeros) {
  write(counting_bytes(300));
  const auto engine = open(OpenMode::kRead);
  open(OpenMode::kReadWrite)->resize(100);
  Bytes bytes(200);
  const Transfer beyond[] = {transfer_of(50, bytes)};
  const Error error = error_of([&] { engine->transfer(Direction::kRead, beyond, counters); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_NE(std::string(error.what()).find("end of file (file is 100 bytes"), std::string::npos) << error.what();
  Bytes inside(50);
  const Transfer before[] = {transfer_of(50, inside)};
  engine->transfer(Direction::kRead, before, counters);
  EXPECT_EQ(inside, counting_bytes(50, 51));
}

TEST_P(Rados, AFileOfItsOwnNameIsOpenedAndReplaced) {
  write(counting_bytes(10));
  EXPECT_EQ(error_of([&] { AtomicFile again(path(), {}); }).os_error(), EEXIST);
  AtomicFile file(path(), {.overwrite = true});
  fill(file.working_path(), counting_bytes(20, 5));
  EXPECT_EQ(contents(), counting_bytes(10));
  file.complete();
  EXPECT_EQ(contents(), counting_bytes(20, 5));
}

TEST_P(Rados, WhatAKilledJobLeftIsRemovedByTheNextAndNotWhatALivingOneWrites) {
  AtomicFile living(path(), {.overwrite = true});
  fill(living.working_path(), counting_bytes(10, 30));
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const AtomicFile file(path(), {});
    fill(file.working_path(), counting_bytes(100));
    const std::string& working = file.working_path();
    static_cast<void>(!::write(told[1], working.c_str(), working.size() + 1));
    ::pause();
  }
  std::string working(500, '\0');
  ASSERT_GT(::read(told[0], working.data(), working.size()), 0);
  working.resize(working.find('\0'));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(exists(working));
  for (int attempt = 0; attempt < 40 && exists(working); ++attempt) {  // until its watch has ended
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const AtomicFile next(path(), {});
  }
  EXPECT_FALSE(exists(working));
  EXPECT_FALSE(exists(path()));
  living.complete();
  EXPECT_EQ(contents(), counting_bytes(10, 30));
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace swath
