#include "plan/profile.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace swath {
namespace {

constexpr double kMicro = 1e-6;

// Seconds of one request by its bytes: a fixed part, and a rate.
Curve requests(double fixed_seconds, double bytes_per_second) {
  std::vector<Curve::Point> points;
  for (int64_t size = 8; size <= 1 << 23; size *= 8) {
    const auto bytes = static_cast<double>(size);
    points.push_back({bytes, fixed_seconds + bytes / bytes_per_second});
  }
  return Curve(points);
}

Profile make_defaults() {
  Profile profile;
  profile.cache.read = requests(0.6 * kMicro, 7e9);
  profile.cache.write = requests(1.1 * kMicro, 3.5e9);
  profile.cache.read_jump = 0.1 * kMicro;
  profile.cache.write_jump = 0.2 * kMicro;
  profile.cache.read_jump_batched = 0.1 * kMicro;
  profile.cache.read_slowdown = profile.cache.write_slowdown = Curve({{1, 1}, {2, 1.2}});
  profile.look = requests(3 * kMicro, 9e9);
  profile.look_page_seconds = 0.06 * kMicro;
  profile.device.read = requests(40 * kMicro, 1e9);
  profile.device.write = requests(60 * kMicro, 0.5e9);
  profile.device.read_jump = 40 * kMicro;
  profile.device.write_jump = 40 * kMicro;
  profile.device.read_jump_batched = 10 * kMicro;
  profile.device.read_slowdown = profile.device.write_slowdown = Curve({{1, 1}, {2, 1.8}, {8, 7}});
  profile.operation_seconds = 20 * kMicro;
  profile.late_operation_seconds = 40 * kMicro;
  profile.lock_seconds = 1.5 * kMicro;
  profile.sync_seconds = 2e-3;
  profile.sync_byte_seconds = 2e-9;
  profile.read_piece_seconds = 0.07 * kMicro;
  profile.write_piece_seconds = 0.11 * kMicro;
  profile.visit_seconds = 0.2 * kMicro;
  profile.gather = Curve({{1, 0.8e-9}, {8, 0.15e-9}, {64, 0.1e-9}, {512, 0.09e-9}});
  profile.scatter = Curve({{1, 0.8e-9}, {8, 0.18e-9}, {64, 0.12e-9}, {512, 0.1e-9}});
  profile.exchange_gather = Curve({{1, 1e-9}, {8, 0.3e-9}, {64, 0.15e-9}, {512, 0.12e-9}});
  profile.exchange_scatter = Curve({{1, 1e-9}, {8, 0.4e-9}, {64, 0.2e-9}, {512, 0.15e-9}});
  const double mib = 1 << 20;
  profile.memory_byte_store = Curve({{mib, 0.005e-9}, {4 * mib, 0.05e-9}, {64 * mib, 0.1e-9}});
  profile.memory_byte_load = Curve({{mib, 0.005e-9}, {4 * mib, 0.1e-9}, {64 * mib, 0.2e-9}});
  profile.memory_line_store = Curve({{mib / 4, 2e-9}, {mib, 8e-9}, {16 * mib, 20e-9}});
  profile.memory_line_load = Curve({{mib / 4, 2e-9}, {mib, 5e-9}, {16 * mib, 12e-9}});
  profile.copy_slowdown = Curve({{1, 1}, {2, 1.2}});
  profile.barrier = Curve({{1, 0.05 * kMicro}, {2, 3 * kMicro}, {4, 10 * kMicro}, {8, 25 * kMicro}});
  profile.round = Curve({{1, 0.1 * kMicro}, {2, 2 * kMicro}, {4, 6 * kMicro}, {8, 12 * kMicro}});
  profile.message_seconds = 5 * kMicro;
  profile.message_byte_seconds = 0.3e-9;
  // A Ceph cluster of four OSDs in memory, on the machine itself.
  profile.objects.read = {100 * kMicro, 22 * kMicro, 0.7e-9, 0.8 * kMicro, 0.05 * kMicro, 1e-9, 0.3e-9};
  profile.objects.write = {170 * kMicro, 60 * kMicro, 2e-9, 3.5 * kMicro, 0.1 * kMicro, 2e-9, 0.8e-9};
  profile.objects.network = 60 * kMicro;
  profile.chunk_open_seconds = 15 * kMicro;
  profile.chunk_create_seconds = 60 * kMicro;
  profile.zstd = {1e-9, 4e-9};
  profile.blosc = {0.5e-9, 1.5e-9};
  profile.lz4 = {0.4e-9, 2e-9};
  profile.deflate = {1.5e-9, 12e-9};
  profile.shuffle = {0.15e-9, 0.15e-9};
  profile.checksum = {0.15e-9, 0.3e-9};
  return profile;
}

}  // namespace

