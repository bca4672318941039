#include "store/fault/fault.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <map>
#include <sstream>

#include "base/error.h"

namespace swath {

namespace {

const std::map<std::string, Step> kSteps = {{"read", Step::kRead},
                                            {"write", Step::kWrite},
                                            {"lock", Step::kLock},
                                            {"sync", Step::kSync},
                                            {"resize", Step::kResize}};

const std::map<std::string, int> kErrors = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EDEADLK", EDEADLK}, {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},
    {"EINTR", EINTR},   {"EINVAL", EINVAL}, {"EIO", EIO},         {"ENOLCK", ENOLCK}, {"ENOMEM", ENOMEM},
    {"ENOSPC", ENOSPC}, {"EPERM", EPERM},   {"EROFS", EROFS},     {"ESTALE", ESTALE}, {"ETIMEDOUT", ETIMEDOUT}};

template <typename Value>
std::string names_of(const std::map<std::string, Value>& values) {
  std::string names;
  for (const auto& [name, value] : values) names += (names.empty() ? "" : ", ") + name;
  return names;
}

[[noreturn]] void fail_rule(const std::string& rule, const std::string& why) {
  fail_argument(
      "engine fault: rule \"" + rule + "\": " + why +
      ": expected STEP@N=WHAT such as write@3=ENOSPC (the fourth write fails) or read@0=short; STEP is one of " +
      names_of(kSteps) + "; N counts from 0; WHAT is short, short+ERRNO, or an ERRNO of " + names_of(kErrors) +
      "; or pairs (reads wait for one another by twos); several rules, and engine=posix or engine=uring, are separated "
      "by commas");
}

}  // namespace

bool Pairs::meet() {
  constexpr std::chrono::seconds kWaitMost{10};
  std::unique_lock guard(mutex_);
  const int64_t mine = came_++;
  if (mine % 2 == 1) {
    changed_.notify_all();
    return true;
  }
  return changed_.wait_for(guard, kWaitMost, [&] { return came_ > mine + 1; });
}

std::unique_ptr<Faults> Faults::parse(const std::string& rules) {
  auto faults = std::make_unique<Faults>();
  std::istringstream stream(rules);
  for (std::string rule; std::getline(stream, rule, ',');) {
    if (rule == "engine=posix" || rule == "engine=uring") {
      faults->engine_ = rule.substr(rule.find('=') + 1);
    } else if (rule == "pairs") {
      faults->pairs_ = std::make_unique<Pairs>();
    } else {
      faults->add_rule(rule);
    }
  }
  return faults;
}

void Faults::add_rule(const std::string& text) {
  const size_t at = text.find('@');
  const size_t equals = text.find('=', at);
  if (at == std::string::npos || equals == std::string::npos) fail_rule(text, "no STEP@N=WHAT");

  const auto step = kSteps.find(text.substr(0, at));
  if (step == kSteps.end()) fail_rule(text, "no such step");

  Rule rule = {.step = step->second, .attempt = 0, .is_short = false, .error = 0};
  const char* number_end = text.data() + equals;
  const auto [parsed_end, error] = std::from_chars(text.data() + at + 1, number_end, rule.attempt);
  if (error != std::errc() || parsed_end != number_end || rule.attempt < 0) fail_rule(text, "N is no count");

  std::string what = text.substr(equals + 1);
  rule.is_short = what == "short" || what.starts_with("short+");
  if (rule.is_short && rule.step != Step::kRead && rule.step != Step::kWrite) {
    fail_rule(text, "only reads and writes can be short");
  }
  if (what != "short") {
    const auto errno_value = kErrors.find(rule.is_short ? what.substr(6) : what);
    if (errno_value == kErrors.end()) fail_rule(text, "no such errno");
    rule.error = errno_value->second;
  }
  rules_.push_back(rule);
}

const Faults::Rule* Faults::rule_for_next(Step step) {
  const int64_t attempt = attempts_[static_cast<size_t>(step)].fetch_add(1);
  for (const Rule& rule : rules_) {
    if (rule.step == step && rule.attempt == attempt) return &rule;
  }
  return nullptr;
}

int64_t Faults::admit(Direction direction, FileRequest& request) {
  const bool reading = direction == Direction::kRead;
  const Rule* rule = rule_for_next(reading ? Step::kRead : Step::kWrite);
  if (reading && pairs_ != nullptr && !pairs_->meet()) return -ETIMEDOUT;
  if (request.injected_error != 0) return -std::exchange(request.injected_error, 0);
  if (rule == nullptr) return request.bytes_left();
  const int64_t half = request.bytes_left() / 2;
  if (!rule->is_short || (half == 0 && rule->error != 0)) return -rule->error;
  request.injected_error = rule->error;
  return half == 0 ? request.bytes_left() : half;
}

int Faults::error_at(Step step) {
  const Rule* rule = rule_for_next(step);
  return rule == nullptr ? 0 : rule->error;
}

}  // namespace swath
