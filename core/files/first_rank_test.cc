// Results and errors of rank 0, on all ranks.
#include "files/first_rank.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/simulated.h"

namespace swath {
namespace {

std::vector<std::byte> numbered(size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i % 251);
  return made;
}

TEST(FirstRank, ResultsOfAnyLengthReachAllRanks) {
  for (const size_t bytes : {0, 1, 1007, 1008, 1009, 100000}) {
    run_ranks(3, [&](Comm& comm) {
      const auto of_first = [&] { return comm.rank() == 0 ? numbered(bytes) : numbered(7); };
      EXPECT_EQ(on_first_rank(comm, "read it", of_first), numbered(bytes));
      EXPECT_EQ(change_on_first_rank(comm, "change it", of_first), numbered(bytes));
    });
  }
}

TEST(FirstRank, AnErrorOfAChangeIsTheSameOnAllRanksHoweverLongItIs) {
  for (const size_t letters : {10, 3000}) {
    const std::string text(letters, 'e');
    std::vector<std::string> found(3);
    run_ranks(3, [&](Comm& comm) {
      try {
        change_on_first_rank(comm, "change it",
                             [&]() -> std::vector<std::byte> { throw Error(ErrorKind::kStore, text, ENOSPC); });
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kStore);
        EXPECT_EQ(error.os_error(), ENOSPC);
        found[static_cast<size_t>(comm.rank())] = error.what();
      }
    });
    EXPECT_EQ(found, std::vector<std::string>(3, "rank 0: " + text));
  }
}

TEST(FirstRank, NothingIsChangedIfTheRanksAskForDifferentChanges) {
  run_ranks(3, [&](Comm& comm) {
    bool was_called = false;
    const auto change = [&] {
      was_called = true;
      return numbered(1);
    };
    EXPECT_THROW(change_on_first_rank(comm, comm.rank() == 2 ? "this" : "that", change), Error);
    EXPECT_FALSE(was_called);
  });
}

}  // namespace
}  // namespace swath
