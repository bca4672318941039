#include "formats/hdf5/new_dataset.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/element_types.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/new_storage.h"
#include "formats/hdf5/survey.h"
#include "formats/hdf5/write_attributes.h"
#include "formats/refusals.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

bool is_dataset(const Handle& found) { return found.is_open() && library().H5Iget_type(found.get()) == H5I_DATASET; }

bool is_scale_alone(const Handle& found) { return is_dataset(found) && is_dimension_only(found.get()); }

// Makes one new dataset step by step.
class NewDataset {
 public:
  NewDataset(const OpenFile& file, Scales& scales, const NewArray& array, const std::optional<Shape>& chunks)
      : file_(file), scales_(scales), new_(array), chunks_(chunks), shape_(array.shape) {
    std::tie(group_, name_) = group_and_name(without_slashes(array.path()));
  }

  MadeDataset make() {
    check_name();
    make_groups(file_, group_);
    const Handle stored = type_of_elements();
    MadeDataset made{.fill = fill()};
    const std::vector<std::string> names = dimension_names();
    shape_ = shape_along(names);
    const bool is_coordinate = is_coordinate_of(names);
    if (is_coordinate) {
      made.dataset = made_coordinate(names, stored, made.fill);
    } else {
      made.dataset = made_variable(names, stored, made.fill);
    }
    set_attributes(made.dataset.get());
    const bool has_names = std::any_of(names.begin(), names.end(), [](const auto& name) { return !name.empty(); });
    made.seen = {shape_, has_names ? names : std::vector<std::string>{}};
    return made;
  }

 private:
  Handle item(const std::string& name) const { return item_at(file_, joined(group_, name)); }

  // ---- Name, type, room

  void check_name() const {
    check_dataset_name(new_.path());
    for (const std::string& name : {name_, std::string(kOtherName) + name_}) {
      const Handle found = item(name);
      if (!found.is_open() || is_scale_alone(found)) continue;
      const std::string what = is_dataset(found) ? "variable" : "group";
      throw Error(ErrorKind::kStore,
                  file_.path() + ": there is a " + what + " '" + without_slashes(new_.path()) +
                      "' already; choose another name, or open it with mode=\"r+\" to write into it",
                  EEXIST);
    }
  }

  // An enumeration becomes a named type of the file, as in netCDF-4.
  Handle type_of_elements() const {
    check_stored_type(new_.type, scales_.is_netcdf4());
    Handle plain = stored_type(new_.type);
    if (!new_.enumeration || new_.enumeration->members.empty()) return plain;
    Handle kind(library().H5Tenum_create(plain.get()));
    for (const auto& [name, number] : new_.enumeration->members) {
      // The number in the bytes and the byte order of the type.
      int64_t value = number;
      checked(library().H5Tconvert(library().id("H5T_NATIVE_LLONG_g"), plain.get(), 1, &value, nullptr, H5P_DEFAULT));
      checked(library().H5Tenum_insert(kind.get(), name.c_str(), &value));
    }
    const std::string& called = new_.enumeration->name;
    if (called.empty() && !scales_.is_netcdf4()) return kind;
    const std::string path = called.empty() ? name_ + "_t" : called;
    Handle there = item(path);
    if (there.is_open()) {
      const bool is_same = library().H5Iget_type(there.get()) == H5I_DATATYPE &&
                           checked(library().H5Tequal(there.get(), kind.get())) > 0;
      return is_same ? std::move(there) : std::move(kind);
    }
    const Handle properties(library().H5Pcreate(library().id("H5P_CLS_DATATYPE_CREATE_ID_g")));
    checked(library().H5Pset_obj_track_times(properties.get(), false));
    checked(library().H5Tcommit2(file_.id(), path_of_new(file_, group_, path).c_str(), kind.get(),
                                 link_properties().get(), properties.get(), H5P_DEFAULT));
    return kind;
  }

