#include "comm/node_shared.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress_hook.h"
#include "comm/fork_ranks_for_tests.h"
#include "testing/shared_folder.h"

namespace swath {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class GonePeer : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, GonePeer, testing::Values(2, 3, 4));

TEST_P(GonePeer, AKilledPeerIsReportedOnAllSurvivorsWithinSeconds) {
  const int ranks = GetParam();
  const int victim = ranks - 1;
  const auto start = std::chrono::steady_clock::now();
  const OwnSharedFolder own;
  const std::vector<int> statuses = run_forked(ranks, [&](NodeShared& comm) {
    comm.barrier();
    comm.shared_windows(10'000);
    if (comm.rank() == victim) {
      kill(getpid(), SIGKILL);
    }
    const std::string expected = "rank " + std::to_string(victim) + " (pid ";
    const std::string error = error_of([&] { comm.barrier(); });
    EXPECT_EQ(error.find(expected), 0u) << error;
    EXPECT_NE(error.find(") of this node has died; rank " + std::to_string(comm.rank()) + " waits for it in barrier"),
              std::string::npos)
        << error;
    std::byte data[1] = {};
    EXPECT_EQ(error_of([&] { comm.broadcast(data, 0); }).find(expected), 0u) << "a later call must fail at once";
  });
  for (int r = 0; r < victim; ++r) EXPECT_EQ(statuses[r], 0);
  EXPECT_TRUE(WIFSIGNALED(statuses[victim]));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_EQ(own.files(), 0);
}

TEST_P(GonePeer, AWaitForAPeerThatClosesItsCommIsAnError) {
  const int ranks = GetParam();
  // Rank 0 throws, as a Python script with a bug does; its comm is destroyed while others wait.
  SharedByForks<BootstrapBoard> board;
  const std::vector<int> statuses = run_forked(ranks, [&](NodeShared& outer) {
    std::string refusal;
    auto comm = NodeShared::attach(outer.rank(), ranks, bootstrap_over(*board, outer.rank(), ranks), refusal);
    comm->barrier();
    if (outer.rank() == 0) {
      comm.reset();
    } else {
      const std::string error = error_of([&] { comm->barrier(); });
      EXPECT_NE(error.find("of this node has closed its communicator; rank"), std::string::npos) << error;
    }
    outer.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(ranks, 0));
}

TEST(NodeShared, ARankThatWaitsForLongDoesWhatThereIsToDoMeanwhile) {
  static SharedByForks<std::atomic<int>> times;
  const std::vector<int> statuses = run_forked(2, [](NodeShared& comm) {
    if (comm.rank() == 0) set_progress_hook([] { ++*times; });
    for (int naps = 0; comm.rank() == 1 && *times < 10 && naps < 20'000; ++naps) usleep(1000);
    comm.barrier();
    EXPECT_GE(*times, 10);
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}

TEST(NodeShared, APeerThatClosesAfterTheLastCallIsNoError) {
  for (int i = 0; i < 20; ++i) {
    const std::vector<int> statuses = run_forked(3, [](NodeShared& comm) {
      std::vector<std::byte> mine(10), all(30);
      comm.allgather(mine, all);
    });
    EXPECT_EQ(statuses, std::vector<int>(3, 0));
  }
}

TEST(NodeShared, AForkedCopyNeitherUsesNorClosesItsParentsComm) {
  const std::vector<int> statuses = run_forked(2, [](NodeShared& comm) {
    if (comm.rank() == 1) {
      const pid_t child = fork();
      if (child == 0) {
        const std::string error = error_of([&] { comm.barrier(); });
        comm.~NodeShared();
        _exit(error.starts_with("barrier in a forked child: the communicator is its parent's") ? 0 : 1);
      }
      expect_well({child});
    }
    for (int i = 0; i < 3; ++i) comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}

TEST(NodeShared, DifferentCallsAreAnErrorOnAllRanksWhichCanGoOn) {
  const std::vector<int> statuses = run_forked(3, [](NodeShared& comm) {
    std::byte mine[16] = {}, all[48];
    const std::string error = error_of([&] {
      if (comm.rank() == 1) {
        comm.allgather(mine, all);
      } else {
        comm.barrier();
      }
    });
    EXPECT_EQ(
        error,
        "the ranks of this node make different calls: rank 0 barrier, rank 1 allgather(16 bytes), rank 2 barrier");
    comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
}

TEST(NodeShared, RecordsOfDifferentSizeAreAnErrorOnAllRanksWhichCanGoOn) {
  const std::vector<int> statuses = run_forked(3, [](NodeShared& comm) {
    std::vector<std::byte> record(comm.rank() == 2 ? 16 : 8);
    EXPECT_EQ(error_of([&] { comm.allreduce(record, [](auto, auto) {}); }),
              "the ranks of this node make different calls: rank 0 allreduce(8 bytes), rank 1 allreduce(8 bytes), rank "
              "2 allreduce(16 bytes)");
    comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
}

TEST(NodeShared, ADuplicateThatOneRankCannotHaveIsRefusedOnAllRanksWhichCanGoOn) {
  const std::vector<int> statuses = run_forked(3, [](NodeShared& comm) {
    if (comm.rank() == 1) setenv("SWATH_SHM_DIR", "/dev/null/there-is-no-such-folder", 1);
    const std::string error = error_of([&] { comm.duplicate(); });
    EXPECT_NE(error.find("a duplicate of the communicator: shared memory: rank 1 of this node"), std::string::npos)
        << error;
    comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
}

TEST(NodeShared, APeerThatDiesIsReportedToThoseThatWaitInADuplicate) {
  const std::vector<int> statuses = run_forked(2, [](NodeShared& comm) {
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    if (comm.rank() == 1) kill(getpid(), SIGKILL);
    EXPECT_NE(error_of([&] { duplicate->barrier(); }).find(") of this node has died"), std::string::npos);
  });
  EXPECT_EQ(statuses[0], 0);
  EXPECT_TRUE(WIFSIGNALED(statuses[1]));
}

TEST(NodeShared, MessagesOfUnexpectedSizeAreAnErrorOnAllRanksWhichCanGoOn) {
  const std::vector<int> statuses = run_forked(3, [](NodeShared& comm) {
    std::byte data[8] = {};
    const std::string error = error_of([&] {
      if (comm.rank() == 0) comm.exchange(std::vector<SendMessage>{{1, data}}, {});
      if (comm.rank() == 1) comm.exchange({}, std::vector<ReceiveMessage>{{0, std::span(data, 4)}});
      if (comm.rank() == 2) comm.exchange({}, {});
    });
    EXPECT_EQ(error, "exchange: rank 0 sends 8 bytes to rank 1, which expects 4");
    comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
}

// The damage happens after rank 0 made the segment, and before the others attach it.
TEST(NodeShared, ASegmentThatIsNotAsItWasMadeIsRefusedOnAllRanks) {
  const OwnSharedFolder own;
  const std::vector<std::function<void()>> changes = {
      [&] { chmod(own.only_file().c_str(), 0666); },
      [&] { EXPECT_EQ(truncate(own.only_file().c_str(), 100), 0); },
      [&] { EXPECT_EQ(link(own.only_file().c_str(), (own.path() + ".link").c_str()), 0); },
      [&] { EXPECT_EQ(rename(own.only_file().c_str(), (own.path() + ".renamed").c_str()), 0); },
  };
  const std::vector<std::string> refusals = {"other users may use it", "has 100 bytes", "it has several names",
                                             "No such file or directory"};
  for (size_t i = 0; i < changes.size(); ++i) {
    SharedByForks<BootstrapBoard> board;
    std::vector<pid_t> children;
    for (int rank = 0; rank < 2; ++rank) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      int calls = 0;
      const auto bootstrap = [&, allgather = bootstrap_over(*board, rank, 2)](auto mine, auto all) {
        allgather(mine, all);
        if (rank == 1 && calls++ == 0) changes[i]();
      };
      std::string refusal;
      const bool attached = NodeShared::attach(rank, 2, bootstrap, refusal) != nullptr;
      EXPECT_FALSE(attached);
      EXPECT_NE(refusal.find(refusals[i]), std::string::npos) << refusal;
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    expect_well(children);
  }
}

TEST(NodeShared, WindowsThatDevShmCannotHoldAreRefusedOnAllRanksAndSmallerOnesStillWork) {
  struct statvfs dev_shm{};
  if (statvfs("/dev/shm", &dev_shm) != 0 || dev_shm.f_blocks == 0) GTEST_SKIP() << "/dev/shm has no limit here";
  const int64_t too_much = static_cast<int64_t>(dev_shm.f_blocks * dev_shm.f_frsize) + (1 << 20);
  const std::vector<int> statuses = run_forked(2, [=](NodeShared& comm) {
    EXPECT_EQ(comm.shared_windows(1000).size(), 2u);
    for (int64_t bytes : {too_much, INT64_MAX / 2, INT64_MAX}) {
      EXPECT_TRUE(comm.shared_windows(bytes).empty());
      EXPECT_NE(comm.shared_refusal().find("shared memory: "), std::string::npos) << comm.shared_refusal();
    }
    const auto windows = comm.shared_windows(1000);
    ASSERT_EQ(windows.size(), 2u) << comm.shared_refusal();
    EXPECT_EQ(comm.shared_refusal(), "");
    windows[comm.rank()][999] = std::byte{1};
    comm.barrier();
    EXPECT_EQ(windows[1 - comm.rank()][999], std::byte{1});
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}

TEST(NodeShared, WhoeverWaitsForLongTakesNoTimeOfItsCore) {
  const auto cpu_seconds = [] {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const std::vector<int> statuses = run_forked(2, [&](NodeShared& comm) {
    comm.barrier();
    if (comm.rank() == 1) usleep(500'000);
    const double before = cpu_seconds();
    comm.barrier();
    EXPECT_LT(cpu_seconds() - before, 0.05) << "it spins";
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}

TEST(NodeShared, AStoppedPeerIsWaitedFor) {
  const std::vector<int> statuses = run_forked(2, [](NodeShared& comm) {
    if (comm.rank() == 1) sleep(2);  // longer than the interval between two checks of the peers
    comm.barrier();
  });
  EXPECT_EQ(statuses, std::vector<int>(2, 0));
}

}  // namespace
}  // namespace swath
