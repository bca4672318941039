#include "formats/hdf5/scales.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/hdf5/attributes.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/element_types.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/new_dataset.h"
#include "formats/hdf5/survey.h"

namespace swath::formats::hdf5 {
namespace {

// elements of the dataset of a dimension without a variable, which is never written
constexpr hsize_t kGrowingChunk = 1024;
constexpr const char* kUsers = "REFERENCE_LIST";
constexpr const char* kScalesOfDataset = "DIMENSION_LIST";

// An entry of REFERENCE_LIST.
struct Reference {
  haddr_t dataset = HADDR_UNDEF;
  uint32_t axis = 0;
  uint32_t padding = 0;
};

Handle reference_type() { return Handle(library().H5Tcopy(library().id("H5T_STD_REF_OBJ_g"))); }

// A structure in memory; its members have these names.
Handle entry_type(const std::string& dataset, const std::string& axis) {
  Handle made(library().H5Tcreate(H5T_COMPOUND, sizeof(Reference)));
  checked(library().H5Tinsert(made.get(), dataset.c_str(), offsetof(Reference, dataset), reference_type().get()));
  checked(library().H5Tinsert(made.get(), axis.c_str(), offsetof(Reference, axis), library().id("H5T_NATIVE_UINT_g")));
  return made;
}

bool has_attribute(hid_t holder, const char* name) { return checked(library().H5Aexists(holder, name)) > 0; }

void remove_attribute(hid_t holder, const char* name) {
  if (has_attribute(holder, name)) checked(library().H5Adelete(holder, name));
}

void create_attribute(hid_t holder, const char* name, const Handle& type, const Handle& space, const void* values) {
  const Handle made(library().H5Acreate2(holder, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  checked(library().H5Awrite(made.get(), type.get(), values));
}

Handle list_space(size_t count) {
  const hsize_t length = count;
  return Handle(library().H5Screate_simple(1, &length, nullptr));
}

void write_integers(hid_t holder, const char* name, const Handle& space, const std::vector<int32_t>& numbers) {
  remove_attribute(holder, name);
  const Handle type(library().H5Tcopy(library().id("H5T_STD_I32LE_g")));
  const Handle made(library().H5Acreate2(holder, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  checked(library().H5Awrite(made.get(), library().id("H5T_NATIVE_INT_g"), numbers.data()));
}

// The entries of REFERENCE_LIST; none if it is damaged.
std::vector<Reference> read_references(hid_t scale) {
  std::vector<Reference> found;
  if (!has_attribute(scale, kUsers)) return found;
  try {
    const Handle attribute(library().H5Aopen(scale, kUsers, H5P_DEFAULT));
    const Handle stored(library().H5Aget_type(attribute.get()));
    if (library().H5Tget_class(stored.get()) != H5T_COMPOUND || library().H5Tget_nmembers(stored.get()) != 2) return {};
    const Handle type = entry_type(taken_text(library().H5Tget_member_name(stored.get(), 0)),
                                   taken_text(library().H5Tget_member_name(stored.get(), 1)));
    const Handle space(library().H5Aget_space(attribute.get()));
    found.resize(static_cast<size_t>(element_count(shape_of_space(space.get()))));
    if (!found.empty()) checked(library().H5Aread(attribute.get(), type.get(), found.data()));
  } catch (const CallError&) {
    found.clear();
  }
  return found;
}

void write_references(hid_t scale, const std::vector<Reference>& references) {
  remove_attribute(scale, kUsers);
  if (references.empty()) return;
  create_attribute(scale, kUsers, entry_type("dataset", "dimension"), list_space(references.size()), references.data());
}

// The scales of each dimension, from DIMENSION_LIST.
using ScaleLists = std::vector<std::vector<haddr_t>>;

ScaleLists read_scales(hid_t dataset, size_t dimensions) {
  ScaleLists found(dimensions);
  if (!has_attribute(dataset, kScalesOfDataset)) return found;
  const Handle attribute(library().H5Aopen(dataset, kScalesOfDataset, H5P_DEFAULT));
  const Handle space(library().H5Aget_space(attribute.get()));
  if (element_count(shape_of_space(space.get())) != static_cast<int64_t>(dimensions)) return found;
  const Handle type(library().H5Tvlen_create(library().id("H5T_STD_REF_OBJ_g")));
  std::vector<hvl_t> lists(dimensions);
  checked(library().H5Aread(attribute.get(), type.get(), lists.data()));
  for (size_t axis = 0; axis < dimensions; ++axis) {
    const auto* first = static_cast<const haddr_t*>(lists[axis].p);
    found[axis].assign(first, first + lists[axis].len);
  }
  library().H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, lists.data());
  return found;
}

void write_scales(hid_t dataset, ScaleLists scales) {
  const bool is_any = std::any_of(scales.begin(), scales.end(), [](const auto& list) { return !list.empty(); });
  if (!is_any) return remove_attribute(dataset, kScalesOfDataset);
  std::vector<hvl_t> lists;
  for (auto& list : scales) lists.push_back({list.size(), list.empty() ? nullptr : list.data()});
  const Handle type(library().H5Tvlen_create(library().id("H5T_STD_REF_OBJ_g")));
  if (!has_attribute(dataset, kScalesOfDataset)) {
    return create_attribute(dataset, kScalesOfDataset, type, list_space(lists.size()), lists.data());
  }
  const Handle attribute(library().H5Aopen(dataset, kScalesOfDataset, H5P_DEFAULT));
  checked(library().H5Awrite(attribute.get(), type.get(), lists.data()));
}

int64_t number_or_none(hid_t dataset) { return number_of_scale(dataset).value_or(-1); }

}  // namespace

bool Scales::is_netcdf4() {
  if (!state_.is_netcdf4) state_.is_netcdf4 = hdf5::is_netcdf4(file_);
  return *state_.is_netcdf4;
}

Handle Scales::find(std::string group, const std::string& name) const {
  for (;; group = group_and_name(group).first) {
    Handle found = item_at(file_, joined(group, name));
    const bool is_dataset = found.is_open() && library().H5Iget_type(found.get()) == H5I_DATASET;
    if (is_dataset && !extent_of(found.get()).shape.empty() && is_scale(found.get())) return found;
    if (group.empty()) return {};
  }
}

Handle Scales::define(const std::string& group, const std::string& name, int64_t length, bool is_unlimited) {
  const Library& all = library();
  const Handle properties = dataset_properties();
  const auto stored_length = static_cast<hsize_t>(length);
  const hsize_t longest = is_unlimited ? H5S_UNLIMITED : stored_length;
  if (is_unlimited) checked(all.H5Pset_chunk(properties.get(), 1, &kGrowingChunk));
  const Handle space(all.H5Screate_simple(1, &stored_length, &longest));
  const std::string path = path_of_new(file_, group, name);
  Handle made(all.H5Dcreate2(file_.id(), path.c_str(), all.id("H5T_IEEE_F32BE_g"), space.get(), H5P_DEFAULT,
                             properties.get(), H5P_DEFAULT));
  std::string digits = std::to_string(length);
  digits.insert(0, 10 - std::min<size_t>(digits.size(), 10), ' ');
  make_scale(made.get(), std::string(kDimensionOnly) + "." + digits);
  number(made.get());
  return made;
}

void Scales::number(hid_t scale, std::optional<int64_t> number) {
  if (!is_netcdf4()) return;
  if (!number) {
    if (!state_.next_number) {
      int64_t largest = -1;
      for (const Item& item : walk(file_)) {
        if (!item.is_group) largest = std::max(largest, number_or_none(item.handle.get()));
      }
      state_.next_number = largest + 1;
    }
    number = (*state_.next_number)++;
  }
  write_integers(scale, "_Netcdf4Dimid", Handle(library().H5Screate(H5S_SCALAR)), {static_cast<int32_t>(*number)});
}

void Scales::note_numbers(hid_t dataset, const std::vector<hid_t>& scales) {
  std::vector<int32_t> numbers;
  for (const hid_t scale : scales) {
    const auto number = number_of_scale(scale);
    if (!number) return;
    numbers.push_back(static_cast<int32_t>(*number));
  }
  if (!is_netcdf4() || numbers.empty()) return;
  write_integers(dataset, "_Netcdf4Coordinates", list_space(numbers.size()), numbers);
}

std::vector<Scales::User> Scales::users(hid_t scale) const {
  std::vector<User> found;
  for (const Reference& reference : read_references(scale)) {
    const hid_t opened = library().H5Oopen_by_addr(file_.id(), reference.dataset);
    if (opened < 0) continue;
    Handle dataset(opened);
    if (library().H5Iget_type(opened) != H5I_DATASET) continue;
    const size_t axis = reference.axis;
    if (axis < extent_of(opened).shape.size()) found.push_back({std::move(dataset), axis});
  }
  return found;
}

std::vector<Scales::User> Scales::detach_all(hid_t scale) const {
  std::vector<User> found = users(scale);
  const haddr_t address = object_info(scale).addr;
  for (const User& user : found) {
    ScaleLists lists = read_scales(user.dataset.get(), extent_of(user.dataset.get()).shape.size());
    std::erase(lists[user.axis], address);
    write_scales(user.dataset.get(), std::move(lists));
  }
  write_references(scale, {});
  return found;
}

void Scales::attach(hid_t scale, hid_t dataset, size_t axis) {
  const haddr_t address = object_info(scale).addr;
  ScaleLists lists = read_scales(dataset, extent_of(dataset).shape.size());
  if (std::find(lists[axis].begin(), lists[axis].end(), address) != lists[axis].end()) return;
  lists[axis].push_back(address);
  write_scales(dataset, std::move(lists));
  std::vector<Reference> references = read_references(scale);
  references.push_back({object_info(dataset).addr, static_cast<uint32_t>(axis), 0});
  write_references(scale, references);
}

void make_scale(hid_t dataset, const std::string& name) {
  const auto write = [&](const char* attribute, const std::string& text) {
    // The length includes the zero byte after the text.
    create_attribute(dataset, attribute, characters_type(std::ssize(text) + 1, H5T_CSET_ASCII),
                     Handle(library().H5Screate(H5S_SCALAR)), text.c_str());
  };
  remove_attribute(dataset, "CLASS");
  remove_attribute(dataset, "NAME");
  write("CLASS", "DIMENSION_SCALE");
  write("NAME", name);
}

int64_t length_of(const Scales& scales, hid_t scale) {
  int64_t longest = extent_of(scale).shape.front();
  for (const Scales::User& user : scales.users(scale)) {
    longest = std::max(longest, extent_of(user.dataset.get()).shape[user.axis]);
  }
  return longest;
}

void check_scale(hid_t scale, int64_t length, bool is_unlimited) {
  const std::string name(without_slashes(path_text(name_of(scale))));
  const Extent extent = extent_of(scale);
  if (extent.is_unlimited(0) != is_unlimited) {
    const std::string there = is_unlimited ? "does not grow" : "grows";
    const std::string wanted = is_unlimited ? "does" : "does not";
    fail_argument("dimension '" + name + "' of the file " + there + ", and that of the new variable " + wanted +
                  ": the length of one that grows is None");
  }
  if (is_unlimited || extent.shape.front() == length) return;
  fail_argument("dimension '" + name + "' has length " + std::to_string(extent.shape.front()) + " in the file, and " +
                std::to_string(length) + " in the new variable: choose another name, or that length");
}

}  // namespace swath::formats::hdf5
