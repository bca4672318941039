#include "store/rados/placement.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "store/rados/library.h"
#include "store/rados/placement_group.h"

namespace swath {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Groups move when OSDs are added or removed, which is rare. An outdated entry only lets one operation too many run at
// a server.
constexpr std::chrono::seconds kKnownFor{60};
// Pauses between queries, as multiples of the query's time: queries take about a fifth of the time. A busy monitor
// answers late, and so gets fewer queries.
constexpr int kPauses = 4;

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The answer of the monitor; empty on failure.
std::string asked(rados_t cluster, const std::string& command) {
  const char* commands[] = {command.c_str()};
  char* answer = nullptr;
  size_t answer_bytes = 0;
  char* status = nullptr;
  size_t status_bytes = 0;
  const int result = librados().mon_command(cluster, static_cast<const char**>(commands), 1, "", 0, &answer,
                                            &answer_bytes, &status, &status_bytes);
  std::string text;
  if (result == 0 && answer != nullptr) text.assign(answer, answer_bytes);
  librados().buffer_free(answer);
  librados().buffer_free(status);
  return text;
}

// The text after "name": in an answer.
std::optional<std::string_view> field(std::string_view answer, const std::string& name) {
  const std::string key = in_quotes(name) + ":";
  const size_t at = answer.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = answer.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::optional<int64_t> number(std::string_view answer, const std::string& name) {
  const auto found = field(answer, name);
  if (!found || found->empty() || (found->front() != '-' && (found->front() < '0' || found->front() > '9'))) {
    return std::nullopt;
  }
  return std::strtoll(std::string(found->substr(0, 24)).c_str(), nullptr, 10);
}

}  // namespace

RadosPlacement::RadosPlacement(rados_t cluster, std::string pool) : cluster_(cluster), pool_(std::move(pool)) {}

RadosPlacement::Asker::~Asker() {
  const std::lock_guard guard(owner.mutex_);
  owner.is_closing_ = true;
}

std::optional<uint32_t> RadosPlacement::group_of(const std::string& object) const {
  if (!groups_ || is_hashed_otherwise_) return std::nullopt;
  return placement_group(jenkins_hash(object), *groups_);
}

std::optional<int> RadosPlacement::known_osd_of(const std::string& object) {
  const std::lock_guard guard(mutex_);
  if (is_hashed_otherwise_) return std::nullopt;
  const auto group = group_of(object);
  if (!group) {
    ask_in_background(object, 0);  // queries the number of groups first
    return std::nullopt;
  }
  const auto found = known_.find(*group);
  if (found == known_.end() || SteadyClock::now() - found->second.asked_at > kKnownFor)
    ask_in_background(object, *group);
  return found == known_.end() ? std::nullopt : std::optional(found->second.osd);
}

std::optional<int> RadosPlacement::osd_of(const std::string& object) {
  if (const auto known = known_osd_of(object)) return known;
  return ask(object);
}

// Requires the mutex.
void RadosPlacement::ask_in_background(const std::string& object, uint32_t group) {
  wanted_.emplace(group, object);
  if (is_asking_ || is_closing_) return;
  // No interrupts here: the answer may need a thread that waits for the mutex.
  const InterruptScope no_interrupts([] { return false; });
  asker_.background.wait();  // the last job has ended, or is about to
  asker_.background.start([this] { ask_for_all_wanted(); });
  is_asking_ = true;  // the job reads it under the mutex
}

void RadosPlacement::ask_for_all_wanted() {
  while (true) {
    std::string object;
    {
      const std::lock_guard guard(mutex_);
      if (wanted_.empty() || is_closing_) {
        is_asking_ = false;
        return;
      }
      object = wanted_.begin()->second;
      wanted_.erase(wanted_.begin());
    }
    const auto begun_at = SteadyClock::now();
    if (!ask(object)) {
      const std::lock_guard guard(mutex_);
      wanted_.clear();  // the next operation may queue it again
    }
    std::this_thread::sleep_for(
        std::min<SteadyClock::duration>(kPauses * (SteadyClock::now() - begun_at), std::chrono::seconds(1)));
  }
}

std::optional<int> RadosPlacement::ask(const std::string& object) {
  const std::string answer = asked(cluster_, R"({"prefix": "osd map", "format": "json", "pool": )" + in_quotes(pool_) +
                                                 R"(, "object": )" + in_quotes(object) + "}");
  const auto osd = number(answer, "acting_primary");
  if (!osd || *osd < 0) return std::nullopt;
  // "pgid":"3.1f"
  const auto id = field(answer, "pgid");
  const size_t dot = id ? id->find('.') : std::string_view::npos;
  if (dot == std::string_view::npos) return static_cast<int>(*osd);
  const auto group = static_cast<uint32_t>(std::strtoul(std::string(id->substr(dot + 1, 16)).c_str(), nullptr, 16));
  const auto now = SteadyClock::now();
  bool is_of_old = false;
  {
    const std::lock_guard guard(mutex_);
    known_[group] = {static_cast<int>(*osd), now};
    is_of_old = !groups_ || now - groups_asked_at_ > kKnownFor || group_of(object) != group;
  }
  if (is_of_old) {
    const auto groups = ask_for_groups();
    const std::lock_guard guard(mutex_);
    groups_ = groups;
    groups_asked_at_ = now;
    is_hashed_otherwise_ = groups && placement_group(jenkins_hash(object), *groups) != group;
  }
  return static_cast<int>(*osd);
}

std::optional<uint32_t> RadosPlacement::ask_for_groups() const {
  const std::string answer = asked(
      cluster_, R"({"prefix": "osd pool get", "format": "json", "var": "pg_num", "pool": )" + in_quotes(pool_) + "}");
  const auto groups = number(answer, "pg_num");
  if (!groups || *groups < 1 || *groups > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*groups);
}

}  // namespace swath
