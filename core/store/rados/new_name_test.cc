// Concurrent creations in a pool (new_name.h). Needs a cluster with a pool "swath", whose configuration
// SWATH_TEST_CEPH_CONF names (make rados-test).
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/interrupt.h"
#include "store/atomic_file.h"
#include "store/rados/file.h"
#include "store/rados/pool.h"
#include "store/rados/test_file.h"

namespace swath {
namespace {

class RadosNames : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_cluster()) GTEST_SKIP() << kNoCluster;
  }

  std::string path() const { return file_.path(); }
  std::string name() const { return RadosName::parse(path()).file; }
  std::shared_ptr<RadosPool> pool() const { return RadosPool::open(RadosName::parse(path())); }
  bool exists() const {
    try {
      file_.open(OpenMode::kRead);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.os_error(), ENOENT) << error.what();
      return false;
    }
  }
  Bytes contents() const { return file_.contents(); }

  const RadosTestFile file_{"1000,2,4000"};
};

void fill(const std::string& path, Bytes bytes) {
  auto engine = open_engine(path, OpenMode::kCreateNew, {});
  const Transfer whole[] = {transfer_of(0, bytes)};
  Counters ignored;
  engine->transfer(Direction::kWrite, whole, ignored);
}

// A complete file stays, even if a later step failed, or if a process does not know that the file is complete.
TEST_F(RadosNames, WhatHasItsNameIsNotRemovedByWhoTakesItBack) {
  for (int generation = 0; generation < 2; ++generation) {
    AtomicFile file(path(), {.overwrite = true});
    AtomicFile elsewhere = AtomicFile::made_elsewhere(path(), file.options());
    fill(file.working_path(), counting_bytes(100, generation));
    file.complete();
    file.remove();
    elsewhere.remove();
    elsewhere.complete();  // it is
    EXPECT_EQ(contents(), counting_bytes(100, generation));
  }
}

// As if the answer to the naming operation was lost, and the operation arrives after the file was removed.
TEST_F(RadosNames, WhatWasTakenBackIsNotGivenTheName) {
  file_.write(counting_bytes(10));
  AtomicFile file(path(), {.overwrite = true});
  AtomicFile elsewhere = AtomicFile::made_elsewhere(path(), file.options());
  fill(file.working_path(), counting_bytes(100));
  file.remove();
  fill(file.working_path(), counting_bytes(100));  // it writes on
  EXPECT_EQ(error_of([&] { elsewhere.complete(); }).os_error(), ESTALE);
  EXPECT_EQ(contents(), counting_bytes(10));
}

TEST_F(RadosNames, CreationsThatBeginAndEndAtOnceLeaveEachOtherTheirMarks) {
  const auto pool = this->pool();
  const std::string name = this->name();
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      try {
        for (int turn = 0; turn < 40; ++turn) {
          const AtomicFile file(path(), {});
          const std::string number = RadosName::parse(file.working_path()).file.substr(name.size() + 2);
          const auto attributes = pool->attributes(name);
          if (!attributes || !attributes->contains(kGeneration + number)) ++lost;
        }
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_FALSE(pool->attributes(name));
}

TEST_F(RadosNames, WhatALateWriteMadeAnewIsRemovedAndCreationsGoOn) {
  const auto pool = this->pool();
  const std::string name = this->name();
  const std::string orphan = object_name(name + ".g0123", 0);
  RadosChange change;
  ASSERT_EQ(change.create(true).apply(*pool, orphan), 0);
  RadosChange mark;
  ASSERT_EQ(mark.create(false).set(std::string(kGeneration) + "0123", "replaced").apply(*pool, name), 0);
  AtomicFile file(path(), {});
  EXPECT_FALSE(pool->attributes(orphan));
  fill(file.working_path(), counting_bytes(100));
  file.complete();
  EXPECT_EQ(contents(), counting_bytes(100));
  EXPECT_EQ(pool->attributes(name)->size(), 1U);
}

TEST_F(RadosNames, WhatIsReplacedAtOnceLeavesOthersTheirMarks) {
  {
    AtomicFile old(path(), {});
    fill(old.working_path(), counting_bytes(10));
    old.complete();
  }
  AtomicFile file(path(), {.overwrite = true});
  fill(file.working_path(), counting_bytes(100));
  const AtomicFile at_once(path(), {.overwrite = true, .atomic = false});
  EXPECT_FALSE(exists());
  file.complete();
  EXPECT_EQ(contents(), counting_bytes(100));
}

TEST_F(RadosNames, AFileIsFoundHoweverOftenItIsReplaced) {
  constexpr int kFiles = 300;
  const auto pool = this->pool();
  const std::string name = this->name();
  const auto striped = [&](int number) { return name + ".g" + std::to_string(number); };
  for (int number = 0; number < kFiles; ++number) fill(RadosName::beside(path(), striped(number)), counting_bytes(10));
  const auto give_name = [&](int number) {
    RadosChange change;
    ASSERT_EQ(change.create(false).set(kCurrent, std::to_string(number)).apply(*pool, name), 0);
  };
  give_name(0);
  std::atomic<bool> is_over = false;
  std::vector<std::thread> opening;
  for (int t = 0; t < 8; ++t) {
    opening.emplace_back([&] {
      try {
        while (!is_over) file_.open(OpenMode::kRead);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (int number = 1; number < kFiles; ++number) {
    give_name(number);
    RadosChange removed;
    ASSERT_EQ(removed.set(kRemoved, "1").apply(*pool, object_name(striped(number - 1), 0)), 0);
  }
  is_over = true;
  for (std::thread& thread : opening) thread.join();
}

// A check for interrupts may run the program's code, which may need a lock that a waiting thread holds.
TEST_F(RadosNames, WhereObjectsAreIsNotAskedWithALockHeldThatOthersWaitFor) {
  RadosName name = RadosName::parse(path());
  name.timeout_seconds += 1;  // a new connection, with an empty cache
  const auto pool = RadosPool::open(name);
  bool is_locked = false;
  std::vector<std::future<std::optional<int>>> others;
  const InterruptScope scope([&] {
    others.push_back(std::async(std::launch::async, [&] { return pool->placement().known_osd_of("another"); }));
    is_locked = is_locked || others.back().wait_for(std::chrono::seconds(2)) != std::future_status::ready;
    return false;
  });
  for (int i = 0; i < 40 && !is_locked; ++i) {
    static_cast<void>(pool->placement().known_osd_of("object" + std::to_string(i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  EXPECT_FALSE(is_locked);
}

}  // namespace
}  // namespace swath
