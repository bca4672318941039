#include "formats/netcdf/whole.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "formats/netcdf/define.h"
#include "formats/netcdf/values.h"
#include "formats/refusals.h"

namespace swath::formats::netcdf {
namespace {

// Makes a header, and notes what it cannot contain.
class Builder {
 public:
  explicit Builder(int version) { whole_.header.version = version; }

  void add_file(const Group& group) {
    for (const auto& [name, value] : group.attributes.entries()) {
      attempt("", [&] { change_attributes(whole_.header, nullptr, {{name, stored(name, value)}}); });
    }
    for (const Dimension& dimension : group.dimensions) {
      attempt("", [&] { add_dimension(whole_.header, dimension); });
    }
    for (const StoredDimension& dimension : whole_.header.dimensions) {
      if (dimension.is_unlimited()) records_ = dimension.name;
    }
  }

  void add_group(const Group& group) {
    whole_.refusals.push_back("group " + group.path + ": netCDF classic has no groups");
  }

  void add(const NewArray& array) {
    const std::string what = array.path() + ": ";
    NewArray wanted = array;
    wanted.attributes = {};
    for (const auto& [name, value] : array.attributes.entries()) {
      attempt(what, [&] {
        stored_attribute(name, stored(name, value), whole_.header.version);
        wanted.attributes.set(name, value);
      });
    }
    if (array.dimensions && array.grows(0) && !records_) {
      records_ = array.dimensions->front();
      attempt(what, [&] { add_dimension(whole_.header, {*records_, array.shape.front(), true}); });
    }
    for (size_t axis = 0; array.dimensions && axis < array.shape.size(); ++axis) {
      if ((*array.dimensions)[axis] == records_) wanted.shape[axis] = 0;
    }
    attempt(what, [&] {
      refuse_other_orders(wanted, "netCDF");
      refuse_chunks(wanted, "netCDF classic");
      add_variable(whole_.header, wanted);
    });
  }

  WholeHeader finish() {
    attempt("", [&] { assign_begins(whole_.header); });
    return std::move(whole_);
  }

 private:
  // Changes the header, or notes why this is not possible.
  template <typename Change>
  void attempt(const std::string& what, Change change) {
    try {
      change();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kArgument && error.os_error() != EEXIST) throw;
      whole_.refusals.push_back(what + error.what());
    }
  }

  static AttributeValue stored(const std::string& name, const AttributeValue& value) {
    if (!std::holds_alternative<NullValue>(value)) return value;
    fail_argument("attribute " + name + ": netCDF classic stores text and numbers, not null");
  }

  WholeHeader whole_ = {};
  std::optional<std::string> records_;  // the file's own unlimited dimension
};

}  // namespace

int version_of(const std::string& flavour) {
  if (flavour == "cdf1") return 1;
  if (flavour == "cdf2") return 2;
  if (flavour.empty() || flavour == "cdf5") return 5;
  fail_argument("netcdf-classic:" + flavour + " is no version of netCDF classic; expected cdf1, cdf2 or cdf5");
}

WholeHeader WholeHeader::of(const NewContents& contents) {
  Builder builder(version_of(contents.flavour));
  const auto has_group = [&](const std::string& path) {
    return std::any_of(contents.groups.begin(), contents.groups.end(),
                       [&](const Group& one) { return one.path == path; });
  };
  for (const Group& group : contents.groups) {
    if (group.path.empty()) {
      builder.add_file(group);
    } else {
      builder.add_group(group);
    }
  }
  for (const NewArray& array : contents.arrays) {
    const std::string group = group_and_name(array.path()).first;
    // an array in another group is left out: its group was refused
    if (group.empty() || !has_group(group)) builder.add(array);
  }
  return builder.finish();
}

}  // namespace swath::formats::netcdf
