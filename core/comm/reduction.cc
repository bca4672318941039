#include "comm/reduction.h"

#include <bit>

#include "comm/messages.h"

namespace swath {
namespace {

using Order = ReductionStep::Order;

// The first 2 * pairs of `count` places fold into `pairs`, which leaves `doubled` places, a power of two.
class Fold {
 public:
  explicit Fold(int count)
      : doubled_(static_cast<int>(std::bit_floor(static_cast<unsigned>(count)))), pairs_(count - doubled_) {}

  int doubled() const { return doubled_; }
  bool is_needed() const { return pairs_ > 0; }
  bool is_in_pair(int place) const { return place < 2 * pairs_; }
  // True if the place sends its record to its neighbour.
  bool is_folded(int place) const { return is_in_pair(place) && place % 2 == 1; }
  // Numbers of the remaining places, and the reverse.
  int number_of(int place) const { return is_in_pair(place) ? place / 2 : place - pairs_; }
  int place_of(int number) const { return number < pairs_ ? 2 * number : number + pairs_; }

 private:
  int doubled_;
  int pairs_;
};

}  // namespace

std::vector<ReductionStep> reduction_steps(int place, int count) {
  const Fold fold(count);
  const bool is_folded = fold.is_folded(place);
  const bool has_folded_neighbour = fold.is_in_pair(place) && !is_folded;
  std::vector<ReductionStep> steps;
  if (fold.is_needed()) {
    ReductionStep& step = steps.emplace_back();
    if (is_folded) step.send_to = place - 1;
    if (has_folded_neighbour) step.receive_from = place + 1;
  }
  for (int distance = 1; distance < fold.doubled(); distance *= 2) {
    ReductionStep& step = steps.emplace_back();
    if (is_folded) continue;
    const int number = fold.number_of(place);
    const int peer = fold.place_of(number ^ distance);
    step = {.send_to = peer, .receive_from = peer, .order = peer > place ? Order::kOwnFirst : Order::kReceivedFirst};
  }
  if (fold.is_needed()) {
    ReductionStep& step = steps.emplace_back();
    if (has_folded_neighbour) step.send_to = place + 1;
    if (is_folded) step = {.receive_from = place - 1, .order = Order::kReceivedOnly};
  }
  return steps;
}

void take_received(ReductionStep::Order order, std::span<std::byte> record, std::span<std::byte> received,
                   const Combine& combine) {
  switch (order) {
    case Order::kOwnFirst:
      combine(record, received);
      break;
    case Order::kReceivedFirst:
      combine(received, record);
      copy_bytes(received, record);
      break;
    case Order::kReceivedOnly:
      copy_bytes(received, record);
      break;
  }
}

}  // namespace swath
