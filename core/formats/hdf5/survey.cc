#include "formats/hdf5/survey.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/per_process.h"
#include "formats/choose.h"
#include "formats/hdf5/attributes.h"
#include "formats/hdf5/links.h"
#include "formats/hdf5/names.h"

namespace swath::formats::hdf5 {
namespace {

// A dataset and its scales: for each dimension, the index of its scale; kNone if there is none.
struct Surveyed {
  static constexpr size_t kNone = ~size_t{0};
  const Item* item = nullptr;
  std::vector<std::string> attributes;  // their names
  Extent extent = {};
  bool is_scale = false;
  bool is_dimension_only = false;
  std::vector<size_t> scales;

  hid_t id() const { return item->handle.get(); }
  size_t dimensions() const { return extent.shape.size(); }
  bool grows_first() const { return !extent.shape.empty() && extent.is_unlimited(0); }
};

// Whether an attribute of the file says that netCDF-4 made it.
bool is_marked_as_netcdf4(hid_t root) {
  const std::vector<std::string> names = attribute_names(root);
  return contains(names, "_NCProperties") || contains(names, "_nc3_strict");
}

// netCDF-4's numbers of a variable's dimensions; empty if it has not recorded them.
std::vector<int64_t> numbers_of(hid_t dataset, size_t dimensions) {
  const auto found = attribute_integers(dataset, "_Netcdf4Coordinates");
  return found && found->size() == dimensions ? *found : std::vector<int64_t>{};
}

// The labels of the dimensions, which HDF5 has besides scales; "" for none.
std::vector<std::string> labels_of(hid_t dataset, size_t dimensions) {
  std::vector<std::string> found = attribute_texts(dataset, "DIMENSION_LABELS");
  return found.size() == dimensions ? found : std::vector<std::string>(dimensions);
}

std::vector<std::string> without_all_empty(std::vector<std::string> names) {
  const bool is_any = std::any_of(names.begin(), names.end(), [](const auto& name) { return !name.empty(); });
  return is_any ? names : std::vector<std::string>{};
}

Surveyed surveyed(const Item& item) {
  Surveyed found{.item = &item};
  found.extent = extent_of(found.id());
  found.attributes = attribute_names(found.id());
  if (contains(found.attributes, "CLASS") && is_scale(found.id())) {
    found.is_scale = true;
    found.is_dimension_only = is_dimension_only(found.id());
  }
  return found;
}

// One pass over an open file.
class Survey {
 public:
  explicit Survey(const OpenFile& file) : file_(file), walked_(walk(file)) {
    for (const Item& item : walked_) {
      if (!item.is_group) datasets_.push_back(surveyed(item));
    }
    find_scales();
    find_growing_dimensions();
  }

  const std::vector<Surveyed>& datasets() const { return datasets_; }

  // The shape of a dataset; a dimension that grows has the length of the longest dataset along it.
  Shape shape_of(const Surveyed& dataset) const {
    Shape shape = dataset.extent.shape;
    for (size_t axis = 0; axis < dataset.scales.size() && axis < shape.size(); ++axis) {
      const auto found = growing_.find(dataset.scales[axis]);
      if (found != growing_.end() && dataset.extent.is_unlimited(axis)) shape[axis] = found->second;
    }
    return shape;
  }

  std::vector<std::string> dimensions_of(const Surveyed& dataset) const {
    std::vector<std::string> names;
    for (const size_t scale : dataset.scales) {
      names.push_back(scale == Surveyed::kNone ? "" : group_and_name(datasets_[scale].item->path).second);
    }
    if (contains(dataset.attributes, "DIMENSION_LABELS")) {
      const std::vector<std::string> labels = labels_of(dataset.id(), dataset.dimensions());
      names.resize(labels.size());
      for (size_t axis = 0; axis < labels.size(); ++axis) {
        if (names[axis].empty()) names[axis] = labels[axis];
      }
    }
    return without_all_empty(std::move(names));
  }

