#include "base/units.h"

#include <array>
#include <cstdio>

namespace swath {

std::string with_commas(int64_t value) {
  std::string digits = std::to_string(value);
  const int64_t first = value < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string in_bytes(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string in_seconds(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  const Unit* unit = kUnits.data();
  while (unit->seconds > seconds * 1.0005 && unit + 1 < kUnits.data() + kUnits.size()) ++unit;
  const double value = seconds / unit->seconds;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", value < 9.995 ? 2 : (value < 99.95 ? 1 : 0), value, unit->name);
  return text.data();
}

}  // namespace swath
