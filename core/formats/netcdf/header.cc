#include "formats/netcdf/header.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "formats/text.h"

namespace swath::formats::netcdf {

namespace {

constexpr uint32_t kDimensionTag = 10;
constexpr uint32_t kVariableTag = 11;
constexpr uint32_t kAttributeTag = 12;

// The longest name or attribute that is read: a false length in a large file must not allocate that much memory.
constexpr uint64_t kFieldBytesMax = uint64_t{1} << 26;
// The most dimensions of a variable: NC_MAX_VAR_DIMS of netcdf.h.
constexpr uint64_t kDimensionsMax = 1024;
// The longest name in a message: NC_MAX_NAME of netcdf.h.
constexpr size_t kShownBytesMax = 256;
constexpr int64_t kBlockBytes = int64_t{64} << 10;
constexpr uint64_t kOffsetMax = INT64_MAX;

constexpr uint64_t padded_length(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// Text of the file for a message, cut to the length of a name.
std::string shown(std::string_view text) {
  size_t bytes = 0;
  std::string readable;
  while (bytes < text.size() && readable.size() < kShownBytesMax) {
    const size_t character = std::max<size_t>(character_bytes(text.substr(bytes)), 1);
    readable += escaped(text.substr(bytes, character));
    bytes += character;
  }
  return bytes == text.size() ? readable : readable + "…";
}

std::string shown(const std::vector<int64_t>& lengths) {
  std::string text;
  for (const int64_t length : lengths) text += (text.empty() ? "(" : ", ") + std::to_string(length);
  return text + (lengths.size() == 1 ? ",)" : ")");
}

// Parses a header field by field, and checks each length against the bytes that are left.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, int64_t file_bytes, const ReadAt& read)
      : path_(path), file_bytes_(file_bytes), read_(read) {}

  Header read() {
    Header header;
    header.version = read_version();
    const uint64_t records = number(count_bytes_, "the number of records");
    header.dimensions = read_dimensions();
    header.attributes = read_attributes("the file");
    header.variables = read_variables(header.dimensions);
    header.record_bytes = record_bytes(header.variables);
    header.records = records_of(records, header);
    header.header_bytes = at_;
    check_apart(header);
    make_names_text(header);
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(field_at_, what); }
  [[noreturn]] void fail_at(int64_t offset, const std::string& what) const {
    throw Error(ErrorKind::kFormat, path_ + ": netCDF header at byte " + std::to_string(offset) + ": " + what);
  }

  uint64_t bytes_left() const { return static_cast<uint64_t>(file_bytes_ - at_); }

  // Returns false at the end of the file.
  bool read_block() {
    block_.resize(static_cast<size_t>(std::min(kBlockBytes, file_bytes_ - at_)));
    const int64_t bytes = read_(at_, std::as_writable_bytes(std::span(block_)));
    unread_ = std::string_view(block_.data(), static_cast<size_t>(bytes));
    return bytes > 0;
  }

  // The next bytes. The memory grows with the bytes that were read, not with the length that the file states.
  std::string take(uint64_t bytes, const std::string& field) {
    field_at_ = at_;
    if (bytes > kFieldBytesMax) {
      fail(field + " takes " + std::to_string(bytes) + " bytes; no header needs more than " +
           std::to_string(kFieldBytesMax) + " for one");
    }
    if (bytes > bytes_left()) {
      fail(field + " takes " + std::to_string(bytes) + " bytes, but the file ends after " +
           std::to_string(bytes_left()) + " more: it is truncated or the header is damaged");
    }
    std::string taken;
    while (taken.size() < bytes) {
      if (unread_.empty() && !read_block()) {
        fail(field + " takes " + std::to_string(bytes) + " bytes, " + std::to_string(taken.size()) +
             " could be read: the file shrank meanwhile");
      }
      const size_t part = std::min(unread_.size(), static_cast<size_t>(bytes) - taken.size());
      taken += unread_.substr(0, part);
      unread_.remove_prefix(part);
      at_ += static_cast<int64_t>(part);
    }
    return taken;
  }

  // The value without its padding.
  std::string take_padded(uint64_t bytes, const std::string& field) {
    std::string taken = take(padded_length(bytes), field);
    taken.resize(static_cast<size_t>(bytes));
    return taken;
  }

  uint64_t number(int bytes, const std::string& field) {
    uint64_t value = 0;
    for (const char byte : take(static_cast<uint64_t>(bytes), field)) {
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
  }

  // A count of entries of at least `entry_bytes` each, which the rest of the file can hold.
  uint64_t count(const std::string& field, int64_t entry_bytes) {
    const uint64_t entries = number(count_bytes_, field);
    uint64_t bytes = 0;
    const bool is_beyond = __builtin_mul_overflow(entries, entry_bytes, &bytes);
    if (is_beyond || bytes > bytes_left()) {
      fail(field + " is " + std::to_string(entries) + ", which needs " +
           (is_beyond ? "more than " + std::to_string(UINT64_MAX) : std::to_string(bytes)) + " bytes; " +
           std::to_string(bytes_left()) + " are left");
    }
    return entries;
  }

  int read_version() {
    const std::string magic = take(4, "the magic number");
    if (!magic.starts_with("CDF")) fail("the file begins with \"" + shown(magic) + "\"; expected CDF");
    const int version = static_cast<unsigned char>(magic[3]);
    if (version != 1 && version != 2 && version != 5) {
      fail("version " + std::to_string(version) + " of netCDF classic is unknown; expected 1, 2 or 5");
    }
    count_bytes_ = count_bytes(version);
    begin_bytes_ = version == 1 ? 4 : 8;
    last_type_ = version == 5 ? Type::kUInt64 : Type::kDouble;
    return version;
  }

  // A name ends at its first zero byte: netCDF's library keeps the old length when a name becomes shorter.
  std::string read_name(const std::string& of) {
    const uint64_t bytes = count("the length of the name of " + of, 1);
    std::string name = take_padded(bytes, "the name of " + of);
    name.resize(std::min(name.size(), name.find('\0')));
    if (name.empty()) fail("the name of " + of + " is empty");
    return name;
  }

  uint64_t list_length(uint32_t tag, const std::string& of, int64_t entry_bytes) {
    const uint64_t found = number(4, "the tag of the " + of);
    if (found != 0 && found != tag) {
      fail("the tag of the " + of + " is " + std::to_string(found) + "; expected " + std::to_string(tag) +
           ", or 0 for none");
    }
    const uint64_t entries = count("the number of " + of, entry_bytes);
    if (found == 0 && entries != 0) fail(std::to_string(entries) + " " + of + " follow a tag that says there are none");
    return entries;
  }

  Type read_type(const std::string& of) {
    const uint64_t code = number(4, "the type of " + of);
    const int last = static_cast<int>(last_type_);
    if (code < 1 || code > static_cast<uint64_t>(last)) {
      fail("the type of " + of + " is " + std::to_string(code) + "; expected 1 to " + std::to_string(last));
    }
    return static_cast<Type>(code);
  }

  std::vector<StoredDimension> read_dimensions() {
    std::vector<StoredDimension> found;
    std::set<std::string> names;
    bool has_records = false;
    const uint64_t entries = list_length(kDimensionTag, "dimensions", 2 * count_bytes_ + 4);
    for (uint64_t i = 0; i < entries; ++i) {
      std::string name = read_name("dimension " + std::to_string(i));
      const std::string of = "dimension " + shown(name);
      if (!names.insert(name).second) fail("there are two dimensions " + shown(name));
      const uint64_t length = number(count_bytes_, "the length of " + of);
      if (length > kOffsetMax) fail(of + " of length " + std::to_string(length) + " is beyond 64-bit offsets");
      if (length == 0 && has_records) fail(of + " has length 0, but there is a record dimension already");
      has_records |= length == 0;
      found.push_back({std::move(name), static_cast<int64_t>(length)});
    }
    return found;
  }

  std::vector<StoredAttribute> read_attributes(const std::string& of) {
    std::vector<StoredAttribute> found;
    const uint64_t entries = list_length(kAttributeTag, "attributes of " + of, 2 * count_bytes_ + 8);
    for (uint64_t i = 0; i < entries; ++i) {
      std::string name = read_name("attribute " + std::to_string(i) + " of " + of);
      const std::string attribute = "attribute " + shown(name) + " of " + of;
      const Type type = read_type(attribute);
      const uint64_t values = count("the length of " + attribute, type_bytes(type));
      const uint64_t bytes = values * static_cast<uint64_t>(type_bytes(type));
      found.push_back({std::move(name), type, take_padded(bytes, "the value of " + attribute)});
    }
    return found;
  }

  std::vector<int64_t> read_dimension_indices(const std::string& of, size_t dimensions) {
    std::vector<int64_t> found;
    const uint64_t entries = count("the number of dimensions of " + of, count_bytes_);
    if (entries > kDimensionsMax) {
      fail("variable " + of + " has " + std::to_string(entries) + " dimensions; netCDF allows " +
           std::to_string(kDimensionsMax));
    }
    for (uint64_t i = 0; i < entries; ++i) {
      const uint64_t index = number(count_bytes_, "a dimension of " + of);
      if (index >= dimensions) {
        fail("variable " + of + " has dimension " + std::to_string(index) + "; the file has only " +
             std::to_string(dimensions));
      }
      found.push_back(static_cast<int64_t>(index));
    }
    return found;
  }

  StoredVariable read_variable(uint64_t number_in_file, const std::vector<StoredDimension>& dimensions) {
    StoredVariable variable;
    variable.name = read_name("variable " + std::to_string(number_in_file));
    const std::string of = shown(variable.name);
    variable.dimensions = read_dimension_indices(of, dimensions.size());
    std::vector<int64_t> lengths;
    for (const int64_t index : variable.dimensions) lengths.push_back(dimensions[static_cast<size_t>(index)].length);
    variable.is_record = !lengths.empty() && lengths.front() == 0;
    if (std::count(lengths.begin(), lengths.end(), 0) > (variable.is_record ? 1 : 0)) {
      fail("variable " + of + " has the record dimension at a place other than the first");
    }
    variable.attributes = read_attributes(of);
    variable.type = read_type(of);
    take(static_cast<uint64_t>(count_bytes_), "vsize of " + of);
    const uint64_t begin = number(begin_bytes_, "the begin of " + of);
    variable.slab_bytes = slab_bytes(of, lengths, variable.type);
    if (begin > kOffsetMax - static_cast<uint64_t>(variable.slab_bytes)) {
      fail("data of " + of + " begin at byte " + std::to_string(begin) + " and end beyond 64-bit offsets");
    }
    variable.begin = static_cast<int64_t>(begin);
    return variable;
  }

  int64_t slab_bytes(const std::string& of, const std::vector<int64_t>& lengths, Type type) const {
    int64_t bytes = type_bytes(type);
    for (const int64_t length : lengths) {
      // length 0 is the record dimension: count one record
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes)) {
        fail("variable " + of + " of shape " + shown(lengths) + " is beyond 64-bit offsets");
      }
    }
    return bytes;
  }