  std::optional<std::vector<std::byte>> fill() const {
    if (new_.type.is_text()) return std::nullopt;
    if (new_.fill) return new_.fill;
    const AttributeValue* value = new_.attributes.find("_FillValue");
    if (value != nullptr && !std::holds_alternative<NullValue>(*value)) {
      return fill_element("attribute '_FillValue'", *value, new_.type);
    }
    if (!scales_.is_netcdf4()) return std::nullopt;
    std::vector<std::byte> found = netcdf_fill(new_.type);
    return found.empty() ? std::vector<std::byte>(static_cast<size_t>(new_.type.bytes)) : found;
  }

  Handle made(const std::string& name, const Handle& stored, const std::optional<std::vector<std::byte>>& fill) const {
    const Library& all = library();
    const Handle properties = dataset_properties();
    set_storage(properties.get(), new_, chunks_);
    if (fill) checked(all.H5Pset_fill_value(properties.get(), stored_type(new_.type).get(), fill->data()));
    std::vector<hsize_t> lengths(shape_.begin(), shape_.end());
    const std::vector<hsize_t> longest = maxshape();
    const Handle space(lengths.empty()
                           ? all.H5Screate(H5S_SCALAR)
                           : all.H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), longest.data()));
    Handle dataset(all.H5Dcreate2(file_.id(), path_of_new(file_, group_, name).c_str(), stored.get(), space.get(),
                                  link_properties().get(), properties.get(), H5P_DEFAULT));
    const Handle kept(all.H5Dget_create_plist(dataset.get()));
    check_kept(kept.get(), codecs_of_new(new_));
    return dataset;
  }

  // The largest length of each dimension.
  std::vector<hsize_t> maxshape() const {
    std::vector<hsize_t> found(shape_.begin(), shape_.end());
    for (size_t axis = 0; axis < found.size(); ++axis) {
      const bool has_limit = axis < new_.maxshape.size();
      if (new_.grows(axis) || (has_limit && !new_.maxshape[axis])) {
        found[axis] = H5S_UNLIMITED;
      } else if (has_limit) {
        found[axis] = std::max(found[axis], static_cast<hsize_t>(*new_.maxshape[axis]));
      }
    }
    return found;
  }

  void set_attributes(hid_t dataset) const {
    const bool as_netcdf = scales_.is_netcdf4();
    Attributes given;
    const AttributeValue* fill = new_.attributes.find("_FillValue");
    if (new_.type.kind != 'V') {
      if (new_.marks_fill && new_.fill && !new_.type.is_text()) {
        given.add("_FillValue", NumbersValue{new_.type, {}, *new_.fill});
      } else if (fill != nullptr) {
        given.add("_FillValue", *fill);
      }
    }
    for (const auto& [name, value] : new_.attributes.entries()) {
      if (name != "_FillValue") given.add(name, value);
    }
    const ElementType* elements = new_.type.is_text() ? nullptr : &new_.type;
    write_attributes({dataset, without_slashes(new_.path()), elements}, given, as_netcdf);
    if (new_.stated_fill) write_attribute(dataset, "_FillValue", *new_.stated_fill, as_netcdf);
  }

  // ---- Dimensions

  std::vector<std::string> dimension_names() const {
    const bool is_netcdf4 = scales_.is_netcdf4();
    if (new_.dimensions) {
      if (new_.dimensions->size() != new_.shape.size()) {
        fail_argument(file_.path() + ": " + std::to_string(new_.dimensions->size()) + " names for the dimensions of " +
                      tuple_text(new_.shape) + "; expected one for each");
      }
      for (const std::string& name : *new_.dimensions) check_dimension_name(name, is_netcdf4);
      return *new_.dimensions;
    }
    std::vector<std::string> names;
    if (!is_netcdf4) return names;
    int64_t number = 0;
    for (size_t axis = 0; axis < new_.shape.size(); ++axis) {
      while (!suits("dim" + std::to_string(number), axis)) ++number;
      names.push_back("dim" + std::to_string(number++));
    }
    return names;
  }

  // Whether the dimension exists and fits, or can be made.
  bool suits(const std::string& name, size_t axis) const {
    const Handle found = scales_.find(group_, name);
    if (!found.is_open()) return name != name_ && !item(name).is_open();
    const Extent extent = extent_of(found.get());
    return extent.is_unlimited(0) == new_.grows(axis) && (new_.grows(axis) || extent.shape.front() == new_.shape[axis]);
  }

  // If an existing dimension grows, and no length is given, the array gets the dimension's length.
  Shape shape_along(const std::vector<std::string>& names) const {
    Shape shape = new_.shape;
    for (size_t axis = 0; axis < names.size() && axis < shape.size(); ++axis) {
      if (!new_.grows(axis) || shape[axis] != 0) continue;
      const Handle scale = scales_.find(group_, names[axis]);
      if (scale.is_open()) shape[axis] = length_of(scales_, scale.get());
    }
    return shape;
  }

  // Whether the variable is the coordinate variable of its first dimension, which must be in the same group.
  bool is_coordinate_of(const std::vector<std::string>& names) const {
    if (names.empty() || names.front() != name_) return false;
    // the dimension is in a group above
    if (!item(name_).is_open() && scales_.find(group_, name_).is_open()) return false;
    if (names.size() > 1 && !scales_.is_netcdf4()) {
      fail_argument(file_.path() + ": variable '" + name_ + "' has the name of its first dimension, and " +
                    std::to_string(names.size()) +
                    " dimensions: an HDF5 dimension scale has one; choose another name, or create a netCDF-4 file");
    }
    return true;
  }

  // The new dataset replaces a scale that existed only for the dimension.
  Handle made_coordinate(const std::vector<std::string>& names, const Handle& stored,
                         const std::optional<std::vector<std::byte>>& fill) {
    Handle old = item(name_);
    if (old.is_open()) check_scale(old.get(), new_.shape.front(), new_.grows(0));
    std::vector<Handle> scales;
    for (size_t axis = 1; axis < names.size(); ++axis) scales.push_back(scale_of(axis, names[axis]));
    std::optional<int64_t> number;
    std::vector<Scales::User> users;
    if (old.is_open()) {
      number = number_of_scale(old.get());
      users = scales_.detach_all(old.get());
      old = Handle();
      checked(library().H5Ldelete(file_.id(), stored_path(file_, joined(group_, name_)).c_str(), H5P_DEFAULT));
    }
    Handle dataset = made(name_, stored, fill);
    make_scale(dataset.get(), name_);
    scales_.number(dataset.get(), number);
    for (const Scales::User& user : users) Scales::attach(dataset.get(), user.dataset.get(), user.axis);
    std::vector<hid_t> all{dataset.get()};
    for (const Handle& scale : scales) all.push_back(scale.is_open() ? scale.get() : dataset.get());
    scales_.note_numbers(dataset.get(), all);
    return dataset;
  }

  Handle made_variable(const std::vector<std::string>& names, const Handle& stored,
                       const std::optional<std::vector<std::byte>>& fill) {
    std::vector<Handle> scales;
    for (size_t axis = 0; axis < names.size(); ++axis) {
      scales.push_back(names[axis].empty() ? Handle() : scale_of(axis, names[axis]));
    }
    Handle dataset = made(stored_name(), stored, fill);
    std::vector<hid_t> all;
    for (size_t axis = 0; axis < scales.size(); ++axis) {
      if (scales[axis].is_open()) Scales::attach(scales[axis].get(), dataset.get(), axis);
      all.push_back(scales[axis].is_open() ? scales[axis].get() : dataset.get());
    }
    scales_.note_numbers(dataset.get(), all);
    return dataset;
  }

  // The name in the file: with a prefix if a dimension has the name, and the variable is not along it.
  std::string stored_name() const {
    if (!item(name_).is_open()) return name_;
    refuse_double_name(name_);
    return std::string(kOtherName) + name_;
  }

  // The scale of a dimension of the variable; it is made if it does not exist.
  Handle scale_of(size_t axis, const std::string& name) {
    Handle found = scales_.find(group_, name);
    if (found.is_open()) {
      check_scale(found.get(), shape_[axis], new_.grows(axis));
      return found;
    }
    if (item(name).is_open()) {
      refuse_double_name(name);
      const std::string from = stored_path(file_, joined(group_, name));
      const std::string to = path_of_new(file_, group_, std::string(kOtherName) + name);
      checked(
          library().H5Lmove(file_.id(), from.c_str(), file_.id(), to.c_str(), link_properties().get(), H5P_DEFAULT));
    }
    return scales_.define(group_, name, shape_[axis], new_.grows(axis));
  }

  void refuse_double_name(const std::string& name) const {
    if (scales_.is_netcdf4()) return;
    fail_argument(file_.path() + ": '" + name +
                  "' is to be a dimension and a variable that does not lie along it: an HDF5 file has one dataset of "
                  "that name; choose another name, or create a netCDF-4 file");
  }

  const OpenFile& file_;
  Scales& scales_;
  const NewArray& new_;
  const std::optional<Shape>& chunks_;
  std::string group_;
  std::string name_;
  Shape shape_;
};

