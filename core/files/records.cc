#include "files/records.h"

#include <algorithm>

namespace swath {

using formats::Contents;
using formats::Dimension;
using formats::Variable;

namespace {

std::string first_dimension(const Variable& variable) {
  return variable.dimensions.empty() ? "" : variable.dimensions.front();
}

}  // namespace

Records::Records(const Contents& contents) {
  for (const Variable& variable : contents.variables()) {
    const std::string first = first_dimension(variable);
    const Dimension* dimension = first.empty() ? nullptr : contents.dimension(variable.group(), first);
    if (dimension != nullptr && dimension->is_unlimited) {
      add(variable.path, contents.path_of(variable.group(), first), dimension->length);
    }
  }
}

void Records::add(const std::string& variable, const std::string& dimension, int64_t length) {
  Length& along = lengths_.try_emplace(dimension, Length{length, length, {}}).first->second;
  growing_[variable] = {dimension, along.seen};
  ++along.variables[along.seen];
}

void Records::follow(const Contents& contents, const std::string& variable) {
  if (follows(variable)) return;
  const Variable* one = contents.variable(variable);
  const std::string name = first_dimension(*one);
  const Dimension* dimension = name.empty() ? nullptr : contents.dimension(one->group(), name);
  if (dimension == nullptr) {
    add(variable, ":" + variable, one->shape.at(0));
    return;
  }
  const std::string path = contents.path_of(one->group(), name);
  for (const Variable& other : contents.variables()) {
    const bool is_along = first_dimension(other) == name && contents.path_of(other.group(), name) == path;
    if (is_along && !follows(other.path)) add(other.path, path, dimension->length);
  }
}

void Records::begin(const Contents& contents, const std::string& variable) {
  follow(contents, variable);
  set_rows(variable, lengths_.at(dimension_of(variable)).synced);
}

void Records::synced() {
  for (auto& [dimension, length] : lengths_) length.synced = length.seen;
}

void Records::has_rows(const std::string& variable, int64_t rows) {
  if (follows(variable) && rows > this->rows(variable)) set_rows(variable, rows);
}

void Records::set_rows(const std::string& variable, int64_t rows) {
  Growing& growing = growing_.at(variable);
  auto& counts = lengths_.at(growing.dimension).variables;
  if (--counts[growing.rows] == 0) counts.erase(growing.rows);
  growing.rows = rows;
  ++counts[rows];
}

std::optional<int64_t> Records::wrote(const std::string& variable, int64_t rows) {
  set_rows(variable, rows);
  const Length& along = lengths_.at(dimension_of(variable));
  const int64_t least = along.variables.begin()->first;
  return least > along.seen ? std::optional(least) : std::nullopt;
}

std::vector<std::pair<std::string, int64_t>> Records::unfinished() const {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const auto& [dimension, length] : lengths_) {
    const int64_t longest = std::max(length.seen, length.variables.rbegin()->first);
    if (longest > length.seen || length.variables.begin()->first < longest) found.emplace_back(dimension, longest);
  }
  return found;
}

std::vector<std::string> Records::along(const std::string& dimension) const {
  std::vector<std::string> found;
  for (const auto& [variable, growing] : growing_) {
    if (growing.dimension == dimension) found.push_back(variable);
  }
  return found;
}

std::vector<std::string> Records::behind(const std::string& dimension, int64_t rows) const {
  std::vector<std::string> found;
  for (const auto& [variable, growing] : growing_) {
    if (growing.dimension == dimension && growing.rows < rows) found.push_back(variable);
  }
  return found;
}

}  // namespace swath