  std::vector<StoredVariable> read_variables(const std::vector<StoredDimension>& dimensions) {
    std::vector<StoredVariable> found;
    std::set<std::string> names;
    const uint64_t entries = list_length(kVariableTag, "variables", 3 * count_bytes_ + 16 + begin_bytes_);
    for (uint64_t i = 0; i < entries; ++i) {
      found.push_back(read_variable(i, dimensions));
      const std::string& name = found.back().name;
      if (!names.insert(name).second) fail("there are two variables " + shown(name));
    }
    for (const StoredVariable& variable : found) {
      if (variable.begin < at_) {
        fail("data of " + shown(variable.name) + " begin at byte " + std::to_string(variable.begin) +
             ", inside the header");
      }
    }
    return found;
  }

  int64_t record_bytes(const std::vector<StoredVariable>& variables) const {
    int64_t in_records = 0;
    int64_t alone = 0;
    int64_t together = 0;
    for (const StoredVariable& variable : variables) {
      if (!variable.is_record) continue;
      ++in_records;
      alone = variable.slab_bytes;
      if (__builtin_add_overflow(together, variable.padded_bytes(), &together)) {
        fail_at(kRecordsAt, "one record of all variables is beyond 64-bit offsets: records are too many");
      }
    }
    return in_records == 1 ? alone : together;
  }

