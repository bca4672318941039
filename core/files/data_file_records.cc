#include <algorithm>
#include <utility>

#include "array/array.h"
#include "base/error.h"
#include "files/array_form.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "files/file_changes.h"
#include "files/first_rank.h"
#include "formats/description.h"
#include "formats/serialise.h"

namespace swath {

using formats::Description;

Records& DataFile::records() {
  if (!records_) records_.emplace(contents_);
  return *records_;
}

int64_t DataFile::rows_to_append_to(FileArray& array, const formats::ElementType* in_memory) {
  const Description& description = array.description();
  run_collectively(*comm_, question_of(words("append to " + array.path())), [&] {
    refuse_changing("append to");
    array.check_type(in_memory, "append to");
    if (array.grows() || (format_.is_folder() && !description.shape.empty())) return;
    fail_argument("append to " + description.name() + ": its shape " + to_string(description.shape) +
                  " is fixed; create it with a first dimension that grows, or write into it");
  });
  records().follow(contents_, array.path());
  return records().rows(array.path());
}

void DataFile::extend(FileArray& array, int64_t rows, std::optional<int64_t> written_from, const std::string& words) {
  const std::string& path = array.path();
  rows = std::max(rows, records().length(records().dimension_of(path)));  // never shorter than its dimension
  finish_started();
  const auto described =
      on_first_rank(*comm_, words, [&] { return formats::serialise(changes_->extend(path, rows, written_from)); });
  Description longer = formats::parse_description(described);
  const std::string identity = identity_of(longer, final_path_, number_);
  array.relocate(std::move(longer), identity, file_);
  changes_->note_changed();
}

Description DataFile::allocated(const FileArray& array) {
  return formats::parse_description(on_first_rank(
      *comm_, words("allocate " + array.path()), [&] { return formats::serialise(changes_->allocate(array.path())); }));
}

void DataFile::wrote(const std::string& variable, int64_t rows) {
  if (const auto length = records().wrote(variable, rows)) set_length(records().dimension_of(variable), *length);
  changes_->written(formats::Room::kRows, variable);
}

std::vector<std::string> DataFile::open_arrays_along_later(const std::string& dimension) const {
  std::vector<std::string> found;
  for (const auto& [path, array] : arrays_) {
    const formats::Variable* variable = contents_.variable(path);
    if (variable == nullptr) continue;
    const auto& names = variable->dimensions;
    const bool is_along = names.size() > 1 && std::any_of(names.begin() + 1, names.end(), [&](const auto& name) {
                            return contents_.path_of(variable->group(), name) == dimension;
                          });
    if (is_along) found.push_back(path);
  }
  return found;
}

void DataFile::complete_records() {
  if (!records_) return;
  for (const auto& [dimension, length] : records_->unfinished()) {
    for (const std::string& variable : records_->behind(dimension, length)) fill_rows(variable, length);
    set_length(dimension, length);
  }
}

void DataFile::fill_rows(const std::string& variable, int64_t rows) {
  const auto known = arrays_.find(variable);
  const bool is_moved_by_us = known != arrays_.end() && known->second->is_moved_by_us();
  if (format_.fills_rows() && !is_moved_by_us) return records().set_rows(variable, rows);
  const auto array = this->array(variable);
  const int64_t first = records().rows(variable);
  extend(*array, rows, std::nullopt, words("fill rows to " + std::to_string(rows) + " of " + variable));
  array->fill_rows(first, rows);
  records().set_rows(variable, rows);
}

}  // namespace swath
