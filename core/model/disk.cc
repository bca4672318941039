#include "model/disk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/math.h"

namespace swath {

double Timeline::reserve(double earliest, double duration) {
  if (duration <= 0) return earliest;
  double begin = earliest;
  auto next = busy_.upper_bound(earliest);
  if (next != busy_.begin()) begin = std::max(begin, std::prev(next)->second);
  while (next != busy_.end() && next->first < begin + duration) begin = std::max(begin, (next++)->second);

  // Joined to a neighbour that it touches, so that a server without pause is one interval.
  double end = begin + duration;
  if (next != busy_.end() && next->first == end) {
    end = next->second;
    next = busy_.erase(next);
  }
  if (next != busy_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    busy_.emplace(begin, end);
  }
  return begin + duration;
}

void Timeline::forget_before(double time) {
  while (!busy_.empty() && busy_.begin()->second <= time) busy_.erase(busy_.begin());
}

namespace {

void check(const DiskParameters& p) {
  const auto expect = [&p](bool good, const std::string& what) {
    if (!good) fail_argument("modelled disk " + p.name + ": expected " + what);
  };
  expect(p.disks >= 1, "at least one disk");
  expect(p.capacity_bytes > 0, "a capacity above 0");
  expect(p.media_bytes_per_second > 0, "a media rate above 0");
  expect(p.seek_shortest_seconds >= 0 && p.seek_longest_seconds >= p.seek_shortest_seconds,
         "0 <= shortest seek <= longest seek");
  expect(p.rotation_seconds >= 0 && p.request_seconds >= 0 && p.near_bytes >= 0 && p.link_bytes_per_second >= 0,
         "rotation, request time, near gap and link rate of 0 or more");
  expect(p.stripe_bytes > 0 || (p.stripe_bytes == 0 && p.disks == 1), "a stripe unit where there are several disks");
  expect(!p.parity || p.disks >= 3, "at least 3 disks for RAID-5");
  expect(p.segments >= 0 && (p.segments == 0 || p.segment_bytes > 0), "segments that are longer than 0");
  expect(p.request_bytes > 0 && p.allocation_bytes > 0, "requests and allocations longer than 0");
}

int data_disks(const DiskParameters& p) { return p.disks - (p.parity ? 1 : 0); }

// Of stripe `row`: it goes round, so that no disk has all parity.
int parity_disk(const DiskParameters& p, int64_t row) { return p.disks - 1 - static_cast<int>(row % p.disks); }

int64_t usable_bytes(const DiskParameters& p) {
  const int64_t unit = p.stripe_bytes == 0 ? 1 : p.stripe_bytes;
  return p.capacity_bytes / unit * unit * data_disks(p);
}

// Left-symmetric: data begins beside the parity, so that units one after another are on disks one after another.
//
//   disks   0   1   2   3
//   row 0   0   1   2   P
//   row 1   4   5   P   3
//   row 2   8   P   6   7
int data_disk(const DiskParameters& p, int64_t unit) {
  const int64_t row = unit / data_disks(p);
  const int64_t place = unit % data_disks(p);
  const int64_t first = p.parity ? parity_disk(p, row) + 1 : 0;
  return static_cast<int>((first + place) % p.disks);
}

// What is left of [begin, end) before the array's end; addresses past the end wrap (a smaller disk took the place).
DiskRange wrapped(const DiskRange& range, int64_t usable) {
  const int64_t position = range.position % usable;
  return {position, std::min(range.bytes, usable - position)};
}

}  // namespace

std::vector<DiskPart> parts_of(const DiskParameters& p, const DiskRange& asked) {
  const DiskRange range = wrapped(asked, usable_bytes(p));
  if (p.stripe_bytes == 0) return {{0, range.position, range.bytes}};
  std::vector<DiskPart> parts;
  std::vector<int64_t> last_of(p.disks, -1);
  const int64_t end = range.position + range.bytes;
  for (int64_t at = range.position; at < end;) {
    const int64_t unit = at / p.stripe_bytes;
    const int64_t length = std::min(end, (unit + 1) * p.stripe_bytes) - at;
    const int disk = data_disk(p, unit);
    const int64_t position = unit / data_disks(p) * p.stripe_bytes + at % p.stripe_bytes;
    const int64_t last = last_of[disk];
    if (last >= 0 && parts[last].position + parts[last].bytes == position) {
      parts[last].bytes += length;
    } else {
      last_of[disk] = std::ssize(parts);
      parts.push_back({disk, position, length});
    }
    at += length;
  }
  return parts;
}

std::vector<DiskPart> parity_of(const DiskParameters& p, const DiskRange& asked) {
  if (!p.parity) return {};
  const DiskRange range = wrapped(asked, usable_bytes(p));
  std::vector<DiskPart> parts;
  const int64_t row_bytes = p.stripe_bytes * data_disks(p);
  const int64_t end = range.position + range.bytes;
  for (int64_t at = range.position; at < end;) {
    const int64_t row = at / row_bytes;
    const int64_t row_end = std::min(end, (row + 1) * row_bytes);
    const int64_t from = at % row_bytes / data_disks(p);
    const int64_t to = ceil_div(row_end - row * row_bytes, data_disks(p));
    parts.push_back({parity_disk(p, row), row * p.stripe_bytes + from, to - from});
    at = row_end;
  }
  return parts;
}

DiskModel::DiskModel(DiskParameters parameters) { replace(std::move(parameters)); }

void DiskModel::replace(DiskParameters parameters) {
  check(parameters);
  parameters_ = std::move(parameters);
  disks_.assign(parameters_.disks, {});
  start_again();
}

int64_t DiskModel::capacity_bytes() const { return usable_bytes(parameters_); }

void DiskModel::start_again() {
  for (Disk& disk : disks_) disk.busy_until = 0;
  streams_.clear();
  link_.clear();
  last_arrival_ = 0;
}

double DiskModel::serve(const DiskRequest& request, double arrival) {
  if (arrival < last_arrival_) start_again();
  last_arrival_ = arrival;
  link_.forget_before(arrival);
  statistics_.requests += 1;

  const bool reading = request.direction == Direction::kRead;
  const double ready = arrival + parameters_.request_seconds;
  double done = ready;
  int64_t bytes = 0;
  for (const DiskRange& range : request.ranges) {
    if (range.bytes <= 0) continue;
    bytes += range.bytes;
    if (reading) {
      done = std::max(done, read(request, range, ready));
    } else {
      done = std::max(done, access(request, parts_of(parameters_, range), ready));
      done = std::max(done, access(request, parity_of(parameters_, range), ready));
    }
  }
  (reading ? statistics_.read_bytes : statistics_.written_bytes) += bytes;
  if (parameters_.link_bytes_per_second == 0) return done;
  return link_.reserve(done, static_cast<double>(bytes) / parameters_.link_bytes_per_second);
}

double DiskModel::read(const DiskRequest& request, const DiskRange& range, double ready) {
  if (parameters_.segments == 0) return access(request, parts_of(parameters_, range), ready);
  const auto stream = std::find_if(streams_.begin(), streams_.end(), [&range](const Stream& s) {
    return s.begin <= range.position && range.position <= s.end;
  });
  if (stream != streams_.end()) {
    streams_.splice(streams_.begin(), streams_, stream);
    return go_on(request, *stream, range, ready);
  }
  const double done = access(request, parts_of(parameters_, range), ready);
  track(range, done);
  return done;
}

void DiskModel::track(const DiskRange& range, double done) {
  if (std::ssize(streams_) == parameters_.segments) streams_.pop_back();
  const int64_t end = range.position + range.bytes;
  streams_.push_front({range.position, end, end, done, done});
}

// A read inside a tracked stream, or at its end: of what is not there yet a whole segment is read.
double DiskModel::go_on(const DiskRequest& request, Stream& stream, const DiskRange& range, double ready) {
  const int64_t end = range.position + range.bytes;
  double done = ready;
  if (range.position < stream.end && stream.reading_from < stream.end) {
    const auto read_before = static_cast<double>(std::min(end, stream.end) - stream.reading_from);
    const auto all = static_cast<double>(stream.end - stream.reading_from);
    const double part = std::max(0.0, read_before / all);
    done = std::max(done, stream.read_begin + part * (stream.read_end - stream.read_begin));
  }
  if (end <= stream.end) {
    statistics_.prefetch_hits += 1;
    return done;
  }
  const int64_t rest = end - stream.end;
  const int64_t ahead = std::max<int64_t>(0, std::min(parameters_.segment_bytes - rest, capacity_bytes() - end));
  const double rest_done = access(request, parts_of(parameters_, {stream.end, rest}), ready);
  double ahead_done = rest_done;
  if (ahead > 0) {
    ahead_done = std::max(rest_done, access(request, parts_of(parameters_, {end, ahead}), ready));
    statistics_.prefetched_bytes += ahead;
  }
  stream = {stream.end, end + ahead, end, rest_done, ahead_done};
  return std::max(done, rest_done);
}

double DiskModel::access(const DiskRequest& request, const std::vector<DiskPart>& parts, double ready) {
  double done = ready;
  for (const DiskPart& part : parts) done = std::max(done, access(request, part, ready));
  return done;
}

double DiskModel::access(const DiskRequest& request, const DiskPart& part, double ready) {
  Disk& disk = disks_[part.disk];
  const double start = std::max(ready, disk.busy_until);
  const int64_t gap = part.position - disk.head;
  double moving = 0;
  bool seeked = false;
  if (gap != 0) {
    const double distance = static_cast<double>(std::abs(gap)) / static_cast<double>(parameters_.capacity_bytes);
    moving =
        parameters_.seek_shortest_seconds + parameters_.rotation_seconds +
        (parameters_.seek_longest_seconds - parameters_.seek_shortest_seconds) * std::sqrt(std::min(1.0, distance));
    const double reading_over = static_cast<double>(gap) / parameters_.media_bytes_per_second;
    seeked = gap < 0 || gap > parameters_.near_bytes || reading_over > moving;
    if (!seeked) moving = reading_over;
    statistics_.seeks += seeked ? 1 : 0;
    statistics_.skips += seeked ? 0 : 1;
    statistics_.seek_seconds += moving;
  }
  const double duration = moving + static_cast<double>(part.bytes) / parameters_.media_bytes_per_second;
  statistics_.busy_seconds += duration;
  disk.head = part.position + part.bytes;
  disk.busy_until = start + duration;
  if (recording_) {
    trace_.push_back({start, part.disk, part.position, part.bytes, request.stream, request.direction, seeked});
  }
  return disk.busy_until;
}

}  // namespace swath