  Contents contents() {
    Contents found(is_netcdf4() ? "netcdf4" : "hdf5");
    add_groups(found);
    add_variables(found);
    add_links(found);
    return found;
  }

 private:
  // Sets the scale of each dimension: by netCDF-4's numbers, else by the attached scale.
  void find_scales() {
    std::map<int64_t, size_t> by_number;
    std::map<haddr_t, size_t> by_address;
    for (size_t at = 0; at < datasets_.size(); ++at) {
      if (!datasets_[at].is_scale) continue;
      if (const auto number = number_of_scale(datasets_[at].id())) by_number[*number] = at;
      by_address[datasets_[at].item->address] = at;
    }
    for (size_t at = 0; at < datasets_.size(); ++at) datasets_[at].scales = scales_of(at, by_number, by_address);
  }

  std::vector<size_t> scales_of(size_t at, const std::map<int64_t, size_t>& by_number,
                                const std::map<haddr_t, size_t>& by_address) const {
    const Surveyed& dataset = datasets_[at];
    const size_t dimensions = dataset.dimensions();
    if (dataset.is_scale && dimensions == 1) return {at};
    std::vector<size_t> found;
    if (contains(dataset.attributes, "_Netcdf4Coordinates")) {
      for (const int64_t number : numbers_of(dataset.id(), dimensions)) {
        const auto scale = by_number.find(number);
        if (scale != by_number.end()) found.push_back(scale->second);
      }
      if (!found.empty() && found.size() == dimensions) return found;
    }
    found.assign(dimensions, Surveyed::kNone);
    if (contains(dataset.attributes, "DIMENSION_LIST")) {
      const std::vector<haddr_t> attached = first_references(dataset.id(), "DIMENSION_LIST", dimensions);
      for (size_t axis = 0; axis < attached.size() && axis < dimensions; ++axis) {
        const auto scale = by_address.find(attached[axis]);
        if (scale != by_address.end()) found[axis] = scale->second;
      }
      return found;
    }
    if (!dataset.is_scale || dimensions == 0) return {};
    found[0] = at;
    return found;
  }

  // Sets the lengths of the dimensions that grow, by their scales: the length of the longest dataset along each.
  void find_growing_dimensions() {
    for (const Surveyed& dataset : datasets_) {
      for (size_t axis = 0; axis < dataset.scales.size() && axis < dataset.dimensions(); ++axis) {
        const size_t scale = dataset.scales[axis];
        if (scale == Surveyed::kNone || !datasets_[scale].grows_first()) continue;
        int64_t& length = growing_[scale];
        length = std::max(length, dataset.extent.shape[axis]);
      }
    }
  }

  bool is_netcdf4() const {
    if (is_marked_as_netcdf4(walked_.front().handle.get())) return true;
    return std::any_of(datasets_.begin(), datasets_.end(),
                       [](const Surveyed& one) { return contains(one.attributes, "_Netcdf4Dimid"); });
  }

  void add_groups(Contents& found) const {
    for (const Item& item : walked_) {
      if (!item.is_group) continue;
      const hid_t id = item.handle.get();
      FoundAttributes attributes = read_attributes(id, attribute_names(id));
      found.add(Group{item.path, std::move(attributes.values), {}, std::move(attributes.others)});
    }
    for (size_t at = 0; at < datasets_.size(); ++at) {
      const Surveyed& scale = datasets_[at];
      if (!scale.is_scale || scale.dimensions() == 0) continue;
      const auto [group, name] = group_and_name(scale.item->path);
      const auto grown = growing_.find(at);
      const int64_t length = grown == growing_.end() ? scale.extent.shape[0] : grown->second;
      found.set(group, {name, length, scale.grows_first()});
    }
  }

  void add_variables(Contents& found) {
    std::vector<std::pair<const Surveyed*, FoundAttributes>> kept;
    std::set<std::string> described_by;
    for (const Surveyed& dataset : datasets_) {
      if (dataset.is_dimension_only) continue;
      kept.emplace_back(&dataset, read_attributes(dataset.id(), dataset.attributes));
      add_described_by(kept.back().second.values, described_by);
    }
    for (auto& [dataset, attributes] : kept) {
      found.add(variable_of(*dataset, std::move(attributes), described_by));
    }
  }

