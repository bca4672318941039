#include "plan/alone.h"

namespace swath {

bool is_cheaper_alone(const Profile& profile, Direction direction, const MeetingRanks& ranks, bool has_page_cache) {
  constexpr double kShortBytes = 4096;
  const Medium& medium = has_page_cache || !profile.device.known() ? profile.cache : profile.device;
  const bool reads = direction == Direction::kRead;
  const double request =
      (reads ? medium.read : medium.write).at(kShortBytes) + (reads ? medium.read_jump : medium.write_jump);
  double meeting = profile.operation_seconds + profile.barrier.at_or_in_proportion(ranks.of_a_node) +
                   profile.round.at_or_in_proportion(ranks.of_a_node);
  for (int nodes = 1; nodes < ranks.nodes; nodes *= 2) meeting += profile.message_seconds;
  return request <= meeting;
}

}  // namespace swath
