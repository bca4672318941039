#include "simulate/fibers.h"

#include <cxxabi.h>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace swath::simulate {
namespace {

constexpr size_t kGuardBytes = 4096;

// A fiber's function has no arguments that could hold an address.
Fibers* entering = nullptr;

}  // namespace

Fibers::Fibers(int count, size_t stack_bytes) : stack_bytes_(stack_bytes), fibers_(static_cast<size_t>(count)) {
  stacks_bytes_ = (stack_bytes_ + kGuardBytes) * fibers_.size();
  void* const memory = mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::kStore, "simulation: no address space for the stacks of " + std::to_string(count) + " ranks",
                errno);
  }
  stacks_ = static_cast<std::byte*>(memory);
  for (size_t i = 0; i < fibers_.size(); ++i) {
    mprotect(stacks_ + i * (stack_bytes_ + kGuardBytes), kGuardBytes, PROT_NONE);
  }
}

Fibers::~Fibers() {
#if defined(__SANITIZE_ADDRESS__)
  // AddressSanitizer marks parts of stacks, and would take later memory at these addresses for them.
  __asan_unpoison_memory_region(stacks_, stacks_bytes_);
#endif
  munmap(stacks_, stacks_bytes_);
}

void Fibers::run(const std::function<void(int)>& body, const std::function<void()>& ask) {
  body_ = &body;
  ask_ = ask;
  for (int i = 0; i < count(); ++i) {
    ucontext_t& context = fibers_[i].context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_ + static_cast<size_t>(i) * (stack_bytes_ + kGuardBytes) + kGuardBytes;
    context.uc_stack.ss_size = stack_bytes_;
    context.uc_link = nullptr;
    makecontext(&context, &Fibers::enter, 0);
    make_ready(i);
  }
  run_fibers(-1);
  while (std::any_of(fibers_.begin(), fibers_.end(), [](const Fiber& fiber) { return !fiber.is_done; })) {
    if (asking_ >= 0) {
      answer();
    } else {
      fail_all(stuck());
      run_fibers(-1);
    }
  }
  if (first_) std::rethrow_exception(first_);
}

// ---- interrupts -----------------------------------------------------------------------------------------------------

void Fibers::run_fibers(int first) {
  std::optional<InterruptScope> questions;
  if (is_interruptible()) questions.emplace([this] { return ask_caller(); });
  if (first < 0) {
    run_next();
  } else {
    switch_to(first);
  }
}

bool Fibers::ask_caller() {
  if (running_ >= 0 && !failure_) {
    asking_ = running_;
    switch_to(-1);
  }
  return failure_ && !is_polling_;
}

void Fibers::answer() {
  const int fiber = std::exchange(asking_, -1);
  try {
    ask_();
  } catch (const Error& error) {
    first_ = std::current_exception();
    fail_all(error);
  }
  run_fibers(fiber);
}

void Fibers::poll() {
  if (failure_) return;
  is_polling_ = true;
  check_interrupt();
  is_polling_ = false;
}

// ---- one after the other --------------------------------------------------------------------------------------------

void Fibers::enter() {
  Fibers& all = *entering;
  const int me = all.running_;
  all.arrived(nullptr);
  try {
    if (!all.failure_) (*all.body_)(me);
  } catch (...) {
    if (!all.first_) all.first_ = std::current_exception();
  }
  all.fibers_[me].is_done = true;
  all.run_next();
}

void Fibers::at(double time, Event event) {
  if (failure_) return;
  size_t index = events_.size();
  if (free_events_.empty()) {
    events_.push_back(std::move(event));
  } else {
    index = free_events_.back();
    free_events_.pop_back();
    events_[index] = std::move(event);
  }
  ready_.push({.time = time, .number = next_event_++, .event = index});
}

