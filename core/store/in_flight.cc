#include "store/in_flight.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/interrupt.h"
#include "base/notice.h"
#include "base/stopwatch.h"

namespace swath {

void ServedOperation::begin(std::unique_ptr<ServerTurn> turn) {
  turn_ = std::move(turn);
  submit();
}

void ServedOperation::is_answered() {
  turn_.reset();
  const std::lock_guard guard(arrival_.mutex);
  done_ = true;
  arrival_.changed.notify_all();
}

InFlight::InFlight(int64_t of_server_max, std::shared_ptr<ServerTurns> turns, Counters& counters)
    : of_server_max_(static_cast<size_t>(std::max<int64_t>(of_server_max, 1))),
      turns_(std::move(turns)),
      counters_(counters) {}

InFlight::~InFlight() {
  for (auto& [server, lane] : lanes_) {
    for (const auto& operation : lane) operation->cancel();
  }
  std::unique_lock guard(arrival_.mutex);
  for (auto& [server, lane] : lanes_) {
    for (const auto& operation : lane) arrival_.changed.wait(guard, [&] { return operation->is_done(); });
  }
}

void InFlight::begin(std::unique_ptr<ServedOperation> operation) {
  Lane& lane = lanes_[operation->server()];
  while (lane.size() >= of_server_max_) wait_for_first(lane);
  std::unique_ptr<ServerTurn> turn;
  if (turns_) turn = turns_->take(operation->target(), operation->direction(), operation->bytes(), counters_);
  lane.push_back(std::move(operation));
  lane.back()->begin(std::move(turn));
}

void InFlight::wait_for_first(Lane& lane) {
  constexpr double kToldAfterSeconds = 3;
  const Stopwatch watch;
  bool has_told = false;
  {
    std::unique_lock guard(arrival_.mutex);
    while (!lane.front()->is_done()) {
      arrival_.changed.wait_for(guard, std::chrono::duration<double>(kLookUpSeconds));
      if (lane.front()->is_done()) break;
      guard.unlock();
      check_interrupt();
      if (!has_told && watch.seconds() >= kToldAfterSeconds) {
        has_told = true;
        notify(lane.front()->text() + ": no answer for 3 s; waiting");
      }
      guard.lock();
    }
  }
  const std::unique_ptr<ServedOperation> first = std::move(lane.front());
  lane.pop_front();
  first->settle(counters_);
}

void InFlight::finish() {
  for (auto& [server, lane] : lanes_) {
    while (!lane.empty()) wait_for_first(lane);
  }
}

}  // namespace swath
