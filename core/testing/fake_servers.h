// Servers without a store: threads that answer operations after a delay, and count those in progress.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/in_flight.h"

namespace swath::testing {

class FakeServer {
 public:
  explicit FakeServer(double seconds, int threads = 8) : seconds_(seconds) {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~FakeServer() {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  void ask(std::function<void()> answer) {
    const std::lock_guard guard(mutex_);
    most_ = std::max(most_, ++now_);
    asked_.push_back(std::move(answer));
    changed_.notify_one();
  }
  int most() const { return most_; }
  int answered() const { return answered_; }

 private:
  void work() {
    std::unique_lock guard(mutex_);
    while (true) {
      changed_.wait(guard, [&] { return closing_ || !asked_.empty(); });
      if (asked_.empty()) return;
      const auto answer = std::move(asked_.front());
      asked_.pop_front();
      guard.unlock();
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
      guard.lock();
      --now_;
      ++answered_;
      guard.unlock();
      answer();
      guard.lock();
    }
  }

  const double seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> asked_;
  bool closing_ = false;
  int now_ = 0;
  int most_ = 0;
  int answered_ = 0;
  std::vector<std::thread> workers_;
};

class FakeOperation final : public ServedOperation {
 public:
  struct Options {
    std::string target = "server";
    std::string error;  // the error at the end of the operation
    std::vector<std::string>* completed = nullptr;
    int64_t bytes = 1 << 16;
  };
  FakeOperation(Arrival& arrival, FakeServer& at, int64_t number, Options options)
      : ServedOperation(arrival), at_(at), number_(number), options_(std::move(options)) {}

  void cancel() override {}
  void complete(Counters& counters) override {
    counters.read_requests += 1;
    if (options_.completed != nullptr) options_.completed->push_back(options_.target);
    if (!options_.error.empty()) throw Error(ErrorKind::kStore, options_.error);
  }
  int64_t server() const override { return number_; }
  std::string target() const override { return options_.target; }
  Direction direction() const override { return Direction::kRead; }
  int64_t bytes() const override { return options_.bytes; }
  std::string text() const override { return "an operation at " + options_.target; }

 private:
  void submit() override {
    at_.ask([this] { is_answered(); });
  }

  FakeServer& at_;
  const int64_t number_;
  const Options options_;
};

}  // namespace swath::testing