const CodecCost& Profile::codec(const std::string& name) const {
  if (name == "blosc") return blosc;
  if (name == "lz4" || name == "hdf5-lz4") return lz4;
  if (name == "gzip" || name == "zlib") return deflate;
  if (name == "shuffle") return shuffle;
  if (name == "crc32c" || name == "fletcher32") return checksum;
  return zstd;
}

CodecCost Profile::coding(const std::vector<std::string>& codecs) const {
  CodecCost sum;
  for (const std::string& name : codecs) {
    sum.decode += codec(name).decode;
    sum.encode += codec(name).encode;
  }
  return sum;
}

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {
  for (size_t i = 0; i < points_.size(); ++i) {
    const auto& [x, y] = points_[i];
    const bool ascends = i == 0 || x > points_[i - 1].x;
    if (!ascends || !(x > 0) || !(y > 0) || !std::isfinite(x) || !std::isfinite(y)) {
      fail_argument("profile: point " + std::to_string(i) + " of a curve is (" + std::to_string(x) + ", " +
                    std::to_string(y) + "): expected positive numbers with ascending x");
    }
  }
}

double Curve::at(double x) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), x,
                                      [](double value, const Point& point) { return value < point.x; });
  if (after == points_.begin()) return points_.front().y;
  if (after == points_.end()) return points_.back().y;
  const Point& low = *(after - 1);
  return low.y + (after->y - low.y) * ((x - low.x) / (after->x - low.x));
}

double Curve::at_or_in_proportion(double x) const {
  const Point& last = points_.back();
  return x > last.x ? last.y * x / last.x : at(x);
}

double Curve::times_x_at(double x) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), x,
                                      [](double value, const Point& point) { return value < point.x; });
  if (after == points_.begin()) return points_.front().y * points_.front().x;
  if (after == points_.end()) return points_.back().y * x;
  const Point& low = *(after - 1);
  const double low_total = low.x * low.y;
  return low_total + (after->x * after->y - low_total) * ((x - low.x) / (after->x - low.x));
}

double Medium::gap_seconds(Direction direction, double gap_bytes) const {
  const Curve& curve = direction == Direction::kRead ? read_gap : write_gap;
  const double jump = jump_seconds(direction);
  if (curve.empty() || gap_bytes >= curve.points().back().x) return jump;
  return std::min(curve.at(gap_bytes), jump);
}

std::string to_string(Scale scale) {
  switch (scale) {
    case Scale::kSmall:
      return "small";
    case Scale::kMedium:
      return "medium";
    case Scale::kLarge:
      return "large";
  }
  throw Error(ErrorKind::kInternal, "a scale has no name");
}

Scale scale_of(double span_bytes) {
  constexpr double kCoreCacheBytes = 1 << 20;
  constexpr double kProcessorCacheBytes = 32 << 20;
  if (span_bytes < kCoreCacheBytes) return Scale::kSmall;
  return span_bytes < kProcessorCacheBytes ? Scale::kMedium : Scale::kLarge;
}

void Corrections::observe(size_t place, double ratio) {
  constexpr double kCommonWeight = 1.0 / 8;
  constexpr double kMethodWeight = 1.0 / 16;
  const double known = factor(place);
  const double surprise = std::clamp(ratio / known, 0.5, 2.0);
  const auto learn = [&](size_t of, double weight) {
    factors_[of] = std::clamp(factors_[of] * (1 + weight * (surprise - 1)), 1 / kMost, kMost);
    ++observations_[of];
  };
  learn(common_place(place), kCommonWeight);
  learn(place, kMethodWeight);
}

void Corrections::set(size_t place, double factor, int64_t observations) {
  factors_[place] = std::clamp(factor, 1 / kMost, kMost);
  observations_[place] = observations;
}

const Profile& default_profile() {
  static const Profile defaults = make_defaults();
  return defaults;
}

}  // namespace swath
