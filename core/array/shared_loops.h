// Loops that all ranks go through together, one step at a time, and how they end when one rank leaves early.
//
// Steps are jobs of a queue that all ranks have alike (array/background_queue.h). A rank that leaves a loop starts, in
// the place of the loop's next step, a job that tells the others so: a word. Whatever they are at in the queue then, a
// step of this loop or something else, they hear it where they agree on that. From there on the loop is over for all
// ranks: they carry out no step of it that they still have in the queue, and say no word of their own. A word costs
// nobody anything where all ranks leave: no rank waits for it.
//
//   rank 0:  step 5   step 6        other read      |  over for both: rank 0 gets the error for step 6, leaves the loop
//   rank 1:  step 5   word: left    other read      |  and says nothing; the other read meets the other read
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "comm/comm.h"

namespace swath {

// Of one rank. Everything but begin() is called by the queue's jobs, one after another.
class SharedLoops {
 public:
  static constexpr int kNone = 0;

  // The number of a new loop; the same on all ranks, which begin their loops in the same order.
  int begin() { return ++begun_; }

  // Carries out a job: a step of a loop, or of none. Throws Error{kLeft} where a rank has left that loop, before it or
  // now: then all ranks that carry out this step throw it.
  template <typename Work>
  auto step(int loop, const Work& work) {
    for (;;) {
      check(loop);
      try {
        return work();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kLeft) throw;
        hear(error);  // in the first agreement of the work: nothing was done yet
      }
    }
  }

  // The word of this rank that it has left, with `comm` the ranks'.
  void leave(int loop, Comm& comm, const std::string& text);

 private:
  void check(int loop) const;
  void hear(const Error& error);

  int begun_ = kNone;
  std::map<int, Error> over_;
};

}  // namespace swath
