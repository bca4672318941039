#include "plan/alone.h"

namespace swath {

bool is_cheaper_alone(const Profile& profile, Direction direction, const MeetingRanks& ranks, bool has_page_cache) {
  constexpr double kShortBytes = 4096;
  const Medium& medium = has_page_cache || !profile.device.known() ? profile.cache : profile.device;
  const Curve& requests = direction == Direction::kRead ? medium.read : medium.write;
  const double request = requests.at(kShortBytes) + medium.jump_seconds(direction);
  double meeting = profile.operation_seconds + profile.barrier.at_or_in_proportion(ranks.of_a_node) +
                   profile.round.at_or_in_proportion(ranks.of_a_node);
  for (int nodes = 1; nodes < ranks.nodes; nodes *= 2) meeting += profile.message_seconds;
  return request <= meeting;
}

}  // namespace swath
