// swath_mpi_tests: the contract of comms with the ranks of mpiexec, and tests that only an MpiComm has.
#include "comm/mpi_comm.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/agreement.h"
#include "comm/comm_contract_for_tests.h"
#include "comm/mpi_communicator.h"

namespace swath {
namespace {

// Sets an environment variable while this object lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

void run_world(const std::function<void(Comm&)>& body) {
  const RankAndSize world = rank_and_size(MPI_COMM_WORLD);
  SCOPED_TRACE("rank " + std::to_string(world.rank) + " of " + std::to_string(world.size));
  MpiComm comm(MPI_COMM_WORLD);
  body(comm);
}

// Runs MPI_COMM_WORLD as this many nodes, with messages of MPI between them.
void run_as_nodes(int nodes, const std::function<void(Comm&)>& body) {
  const Setting setting("SWATH_NODES", std::to_string(nodes));
  run_world([&](Comm& comm) {
    EXPECT_EQ(comm.node_count(), nodes);
    body(comm);
  });
}

// Whether MPI reports that no two ranks share memory, as MPICH does with MPIR_CVAR_NOLOCAL=1: a network.
bool all_are_apart() {
  OwnedCommunicator machine;
  machine.make(
      [](MPI_Comm* made) { return MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made); },
      "MPI_Comm_split_type");
  return rank_and_size(machine.get()).size < rank_and_size(MPI_COMM_WORLD).size;
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    return error.what();
  }
  return "";
}

}  // namespace

std::vector<CommUnderTest> comms_under_test() {
  const int ranks = rank_and_size(MPI_COMM_WORLD).size;
  if (all_are_apart()) return {{"MpiOverANetwork", ranks, [=](const auto& body) { run_as_nodes(ranks, body); }}};
  std::vector<CommUnderTest> all;
  for (const int nodes : std::set<int>{1, std::min(2, ranks), ranks}) {
    all.push_back({"MpiNodes" + std::to_string(nodes), ranks, [=](const auto& body) { run_as_nodes(nodes, body); }});
  }
  if (ranks == 1) return all;
  all.push_back({"MpiWithoutWindows", ranks,
                 [](const auto& body) {
                   const Setting setting("SWATH_SHARED_MEMORY", "0");
                   run_world(body);
                 },
                 /*has_windows=*/false});
  all.push_back({"MpiWithoutSharedMemory", ranks,
                 [](const auto& body) {
                   const Setting setting("SWATH_SHM_DIR", "/dev/null/there-is-no-such-folder");
                   run_world(body);
                 },
                 /*has_windows=*/false});
  return all;
}

// An unnamed file that all ranks have mapped. Collective.
std::shared_ptr<void> memory_of_all_ranks(size_t bytes) {
  char path[] = "/tmp/swath-mpi-tests-XXXXXX";
  const bool is_first = rank_and_size(MPI_COMM_WORLD).rank == 0;
  int file = is_first ? mkstemp(path) : -1;
  EXPECT_TRUE(!is_first || ftruncate(file, static_cast<off_t>(bytes)) == 0);
  check_mpi(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  if (!is_first) file = open(path, O_RDWR | O_CLOEXEC);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::string("mmap ") + path + ": " + std::strerror(errno));
  close(file);
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  if (is_first) unlink(path);
  return {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
}

TEST(MpiComm, WhatIsNoCommunicatorIsRefused) {
  EXPECT_NE(refusal_of([] { const MpiComm comm(MPI_COMM_NULL); }).find("MPI_COMM_NULL"), std::string::npos);
}

TEST(MpiComm, AnIntercommunicatorIsRefused) {
  const RankAndSize world = rank_and_size(MPI_COMM_WORLD);
  if (world.size == 1) GTEST_SKIP() << "it takes two ranks";
  OwnedCommunicator half;
  half.make([&](MPI_Comm* made) { return MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, world.rank, made); },
            "MPI_Comm_split");
  OwnedCommunicator inter;
  inter.make(
      [&](MPI_Comm* made) { return MPI_Intercomm_create(half.get(), 0, MPI_COMM_WORLD, 1 - world.rank % 2, 0, made); },
      "MPI_Intercomm_create");
  EXPECT_NE(refusal_of([&] { const MpiComm comm(inter.get()); }).find("intercommunicator"), std::string::npos);
}

TEST(MpiComm, AClosedOneOrOneThatLeftRefusesEveryCall) {
  MpiComm closed(MPI_COMM_WORLD);
  closed.close();
  closed.close();
  EXPECT_NE(refusal_of([&] { closed.barrier(); }).find("closed"), std::string::npos);
  MpiComm left(MPI_COMM_WORLD);
  left.barrier();
  MpiComm::leave_all();
  EXPECT_NE(refusal_of([&] { left.barrier(); }).find("closed"), std::string::npos);
}

