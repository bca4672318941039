#include "mpi_io/report.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/notice.h"
#include "base/units.h"
#include "comm/gather.h"

namespace swath::mpi_io {
namespace {

int64_t bits_of(double value) { return std::bit_cast<int64_t>(value); }
double real_of(int64_t bits) { return std::bit_cast<double>(bits); }

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", seconds);
  return text.data();
}

std::vector<std::byte> written(const std::map<std::string, Report::Kind>& kinds) {
  ByteWriter writer;
  writer.put(static_cast<int64_t>(kinds.size()));
  for (const auto& [name, kind] : kinds) {
    writer.put(std::string_view(name));
    writer.put(kind.operations);
    writer.put(kind.bytes);
    writer.put(bits_of(kind.predicted_seconds));
    for_each_counter(
        [&](const char*, auto member) { writer.put(bits_of(static_cast<double>(kind.counters.*member))); });
  }
  return writer.take();
}

// Adds the report of one rank. Bytes and counters are summed; of operations, of predicted and of total seconds, the
// maximum over the ranks counts.
void add_written(const std::vector<std::byte>& bytes, std::map<std::string, Report::Kind>& kinds) {
  ByteReader reader("a report", bytes);
  for (int64_t left = reader.number(); left > 0; --left) {
    Report::Kind& kind = kinds[reader.text()];
    kind.operations = std::max(kind.operations, reader.number());
    kind.bytes += reader.number();
    kind.predicted_seconds = std::max(kind.predicted_seconds, real_of(reader.number()));
    const double total_seconds = kind.counters.total_seconds;
    Counters counters;
    for_each_counter([&](const char*, auto member) {
      auto& value = counters.*member;
      value = static_cast<std::remove_reference_t<decltype(value)>>(real_of(reader.number()));
    });
    kind.counters += counters;
    kind.counters.total_seconds = std::max(total_seconds, counters.total_seconds);
  }
}

}  // namespace

void say(const std::string& text) { print_error_line("swath mpi-io: " + text); }

bool report_is_wanted() {
  const char* wanted = std::getenv("SWATH_MPI_IO_REPORT");
  return wanted != nullptr && !std::string_view(wanted).empty() && std::string_view(wanted) != "0";
}

void Report::add(const std::string& kind, int64_t bytes, const Execution& done) {
  const std::string name = kind + " by " + done.method;
  const std::lock_guard guard(mutex_);
  Kind& sum = kinds_[name];
  ++sum.operations;
  sum.bytes += bytes;
  sum.counters += done.counters;
  if (done.plan == nullptr || !report_is_wanted()) return;
  sum.predicted_seconds += done.plan->price().seconds();
  int64_t& largest = largest_[name];
  if (bytes < largest && !reasons_[name].empty()) return;
  largest = bytes;
  reasons_[name] = done.plan->reason;
}

void Report::add_contiguous(Direction direction, bool is_collective, const Counters& done) {
  const std::lock_guard guard(mutex_);
  Contiguous& sum = contiguous_[is_collective ? 1 : 0][static_cast<size_t>(direction)];
  ++sum.operations;
  sum.counters += done;
}

double Report::seconds_of_requests(const Curve& one, const Kind& kind) {
  if (one.empty()) return 0;
  const auto operations = static_cast<double>(kind.operations);
  return operations * one.at_or_in_proportion(static_cast<double>(kind.bytes) / operations);
}

std::map<std::string, Report::Kind> Report::all_kinds() const {
  std::map<std::string, Kind> all = kinds_;
  for (const bool is_collective : {false, true}) {
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      const Contiguous& sum = contiguous_[is_collective ? 1 : 0][static_cast<size_t>(direction)];
      if (sum.operations == 0) continue;
      Kind& kind =
          all[(is_collective ? "collective " : "independent ") + to_string(direction) + " by one contiguous transfer"];
      kind.operations = sum.operations;
      kind.bytes = sum.counters.read_bytes + sum.counters.written_bytes;
      kind.counters = sum.counters;
      kind.predicted_seconds = seconds_of_requests(direction == Direction::kRead ? medium_.read : medium_.write, kind);
    }
  }
  return all;
}

void Report::note(const std::string& text) {
  const std::lock_guard guard(mutex_);
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void Report::tell(Comm& comm, const std::string& path) {
  const std::lock_guard guard(mutex_);
  std::map<std::string, Kind> all;
  for (const auto& bytes : gather_bytes(comm, written(all_kinds()))) add_written(bytes, all);
  if (comm.rank() != 0) return;
  say(path + ": served, " + std::to_string(comm.size()) + (comm.size() == 1 ? " rank" : " ranks"));
  for (const auto& [name, kind] : all) {
    const Counters& counters = kind.counters;
    say("  " + name + ": operations " + std::to_string(kind.operations) + ", bytes " + std::to_string(kind.bytes) +
        ", requests " + std::to_string(counters.read_requests + counters.write_requests) + ", bytes moved " +
        std::to_string(counters.read_bytes + counters.written_bytes) + ", " + seconds_text(counters.total_seconds) +
        " (predicted " + seconds_text(kind.predicted_seconds) + ")");
    if (const auto reason = reasons_.find(name); reason != reasons_.end()) say("    " + reason->second);
  }
  for (const std::string& note : notes_) say("  " + note);
}

void tell_given_back(const std::string& path, const std::string& reason) {
  say(path + ": given back to MPI: " + reason);
}

}  // namespace swath::mpi_io
