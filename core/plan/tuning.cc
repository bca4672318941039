#include "plan/tuning.h"

#include <algorithm>
#include <climits>

#include "base/error.h"

namespace swath {
namespace {

constexpr int64_t kListPiecesMost = 1024;  // IOV_MAX

void apply_one(const std::string& name, int64_t value, Tuning& tuning, AskedTuning& asked) {
  if (value < 1) fail_argument("tuning: " + name + " must be at least 1, not " + std::to_string(value));
  if (name == "sieve_bytes") {
    tuning.sieve_bytes = value;
    asked.sieve_bytes = true;
  } else if (name == "bounce_bytes") {
    tuning.bounce_bytes = value;
  } else if (name == "window_bytes") {
    tuning.window_bytes = value;
    asked.window_bytes = true;
  } else if (name == "list_pieces") {
    tuning.list_pieces = std::min(value, kListPiecesMost);
  } else if (name == "aggregators") {
    tuning.aggregators = static_cast<int>(std::min<int64_t>(value, INT_MAX));
    asked.aggregators = true;
  } else if (name == "domain_bytes_min") {
    tuning.domain_bytes_min = value;
  } else if (name == "staged_run_bytes") {
    tuning.staged_run_bytes = value;
  } else if (name == "look_bytes_min") {
    tuning.look_bytes_min = value;
  } else if (name == "runs_bytes_min") {
    tuning.runs_bytes_min = value;
    asked.runs_bytes_min = true;
  } else if (name != "chunk_buffer_bytes") {  // of coded chunks, which no plan moves
    fail_argument("tuning: \"" + name +
                  "\" is not known; expected sieve_bytes, bounce_bytes, window_bytes, list_pieces, aggregators, "
                  "domain_bytes_min, runs_bytes_min, staged_run_bytes, look_bytes_min or chunk_buffer_bytes");
  }
}

}  // namespace

void apply(const TuningSettings& settings, Tuning& tuning, AskedTuning& asked) {
  for (const auto& [name, value] : settings) apply_one(name, value, tuning, asked);
}

int64_t setting_or(const TuningSettings& settings, const std::string& name, int64_t otherwise) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.first == name; });
  return found == settings.end() ? otherwise : found->second;
}

}  // namespace swath
