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
    for (const auto& begun : lane) begun.operation->cancel();
  }
  std::unique_lock guard(arrival_.mutex);
  for (auto& [server, lane] : lanes_) {
    for (const auto& begun : lane) arrival_.changed.wait(guard, [&] { return begun.operation->is_done(); });
  }
}

void InFlight::begin(std::unique_ptr<ServedOperation> operation) {
  complete_answered();
  const int64_t bytes = operation->bytes();
  while (bytes_ > 0 && bytes_ + bytes > kBytesMax) wait_for_first(lane_begun_first());
  Lane& lane = lanes_[operation->server()];
  while (lane.size() >= of_server_max_) wait_for_first(lane);
  std::unique_ptr<ServerTurn> turn;
  if (turns_) turn = turns_->take(operation->target(), operation->direction(), operation->bytes(), counters_);
  lane.push_back({std::move(operation), begun_++});
  bytes_ += bytes;
  lane.back().operation->begin(std::move(turn));
}

void InFlight::complete_answered() {
  for (auto& [server, lane] : lanes_) {
    const auto is_answered = [&, &of = lane] {
      const std::lock_guard guard(arrival_.mutex);
      return !of.empty() && of.front().operation->is_done();
    };
    while (is_answered()) complete_first(lane);
  }
}

void InFlight::complete_first(Lane& lane) {
  const std::unique_ptr<ServedOperation> first = std::move(lane.front().operation);
  lane.pop_front();
  bytes_ -= first->bytes();
  first->complete(counters_);
}

// The lane of the operation that began first. Requires an operation in flight.
InFlight::Lane& InFlight::lane_begun_first() {
  Lane* found = nullptr;
  for (auto& [server, lane] : lanes_) {
    if (!lane.empty() && (found == nullptr || lane.front().number < found->front().number)) found = &lane;
  }
  return *found;
}

void InFlight::wait_for_first(Lane& lane) {
  constexpr double kToldAfterSeconds = 3;
  const Stopwatch watch;
  bool has_told = false;
  {
    std::unique_lock guard(arrival_.mutex);
    while (!lane.front().operation->is_done()) {
      arrival_.changed.wait_for(guard, std::chrono::duration<double>(kLookUpSeconds));
      if (lane.front().operation->is_done()) break;
      guard.unlock();
      check_interrupt();
      if (!has_told && watch.seconds() >= kToldAfterSeconds) {
        has_told = true;
        notify(lane.front().operation->text() + ": no answer for 3 s; waiting");
      }
      guard.lock();
    }
  }
  complete_first(lane);
}

void InFlight::finish() {
  for (auto& [server, lane] : lanes_) {
    while (!lane.empty()) wait_for_first(lane);
  }
}

}  // namespace swath