// The same happens when a program ends by an exception during an asynchronous operation.
TEST(MpiComm, LeavingEndsTheWaitOfAnotherThreadWhereTheOthersLeaveToo) {
  MpiComm comm(MPI_COMM_WORLD);
  if (comm.node_count() > 1 || comm.size() == 1) GTEST_SKIP() << "it waits through shared memory only on one node";
  const std::unique_ptr<Comm> duplicate = comm.duplicate();
  std::string error;
  std::thread beside;
  if (comm.rank() == 0) {
    beside = std::thread([&] {
      try {
        duplicate->barrier();
      } catch (const Error& thrown) {
        error = thrown.what();
      }
    });
    usleep(100'000);  // the other thread is waiting by now
  }
  comm.barrier();
  MpiComm::leave_all();
  if (comm.rank() != 0) return;
  beside.join();
  EXPECT_NE(error.find("has closed its communicator"), std::string::npos) << error;
}

TEST(MpiComm, ANumberOfNodesThatIsNoneIsRefusedOnAllRanks) {
  const Setting setting("SWATH_NODES", rank_and_size(MPI_COMM_WORLD).rank == 0 ? "many" : "1");
  EXPECT_NE(refusal_of([] { const MpiComm comm(MPI_COMM_WORLD); }).find("SWATH_NODES on rank 0"), std::string::npos);
}

// The environment is read when a communicator is taken over, not when it is duplicated.
TEST(MpiComm, ADuplicateHasTheNodesOfItsOriginal) {
  std::unique_ptr<MpiComm> comm;
  {
    const Setting setting("SWATH_NODES", std::to_string(rank_and_size(MPI_COMM_WORLD).size));
    comm = std::make_unique<MpiComm>(MPI_COMM_WORLD);
  }
  EXPECT_EQ(comm->duplicate()->node_count(), comm->size());
}

// At least the receiver raises an error, and MPI continues to work.
TEST(MpiComm, MessagesOfUnexpectedSizeAreErrors) {
  if (rank_and_size(MPI_COMM_WORLD).size == 1) GTEST_SKIP() << "it takes two ranks";
  for (const auto& [sent, expected] : {std::pair{8, 4}, std::pair{4, 8}}) {
    MpiComm comm(MPI_COMM_WORLD);
    std::vector<std::byte> data(8);
    const SendMessage send{1, std::span(data).first(sent)};
    const ReceiveMessage receive{0, std::span(data).first(expected)};
    std::string error;
    try {
      comm.exchange({&send, comm.rank() == 0 ? 1U : 0U}, {&receive, comm.rank() == 1 ? 1U : 0U});
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    if (comm.rank() == 1) {
      EXPECT_NE(error.find("exchange: rank 0 sends"), std::string::npos) << error;
      EXPECT_NE(error.find("to rank 1, which expects " + std::to_string(expected)), std::string::npos) << error;
    }
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }
}

TEST(MpiComm, WindowsThatOneNodeCannotHaveAreRefusedOnAll) {
  MpiComm comm(MPI_COMM_WORLD);
  EXPECT_TRUE(comm.shared_windows(int64_t{1} << 61).empty());
  EXPECT_NE(comm.shared_refusal().find("bytes"), std::string::npos) << comm.shared_refusal();
  EXPECT_EQ(std::ssize(comm.shared_windows(1000)), comm.size());
  EXPECT_EQ(comm.shared_refusal(), "");
}

TEST(MpiComm, RanksThatAskForDifferentThingsAllHearOfIt) {
  const RankAndSize world = rank_and_size(MPI_COMM_WORLD);
  if (world.size == 1) GTEST_SKIP() << "it takes two ranks";
  MpiComm comm(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    try {
      agree_same(comm, comm.rank() == world.size - 1 ? "write" : "read");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 0: read; rank " + std::to_string(world.size - 1) + ": write"),
                std::string::npos)
          << error.what();
    }
    agree_same(comm, "read");
  }
}

// The segments of this process that still have a name.
int64_t windows_in_shared_memory() {
  const std::filesystem::path folder = "/dev/shm/swath-" + std::to_string(geteuid());
  const std::string prefix = "window-" + std::to_string(getpid()) + "-";
  if (!std::filesystem::exists(folder)) return 0;
  return std::count_if(std::filesystem::directory_iterator(folder), {},
                       [&](const auto& entry) { return entry.path().filename().string().starts_with(prefix); });
}

// MPI allows about 2,000 communicators.
TEST(MpiComm, ManyCommunicatorsLeaveNothingBehind) {
  for (int i = 0; i < 25; ++i) {
    MpiComm comm(MPI_COMM_WORLD);
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    duplicate->shared_windows(1000);
  }
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  EXPECT_EQ(windows_in_shared_memory(), 0);
}

}  // namespace swath

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
