// Open arrays of simulated ranks: asynchronous operations.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "array/array.h"
#include "array/array_for_tests.h"
#include "comm/simulated.h"
#include "store/fault/fault.h"
#include "testing/ranks_and_memory.h"

namespace swath {
namespace {

TEST_F(ArrayOfRanks, FinishWhatTheyStarted) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    file_.write(bytes_);
    run_ranks(
        3,
        [&](Comm& comm) {
          Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
          const Operation read = reading(array, 3, Method::kTwoPhase);
          Share first(read, comm.rank());
          Share second(read, comm.rank());
          Future future = array.start(read, first.local(), {});
          array.execute(read, second.local(), {});
          EXPECT_EQ(future.wait().method, "two-phase");
          EXPECT_EQ(first.bytes, every(bytes_, comm.rank(), 3));
          EXPECT_EQ(second.bytes, first.bytes);
          // A write waits for the read that was started before it, and a read for the write.
          for (std::byte& byte : second.bytes) byte ^= std::byte{1};
          Future before = array.start(read, first.local(), {});
          Future write = array.start(writing(array, 3, Method::kTwoPhase), second.local(), {});
          Share third(read, comm.rank());
          array.execute(read, third.local(), {});
          before.wait();
          write.wait();
          EXPECT_EQ(first.bytes, every(bytes_, comm.rank(), 3));
          EXPECT_EQ(third.bytes, second.bytes);
        },
        seed);
  }
}

TEST_F(ArrayOfRanks, AreToldWhatWentWrongBesideTheProgram) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_by(comm.rank() == 1 ? "fault:read@0=EIO" : "posix", file_.path()),
                options_of(vector_layout()));
    const Operation operation = reading(array, 2, Method::kSieve);
    Share mine(operation, comm.rank());
    Future future = array.start(operation, mine.local(), {});
    future.wait();
  });
  for (const Error& error : errors) EXPECT_TRUE(std::string(error.what()).starts_with("rank 1: read ")) << error.what();
}

// A thread executes the operation in the background: it does not need a call of wait().
TEST_F(ArrayOfRanks, OfOneReadBesideTheProgram) {
  Array array(make_solo_comm(), open_telling(file_.path(), cached_), options_of(vector_layout()));
  const Operation operation = reading(array, 1);
  Share mine(operation, 0);
  Progress progress;
  Array::ExecuteOptions execute_options;
  execute_options.progress = &progress;
  Future future = array.start(operation, mine.local(), execute_options);
  while (progress.bytes_done < std::ssize(bytes_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  future.wait();
  EXPECT_EQ(mine.bytes, bytes_);
}

TEST_F(ArrayOfRanks, TakeOperationsBackThatHaveNotBegun) {
  Array array(make_solo_comm(), open_telling(file_.path(), cached_), options_of(vector_layout()));
  const Operation read = reading(array, 1);
  Share mine(read, 0);
  std::vector<Future> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(array.start(read, mine.local(), {}));
  for (auto future = futures.rbegin(); future != futures.rend(); ++future) {
    future->cancel();
    EXPECT_TRUE(future->is_done());
  }
  array.execute(writing(array, 1), mine.local());  // no other operation is in its way
  array.finish_started();
  EXPECT_TRUE(array.stop());
}

TEST_F(ArrayOfRanks, AreAllRefusedWhatOneOfThemCannotBeside) {
  const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = reading(array, 3);
    Share mine(operation, comm.rank());
    Future future = comm.rank() == 1
                        ? array.start_refused(&operation, Error(ErrorKind::kArgument, "memory of another shape"))
                        : array.start(operation, mine.local(), {});
    future.wait();
  });
  for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 1: memory of another shape");
}

TEST_F(ArrayOfRanks, CarryOutThemselvesWhatTheyWaitForWhereNothingIsUnderWay) {
  run_ranks(3, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation read = reading(array, 3, Method::kTwoPhase);
    Share mine(read, comm.rank());
    Array::ExecuteOptions execute_options;
    execute_options.loop = array.begin_loop();
    execute_options.is_waited_for = true;
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(array.start(read, mine.local(), execute_options).is_done());
      EXPECT_EQ(mine.bytes, every(bytes_, comm.rank(), 3));
    }
    const auto numbers = std::make_shared<RankNumbers>();
    numbers->largest[2] = comm.rank();
    array.start_comparing(execute_options.loop, "compare", numbers, true);
    EXPECT_EQ(numbers->largest[2], 2);
    if (comm.rank() == 1) return array.leave_loop(execute_options.loop, "has left");
    try {
      array.start(read, mine.local(), execute_options).wait();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kLeft);
      EXPECT_STREQ(error.what(), "rank 1: has left");
    }
  });
}

}  // namespace
}  // namespace swath
