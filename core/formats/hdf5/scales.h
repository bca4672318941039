// The dimensions of a file that is changed: dimension scales (survey.h says what they are), found, made and attached.
//
// Their attributes are written here, as HDF5's specification of dimension scales has them: its own calls for scales are
// in another library, and crash or hang where one is damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// What is known of the file's dimensions as a whole, as long as it is open.
struct DimensionState {
  std::optional<bool> is_netcdf4;  // whether netCDF-4 stores what it needs in the file
  std::optional<int64_t> next_number;
};

class Scales {
 public:
  Scales(const OpenFile& file, DimensionState& state) : file_(file), state_(state) {}

  bool is_netcdf4();

  // The scale that a name means as seen from a group: its own, or of the nearest above; not open for none.
  Handle find(std::string group, const std::string& name) const;
  // Makes a dimension without a coordinate variable.
  Handle define(const std::string& group, const std::string& name, int64_t length, bool is_unlimited);
  // Gives a scale's dimension its number in netCDF-4, by default the next.
  void number(hid_t scale, std::optional<int64_t> number = std::nullopt);
  // Notes the numbers of a variable's dimensions, where all have one.
  void note_numbers(hid_t dataset, const std::vector<hid_t>& scales);

  // A dataset that a scale is attached to, and which of its dimensions it is of.
  struct User {
    Handle dataset;
    size_t axis = 0;
  };
  std::vector<User> users(hid_t scale) const;
  // Detaches a scale from whatever it is attached to.
  std::vector<User> detach_all(hid_t scale) const;
  static void attach(hid_t scale, hid_t dataset, size_t axis);

 private:
  const OpenFile& file_;
  DimensionState& state_;
};

// Makes a scale of a dataset. `name`: what its NAME says.
void make_scale(hid_t dataset, const std::string& name);
// The length of a scale's dimension: where it grows, that of the longest dataset along it.
int64_t length_of(const Scales& scales, hid_t scale);
// Throws Error{kArgument} unless a new variable's dimension is as its scale says.
void check_scale(hid_t scale, int64_t length, bool is_unlimited);

}  // namespace swath::formats::hdf5
