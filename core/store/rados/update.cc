#include "store/rados/update.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/notice.h"
#include "base/units.h"
#include "store/open_file.h"
#include "store/rados/lists.h"

namespace swath {
namespace {

constexpr double kPauseSeconds = 1e-3;  // after the first attempt; twice as long after the next, up to ...
constexpr double kPauseSecondsMax = 20e-3;
constexpr double kToldAfterSeconds = 3;

}  // namespace

ObjectUpdate::ObjectUpdate(const RadosFile& file, const Transfer& image, int64_t bytes_max, int64_t of_server_max)
    : file_(file), image_(image), of_server_max_(of_server_max) {
  ObjectLists lists(file.stripes(), Direction::kWrite, bytes_max,
                    [this](int64_t object, std::vector<ObjectRange> ranges) {
                      parts_.push_back({.object = object, .ranges = std::move(ranges), .state = {}});
                    });
  lists.add({&image, 1});
  lists.flush();
}

void ObjectUpdate::carry_out(const std::function<void(std::byte*)>& fill_in, Counters& counters) {
  Clock& clock = clock_of_thread();
  double began_at = clock.now();
  double pause = kPauseSeconds;
  bool has_told = false;
  while (!parts_.empty()) {
    check_interrupt();
    const std::vector<Part*> now = next_parts();
    move(Direction::kRead, now, counters);
    fill_in(image_.data);
    move(Direction::kWrite, now, counters);
    const bool all_written =
        std::all_of(now.begin(), now.end(), [](const Part* part) { return part->state.is_written; });
    std::erase_if(parts_, [](const Part& part) { return part.state.is_written; });
    if (all_written) {
      began_at = clock.now();
      pause = kPauseSeconds;
      continue;
    }
    const std::string what = "write " + file_.path() + " at " + std::to_string(image_.offset);
    const double waited = clock.now() - began_at;
    if (waited >= file_.lock_timeout_seconds()) {
      throw Error(ErrorKind::kStore,
                  what + ": " + system_message(ETIMEDOUT) + " after " + in_seconds(waited) +
                      " (lock_timeout): others go on writing object " + file_.object(parts_.front().object),
                  ETIMEDOUT);
    }
    if (!has_told && waited >= kToldAfterSeconds) {
      has_told = true;
      notify(what + ": waiting for whoever writes object " + file_.object(parts_.front().object));
    }
    clock.sleep_until(clock.now() + pause);
    pause = std::min(2 * pause, kPauseSecondsMax);
  }
}

std::vector<ObjectUpdate::Part*> ObjectUpdate::next_parts() {
  std::vector<Part*> next;
  std::set<int64_t> objects;
  for (Part& part : parts_) {
    if (objects.insert(part.object).second) next.push_back(&part);
  }
  return next;
}

void ObjectUpdate::move(Direction direction, const std::vector<Part*>& parts, Counters& counters) const {
  Flight flight(file_, of_server_max_, counters);
  for (Part* part : parts) {
    flight.begin(make_list_operation(file_, direction, part->object, part->ranges, flight, &part->state));
  }
  flight.finish();
}

}  // namespace swath
