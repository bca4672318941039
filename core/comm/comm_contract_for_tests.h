// Tests only: what a test program gives to the contract suite of comms (comm_contract_test.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "comm/comm.h"

namespace swath {

struct CommUnderTest {
  std::string name;
  int ranks;
  // Runs the body with the comm of each rank in this process.
  std::function<void(const std::function<void(Comm&)>&)> run;
  bool has_windows = true;
};

std::vector<CommUnderTest> comms_under_test();

// Zeroed memory shared by all ranks: every process with ranks allocates it before the comms are made.
std::shared_ptr<void> memory_of_all_ranks(size_t bytes);

template <typename T>
std::shared_ptr<T> shared_by_ranks() {
  const std::shared_ptr<void> memory = memory_of_all_ranks(sizeof(T));
  return {memory, new (memory.get()) T()};
}

}  // namespace swath
