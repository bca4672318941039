// Writers that take no locks until a process fills holes, and the change to range locks then.
#include "store/write_lease.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>
#include <vector>

#include "store/engine_test_file.h"

namespace swath {
namespace {

using std::chrono::milliseconds;

class WriteLeaseTest : public testing::Test {
 protected:
  void SetUp() override { file.write(counting_bytes(kBytes)); }

  static constexpr size_t kBytes = 1000;

  std::unique_ptr<Engine> open(const std::string& engine = "posix", double lock_timeout_seconds = kNever) const {
    EngineOptions options;
    options.engine = engine;
    options.other_writers = true;
    options.lock_timeout_seconds = lock_timeout_seconds;
    return open_engine(file.path(), OpenMode::kReadWrite, options);
  }

  // True if a file description other than that of `descriptor` has any lock on the range.
  static bool is_locked(const Descriptor& descriptor, int64_t begin, int64_t bytes) {
    struct flock range = {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = begin;
    range.l_len = bytes;
    EXPECT_EQ(::fcntl(descriptor.get(), F_OFD_GETLK, &range), 0);
    return range.l_type != F_UNLCK;
  }
  Descriptor look() const { return Descriptor(::open(file.path().c_str(), O_RDWR | O_CLOEXEC)); }
  bool is_data_locked() const { return is_locked(look(), 0, kBytes); }
  bool is_leased() const { return is_locked(look(), WriteLease::kLeaseByte, 1); }

  // Waits until the condition becomes true in the background; false after a long time.
  template <typename Condition>
  static bool comes_true(const Condition& condition) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }

  EngineTestFile file;
};

TEST_F(WriteLeaseTest, AThousandWritesTakeNoLockOnTheirRanges) {
  auto engine = open("fault:lock@0=EIO");  // the first range lock that is requested
  for (int i = 0; i < 1000; ++i) {
    const auto held = engine->lock_shared(0, 10);
    ASSERT_NE(held, nullptr);
    if (i % 100 == 0) EXPECT_FALSE(is_data_locked());
  }
  EXPECT_EQ(error_of([&] { engine->lock(0, 10); }).os_error(), EIO);
}

TEST_F(WriteLeaseTest, WhoFillsInHolesWaitsForWritesUnderWayWhereverTheyAre) {
  auto writer = open();
  auto filler = open();
  auto held = writer->lock_shared(0, 10);
  ASSERT_TRUE(is_leased());
  std::atomic<bool> got = false;
  std::thread waiter([&] {
    auto lock = filler->lock(500, 600);
    got = true;
  });
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(got);
  held.reset();
  waiter.join();
  EXPECT_FALSE(is_leased());
}

TEST_F(WriteLeaseTest, OnceSomebodyFillsInHolesWritesLockTheirRangesUntilThatFileIsClosed) {
  auto writer = open();
  static_cast<void>(writer->lock_shared(0, 10));
  auto filler = open();
  filler->lock(500, 600);
  for (int i = 0; i < 3; ++i) {
    const auto held = writer->lock_shared(0, 10);
    EXPECT_TRUE(is_locked(look(), 0, 10));
    EXPECT_FALSE(is_leased());
    EXPECT_FALSE(is_locked(look(), 10, kBytes));
    std::this_thread::sleep_for(milliseconds(60));  // together longer than a writer waits before it asks again
  }
  {
    const auto held = filler->lock_shared(0, 10);
    EXPECT_TRUE(is_locked(look(), 0, 10)) << "who fills in holes has no lease itself";
  }
  filler.reset();
  EXPECT_TRUE(comes_true([&] {
    const auto held = writer->lock_shared(0, 10);
    return !is_data_locked();
  })) << "the lease did not come back";
}

TEST_F(WriteLeaseTest, ALeaseThatNobodyUsesIsGivenBackAndTakenAgain) {
  auto writer = open();
  for (int i = 0; i < 3; ++i) {
    const auto held = writer->lock_shared(0, 10);
    EXPECT_TRUE(is_leased());
    EXPECT_FALSE(is_data_locked());
  }
  EXPECT_TRUE(comes_true([&] { return !is_leased(); }));
  auto held = writer->lock_shared(0, 10);
  EXPECT_TRUE(is_leased());
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_TRUE(is_leased()) << "a write is under way";
  held.reset();
  writer.reset();
  EXPECT_FALSE(is_leased()) << "the file is closed";
}

TEST_F(WriteLeaseTest, SeveralMayBeginToFillInHolesAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      auto engine = open();
      for (int round = 0; round < 50; ++round) static_cast<void>(engine->lock_shared(0, 10));
      for (int round = 0; round < 50; ++round) engine->lock(0, 10);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(is_leased());
}

TEST_F(WriteLeaseTest, WithoutHolesAnUpdateIsNoReasonForLocks) {
  auto writer = open();
  auto other = open();
  Bytes image(10);
  Counters counters;
  other->update(transfer_of(0, image), false, [](std::byte* bytes) { std::fill_n(bytes, 10, std::byte{7}); }, counters);
  EXPECT_EQ(counters.locks, 1);
  const auto held = writer->lock_shared(0, 10);
  EXPECT_FALSE(is_data_locked());
}

TEST_F(WriteLeaseTest, SomebodyWhoHasTheWholeFileLockedIsWaitedFor) {
  auto writer = open("posix", 0.05);
  const Descriptor foreign = look();
  struct flock all = {};
  all.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(foreign.get(), F_OFD_SETLK, &all), 0);
  EXPECT_EQ(error_of([&] { writer->lock_shared(0, 10); }).os_error(), ETIMEDOUT);
  EXPECT_EQ(error_of([&] { writer->lock(0, 10); }).os_error(), ETIMEDOUT);
  all.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(foreign.get(), F_OFD_SETLK, &all), 0);
  EXPECT_NE(writer->lock_shared(0, 10), nullptr);
  EXPECT_NE(writer->lock(0, 10), nullptr);
}

