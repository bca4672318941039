// Converts profiles between C++ and JSON: every number and curve has a dotted name.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings.h"
#include "plan/cost_estimate.h"
#include "plan/profile.h"
#include "plan/profile_text.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Facts;

namespace {

using swath::Curve;
using swath::Profile;

using Points = std::vector<std::pair<double, double>>;

std::string shown(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

void set_member(const std::string& name, std::string& member, nb::handle value) {
  if (!nb::try_cast(value, member)) {
    swath::fail_argument("profile: " + name + " is " + shown(value) + ": expected text");
  }
}

void set_member(const std::string& name, double& member, nb::handle value) {
  if (!nb::try_cast(value, member) || !std::isfinite(member) || member < 0) {
    swath::fail_argument("profile: " + name + " is " + shown(value) + ": expected a finite number, 0 or more");
  }
}

// Only the device may be unknown; its curves are then empty. Without prices of gaps each is a jump.
void set_member(const std::string& name, Curve& member, nb::handle value) {
  Points pairs;
  if (!nb::try_cast(value, pairs)) {
    swath::fail_argument("profile: " + name + " is " + shown(value) + ": expected a list of [x, y]");
  }
  if (pairs.empty() && !name.starts_with("device.") && !name.ends_with("_gap")) {
    swath::fail_argument("profile: " + name + " has no points: expected at least one [x, y]");
  }
  std::vector<Curve::Point> points;
  for (const auto& [x, y] : pairs) points.push_back({x, y});
  try {
    member = Curve(std::move(points));
  } catch (const swath::Error& error) {
    swath::fail_argument(name + ": " + error.what());
  }
}

Profile profile_of(const Facts& values) {
  Profile profile = swath::default_profile();
  size_t known = 0;
  swath::for_each_member(profile, [&](const std::string& name, auto& member) {
    if (!values.contains(name.c_str())) return;
    ++known;
    set_member(name, member, values[name.c_str()]);
  });
  if (known == values.size()) return profile;
  for (const auto& [key, value] : values) {
    bool is_known = false;
    const std::string asked = nb::isinstance<nb::str>(key) ? nb::cast<std::string>(key) : shown(key);
    swath::for_each_member(profile, [&](const std::string& name, auto&) { is_known |= name == asked; });
    if (!is_known) swath::fail_argument("profile: \"" + asked + "\" is no number of a profile");
  }
  return profile;
}

Facts profile_dict(const Profile& profile) {
  Facts values;
  swath::for_each_member(profile, [&](const std::string& name, const auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Curve>) {
      nb::list points;
      for (const auto& [x, y] : member.points()) {
        nb::list point;
        point.append(x);
        point.append(y);
        points.append(point);
      }
      values[name.c_str()] = points;
    } else {
      values[name.c_str()] = member;
    }
  });
  return values;
}

Profile observed_profile(const Profile& profile, const std::string& place, double ratio, int times) {
  for (size_t number = 0; number < swath::Corrections::kMethods; ++number) {
    if (swath::correction_name(number) != place) continue;
    Profile learned = profile;
    for (int i = 0; i < times; ++i) learned.corrections.observe(number, ratio);
    return learned;
  }
  swath::fail_argument("profile: \"" + place + "\" is no place of a correction");
}

using Correction = std::pair<double, int64_t>;

Profile with_corrections(const Profile& profile, const std::map<std::string, Correction>& corrections) {
  Profile corrected = profile;
  for (size_t place = 0; place < swath::Corrections::kCount; ++place) {
    const auto found = corrections.find(swath::correction_name(place));
    if (found != corrections.end()) corrected.corrections.set(place, found->second.first, found->second.second);
  }
  return corrected;
}

std::map<std::string, Correction> corrections_of(const Profile& profile) {
  std::map<std::string, Correction> corrections;
  for (size_t place = 0; place < swath::Corrections::kCount; ++place) {
    const int64_t seen = profile.corrections.observations(place);
    if (seen > 0) corrections[swath::correction_name(place)] = {profile.corrections.part(place), seen};
  }
  return corrections;
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", "What a store and a machine cost: all that prices are made from.")
      .def_static("from_dict", &profile_of, "values"_a,
                  "From dotted names, curves as lists of [x, y]; what is not named is as in the stated defaults.")
      .def("to_dict", &profile_dict)
      .def("observed", &observed_profile, "place"_a, "ratio"_a, "times"_a = 1,
           "A profile that has learned, so many times, what operations took that are corrected at `place`: measured "
           "seconds to their uncorrected price.")
      .def("with_corrections", &with_corrections, "corrections"_a, "{place: (factor, observations)}")
      .def_prop_ro("corrections", &corrections_of, "{place: (factor, observations)} of what was ever observed.")
      .def(
          "coding",
          [](const Profile& profile, const std::vector<std::string>& codecs) {
            const swath::CodecCost cost = profile.coding(codecs);
            return std::make_pair(cost.decode, cost.encode);
          },
          "codecs"_a, "Seconds a byte of decoding and of encoding by all of these codecs, one after another.")
      .def("text", &swath::profile_text, "As bindings/mpi_io reads it (core/plan/profile_text.h).")
      .def_prop_ro("source", [](const Profile& profile) { return profile.source; });
  m.def("default_profile", [] { return swath::default_profile(); });
}
