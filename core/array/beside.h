// One operation under way beside the program.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "array/execution.h"
#include "base/per_process.h"
#include "store/background.h"

namespace swath {

// A job that gives an Execution: by a thread of its own, or, where that may not be, when somebody waits for it.
class Beside {
 public:
  using Job = std::function<Execution()>;

  // What comes of a job.
  struct Outcome {
    std::optional<Execution> execution;
    std::exception_ptr error;
    bool is_known() const { return execution || error != nullptr; }
  };

  // Only when the job before is finished. `by_thread` false: finish() does it.
  std::shared_ptr<const Outcome> start(Job job, bool by_thread);
  // Returns when the job that was started last is done; what it threw is in its outcome. Told to stop meanwhile
  // (base/interrupt.h), it throws that. In a forked child of the process that started it, nothing is under way.
  void finish();
  // The same only where nobody else does the job.
  void finish_deferred();

 private:
  struct State {
    std::mutex mutex;
    Background thread;
    std::function<void()> deferred;
    std::atomic<bool> has_deferred = false;
  };

  PerProcess<State> state_;
};

}  // namespace swath