TEST_F(WriteLeaseTest, WaitingForALeaseEndsAtTheTimeoutAndNamesTheRangeThatWasAskedFor) {
  auto writer = open();
  auto filler = open("posix", 0.05);
  const auto held = writer->lock_shared(0, 10);
  const Error error = error_of([&] { filler->lock(500, 600); });
  EXPECT_EQ(error.os_error(), ETIMEDOUT);
  EXPECT_NE(std::string(error.what()).find("[500, 600)"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())), std::string::npos) << error.what();
}

int exit_code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(WriteLeaseTest, AForkedChildHasALeaseOfItsOwn) {
  auto writer = open();
  auto held = writer->lock_shared(0, 10);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = writer->lock_shared(20, 30);
    ::_exit(own != nullptr && !is_data_locked() ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(is_leased()) << "the child's end took the parent's lease";
  auto filler = open("posix", 0.05);
  EXPECT_EQ(error_of([&] { filler->lock(0, 10); }).os_error(), ETIMEDOUT);
  held.reset();
  EXPECT_NE(filler->lock(0, 10), nullptr);
}

TEST_F(WriteLeaseTest, AKilledWriterLeavesNoLease) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto writer = open();
    const auto held = writer->lock_shared(0, 10);
    static_cast<void>(::write(pipe[1], "x", 1));
    ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(pipe[0], &ready, 1), 1);
  EXPECT_TRUE(is_leased());
  auto filler = open();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(30));
    ::kill(child, SIGKILL);
  });
  EXPECT_NE(filler->lock(0, 10), nullptr);
  killer.join();
  EXPECT_EQ(exit_code_of(child), -1);
  for (const int end : pipe) ::close(end);
}

// Several writers share the bytes cyclically, and each writes its own bytes again and again. One after another begins
// to fill the holes around its bytes. Each must always find the bytes that it wrote last.
class WritersIntoEachOthersGaps {
 public:
  explicit WritersIntoEachOthersGaps(int writers) : writers_(writers) {}

  static constexpr size_t kBytes = 240;

  // The number of lost bytes of this writer.
  int64_t write(Engine& engine, int writer, unsigned seed) const {
    std::mt19937 random(seed + static_cast<unsigned>(writer));
    const int begins_to_fill_at = static_cast<int>(random() % (uint64_t{2} * kRounds));  // half of them never do
    int64_t lost = 0;
    for (int round = 0; round < kRounds; ++round) {
      const auto value = static_cast<std::byte>(round + 1);
      if (round < begins_to_fill_at) {
        write_alone(engine, writer, value);
      } else {
        fill_in(engine, writer, value);
      }
      std::this_thread::yield();
      lost += lost_of(engine, writer, value);
    }
    return lost;
  }

 private:
  static constexpr int kRounds = 200;

  template <typename Visit>
  void each_byte(int writer, const Visit& visit) const {
    for (auto i = static_cast<size_t>(writer); i < kBytes; i += static_cast<size_t>(writers_)) visit(i);
  }
  void write_alone(Engine& engine, int writer, std::byte value) const {
    Counters counters;
    Bytes byte{value};
    each_byte(writer, [&](size_t i) {
      const auto offset = static_cast<int64_t>(i);
      const auto held = engine.lock_shared(offset, offset + 1);
      const Transfer piece = transfer_of(offset, byte);
      engine.transfer(Direction::kWrite, {&piece, 1}, counters);
    });
  }
  void fill_in(Engine& engine, int writer, std::byte value) const {
    Counters counters;
    Bytes image(kBytes);
    const auto put = [&](std::byte* bytes) { each_byte(writer, [&](size_t i) { bytes[i] = value; }); };
    engine.update(transfer_of(0, image), true, put, counters);
  }
  int64_t lost_of(Engine& engine, int writer, std::byte value) const {
    Counters counters;
    Bytes seen(kBytes);
    engine.read_to_end(transfer_of(0, seen), counters);
    int64_t lost = 0;
    each_byte(writer, [&](size_t i) { lost += seen[i] != value; });
    return lost;
  }

  int writers_;
};

TEST_F(WriteLeaseTest, WhoBeginsToFillInHolesLosesNoByteOfThreadsThatWriteAtFullSpeed) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    file.write(Bytes(WritersIntoEachOthersGaps::kBytes));
    const WritersIntoEachOthersGaps writers(4);
    std::vector<std::thread> threads;
    std::atomic<int64_t> lost = 0;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { lost += writers.write(*open(), i, 100 * seed); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(lost, 0);
  }
}

TEST_F(WriteLeaseTest, WhoBeginsToFillInHolesLosesNoByteOfOtherProcesses) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    file.write(Bytes(WritersIntoEachOthersGaps::kBytes));
    const WritersIntoEachOthersGaps writers(3);
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::_exit(writers.write(*open(), i, 1000 + 100 * seed) == 0 ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) EXPECT_EQ(exit_code_of(child), 0) << "bytes were lost";
  }
}

}  // namespace
}  // namespace swath
