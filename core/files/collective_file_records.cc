#include <algorithm>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/error.h"
#include "files/collective_file.h"
#include "files/first_rank.h"
#include "files/one_change.h"
#include "formats/serialise.h"

namespace swath {

using formats::Contents;
using formats::Description;
using formats::FormatFile;

// The file's contents. Reads them at the first call if the file was opened for one array.
Contents& CollectiveFile::listed() {
  if (options_.contents) return *options_.contents;
  if (!listed_) {
    listed_ = formats::parse_contents(on_first_rank(*comm_, words("list"), [&] {
      return changes_->read([](FormatFile& file) { return formats::serialise(file.contents_to_change()); });
    }));
  }
  return *listed_;
}

Records& CollectiveFile::records() {
  const Contents& contents = listed();
  const std::lock_guard guard(knowing_.get());
  if (!records_) records_.emplace(contents);
  return *records_;
}

void CollectiveFile::begin_records(const std::string& variable) {
  const Contents& contents = listed();
  of_records([&](Records& all) { all.begin(contents, variable); });
}

std::optional<int64_t> CollectiveFile::known_rows(const std::string& variable) const {
  const std::lock_guard guard(knowing_.get());
  return records_ && records_->follows(variable) ? std::optional(records_->rows(variable)) : std::nullopt;
}

std::map<std::string, int64_t> CollectiveFile::take_new_lengths() {
  const std::lock_guard guard(knowing_.get());
  return std::exchange(new_lengths_, {});
}

int64_t CollectiveFile::rows_to_append_to(const StoredArray& array, const std::function<void()>& check) {
  const std::string& path = array.path();
  run_collectively(*comm_, question_of(words("append to " + path)), [&] {
    refuse_changing("append to");
    if (check) check();
    if (array.can_grow()) return;
    fail_argument("append to " + final_path() + (path.empty() ? "" : ":" + path) + ": its shape " +
                  to_string(array.shape()) +
                  " is fixed; create it with a first dimension that grows (in Python: None as its first length), or "
                  "write into it");
  });
  const Contents& contents = listed();
  return of_records([&](Records& all) {
    all.follow(contents, path);
    return all.rows(path);
  });
}

void CollectiveFile::append(const std::vector<Rows>& rows, const Appending& appending,
                            const std::function<void(const std::vector<int64_t>& first)>& write) {
  const OneChange one_change(changing_);
  std::vector<int64_t> first;
  for (const Rows& one : rows) first.push_back(rows_to_append_to(*one.array, appending.check));
  size_t begun = 0;
  try {
    for (const auto& [array, records] : rows) {
      const int64_t from = first[begun];
      extend(*array, from + records, appending.writes_all ? std::optional(from) : std::nullopt,
             words("append " + std::to_string(records) + " records to " + array->path() + ": from row " +
                   std::to_string(from)));
      ++begun;
    }
    write(first);
  } catch (const Error&) {  // thrown on all ranks alike
    take_back_rows(rows, first, begun);
    throw;
  }
  for (size_t i = 0; i < rows.size(); ++i) wrote(rows[i].array->path(), first[i] + rows[i].records);
}

void CollectiveFile::take_back_rows(const std::vector<Rows>& rows, const std::vector<int64_t>& first, size_t begun) {
  for (size_t i = begun; i-- > 0;) {
    StoredArray& array = *rows[i].array;
    extend(array, first[i], std::nullopt, words("take back records of " + array.path()));
    of_records([&](Records& all) { all.set_rows(array.path(), first[i]); });
  }
}

void CollectiveFile::extend(StoredArray& array, int64_t rows, std::optional<int64_t> written_from,
                            const std::string& words) {
  // An array is never shorter than its dimension.
  rows = of_records([&](Records& all) { return std::max(rows, all.length(all.dimension_of(array.path()))); });
  finish_started();
  Description longer = formats::parse_description(on_first_rank(
      *comm_, words, [&] { return formats::serialise(changes_->extend(array.path(), rows, written_from)); }));
  const std::string identity = identity_of(longer);
  array.relocate_to(std::move(longer), identity, file_);
  changes_->note_changed();
}

void CollectiveFile::wrote(const std::string& variable, int64_t rows) {
  const auto [dimension, length] =
      of_records([&](Records& all) { return std::pair(all.dimension_of(variable), all.wrote(variable, rows)); });
  if (length) set_length(dimension, *length);
  changes_->written(formats::Room::kRows, variable);
}

// Also updates open arrays that have this dimension as their second or a later one: they are longer now, too. The
// checkpoint also keeps the definitions of arrays that were added before, so these are filled first.
void CollectiveFile::set_length(const std::string& dimension, int64_t rows) {
  if (!is_new()) fill_unwritten();
  const std::vector<std::string> longer = open_arrays_along_later(dimension);
  Changed changed =
      Changed::parse(on_first_rank(*comm_, words(dimension + " has " + std::to_string(rows) + " rows"), [&] {
        return changes_->change([&](FormatFile& file) {
          file.set_length(dimension, rows);
          changes_->checkpoint();
          Changed made;
          for (const std::string& path : longer) made.others.push_back(file.describe(path));
          return made.serialise();
        });
      }));
  of_records([&](Records& all) {
    all.set_length(dimension, rows);
    new_lengths_[dimension] = rows;
    if (options_.contents) options_.contents->set_length(dimension, rows);
  });
  apply(changed);
}

std::vector<std::string> CollectiveFile::open_arrays_along_later(const std::string& dimension) const {
  std::vector<std::string> found;
  if (!options_.contents) return found;
  const Contents& contents = *options_.contents;
  for (const auto& array : arrays()) {
    const formats::Variable* variable = contents.variable(array->path());
    if (variable == nullptr) continue;
    const auto& names = variable->dimensions;
    const bool is_along = names.size() > 1 && std::any_of(names.begin() + 1, names.end(), [&](const auto& name) {
                            return contents.path_of(variable->group(), name) == dimension;
                          });
    if (is_along) found.push_back(array->path());
  }
  return found;
}

void CollectiveFile::complete_records() {
  const OneChange one_change(changing_);
  if (!records_) return;
  for (const auto& [dimension, length] : of_records([](Records& all) { return all.unfinished(); })) {
    const auto behind = of_records([&](Records& all) { return all.behind(dimension, length); });
    for (const std::string& variable : behind) fill_rows(variable, length);
    set_length(dimension, length);
  }
}

// If the format fills new rows itself, extending the array is enough: it also overwrites what a killed run has stored
// there.
void CollectiveFile::fill_rows(const std::string& variable, int64_t rows) {
  auto array = array_called(variable);
  if (array == nullptr && !format_.fills_rows()) array = array_to_fill(variable);
  const int64_t first = *known_rows(variable);
  if (array != nullptr) {
    extend(*array, rows, std::nullopt, words("fill rows to " + std::to_string(rows) + " of " + variable));
    if (!format_.fills_rows()) array->fill_rows(first, rows);
  }
  of_records([&](Records& all) { all.set_rows(variable, rows); });
}

// Null if only the format's library writes this variable: then no old data can lie behind its end.
std::shared_ptr<StoredArray> CollectiveFile::array_to_fill(const std::string& variable) {
  const auto described = on_first_rank(*comm_, words("open array " + variable), [&]() -> std::vector<std::byte> {
    try {
      const Description found = changes_->read([&](FormatFile& file) { return file.describe(variable); });
      if (std::holds_alternative<formats::LibraryLayout>(found.layout)) return {};
      return formats::serialise(found);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      return {};
    }
  });
  return described.empty() ? nullptr : make_array(formats::parse_description(described), false);
}

}  // namespace swath