  Variable variable_of(const Surveyed& dataset, FoundAttributes attributes, const std::set<std::string>& described_by) {
    Variable found{.path = shown_name(dataset.item->path), .shape = shape_of(dataset)};
    try {
      found.type = element_type_of(found.path, dataset.id());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      found.unsupported = std::string(error.what()).substr(found.path.size() + 2);
    }
    Storage storage = storage_of(dataset.id());
    const bool is_described = described_by.contains(found.name());
    const bool is_number = found.type && (found.type->is_number() || found.type->kind == 'b');
    found.dimensions = dimensions_of(dataset);
    found.attributes = std::move(attributes.values);
    found.chunks = std::move(storage.chunks);
    found.is_coordinate = dataset.is_scale || is_described || !is_number;
    found.codecs = std::move(storage.codecs);
    if (found.type && (found.type->kind == 'i' || found.type->kind == 'u')) found.enumeration = enumeration_of(dataset);
    found.other_attributes = std::move(attributes.others);
    if (ends_later(dataset.extent.maxshape, found.shape)) found.maxshape = dataset.extent.maxshape;
    return found;
  }

  // Whether some dimension may grow up to a limit.
  static bool ends_later(const std::vector<std::optional<int64_t>>& maxshape, const Shape& shape) {
    for (size_t axis = 0; axis < maxshape.size(); ++axis) {
      if (maxshape[axis].value_or(0) > shape[axis]) return true;
    }
    return false;
  }

  // The names of the numbers; the type gets the name of an equal named type in the dataset's group, or above.
  std::optional<Enumeration> enumeration_of(const Surveyed& dataset) {
    const Handle stored(library().H5Dget_type(dataset.id()));
    if (library().H5Tget_class(stored.get()) != H5T_ENUM) return std::nullopt;
    Enumeration found;
    for (auto& [name, number] : members_of(stored.get())) found.members.emplace_back(path_text(name), number);
    for (std::string group = group_and_name(dataset.item->path).first;; group = group_and_name(group).first) {
      for (const auto& [name, type] : named_types(group)) {
        if (checked(library().H5Tequal(type.get(), stored.get())) > 0) {
          found.name = name;
          return found;
        }
      }
      if (group.empty()) return found;
    }
  }

  // The named types of a group, in the order of the file; read once.
  const std::vector<std::pair<std::string, Handle>>& named_types(const std::string& group) {
    const auto [known, is_new] = types_.try_emplace(group);
    if (!is_new) return known->second;
    const auto item = std::find_if(walked_.begin(), walked_.end(),
                                   [&](const Item& one) { return one.is_group && one.path == group; });
    if (item == walked_.end()) return known->second;
    for (const LinkEntry& entry : links_of(item->handle.get())) {
      if (entry.type != H5L_TYPE_HARD || is_walked(entry.address)) continue;
      Handle opened(library().H5Oopen(item->handle.get(), entry.name.c_str(), H5P_DEFAULT));
      if (library().H5Iget_type(opened.get()) == H5I_DATATYPE) {
        known->second.emplace_back(path_text(entry.name), std::move(opened));
      }
    }
    return known->second;
  }

  bool is_walked(haddr_t address) {
    if (addresses_.empty()) {
      for (const Item& item : walked_) addresses_.insert(item.address);
    }
    return addresses_.contains(address);
  }

  // Adds variables that are links to others, and descriptions of other links and of named types.
  void add_links(Contents& found) const {
    for (const auto& [path, link] : links(walked_)) {
      const std::string name = shown_name(path);
      const Variable* same = link.leads_to == Link::Target::kDataset ? found.variable(shown_name(link.to)) : nullptr;
      if (same == nullptr) {
        found.set_other(name, link.words());
      } else if (found.variable(name) == nullptr) {
        Variable copy = *same;
        copy.path = name;
        copy.same_as = same->path;
        found.add(std::move(copy));
      }
    }
  }

