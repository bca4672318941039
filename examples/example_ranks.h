// Ranks for an example: those of MPI where it is built with MPI, else this process alone.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <swath/swath.hpp>
#include <vector>

#ifdef SWATH_EXAMPLE_MPI
#include <swath/swath_mpi.hpp>
#endif

namespace example {

// What each rank does, with the arguments of the program.
using Work = std::function<void(const std::shared_ptr<swath::Comm>&, const std::vector<std::string>&)>;

// Errors are the same on all ranks: rank 0 prints them.
inline int run_rank(const std::shared_ptr<swath::Comm>& comm, const std::vector<std::string>& arguments,
                    const Work& work) {
  try {
    work(comm, arguments);
    return 0;
  } catch (const std::exception& error) {
    if (comm->rank() == 0) std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

// `usage`: the names of the arguments, those in brackets may be left out.
inline int run(int count, char** argument, const char* usage, const Work& work) {
  const std::vector<std::string> arguments(argument + 1, argument + count);
  if (arguments.empty()) {
    std::fprintf(stderr, "usage: %s %s\n", argument[0], usage);
    return 2;
  }
#ifdef SWATH_EXAMPLE_MPI
  MPI_Init(&count, &argument);
  const int status = run_rank(swath::make_mpi_comm(MPI_COMM_WORLD), arguments, work);
  MPI_Finalize();
  return status;
#else
  return run_rank(swath::make_solo_comm(), arguments, work);
#endif
}

// The first dimension in blocks, one a rank.
inline swath::Distribution blocks(size_t dimensions, int ranks) {
  std::vector<swath::DimensionRule> rules(dimensions);
  std::vector<int64_t> grid(dimensions, 1);
  if (dimensions > 0) {
    rules.front().kind = swath::DimensionRule::Kind::kBlock;
    grid.front() = ranks;
  }
  return {rules, grid};
}

}  // namespace example
