#include "journal/target_lock.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "store/file_calls.h"
#include "store/open_file.h"

namespace swath {
namespace {

bool is_left_out() {
  const char* const said = std::getenv("HDF5_USE_FILE_LOCKING");
  std::string word = said == nullptr ? "" : said;
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
  return word == "FALSE" || word == "0";
}

constexpr double kWaitSeconds = 10;
constexpr double kFirstPause = 0.0005;
constexpr double kLongestPause = 0.02;

double seconds_to_wait() {
  const char* const said = std::getenv("SWATH_LOCK_TIMEOUT");
  const double seconds = said == nullptr ? 0 : std::strtod(said, nullptr);
  return std::isfinite(seconds) && seconds > 0 ? seconds : kWaitSeconds;
}

}  // namespace

LockWait::LockWait() : until_(real_clock().now() + seconds_to_wait()), pause_(kFirstPause) {}

bool LockWait::again() {
  Clock& clock = real_clock();
  const double left = until_ - clock.now();
  if (left <= 0) return false;
  check_interrupt();
  sleep_unless_interrupted(clock, clock.now() + std::min(pause_, left));
  pause_ = std::min(1.5 * pause_, kLongestPause);
  return true;
}

bool try_lock_target(int descriptor) {
  if (is_left_out()) return true;
  try {
    return file_calls::try_lock(descriptor, file_calls::Lock::kExclusive);
  } catch (const Refusal&) {
    return true;  // this file system has no locks
  }
}

void lock_target(int descriptor, const std::string& path, const std::string& doing) {
  LockWait wait;
  while (!try_lock_target(descriptor)) {
    if (!wait.again()) fail_target_locked(path, doing);
  }
}

void fail_target_locked(const std::string& path, const std::string& doing) {
  throw Error(ErrorKind::kStore,
              path + ": " + doing + ": another program has this HDF5 file open, or this one by another handle: " +
                  system_message(EWOULDBLOCK) + "; close it there",
              EWOULDBLOCK);
}

bool share_target(int descriptor) noexcept {
  if (is_left_out()) return true;
  try {
    return file_calls::try_lock(descriptor, file_calls::Lock::kShared);
  } catch (const Refusal&) {
    return true;
  }
}

}  // namespace swath