  // `stated`: the number in the header.
  int64_t records_of(uint64_t stated, const Header& header) const {
    const uint64_t streaming = count_bytes_ == 8 ? UINT64_MAX : UINT32_MAX;
    // The file was written as a stream, without the number.
    const uint64_t records = stated == streaming ? static_cast<uint64_t>(records_that_fit(header)) : stated;
    const bool fit = std::all_of(header.variables.begin(), header.variables.end(), [&](const StoredVariable& variable) {
      if (!variable.is_record || records == 0) return true;
      const auto room = kOffsetMax - static_cast<uint64_t>(variable.begin + variable.slab_bytes);
      return records - 1 <= room / static_cast<uint64_t>(header.record_bytes);
    });
    uint64_t bytes = 0;
    const bool is_beyond = __builtin_mul_overflow(records, header.record_bytes, &bytes) || bytes > kOffsetMax;
    if (records > kOffsetMax || is_beyond || !fit) {
      fail_at(kRecordsAt,
              std::to_string(records) + " records of " + std::to_string(header.record_bytes) + " bytes are too many");
    }
    return static_cast<int64_t>(records);
  }

  // The last record counts even without its padding.
  int64_t records_that_fit(const Header& header) const {
    int64_t last_end = 0;
    for (const StoredVariable& variable : header.variables) {
      if (variable.is_record) last_end = std::max(last_end, variable.begin + variable.slab_bytes);
    }
    if (header.record_bytes == 0 || file_bytes_ < last_end) return 0;
    return (file_bytes_ - last_end) / header.record_bytes + 1;
  }

