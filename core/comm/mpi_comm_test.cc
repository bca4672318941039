// swath_mpi_tests: the contract of comms, kept by the ranks of mpiexec; and what only an MpiComm does.
#include "comm/mpi_comm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm_contract_for_tests.h"
#include "comm/mpi_communicator.h"

namespace swath {
namespace {

// MPI_COMM_WORLD as so many nodes: between them go messages of MPI.
void run_as_nodes(int nodes, const std::function<void(Comm&)>& body) {
  const RankAndSize world = rank_and_size(MPI_COMM_WORLD);
  SCOPED_TRACE("rank " + std::to_string(world.rank) + " of " + std::to_string(world.size));
  setenv("SWATH_NODES", std::to_string(nodes).c_str(), 1);
  MpiComm comm(MPI_COMM_WORLD);
  unsetenv("SWATH_NODES");
  EXPECT_EQ(comm.node_count(), nodes);
  body(comm);
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
  std::vector<CommUnderTest> all;
  for (const int nodes : std::set<int>{1, std::min(2, ranks), ranks}) {
    all.push_back({"MpiNodes" + std::to_string(nodes), ranks, [=](const auto& body) { run_as_nodes(nodes, body); }});
  }
  return all;
}

// Collective, as is letting go of it.
std::shared_ptr<void> memory_of_all_ranks(size_t bytes) {
  const bool is_first = rank_and_size(MPI_COMM_WORLD).rank == 0;
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  check_mpi(MPI_Win_allocate_shared(is_first ? static_cast<MPI_Aint>(bytes) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                    static_cast<void*>(&memory), &window),
            "MPI_Win_allocate_shared");
  MPI_Aint size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&memory)), "MPI_Win_shared_query");
  if (is_first) std::memset(memory, 0, bytes);
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  return {memory, [window](void*) mutable { MPI_Win_free(&window); }};
}

TEST(MpiComm, WhatIsNoCommunicatorIsRefused) {
  EXPECT_NE(refusal_of([] { const MpiComm comm(MPI_COMM_NULL); }).find("MPI_COMM_NULL"), std::string::npos);
}

TEST(MpiComm, AClosedOneOrOneThatLeftRefusesEveryCall) {
  MpiComm closed(MPI_COMM_WORLD);
  closed.close();
  EXPECT_NE(refusal_of([&] { closed.barrier(); }).find("closed"), std::string::npos);
  MpiComm left(MPI_COMM_WORLD);
  left.barrier();
  MpiComm::leave_all();
  EXPECT_NE(refusal_of([&] { left.barrier(); }).find("closed"), std::string::npos);
}

TEST(MpiComm, ANumberOfNodesThatIsNoneIsRefusedOnAllRanks) {
  setenv("SWATH_NODES", rank_and_size(MPI_COMM_WORLD).rank == 0 ? "many" : "1", 1);
  EXPECT_NE(refusal_of([] { const MpiComm comm(MPI_COMM_WORLD); }).find("SWATH_NODES on rank 0"), std::string::npos);
  unsetenv("SWATH_NODES");
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
