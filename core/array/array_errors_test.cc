// Open arrays of simulated ranks: an error of one rank is raised on all ranks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "array/array.h"
#include "array/array_for_tests.h"
#include "comm/simulated.h"
#include "store/fault/fault.h"
#include "testing/ranks_and_memory.h"

namespace swath {
namespace {

TEST_F(ArrayOfRanks, HearOfOneThatAsksForAnotherThing) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = comm.rank() == culprit ? writing(array, 3) : writing(array, 3, Method::kList);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kDisagreement);
      EXPECT_NE(std::string(error.what()).find("They differ in method."), std::string::npos) << error.what();
      EXPECT_STREQ(error.what(), errors[0].what());
    }
    EXPECT_EQ(file_.contents(), bytes_);
  }
}

TEST_F(ArrayOfRanks, HearOfOneThatCannot) {
  const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = writing(array, 3);
    if (comm.rank() == 1) array.refuse(&operation, Error(ErrorKind::kArgument, "values of another shape"));
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 1: values of another shape");
  EXPECT_EQ(file_.contents(), bytes_);
}

TEST_F(ArrayOfRanks, HearOfOneWhoseReadFailsBeforeTheyAgree) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      const bool breaks = comm.rank() == culprit;
      Array array(shared(comm), open_by(breaks ? "fault:read@2=EIO" : "posix", file_.path()),
                  options_of(vector_layout()));
      const Operation operation(array.form(), {Direction::kRead, dealt_out(3), Method::kSieve, {}});
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
      for (int turn = 0; turn < 3; ++turn) array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore);
      EXPECT_TRUE(std::string(error.what()).starts_with("rank " + std::to_string(culprit) + ": read ")) << error.what();
    }
  }
}

TEST_F(ArrayOfRanks, HearOfOneThatCannotEvenBegin) {
  for (const Method method : {Method::kDirect, Method::kTwoPhase}) {
    cached_ = 2;
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, 3, method);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 0: cannot tell what is cached");
  }
}

TEST_F(ArrayOfRanks, HearOfBoxesThatOverlap) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const int64_t begin = int64_t{5} * comm.rank();
    auto own = Decomposition::own_boxes({{{begin}, {begin + 6}}}, comm.rank(), 2, {kElements});
    const Operation operation(array.form(), {Direction::kWrite, own, Method::kDirect, {}});
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    EXPECT_NE(std::string(error.what()).find("share elements"), std::string::npos) << error.what();
  }
  EXPECT_EQ(file_.contents(), bytes_);
}

TEST_F(ArrayOfRanks, FindAClosedArrayClosed) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    EXPECT_TRUE(array.stop());
    EXPECT_FALSE(array.stop());
    const Operation operation = reading(array, 2);
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) {
    EXPECT_STREQ(error.what(), "rank 0: read a.raw: the array is closed; open the file again");
  }
}

}  // namespace
}  // namespace swath