  // Throws if two variables share bytes, because a write of one would damage the other.
  void check_apart(const Header& header) const {
    std::vector<std::tuple<int64_t, int64_t, std::string_view>> claims;
    int64_t first_record = INT64_MAX;
    for (const StoredVariable& variable : header.variables) {
      if (variable.is_record) first_record = std::min(first_record, variable.begin);
      if (variable.is_record && header.records == 0) continue;
      claims.emplace_back(variable.begin, variable.begin + variable.slab_bytes, variable.name);
    }
    std::sort(claims.begin(), claims.end());
    for (size_t i = 1; i < claims.size(); ++i) {
      const auto& [unused, end, one] = claims[i - 1];
      const auto& [begin, unused_end, other] = claims[i];
      if (begin >= end) continue;
      fail_placed(one, " up to byte " + std::to_string(end) + ", and " + shown(other) + " from " +
                           std::to_string(begin) + " on");
    }
    if (header.records < 2) return;
    for (const auto& [begin, end, name] : claims) {
      if (begin < first_record || end - first_record <= header.record_bytes) continue;
      fail_placed(name, " across the records, which are " + std::to_string(header.record_bytes) +
                            " bytes each from byte " + std::to_string(first_record) + " on");
    }
  }

  [[noreturn]] void fail_placed(std::string_view name, const std::string& where) const {
    throw Error(ErrorKind::kFormat, path_ + ": netCDF header places " + shown(name) + where);
  }

  void make_names_text(Header& header) {
    for (StoredDimension& dimension : header.dimensions) make_text(dimension.name);
    for (StoredAttribute& attribute : header.attributes) make_text(attribute.name);
    for (StoredVariable& variable : header.variables) {
      make_text(variable.name);
      for (StoredAttribute& attribute : variable.attributes) make_text(attribute.name);
    }
    header.latin1_names = std::move(latin1_names_);
  }

  void make_text(std::string& name) {
    if (std::all_of(name.begin(), name.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x80; }))
      return;
    std::string text = text_of(name);
    (text == name ? utf8_names_ : latin1_names_).insert(text);
    if (utf8_names_.contains(text) && latin1_names_.contains(text)) {
      throw Error(ErrorKind::kFormat, path_ + ": netCDF header has the name " + quoted(text) +
                                          " in UTF-8 and in Latin-1: they cannot be told apart");
    }
    name = std::move(text);
  }

