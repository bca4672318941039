// The dimensions of a file that is changed: finds, makes and attaches dimension scales (survey.h explains them).
//
// This code writes their attributes by HDF5's specification of dimension scales: HDF5's own calls for scales are in
// another library, and crash or hang if a scale is damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// Facts about the file's dimensions, valid while it is open.
struct DimensionState {
  std::optional<bool> is_netcdf4;  // whether the file has netCDF-4's own attributes
  std::optional<int64_t> next_number;
};

class Scales {
 public:
  Scales(const OpenFile& file, DimensionState& state) : file_(file), state_(state) {}

  bool is_netcdf4();

  // The scale that a name means in a group: the group's own, or that of the nearest group above; not open if none.
  Handle find(std::string group, const std::string& name) const;
  // Makes a dimension without a coordinate variable.
  Handle define(const std::string& group, const std::string& name, int64_t length, bool is_unlimited);
  // Gives a scale's dimension its number in netCDF-4, by default the next one.
  void number(hid_t scale, std::optional<int64_t> number = std::nullopt);
  // Records the numbers of a variable's dimensions, if all have one.
  void note_numbers(hid_t dataset, const std::vector<hid_t>& scales);

  // A dataset that a scale is attached to, and the number of its dimension.
  struct User {
    Handle dataset;
    size_t axis = 0;
  };
  std::vector<User> users(hid_t scale) const;
  // Detaches a scale from all datasets.
  std::vector<User> detach_all(hid_t scale) const;
  static void attach(hid_t scale, hid_t dataset, size_t axis);

 private:
  const OpenFile& file_;
  DimensionState& state_;
};

// Makes a dataset a scale. `name`: the value of its attribute NAME.
void make_scale(hid_t dataset, const std::string& name);
// The length of a scale's dimension: if it grows, the length of the longest dataset along it.
int64_t length_of(const Scales& scales, hid_t scale);
// Throws Error{kArgument} if a new variable's dimension differs from its scale.
void check_scale(hid_t scale, int64_t length, bool is_unlimited);

}  // namespace swath::formats::hdf5
