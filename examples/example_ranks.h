// Ranks for an example: those of MPI where it is built with MPI, else three that are simulated in this process.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#ifdef SWATH_EXAMPLE_MPI
#include "comm/mpi_comm.h"
#else
#include "comm/simulated.h"
#endif

namespace example {

using Work = std::function<void(std::shared_ptr<swath::Comm>, const std::string& path)>;

inline int run(int arguments, char** argument, const Work& work) {
  if (arguments != 2) return std::fprintf(stderr, "usage: %s FILE\n", argument[0]), 2;
#ifdef SWATH_EXAMPLE_MPI
  MPI_Init(&arguments, &argument);
  work(std::make_shared<swath::MpiComm>(MPI_COMM_WORLD), argument[1]);
  MPI_Finalize();
#else
  swath::Simulation simulation(3, 1, 0);
  swath::run_ranks(simulation, [&](swath::Comm& comm) {
    work(std::shared_ptr<swath::Comm>(&comm, [](swath::Comm*) {}), argument[1]);
  });
#endif
  return 0;
}

}  // namespace example
