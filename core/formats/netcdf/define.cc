#include "formats/netcdf/define.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "formats/netcdf/values.h"
#include "formats/refusals.h"
#include "formats/text.h"

namespace swath::formats::netcdf {
namespace {

// For sums and products of lengths that are checked afterwards.
__extension__ using Wide = __int128;

constexpr int64_t kDataAlign = 4096;                   // data, and large variables, begin at whole pages
constexpr int64_t kAlignedBytesMin = 16 * kDataAlign;  // a fixed variable of at least this size begins at a page
constexpr int64_t kRoomBytes = 8192;                   // the least free space after a header, for later changes
constexpr int64_t kNowhere = 0;                        // not placed yet: no data begin at byte 0
constexpr Wide kOffsetLimit = Wide{1} << 63;

// The limits of a version of the format.
struct Bounds {
  int64_t length;
  int64_t records;
  int64_t begin;
  int64_t slab_bytes;  // of a variable, or of one record of it, that another one follows
};

Bounds bounds_of(int version) {
  constexpr int64_t kInt32Max = INT32_MAX;
  if (version == 5) return {INT64_MAX - 3, INT64_MAX, INT64_MAX, INT64_MAX - 3};
  if (version == 2) return {kInt32Max - 3, kInt32Max, INT64_MAX, int64_t{UINT32_MAX} - 3};
  return {kInt32Max - 3, kInt32Max, kInt32Max, kInt32Max - 3};
}

Wide wide_padded(Wide bytes) { return (bytes + 3) / 4 * 4; }
Wide aligned(Wide offset) { return (offset + kDataAlign - 1) / kDataAlign * kDataAlign; }

std::string decimal(Wide value) {
  std::string digits;
  for (; value > 0; value /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return digits.empty() ? "0" : digits;
}

std::string cdf(int version) { return "CDF-" + std::to_string(version); }

// ---- dimensions -----------------------------------------------------------------------------------------------------

// A dimension that a new variable asks for.
struct Wanted {
  std::string name;
  int64_t length = 0;
  bool is_unlimited = false;
};

using Dimensions = std::vector<StoredDimension>;

Dimensions::const_iterator find(const Dimensions& dimensions, const std::string& name) {
  return std::find_if(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.name == name; });
}

Dimensions::const_iterator find_unlimited(const Dimensions& dimensions) {
  return std::find_if(dimensions.begin(), dimensions.end(), [](const auto& one) { return one.is_unlimited(); });
}

void check_new(int version, const Dimensions& dimensions, const Wanted& wanted) {
  const int64_t length_max = bounds_of(version).length;
  if (wanted.length > length_max) {
    fail_argument("dimension " + wanted.name + " of " + std::to_string(wanted.length) + ": a dimension of " +
                  cdf(version) + " has at most " + std::to_string(length_max) + " elements");
  }
  if (!wanted.is_unlimited) return;
  if (wanted.length != 0) {
    fail_argument("dimension " + wanted.name + " grows from length 0, not from " + std::to_string(wanted.length));
  }
  if (const auto other = find_unlimited(dimensions); other != dimensions.end()) {
    fail_argument("dimension " + wanted.name +
                  " cannot be unlimited: a netCDF classic file has one such dimension, which is " + other->name +
                  " here; grow along that one, or choose netCDF-4");
  }
}

// Throws if the existing dimension, of this length, does not fit the wanted one.
void check_same(const StoredDimension& there, int64_t length, const Wanted& wanted, bool is_first) {
  if (there.is_unlimited() && !is_first) {
    fail_argument("dimension " + there.name +
                  " is unlimited in this file, and netCDF classic stores no unlimited dimension but the first of a "
                  "variable: put it first, or choose netCDF-4");
  }
  const std::string has = "dimension " + there.name + " has " + std::to_string(length) + " elements in this file";
  if (wanted.is_unlimited && !there.is_unlimited()) fail_argument(has + " and cannot grow");
  if (wanted.length == length || (there.is_unlimited() && wanted.length == 0)) return;
  fail_argument(has + (there.is_unlimited() ? " (it is unlimited)" : "") + ", not " + std::to_string(wanted.length) +
                ": give the same length, or another name");
}

// A name for a dimension: that of the records, of an equal dimension whose index is not in `taken`, or a new one.
std::string invented_name(const Dimensions& dimensions, const Wanted& wanted, const std::vector<int64_t>& taken) {
  const auto records = find_unlimited(dimensions);
  if (records != dimensions.end() && wanted.is_unlimited) return records->name;
  for (size_t number = taken.size();; ++number) {
    std::string name = "dim" + std::to_string(number);
    const auto there = find(dimensions, name);
    if (there == dimensions.end()) return name;
    const bool is_same = there->length == wanted.length && there->is_unlimited() == wanted.is_unlimited;
    if (is_same && std::find(taken.begin(), taken.end(), there - dimensions.begin()) == taken.end()) return name;
  }
}

bool grows(const NewArray& array, size_t axis) { return array.grows(axis) || (axis == 0 && array.shape[axis] == 0); }

// Adds the dimensions that are new, and returns the indices of all dimensions of the variable.
std::vector<int64_t> add_dimensions_of(const NewArray& array, const Header& header, Dimensions& dimensions) {
  std::vector<int64_t> indices;
  for (size_t axis = 0; axis < array.shape.size(); ++axis) {
    Wanted wanted{"", array.shape[axis], grows(array, axis)};
    if (axis > 0 && (wanted.is_unlimited || wanted.length == 0)) {
      fail_argument("netCDF classic stores no " + std::string(wanted.is_unlimited ? "unlimited" : "zero-length") +
                    " dimension but the first; shape is " + tuple_text(array.shape) +
                    ": put it first, or choose netCDF-4 or HDF5");
    }
    wanted.name =
        array.dimensions ? checked_name((*array.dimensions)[axis]) : invented_name(dimensions, wanted, indices);
    const auto there = find(dimensions, wanted.name);
    indices.push_back(there - dimensions.begin());
    if (there == dimensions.end()) {
      check_new(header.version, dimensions, wanted);
      dimensions.push_back({wanted.name, wanted.is_unlimited ? 0 : wanted.length});
    } else {
      check_same(*there, there->is_unlimited() ? header.records : there->length, wanted, axis == 0);
    }
  }
  return indices;
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

// Throws if the number of bytes is beyond 64 bits.
int64_t slab_bytes_of(const Dimensions& dimensions, const StoredVariable& variable, int version) {
  Wide bytes = type_bytes(variable.type);
  for (size_t axis = variable.is_record ? 1 : 0; axis < variable.dimensions.size(); ++axis) {
    // The product stops beyond 64 bits; the error shows it, and 128 bits hold it.
    if (bytes < kOffsetLimit) bytes *= dimensions[static_cast<size_t>(variable.dimensions[axis])].length;
  }
  if (bytes < kOffsetLimit) return static_cast<int64_t>(bytes);
  const std::string what = variable.is_record ? "one record of variable " : "variable ";
  fail_argument(what + variable.name + " takes " + decimal(bytes) + " bytes; in " + cdf(version) +
                " none may take so many, for 64-bit offsets end before; choose smaller dimensions");
}

// Throws if a large variable is not the last one, as netCDF's library does (NC_EVARSIZE).
void check_sizes(const Header& header) {
  const int64_t slab_bytes_max = bounds_of(header.version).slab_bytes;
  const StoredVariable* last_fixed = nullptr;
  int64_t of_records = 0;
  for (const StoredVariable& variable : header.variables) {
    if (variable.is_record) ++of_records;
    if (!variable.is_record) last_fixed = &variable;
  }
  for (const StoredVariable& variable : header.variables) {
    if (variable.slab_bytes <= slab_bytes_max) continue;
    const bool is_last = variable.is_record ? of_records == 1 : &variable == last_fixed && of_records == 0;
    if (header.version != 5 && is_last) continue;
    fail_argument(std::string(variable.is_record ? "one record of variable " : "variable ") + variable.name +
                  " takes " + std::to_string(variable.slab_bytes) + " bytes; in " + cdf(header.version) + " only " +
                  (variable.is_record ? "a single record variable" : "the last of a file without record variables") +
                  " may take more than " + std::to_string(slab_bytes_max) +
                  "; choose netcdf-classic:cdf5, netCDF-4 or HDF5");
  }
}

// The records of a single record variable are not padded.
int64_t record_bytes_of(const Header& header) {
  Wide together = 0;
  int64_t alone = 0;
  int64_t count = 0;
  for (const StoredVariable& variable : header.variables) {
    if (!variable.is_record) continue;
    ++count;
    alone = variable.slab_bytes;
    together += wide_padded(variable.slab_bytes);
  }
  if (count == 1) return alone;
  if (together >= kOffsetLimit) {
    fail_argument("one record of all variables takes " + decimal(together) + " bytes, beyond 64-bit offsets");
  }
  return static_cast<int64_t>(together);
}

// ---- places ---------------------------------------------------------------------------------------------------------

struct FirstData {
  Wide shift;  // the distance that all existing data move
  Wide begin;  // the first byte that data may use
};

FirstData first_data_of(const Header& header, int64_t header_bytes) {
  Wide first = 0;
  for (const StoredVariable& variable : header.variables) {
    if (variable.begin != kNowhere && (first == 0 || variable.begin < first)) first = variable.begin;
  }
  const Wide begin = header_bytes <= first ? first : aligned(header_bytes + std::max(kRoomBytes, header_bytes));
  return {begin - first, begin};
}

// Sets the offsets of the fixed variables; returns the end of the last one.
Wide assign_fixed(const Header& header, const FirstData& data, std::vector<Wide>& begins) {
  Wide end = data.begin;
  for (size_t i = 0; i < begins.size(); ++i) {
    const StoredVariable& variable = header.variables[i];
    if (variable.is_record || variable.begin == kNowhere) continue;
    begins[i] = variable.begin + data.shift;
    end = std::max(end, begins[i] + wide_padded(variable.slab_bytes));
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    const StoredVariable& variable = header.variables[i];
    if (variable.is_record || variable.begin != kNowhere) continue;
    begins[i] = variable.slab_bytes >= kAlignedBytesMin ? aligned(end) : wide_padded(end);
    end = begins[i] + wide_padded(variable.slab_bytes);
  }
  return end;
}

void assign_records(const Header& header, Wide shift, Wide fixed_end, std::vector<Wide>& begins) {
  Wide old_begin = 0;
  for (const StoredVariable& variable : header.variables) {
    if (!variable.is_record || variable.begin == kNowhere) continue;
    if (old_begin == 0 || variable.begin < old_begin) old_begin = variable.begin;
  }
  const bool stays = old_begin != 0 && old_begin + shift >= fixed_end;
  const Wide begin = stays ? old_begin + shift : aligned(fixed_end);
  Wide end = begin;
  for (size_t i = 0; i < begins.size(); ++i) {
    const StoredVariable& variable = header.variables[i];
    if (!variable.is_record) continue;
    begins[i] = variable.begin == kNowhere ? end : variable.begin - old_begin + begin;
    end += wide_padded(variable.slab_bytes);
  }
}

void check_begins(const Header& header, const std::vector<Wide>& begins) {
  const int64_t begin_max = bounds_of(header.version).begin;
  Wide end = 0;
  Wide record_begin = kOffsetLimit;
  for (size_t i = 0; i < begins.size(); ++i) {
    const StoredVariable& variable = header.variables[i];
    if (begins[i] > begin_max) {
      fail_argument("variable " + variable.name + " would begin at byte " + decimal(begins[i]) + ", and " +
                    cdf(header.version) + " can tell of bytes up to " + std::to_string(begin_max) + " only; choose " +
                    (header.version < 5 ? "netcdf-classic:cdf5" : "HDF5"));
    }
    end = std::max(end, begins[i] + wide_padded(variable.slab_bytes));
    if (variable.is_record) record_begin = std::min(record_begin, begins[i]);
  }
  if (record_begin < kOffsetLimit) end = std::max(end, record_begin + Wide{header.records} * header.record_bytes);
  if (end >= kOffsetLimit) fail_argument("a file of " + decimal(end) + " bytes is beyond 64-bit offsets");
}

}  // namespace

void add_variable(Header& header, const NewArray& array) {
  StoredVariable variable;
  variable.name = checked_name(array.path());
  for (const StoredVariable& other : header.variables) {
    if (other.name != variable.name) continue;
    throw Error(ErrorKind::kStore, "there is a variable " + quoted(variable.name) + " already; choose another name",
                EEXIST);
  }
  if (array.attributes.find("_FillValue") != nullptr)
    fail_argument("give _FillValue as fill=, not among the attributes");
  variable.type = type_of(array.type, header.version);
  Dimensions dimensions = header.dimensions;
  variable.dimensions = add_dimensions_of(array, header, dimensions);
  variable.is_record =
      !variable.dimensions.empty() && dimensions[static_cast<size_t>(variable.dimensions.front())].is_unlimited();

  Attributes attributes;
  if (array.stated_fill) {
    attributes.set("_FillValue", *array.stated_fill);
  } else if (array.fill && array.marks_fill) {
    attributes.set("_FillValue", NumbersValue{array.type, {}, *array.fill});
  }
  for (const auto& [name, value] : array.attributes.entries()) attributes.set(name, value);
  variable.attributes = with_changes({}, attributes, header.version);
  variable.slab_bytes = slab_bytes_of(dimensions, variable, header.version);

  const size_t count = header.dimensions.size();
  header.variables.push_back(std::move(variable));
  std::swap(header.dimensions, dimensions);
  try {
    check_sizes(header);
    header.record_bytes = record_bytes_of(header);
  } catch (...) {
    header.variables.pop_back();
    header.dimensions.resize(count, {"", 0});
    throw;
  }
}

void add_dimension(Header& header, const Dimension& dimension) {
  if (dimension.length == 0 && !dimension.is_unlimited) {
    fail_argument("dimension " + dimension.name +
                  " has no elements, and netCDF classic takes length 0 for unlimited; choose netCDF-4 or HDF5");
  }
  const Wanted wanted{checked_name(dimension.name), dimension.is_unlimited ? 0 : dimension.length,
                      dimension.is_unlimited};
  check_new(header.version, header.dimensions, wanted);
  header.dimensions.push_back({wanted.name, wanted.length});
  if (dimension.is_unlimited) header.records = dimension.length;
}

void change_attributes(Header& header, StoredVariable* variable, const Attributes& changes) {
  if (variable == nullptr) {
    header.attributes = with_changes(header.attributes, changes, header.version);
    return;
  }
  Attributes wanted = changes;
  const AttributeValue* fill = wanted.find("_FillValue");
  if (fill != nullptr && !std::holds_alternative<NullValue>(*fill)) {
    wanted.set("_FillValue", checked_fill(*fill, element_type(variable->type)));
  }
  variable->attributes = with_changes(variable->attributes, wanted, header.version);
}

DataLayout DataLayout::of(const Header& header, int64_t header_bytes) {
  DataLayout layout{header_bytes, header.records, header.record_bytes, {}};
  layout.variables.reserve(header.variables.size());
  for (const StoredVariable& variable : header.variables) {
    layout.variables.push_back({variable.begin, variable.slab_bytes, variable.is_record});
  }
  return layout;
}

int64_t DataLayout::file_end() const {
  int64_t end = header_bytes;
  std::optional<int64_t> record_begin;
  for (const VariableData& variable : variables) {
    end = std::max(end, variable.is_record ? variable.begin : variable.end());
    if (variable.is_record) record_begin = std::min(record_begin.value_or(variable.begin), variable.begin);
  }
  return record_begin ? std::max(end, *record_begin + records * record_bytes) : end;
}

bool DataLayout::is_in_order() const {
  int64_t begin = INT64_MAX;
  int64_t end = 0;
  int64_t fixed_end = 0;
  Wide bytes = 0;
  for (const VariableData& variable : variables) {
    if (!variable.is_record) {
      fixed_end = std::max(fixed_end, variable.end());
      continue;
    }
    begin = std::min(begin, variable.begin);
    end = std::max(end, variable.end());
    bytes += padded(variable.slab_bytes);
  }
  return begin == INT64_MAX || (end - begin == bytes && fixed_end <= begin);
}

void assign_begins(Header& header) {
  const auto header_bytes = std::ssize(to_bytes(header));
  const FirstData data = first_data_of(header, header_bytes);
  std::vector<Wide> begins(header.variables.size());
  const Wide fixed_end = assign_fixed(header, data, begins);
  assign_records(header, data.shift, fixed_end, begins);
  check_begins(header, begins);
  for (size_t i = 0; i < begins.size(); ++i) header.variables[i].begin = static_cast<int64_t>(begins[i]);
}

std::vector<Move> moves(const DataLayout& before, const DataLayout& after, int64_t file_bytes) {
  using Begins = std::optional<std::pair<int64_t, int64_t>>;  // the offsets of the first variable before and after
  Begins records;
  Begins fixed;
  int64_t fixed_end = 0;
  for (size_t i = 0; i < before.variables.size(); ++i) {
    const VariableData& variable = before.variables[i];
    Begins& first = variable.is_record ? records : fixed;
    const std::pair<int64_t, int64_t> here{variable.begin, after.variables[i].begin};
    first = std::min(first.value_or(here), here);
    if (!variable.is_record) fixed_end = std::max(fixed_end, variable.end());
  }
  std::vector<Move> found;
  if (records && records->first < file_bytes) {
    const int64_t held = file_bytes - records->first;
    const int64_t step = before.record_bytes;
    if (step == after.record_bytes) {
      found.push_back({records->first, records->second, 1, held, held});
    } else {
      found.push_back({records->first, records->second, (held + step - 1) / step, step, after.record_bytes});
    }
  }
  if (fixed && fixed->first < std::min(file_bytes, fixed_end)) {
    const int64_t held = std::min(file_bytes, fixed_end) - fixed->first;
    found.push_back({fixed->first, fixed->second, 1, held, held});
  }
  return found;
}

void check_records(const Header& header, int64_t records) {
  const int64_t records_max = bounds_of(header.version).records;
  if (records < 0 || records > records_max) {
    fail_argument(std::to_string(records) + " records: a " + cdf(header.version) + " file has 0 to " +
                  std::to_string(records_max) + " of them");
  }
  Wide begin = 0;
  for (const StoredVariable& variable : header.variables) {
    if (variable.is_record) begin = std::max<Wide>(begin, variable.end());
  }
  if (begin + Wide{records} * header.record_bytes >= kOffsetLimit) {
    fail_argument(std::to_string(records) + " records of " + std::to_string(header.record_bytes) +
                  " bytes are beyond 64-bit offsets");
  }
}

}  // namespace swath::formats::netcdf
