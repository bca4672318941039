#include "array/beside.h"

#include <utility>

namespace swath {

std::shared_ptr<const Beside::Outcome> Beside::start(Job job, bool by_thread) {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  auto outcome = std::make_shared<Outcome>();
  const auto work = [outcome, job = std::move(job)] {
    try {
      outcome->execution = job();
    } catch (...) {
      outcome->error = std::current_exception();
    }
  };
  if (by_thread) {
    state.thread.start(work);
  } else {
    state.deferred = work;
    state.has_deferred = true;
  }
  return outcome;
}

void Beside::finish() {
  State& state = state_.get();
  finish_deferred();
  const std::lock_guard guard(state.mutex);
  state.thread.wait();
}

void Beside::finish_deferred() {
  State& state = state_.get();
  if (!state.has_deferred.exchange(false)) return;
  const std::lock_guard guard(state.mutex);
  std::exchange(state.deferred, nullptr)();
}

}  // namespace swath