  const std::string& path_;
  const int64_t file_bytes_;
  const ReadAt& read_;
  int64_t at_ = 0;        // of the next byte
  int64_t field_at_ = 0;  // the begin of the field that was read last
  std::vector<char> block_;
  std::string_view unread_;           // of the block
  std::set<std::string> utf8_names_;  // names that are not ASCII
  std::set<std::string> latin1_names_;
  int count_bytes_ = 4;
  int begin_bytes_ = 4;
  Type last_type_ = Type::kDouble;
};

// Writes a header field by field: the inverse of HeaderReader.
class HeaderWriter {
 public:
  explicit HeaderWriter(const Header& header) : header_(header), count_bytes_(count_bytes(header.version)) {}

  std::string write() {
    bytes_ = "CDF";
    number(static_cast<uint64_t>(header_.version), 1);
    count(header_.records);
    list(kDimensionTag, std::ssize(header_.dimensions));
    for (const StoredDimension& dimension : header_.dimensions) {
      name(dimension.name);
      count(dimension.length);
    }
    attributes(header_.attributes);
    list(kVariableTag, std::ssize(header_.variables));
    for (const StoredVariable& one : header_.variables) variable(one);
    return std::move(bytes_);
  }

 private:
  void number(uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) bytes_ += static_cast<char>(value >> shift);
  }
  void count(int64_t value) { number(static_cast<uint64_t>(value), count_bytes_); }
  void list(uint32_t tag, int64_t entries) {
    number(entries == 0 ? 0 : tag, 4);
    count(entries);
  }
  void padded_text(const std::string& stored) {
    bytes_ += stored;
    bytes_.append((4 - stored.size() % 4) % 4, '\0');
  }
  void name(const std::string& text) {
    const std::string stored = header_.latin1_names.contains(text) ? latin1_of(text) : text;
    count(std::ssize(stored));
    padded_text(stored);
  }
  void attributes(const std::vector<StoredAttribute>& stored) {
    list(kAttributeTag, std::ssize(stored));
    for (const StoredAttribute& attribute : stored) {
      name(attribute.name);
      number(static_cast<uint64_t>(attribute.type), 4);
      count(std::ssize(attribute.values) / type_bytes(attribute.type));
      padded_text(attribute.values);
    }
  }
  void variable(const StoredVariable& stored) {
    name(stored.name);
    count(std::ssize(stored.dimensions));
    for (const int64_t index : stored.dimensions) count(index);
    attributes(stored.attributes);
    number(static_cast<uint64_t>(stored.type), 4);
    // The largest value means "too large for this field".
    const uint64_t vsize_max = header_.version == 5 ? UINT64_MAX - 3 : UINT32_MAX;
    number(std::min(padded_length(static_cast<uint64_t>(stored.slab_bytes)), vsize_max), count_bytes_);
    number(static_cast<uint64_t>(stored.begin), header_.version == 1 ? 4 : 8);
  }

  const Header& header_;
  const int count_bytes_;
  std::string bytes_;
};

}  // namespace

int64_t type_bytes(Type type) {
  constexpr std::array<int64_t, 12> kBytes = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  return kBytes[static_cast<size_t>(type)];
}

std::vector<int64_t> Header::shape_of(const StoredVariable& variable) const {
  std::vector<int64_t> shape;
  for (const int64_t index : variable.dimensions) shape.push_back(dimensions[static_cast<size_t>(index)].length);
  if (variable.is_record) shape.front() = records;
  return shape;
}

int64_t Header::stored_end(const StoredVariable& variable) const {
  if (!variable.is_record) return variable.begin + variable.slab_bytes;
  return records == 0 ? 0 : variable.begin + (records - 1) * record_bytes + variable.slab_bytes;
}

Header read_header(const std::string& path, int64_t file_bytes, const ReadAt& read) {
  return HeaderReader(path, file_bytes, read).read();
}

std::string to_bytes(const Header& header) { return HeaderWriter(header).write(); }

}  // namespace swath::formats::netcdf
