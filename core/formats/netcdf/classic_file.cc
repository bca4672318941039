#include "formats/netcdf/classic_file.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/counters.h"
#include "base/error.h"
#include "formats/choose.h"
#include "formats/files.h"
#include "formats/netcdf/define.h"
#include "formats/netcdf/values.h"
#include "formats/refusals.h"
#include "store/engine.h"
#include "store/file_calls.h"

namespace swath::formats::netcdf {
namespace {

constexpr size_t kNumpyDimensionsMax = 64;  // the maximum for an array

// Whether the header has no number of records (streaming): the length of the file gives the number.
bool is_streaming(const std::string& stored, int version) {
  const std::string_view records =
      std::string_view(stored).substr(kRecordsAt, static_cast<size_t>(count_bytes(version)));
  return std::all_of(records.begin(), records.end(), [](char byte) { return byte == '\xff'; });
}

std::string big_endian(int64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

// An open file whose metadata are read; also a file in a pool.
class Source {
 public:
  explicit Source(const std::string& path) : engine_(open_engine(path, OpenMode::kRead, {})), size_(engine_->size()) {}

  int64_t size() const { return size_; }

  int64_t read(int64_t offset, std::span<std::byte> target) {
    const int64_t bytes = std::min<int64_t>(std::ssize(target), size_ - offset);
    return bytes <= 0 ? 0 : engine_->read_to_end({offset, target.data(), bytes}, counters_);
  }

  std::string read_start(int64_t bytes) {
    std::string start(static_cast<size_t>(bytes), '\0');
    start.resize(static_cast<size_t>(read(0, std::as_writable_bytes(std::span(start)))));
    return start;
  }

 private:
  Counters counters_;
  std::unique_ptr<Engine> engine_;
  int64_t size_;
};

}  // namespace

ClassicFile::ClassicFile(std::string path, Changes* changes) : path_(std::move(path)), changes_(changes) { refresh(); }

void ClassicFile::refresh() {
  Source file(path_);
  const bool has_other_size = std::exchange(file_bytes_, file.size()) != file.size();
  const bool may_be_known = !stored_.empty() && !(has_other_size && is_streaming(stored_, header_.version));
  if (may_be_known && file.read_start(std::ssize(stored_)) == stored_) return;
  std::string stored;
  Header header = read_header(path_, file.size(), [&](int64_t offset, std::span<std::byte> target) {
    const int64_t bytes = file.read(offset, target);
    // the reads follow each other without gaps
    stored.append(reinterpret_cast<const char*>(target.data()), static_cast<size_t>(bytes));
    return bytes;
  });
  stored.resize(static_cast<size_t>(header.header_bytes));
  take_header(std::move(header), std::move(stored));
}

void ClassicFile::take_header(Header header, std::string stored) {
  header_ = std::move(header);
  stored_ = std::move(stored);
  contents_.reset();
  index_.clear();
  for (size_t i = 0; i < header_.variables.size(); ++i) index_.emplace(header_.variables[i].name, i);
}

Changes& ClassicFile::changes() {
  if (changes_ == nullptr) fail_argument(path_ + ": it was opened to be read; open it to be changed");
  return *changes_;
}

// ---- what it holds --------------------------------------------------------------------------------------------------

const Contents& ClassicFile::contents() {
  refresh();
  if (!contents_) list_contents();
  return *contents_;
}

Dimension ClassicFile::counted(const StoredDimension& dimension, int64_t records) const {
  return {dimension.name, dimension.is_unlimited() ? records : dimension.length, dimension.is_unlimited()};
}

void ClassicFile::list_contents() {
  Contents found("netcdf-classic", "CDF-" + std::to_string(header_.version));
  Group file{.attributes = attributes_of(header_.attributes)};
  for (const StoredDimension& dimension : header_.dimensions) {
    file.dimensions.push_back(counted(dimension, header_.records));
  }
  found.add(std::move(file));
  std::vector<formats::Variable> variables;
  std::set<std::string> describe_others;
  for (const StoredVariable& stored : header_.variables) {
    formats::Variable variable{.path = stored.name,
                               .shape = header_.shape_of(stored),
                               .type = element_type(stored.type),
                               .attributes = attributes_of(stored.attributes)};
    for (const int64_t index : stored.dimensions) {
      variable.dimensions.push_back(header_.dimensions[static_cast<size_t>(index)].name);
    }
    if (stored.dimensions.size() > kNumpyDimensionsMax) {
      variable.unsupported = "it has more than " + std::to_string(kNumpyDimensionsMax) + " dimensions";
    }
    add_described_by(variable.attributes, describe_others);
    variables.push_back(std::move(variable));
  }
  for (formats::Variable& variable : variables) {
    const bool is_along_itself = variable.dimensions.size() == 1 && variable.dimensions.front() == variable.path;
    variable.is_coordinate = is_along_itself || describe_others.contains(variable.path) || variable.type->kind == 'S';
    found.add(std::move(variable));
  }
  contents_ = std::move(found);
}

size_t ClassicFile::index_of(const std::optional<std::string>& variable) {
  const std::string wanted = variable.value_or("");
  if (const auto found = index_.find(wanted); found != index_.end()) return found->second;
  if (const auto found = index_.find(without_slashes(wanted)); found != index_.end()) return found->second;
  if (!contents_) list_contents();
  return index_.at(choose_variable(path_, contents_->variables(), variable));
}

Description ClassicFile::described(const StoredVariable& variable, int64_t records) const {
  Description found{.path = path_,
                    .format = "netcdf-classic",
                    .variable = variable.name,
                    .type = element_type(variable.type),
                    .attributes = attributes_of(variable.attributes)};
  for (const int64_t index : variable.dimensions) {
    const Dimension dimension = counted(header_.dimensions[static_cast<size_t>(index)], records);
    found.shape.push_back(dimension.length);
    found.dimensions.push_back(dimension.name);
    if (variable.is_record) found.unlimited.push_back(dimension.is_unlimited);
  }
  StridedLayout layout{variable.begin, std::vector<int64_t>(found.shape.size())};
  int64_t step = found.type.bytes;
  for (size_t axis = found.shape.size(); axis-- > (variable.is_record ? 1 : 0);) {
    layout.strides[axis] = step;
    step *= std::max<int64_t>(found.shape[axis], 1);  // within 64 bits: the header was checked
  }
  if (variable.is_record) layout.strides.front() = header_.record_bytes;
  found.layout = std::move(layout);
  found.fill = fill_of(found.type, found.attributes.find("_FillValue"));
  if (!variable.is_record) {
    found.end = variable.begin + variable.slab_bytes;
  } else if (records > 0) {
    found.end = variable.begin + (records - 1) * header_.record_bytes + variable.slab_bytes;
  }
  return found;
}

Description ClassicFile::describe(const std::optional<std::string>& variable) {
  refresh();
  Description found = described(header_.variables[index_of(variable)], header_.records);
  check_whole(found, file_bytes_);
  return found;
}

void ClassicFile::check_has_all_data() const {
  const auto last =
      std::max_element(header_.variables.begin(), header_.variables.end(),
                       [&](const auto& a, const auto& b) { return header_.stored_end(a) < header_.stored_end(b); });
  if (last != header_.variables.end()) check_whole(described(*last, header_.records), file_bytes_);
}

// ---- changes --------------------------------------------------------------------------------------------------------

template <typename Change>
void ClassicFile::rewrite_with(Change change) {
  Changes& journal = changes();
  check_has_all_data();
  const Version before = Version::of(header_);
  stored_.clear();  // the header in memory is not valid during the change; after an error it is read again
  change();
  assign_begins(header_);
  const Rewritten rewritten = rewrite(journal, before, header_);
  has_moved_ |= rewritten != Rewritten::kInPlace;
  has_replaced_ |= rewritten == Rewritten::kReplaced;
  stored_ = to_bytes(header_);
  contents_.reset();
}

Description ClassicFile::add(const NewArray& array) {
  refresh();
  rewrite_with([&] {
    refuse_other_orders(array, "netCDF");
    refuse_chunks(array, "netCDF classic");
    add_variable(header_, array);
  });
  const size_t index = header_.variables.size() - 1;
  index_.emplace(header_.variables[index].name, index);
  return describe(header_.variables[index].name);
}

void ClassicFile::set_attributes(const std::string& holder, const Attributes& changes) {
  refresh();
  const bool is_of_file = without_slashes(holder).empty();
  const size_t index = is_of_file ? 0 : index_of(holder);
  rewrite_with([&] { change_attributes(header_, is_of_file ? nullptr : &header_.variables[index], changes); });
}

Description ClassicFile::extend(const std::string& variable, int64_t rows, std::optional<int64_t> /*written_from*/) {
  refresh();
  const StoredVariable& chosen = header_.variables[index_of(variable)];
  if (!chosen.is_record) {
    fail_argument(path_ + ":" + variable + " does not grow: its first dimension is not unlimited");
  }
  check_records(header_, rows);
  return described(chosen, rows);
}

void ClassicFile::set_length(const std::string& dimension, int64_t rows) {
  Changes& journal = changes();
  refresh();
  const auto records = std::find_if(header_.dimensions.begin(), header_.dimensions.end(),
                                    [](const auto& one) { return one.is_unlimited(); });
  const bool has_records = records != header_.dimensions.end();
  if (!has_records || records->name != without_slashes(dimension)) {
    fail_argument(path_ + ": dimension " + dimension + " does not grow; the unlimited dimension is " +
                  (has_records ? records->name : "none"));
  }
  if (rows < header_.records) {
    fail_argument(path_ + ": dimension " + dimension + " has " + std::to_string(header_.records) +
                  " records; it cannot shrink to " + std::to_string(rows));
  }
  check_records(header_, rows);
  check_has_all_data();
  DataLayout longer = DataLayout::of(header_, header_.header_bytes);
  longer.records = rows;
  const std::string number = big_endian(rows, count_bytes(header_.version));
  store_errors(path_, "change", [&] {
    const Descriptor file = file_calls::open_file(path_, O_RDWR);
    // Before the first record of the journal, one write of the number makes all rows visible, or none. After it, an
    // undo may cut the file, so it must restore the number of records, too.
    if (journal.has_begun()) journal.keep(file.get(), kRecordsAt, std::ssize(number));
    formats::extend(path_, file.get(), longer.file_end());
    file_calls::write_at(file.get(), number, kRecordsAt);
  });
  header_.records = rows;
  stored_.replace(kRecordsAt, number.size(), number);
  if (contents_) contents_->set_length(records->name, rows);
}

}  // namespace swath::formats::netcdf
