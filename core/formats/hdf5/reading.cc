#include "formats/hdf5/reading.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/hdf5/attributes.h"
#include "formats/hdf5/layout.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/survey.h"
#include "formats/text.h"
#include "journal/checkpoint_state.h"
#include "journal/target_lock.h"

namespace swath::formats::hdf5 {
namespace {

constexpr size_t kListed = 20;

// The names in a group, separated by commas; none if there is no such group.
std::optional<std::string> names_in_group(const OpenFile& file, const std::string& name) {
  const Handle group = is_name(name) ? item_at(file, name) : Handle();
  if (!group.is_open() || library().H5Iget_type(group.get()) != H5I_GROUP) return std::nullopt;
  const std::string path(without_slashes(path_text(name_of(group.get()))));
  std::string names;
  size_t count = 0;
  for (const LinkEntry& entry : links_of(group.get())) {
    if (++count > kListed) break;
    names += (names.empty() ? "" : ", ") + path + "/" + path_text(entry.name);
  }
  return names;
}

Handle dataset_meant(const OpenFile& file, const std::optional<std::string>& wanted) {
  Handle found = wanted ? dataset_called(file, *wanted) : Handle();
  if (found.is_open() && is_dimension_only(found.get())) found = Handle();
  if (!found.is_open()) {
    if (const auto names = wanted ? names_in_group(file, *wanted) : std::nullopt) {
      fail_argument(file.path() + ": " + formats::quoted(*wanted) + " is a group; name a dataset in it: " + *names);
    }
    found = dataset_called(file, choose_variable(file.path(), survey(file).variables(), wanted));
  }
  if (!found.is_open()) throw CallError("the variable is there and cannot be opened", 0);
  if (const std::string other = file_name_of(found.get()); other != file_name_of(file.id())) {
    throw Error(ErrorKind::kUnsupported, file.path() + ": " + formats::quoted(wanted.value_or("")) +
                                             " is a link into " + other + "; open that file");
  }
  return found;
}

}  // namespace

Description describe_open(const OpenFile& file, hid_t id, const SeenArrays& known) {
  const std::string name = shown_name(name_of(id));
  const Dataset dataset = open_dataset(file, id, file.path() + ":" + name);
  const Extent& extent = dataset.extent;
  const auto seen_before = known.find(name);
  const bool is_known = seen_before != known.end() && seen_before->second.shape.size() == extent.shape.size();
  const Seen seen = is_known ? seen_before->second : shape_and_dimensions(file, id);
  Shape shape = extent.shape;
  for (size_t axis = 0; axis < shape.size() && axis < seen.shape.size(); ++axis) {
    if (!extent.is_unlimited(axis)) continue;
    shape[axis] = seen.is_exact ? seen.shape[axis] : std::max(shape[axis], seen.shape[axis]);
  }
  FoundAttributes attributes = read_attributes(id, attribute_names(id));
  Description found{.path = file.path(), .format = "hdf5", .variable = name, .shape = shape, .type = dataset.type};
  found.layout = layout_of(dataset, shape);
  found.fill = fill_of(id, dataset.type);
  found.attributes = std::move(attributes.values);
  found.end = end_of(dataset, found.layout);
  found.dimensions = seen.dimensions;
  found.unlimited = unlimited_of(extent);
  Shape stored = extent.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) stored[axis] = std::min(stored[axis], shape[axis]);
  if (shape != stored) found.stored_shape = std::move(stored);
  found.other_attributes = std::move(attributes.others);
  return found;
}

std::vector<Description> describe_open(const OpenFile& file, const std::vector<std::optional<std::string>>& names,
                                       const SeenArrays& seen) {
  std::vector<Handle> datasets;
  for (const auto& name : names) datasets.push_back(dataset_meant(file, name));
  std::vector<Description> found;
  for (const Handle& dataset : datasets) found.push_back(describe_open(file, dataset.get(), seen));
  return found;
}

Contents read_contents(const std::string& path) {
  std::optional<Contents> found;
  with_open_file(path, [&](const OpenFile& file) { found = survey(file); });
  return std::move(*found);
}

namespace {

// Whether another process has written over a coded chunk since the last checkpoint: only its journal has the old bytes.
bool is_overwritten(const Description& array, const CheckpointState& state) {
  const auto* coded = std::get_if<CodedLayout>(&array.layout);
  const auto* table = coded == nullptr ? nullptr : std::get_if<ChunkTable>(&coded->places);
  for (size_t i = 0; table != nullptr && i < table->offsets.size(); ++i) {
    const int64_t begin = table->offsets[i];
    const int64_t end = begin + table->bytes[i];
    auto kept = state.kept.upper_bound(begin);
    if (kept != state.kept.begin() && std::prev(kept)->first + std::ssize(std::prev(kept)->second) > begin) --kept;
    if (begin >= 0 && kept != state.kept.end() && kept->first < end) return true;
  }
  return false;
}

// Runs `work` with the file as it is between two changes, when all chunks that have offsets are written.
void with_file_at_rest(const std::string& path, const FileWork& work) {
  LockWait wait;
  while (true) {
    const bool had_journal = has_journal(path);
    try {
      return translate_errors(path, "read", [&] { work(OpenFile(path)); });
    } catch (const Error& error) {
      const bool is_changed = had_journal || has_journal(path);
      if (error.os_error() != EAGAIN || !is_changed || !wait.again()) throw;
    }
  }
}

}  // namespace

// A chunk that another process has coded again, for rows after the last checkpoint, also has the rows before it: it is
// read at its current offset. Arrays have their lengths of the last checkpoint.
std::vector<Description> describe(const std::string& path, const std::vector<std::optional<std::string>>& names,
                                  const SeenArrays& seen) {
  std::vector<Description> found;
  const std::optional<CheckpointState> before = checkpoint_state(path);
  with_open_file(path, [&](const OpenFile& file) { found = describe_open(file, names, seen); });
  const std::optional<CheckpointState> after = checkpoint_state(path);
  const bool is_coded_again =
      before != after || (after && std::any_of(found.begin(), found.end(), [&](const Description& array) {
                            return is_overwritten(array, *after);
                          }));
  if (!is_coded_again) return found;
  SeenArrays known;
  for (const Description& array : found) known[array.variable.value_or("")] = {array.shape, array.dimensions, true};
  with_file_at_rest(path, [&](const OpenFile& file) { found = describe_open(file, names, known); });
  return found;
}

}  // namespace swath::formats::hdf5