  const OpenFile& file_;
  std::vector<Item> walked_;
  std::vector<Surveyed> datasets_;
  std::map<size_t, int64_t> growing_;
  std::map<std::string, std::vector<std::pair<std::string, Handle>>> types_;
  std::set<haddr_t> addresses_;
};

// ---- The shapes and dimensions of all datasets, kept as long as a file is not written to ----------------------------

using ByAddress = std::map<haddr_t, Seen>;
using FileState = std::array<int64_t, 5>;  // device, inode, bytes, seconds and nanoseconds of the last write

constexpr size_t kFilesKept = 16;
constexpr double kSecondsBetweenTimes = 0.1;  // longer than the resolution of file times

using KeptFiles = std::map<FileState, std::shared_ptr<const ByAddress>>;

std::atomic<int64_t> surveys = 0;

// Used only in a Session, which one thread at a time has.
KeptFiles& kept_files() {
  static auto* kept = new PerProcess<KeptFiles>;
  return kept->get();
}

std::optional<FileState> state_of(const OpenFile& file) {
  void* descriptor = nullptr;
  if (library().H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &descriptor) < 0 || descriptor == nullptr)
    return std::nullopt;
  struct stat status = {};
  if (::fstat(*static_cast<int*>(descriptor), &status) != 0) return std::nullopt;
  return FileState{static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino), status.st_size,
                   status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// A write soon after the last one may leave the file's time unchanged.
bool is_old(const FileState& state) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const double seconds =
      static_cast<double>(now.tv_sec - state[3]) + 1e-9 * static_cast<double>(now.tv_nsec - state[4]);
  return seconds > kSecondsBetweenTimes;
}

std::shared_ptr<const ByAddress> all_shapes(const OpenFile& file) {
  const std::optional<FileState> state = state_of(file);
  KeptFiles& kept = kept_files();
  if (state) {
    if (const auto known = kept.find(*state); known != kept.end()) return known->second;
  }
  ++surveys;
  const Survey survey(file);
  auto found = std::make_shared<ByAddress>();
  for (const Surveyed& one : survey.datasets()) {
    found->try_emplace(one.item->address, Seen{survey.shape_of(one), survey.dimensions_of(one)});
  }
  if (state && is_old(*state)) {
    if (kept.size() >= kFilesKept) kept.clear();
    kept[*state] = found;
  }
  return found;
}

}  // namespace

bool is_dimension_only(hid_t dataset) { return attribute_text(dataset, "NAME").starts_with(kDimensionOnly); }

bool is_scale(hid_t dataset) { return attribute_text(dataset, "CLASS") == "DIMENSION_SCALE"; }

std::optional<int64_t> number_of_scale(hid_t dataset) {
  const auto found = attribute_integers(dataset, "_Netcdf4Dimid");
  return found && found->size() == 1 ? std::optional(found->front()) : std::nullopt;
}

bool is_netcdf4(const OpenFile& file) {
  const std::vector<Item> walked = walk(file);
  if (is_marked_as_netcdf4(walked.front().handle.get())) return true;
  return std::any_of(walked.begin(), walked.end(),
                     [](const Item& item) { return library().H5Aexists(item.handle.get(), "_Netcdf4Dimid") > 0; });
}

Contents survey(const OpenFile& file) { return Survey(file).contents(); }

int64_t survey_count() { return surveys; }

Seen shape_and_dimensions(const OpenFile& file, hid_t dataset) {
  const Shape shape = extent_of(dataset).shape;
  if (library().H5Aexists(dataset, "DIMENSION_LIST") <= 0 && !is_scale(dataset)) {
    return {shape, without_all_empty(labels_of(dataset, shape.size()))};
  }
  const std::shared_ptr<const ByAddress> all = all_shapes(file);
  const auto found = all->find(object_info(dataset).addr);
  return found == all->end() ? Seen{shape, {}} : found->second;
}

}  // namespace swath::formats::hdf5