// The group from which names are looked up: the one of `name`, if it exists; else the file.
std::string group_above(const OpenFile& file, const std::string& name) {
  const std::string above = group_and_name(name).first;
  if (above.empty()) return "";
  const Handle found = item_at(file, above);
  return found.is_open() && library().H5Iget_type(found.get()) == H5I_GROUP ? above : "";
}

}  // namespace

Handle dataset_properties() {
  Handle made(library().H5Pcreate(library().id("H5P_CLS_DATASET_CREATE_ID_g")));
  checked(library().H5Pset_obj_track_times(made.get(), false));
  checked(library().H5Pset_attr_creation_order(made.get(), kInOrder));
  return made;
}

Handle link_properties() {
  Handle made(library().H5Pcreate(library().id("H5P_CLS_LINK_CREATE_ID_g")));
  checked(library().H5Pset_char_encoding(made.get(), H5T_CSET_UTF8));
  return made;
}

std::string path_of_new(const OpenFile& file, const std::string& group, const std::string& name) {
  return group.empty() ? name : joined(stored_path(file, group), name);
}

void make_groups(const OpenFile& file, const std::string& name) {
  if (name.empty()) return;
  const Handle properties(library().H5Pcreate(library().id("H5P_CLS_GROUP_CREATE_ID_g")));
  checked(library().H5Pset_link_creation_order(properties.get(), kInOrder));
  checked(library().H5Pset_attr_creation_order(properties.get(), kInOrder));
  checked(library().H5Pset_obj_track_times(properties.get(), false));
  std::string above = group_above(file, name);
  std::string rest = above.empty() ? name : name.substr(above.size() + 1);
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string part = rest.substr(0, slash);
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    const std::string path = path_of_new(file, above, part);
    above = joined(above, part);
    const Handle found = item_at(file, above);
    if (!found.is_open()) {
      const Handle made(
          library().H5Gcreate2(file.id(), path.c_str(), link_properties().get(), properties.get(), H5P_DEFAULT));
    } else if (library().H5Iget_type(found.get()) != H5I_GROUP) {
      fail_argument(file.path() + ": '" + above + "' is no group, so there can be nothing in it, such as '" + name +
                    "'");
    }
  }
}

MadeDataset make_dataset(const OpenFile& file, Scales& scales, const NewArray& array,
                         const std::optional<Shape>& chunks) {
  return NewDataset(file, scales, array, chunks).make();
}

void check_dataset_name(const std::string& name) {
  if (!is_name(name))
    fail_argument("HDF5 allows no name " + formats::quoted(name) + "; expected a name, or group/name");
}

void check_stored_type(const ElementType& type, bool is_netcdf4) {
  if (is_netcdf4) check_is_of_netcdf4(type);
  stored_type(type);
}

void check_dimension_name(const std::string& name, bool is_netcdf4) {
  if (name.empty() && !is_netcdf4) return;  // a variable without a name
  if (is_name(name) && name.find('/') == std::string::npos) return;
  fail_argument(std::string(is_netcdf4 ? "netCDF-4" : "HDF5") + " allows no dimension " + formats::quoted(name) +
                "; expected a name without slashes");
}

}  // namespace swath::formats::hdf5