void Fibers::run_next() {
  for (poll(); !ready_.empty(); poll()) {
    const Ready next = ready_.top();
    ready_.pop();
    if (next.fiber >= 0) {
      if (fibers_[next.fiber].is_done) continue;  // it went on after a failure before its turn
      return switch_to(next.fiber);
    }
    const Event event = std::move(events_[next.event]);
    free_events_.push_back(next.event);
    event(next.time);
  }
  switch_to(-1);
}

void Fibers::switch_to(int fiber) {
  if (fiber == running_) return;
  ++switches_;
  Fiber& from = running_ < 0 ? main_ : fibers_[running_];
  Fiber& to = fiber < 0 ? main_ : fibers_[fiber];
  running_ = fiber;
  entering = this;
  void* const exceptions = abi::__cxa_get_globals();
  static_assert(sizeof(Exceptions) <= 16);
  std::memcpy(&from.exceptions, exceptions, sizeof(Exceptions));
  std::memcpy(exceptions, &to.exceptions, sizeof(Exceptions));
  void* const marks = leaving(from, to);
  swapcontext(&from.context, &to.context);
  arrived(marks);
}

// AddressSanitizer has to know the stack on which the program goes on: before an exception it clears its marks there.
void* Fibers::leaving([[maybe_unused]] const Fiber& from, [[maybe_unused]] const Fiber& to) {
  void* marks = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  comes_from_caller_ = &from == &main_;
  const stack_t& stack = to.context.uc_stack;
  const bool is_caller = &to == &main_;
  __sanitizer_start_switch_fiber(from.is_done ? nullptr : &marks, is_caller ? caller_stack_ : stack.ss_sp,
                                 is_caller ? caller_stack_bytes_ : stack.ss_size);
#endif
  return marks;
}

void Fibers::arrived([[maybe_unused]] void* marks) {
#if defined(__SANITIZE_ADDRESS__)
  const void* left = nullptr;
  size_t left_bytes = 0;
  __sanitizer_finish_switch_fiber(marks, &left, &left_bytes);
  if (!comes_from_caller_) return;
  caller_stack_ = left;
  caller_stack_bytes_ = left_bytes;
#endif
}

void Fibers::let_earlier_run() {
  throw_failure();
  if (failure_ || ready_.empty() || ready_.top() > Ready{.time = now(), .fiber = running_}) return;
  make_ready(running_);
  run_next();
  throw_failure();
}

// Not while another exception is handled by destructors.
void Fibers::throw_failure() const {
  if (failure_ && std::uncaught_exceptions() == 0) throw Error(*failure_);
}

void Fibers::sleep_until(double time) {
  fibers_[running_].now = std::max(now(), time);
  let_earlier_run();
}

void Fibers::block(const char* doing) {
  Fiber& me = fibers_[running_];
  if (!failure_) {
    me.doing = doing;
    run_next();
    me.doing = nullptr;
  }
  if (failure_) throw Error(*failure_);
}

void Fibers::wake(int fiber, double time) {
  if (failure_) return;
  Fiber& other = fibers_[fiber];
  other.now = std::max(other.now, time);
  other.doing = nullptr;
  make_ready(fiber);
}

// Nobody can wake them: the error says where the ranks are.
Error Fibers::stuck() const {
  constexpr int kShown = 8;
  std::string text = "no rank can go on";
  int shown = 0;
  for (int i = 0; i < count() && shown < kShown; ++i) {
    if (fibers_[i].doing == nullptr) continue;
    text += (shown++ == 0 ? ": rank " : ", rank ") + std::to_string(i) + " waits in " + fibers_[i].doing;
  }
  return {ErrorKind::kDisagreement, text};
}

// Events are dropped: what they belong to may have ended before them.
void Fibers::fail_all(const Error& error) {
  failure_.emplace(error);
  ready_ = {};
  events_.clear();
  free_events_.clear();
  for (int i = 0; i < count(); ++i) {
    if (!fibers_[i].is_done) make_ready(i);
  }
}

}  // namespace swath::simulate
