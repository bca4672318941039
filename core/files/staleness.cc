#include "files/staleness.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

constexpr size_t kNamedMax = 5;  // names in the message

bool is_as_known(const Shape& known, const Shape& now, const std::string& variable, const OwnRows& own) {
  if (known.size() != now.size()) return false;
  for (size_t axis = 0; axis < known.size(); ++axis) {
    if (known[axis] != now[axis] && !own.lengths(variable, axis).contains(now[axis])) return false;
  }
  return true;
}

}  // namespace

Shapes shapes_of(const formats::Contents& contents) {
  Shapes found;
  for (const formats::Variable& variable : contents.variables()) found[variable.path] = variable.shape;
  return found;
}

// The path of a variable's dimension; "" if it has no name, or is unknown.
std::string OwnRows::dimension_of(const std::string& variable, size_t axis) const {
  if (contents == nullptr) {
    return records != nullptr && axis == 0 && records->follows(variable) ? records->dimension_of(variable) : "";
  }
  const formats::Variable* found = contents->variable(variable);
  if (found == nullptr || axis >= found->dimensions.size() || found->dimensions[axis].empty()) return "";
  return contents->path_of(found->group(), found->dimensions[axis]);
}

std::set<int64_t> OwnRows::lengths(const std::string& variable, size_t axis) const {
  std::set<int64_t> found;
  const auto add_of = [&](const std::string& one) {
    if (records != nullptr && records->follows(one)) found.insert(records->rows(one));
    if (const auto room = given_room.find(one); room != given_room.end()) found.insert(room->second);
  };
  if (axis == 0) add_of(variable);
  const std::string dimension = are_variables_as_long_as_dimensions ? dimension_of(variable, axis) : "";
  if (records == nullptr || dimension.empty()) return found;
  int64_t most_rows = -1, most_room = -1;
  for (const std::string& other : records->along(dimension)) {
    most_rows = std::max(most_rows, records->rows(other));
    if (const auto room = given_room.find(other); room != given_room.end()) {
      most_room = std::max(most_room, room->second);
    }
  }
  found.insert({most_rows, most_room});
  return found;
}

void refuse_changed(const std::string& path, const Shapes& known, const Shapes& now, const OwnRows& own) {
  std::vector<std::string> changed;
  for (const auto& [variable, shape] : known) {
    const auto found = now.find(variable);
    if (found == now.end()) {
      changed.push_back(variable + " is gone");
    } else if (!is_as_known(shape, found->second, variable, own)) {
      changed.push_back(variable + " " + to_string(shape) + ", now " + to_string(found->second));
    }
  }
  for (const auto& [variable, shape] : now) {
    if (!known.contains(variable)) changed.push_back(variable + " is new");
  }
  if (changed.empty()) return;
  std::string words;
  for (size_t i = 0; i < std::min(changed.size(), kNamedMax); ++i) words += (i == 0 ? "" : ", ") + changed[i];
  throw Error(ErrorKind::kStore,
              path + ": it was changed since it was opened (" + words + "): open it again to change it", ESTALE);
}

void refuse_stale(const std::string& path, formats::FormatFile& file, const OwnRows& own, const Shapes& opened) {
  if (own.contents != nullptr) {
    return refuse_changed(path, shapes_of(*own.contents), shapes_of(file.contents()), own);
  }
  Shapes now;
  for (const auto& [variable, shape] : opened) now[variable] = file.describe(variable).shape;
  refuse_changed(path, opened, now, own);
}

}  // namespace swath
