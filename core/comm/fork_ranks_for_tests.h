// Tests only: processes of one node by fork(), each the rank of a NodeShared.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "comm/node_shared.h"

namespace swath {

// A zeroed T that forked processes, or threads, share.
template <typename T>
class SharedByForks {
 public:
  SharedByForks()
      : value_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T()) {}
  SharedByForks(const SharedByForks&) = delete;
  SharedByForks& operator=(const SharedByForks&) = delete;
  ~SharedByForks() { munmap(value_, sizeof(T)); }
  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

// Expects that all children succeeded.
inline void expect_well(const std::vector<pid_t>& children) {
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// Stands in for MPI until the processes share a segment: slow, and only for a few small calls.
struct BootstrapBoard {
  static constexpr int kCallsMax = 8, kRanksMax = 8, kBytesMax = 512;
  std::atomic<int> written[kCallsMax];
  std::byte slots[kCallsMax][kRanksMax][kBytesMax];
};

inline NodeShared::Allgather bootstrap_over(BootstrapBoard& board, int rank, int size) {
  return [&board, rank, size, call = 0](std::span<const std::byte> mine, std::span<std::byte> all) mutable {
    std::memcpy(board.slots[call][rank], mine.data(), mine.size());
    board.written[call].fetch_add(1);
    for (int waits = 0; board.written[call].load() < size; ++waits) {
      if (waits > 200'000) _exit(3);  // 20 s: a rank has died here, and the parent must be able to say so
      usleep(100);
    }
    for (int r = 0; r < size; ++r) std::memcpy(all.data() + r * mine.size(), board.slots[call][r], mine.size());
    ++call;
  };
}

// Runs `body` in a process for each rank. Returns the status from waitpid() of each: 0 if all its expectations held.
inline std::vector<int> run_forked(int size, const std::function<void(NodeShared&)>& body) {
  SharedByForks<BootstrapBoard> board;
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        std::string refusal;
        const auto comm = NodeShared::attach(rank, size, bootstrap_over(*board, rank, size), refusal);
        if (!comm) throw std::runtime_error(refusal);
        body(*comm);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  std::vector<int> statuses(size);
  for (int rank = 0; rank < size; ++rank) waitpid(children[rank], &statuses[rank], 0);
  return statuses;
}

}  // namespace swath
