// Loops that all ranks go through together, step by step, and what happens when one rank leaves a loop.
//
// Steps are jobs of a queue that is the same on all ranks (array/background_queue.h). A rank that leaves a loop starts,
// in place of the loop's next step, a job that sends a message ("word") to the others. They receive it in the next
// agreement of their queue, of a step of this loop or of another job. From then on the loop is over for all ranks: they
// carry out none of its queued steps, and send no message of their own. If all ranks leave, the message costs nothing:
// no rank waits for it.
//
//   rank 0:  step 5   step 6        other read      |  over for both: rank 0 gets the error for step 6, leaves the loop
//   rank 1:  step 5   word: left    other read      |  and says nothing; the other read meets the other read
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "comm/comm.h"

namespace swath {

// Belongs to one rank. The queue's jobs call everything but begin(), one after another.
class SharedLoops {
 public:
  static constexpr int kNone = 0;

  // The number of a new loop; the same on all ranks, which begin their loops in the same order.
  int begin() { return ++begun_; }

  // Carries out a job: a step of a loop, or of none. Throws Error{kLeft} if a rank has left the loop, earlier or during
  // this step: then all ranks that carry out this step throw it.
  template <typename Work>
  auto step(int loop, const Work& work) {
    for (;;) {
      check(loop);
      try {
        return work();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kLeft) throw;
        note_error(error);  // received in the first agreement of the work: nothing was done yet
      }
    }
  }

  // Sends the message that this rank has left; `comm` is the communicator of the ranks.
  void leave(int loop, Comm& comm, const std::string& text);

 private:
  void check(int loop) const;
  void note_error(const Error& error);

  int begun_ = kNone;
  std::map<int, Error> over_;
};

}  // namespace swath
