// Breaks a chosen request on purpose, for tests.
//
// The engine is the real one, posix or uring. A fault replaces the kernel's result of a request, so that the tested
// loops are those used in production.
//
//   fault:RULE,RULE,…[,engine=uring]     no rule: nothing breaks
//   RULE = pairs                         each attempt of a read waits for an attempt of another thread: if threads do
//                                        not read concurrently, it fails with ETIMEDOUT after ten seconds
//   RULE = STEP@N=WHAT                   STEP: read, write, lock, sync, resize; N counts the attempts of that
//                                        step since the file was opened, from 0, including continuations and retries
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

// Makes threads wait for each other in pairs.
class Pairs {
 public:
  // Waits for another thread to call it; false if none does in time.
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

  // The engine that gets the faults: "posix" or "uring".
  const std::string& engine() const { return engine_; }

  // To be called before each attempt of a request. Returns the number of bytes that it may move, or a negative errno as
  // the result of the attempt. Any thread may call it.
  int64_t admit(Direction direction, FileRequest& request);

  // To be called before each attempt of another step. Returns 0, or the errno value that the attempt fails with.
  int error_at(Step step);

 private:
  struct Rule {
    Step step;
    int64_t attempt;
    bool is_short;
    int error;  // 0 if the rule only shortens
  };

  void add_rule(const std::string& text);
  const Rule* rule_for_next(Step step);

  std::string engine_ = "posix";
  std::unique_ptr<Pairs> pairs_;  // null: reads do not wait
  std::vector<Rule> rules_;
  std::array<std::atomic<int64_t>, 5> attempts_ = {};  // by Step
};

}  // namespace swath
