// Breaks a chosen request on purpose, for tests.
//
// The engine is the real one, posix or uring; a fault takes the place of what the kernel would have answered, so that
// the loops under test are the ones that run in production.
//
//   fault:RULE,RULE,…[,engine=uring]     no rule: nothing breaks
//   RULE = pairs                         each attempt of a read waits until one of another thread has come, too: who
//                                        keeps threads from reading at once gets ETIMEDOUT after ten seconds
//   RULE = STEP@N=WHAT                   STEP: read, write, lock, sync, resize; N counts the attempts of that
//                                        step since the file was opened, from 0, continuations and retries included
//   WHAT = an errno name                 the attempt fails: EIO, ENOSPC, …; EINTR and EAGAIN must be survived
//        | short                         (read, write) half of the bytes are moved, then the rest properly
//        | short+ERRNO                   half of the bytes are moved, then the continuation fails
//
//   fault:write@3=ENOSPC                 the fourth write finds the disk full
//   fault:write@1=short+ENOSPC           the second write fills the disk half way through
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/engine.h"
#include "store/request.h"

namespace swath {

enum class Step { kRead, kWrite, kLock, kSync, kResize };

// Where threads meet by twos.
class Pairs {
 public:
  // Waits for another thread to come; false where none does in time.
  bool meet();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t came_ = 0;
};

class Faults {
 public:
  // `rules` is what follows "fault:". Throws Error{kArgument} with the grammar.
  static std::unique_ptr<Faults> parse(const std::string& rules);

  // The engine that is to be broken: "posix" or "uring".
  const std::string& engine() const { return engine_; }

  // Before each attempt of a request: how many of its bytes may be moved, or a negative errno that takes the place of
  // the attempt's result. Any thread may ask.
  int64_t admit(Direction direction, FileRequest& request);

  // Before each attempt of another step: 0, or the errno value that it fails with.
  int error_at(Step step);

 private:
  struct Rule {
    Step step;
    int64_t attempt;
    bool is_short;
    int error;  // 0 where the rule is only short
  };

  void add_rule(const std::string& text);
  const Rule* rule_for_next(Step step);

  std::string engine_ = "posix";
  std::unique_ptr<Pairs> pairs_;  // null: a read waits for nobody
  std::vector<Rule> rules_;
  std::array<std::atomic<int64_t>, 5> attempts_ = {};  // by Step
};

}  // namespace swath
