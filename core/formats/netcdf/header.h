// netCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit sizes and more types).
//
// netCDF's library does not report offsets, so Swath parses the header, by the grammar of the "NetCDF classic format
// specification" (netCDF Users Guide, appendix B) and of PnetCDF's CDF-5. All numbers are big-endian.
//
//     header  = "CDF" version  numrecs  dimensions  attributes  variables
//     list    = tag (4 bytes) count entry…         (tag 0 and count 0 when absent)
//     name    = count bytes…                       (like every run of small values, padded to 4 bytes)
//     variable = name  count dimension-index…  attributes  type  vsize  begin
//
// Counts and sizes take 4 bytes, in CDF-5 8; `begin` takes 4 in CDF-1, else 8. A variable whose first dimension is the
// record dimension (length 0) is stored in records: record r of all these variables is contiguous. It begins at
// `begin + r * record size`. Each variable's part of a record is padded to 4 bytes, unless there is only one such
// variable. `vsize` is computed, not read, because the field cannot hold large sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace swath::formats::netcdf {

// The numbers of the types in files; those from kUByte on exist in CDF-5 only.
enum class Type : int {
  kByte = 1,
  kChar = 2,
  kShort = 3,
  kInt = 4,
  kFloat = 5,
  kDouble = 6,
  kUByte = 7,
  kUShort = 8,
  kUInt = 9,
  kInt64 = 10,
  kUInt64 = 11,
};

// The bytes of one value.
int64_t type_bytes(Type type);

// Bytes with padding to a multiple of 4, as data, names and attributes have it.
constexpr int64_t padded(int64_t bytes) { return bytes + (4 - bytes % 4) % 4; }

struct StoredDimension {
  std::string name;
  int64_t length;  // 0: the record dimension

  bool is_unlimited() const { return length == 0; }
  bool operator==(const StoredDimension& other) const = default;
};

struct StoredAttribute {
  std::string name;
  Type type;
  std::string values;  // big-endian, without padding
};

struct StoredVariable {
  std::string name;
  std::vector<int64_t> dimensions;  // indices into the file's dimensions
  std::vector<StoredAttribute> attributes;
  Type type = Type::kByte;
  int64_t begin = 0;
  bool is_record = false;
  int64_t slab_bytes = 0;  // of one record, or of the whole variable; without padding

  int64_t padded_bytes() const { return padded(slab_bytes); }
  // The end of the data, or of their first record, including the padding.
  int64_t end() const { return begin + padded_bytes(); }
};

// Names are UTF-8; Latin-1 names in the file were converted.
struct Header {
  int version = 5;  // 1, 2 or 5
  std::vector<StoredDimension> dimensions = {};
  std::vector<StoredAttribute> attributes = {};  // of the file
  std::vector<StoredVariable> variables = {};    // in the order of the file
  int64_t records = 0;
  int64_t record_bytes = 0;                 // from one record to the next; 0 if no variable has records
  std::set<std::string> latin1_names = {};  // names that the file has in Latin-1
  int64_t header_bytes = 0;                 // the length of the header in the file that it was read from

  std::vector<int64_t> shape_of(const StoredVariable& variable) const;
  // The end of a variable's data without padding; 0 if it has none yet.
  int64_t stored_end(const StoredVariable& variable) const;
};

// The bytes of a count or a length, and of the number of records at byte 4.
constexpr int count_bytes(int version) { return version == 5 ? 8 : 4; }
constexpr int64_t kRecordsAt = 4;

// Reads the file's bytes from `offset` on into `target`; returns their number, which is less at the end of the file.
using ReadAt = std::function<int64_t(int64_t offset, std::span<std::byte> target)>;

// Reads the header of a file of `file_bytes`, 64 KiB at a time; errors call the file `path`. The last byte of each
// variable has a 64-bit offset, but may be beyond the end of the file: only a read of the data needs all of it.
//
// Throws Error{kFormat}, with the byte and the field, if the header is false.
Header read_header(const std::string& path, int64_t file_bytes, const ReadAt& read);

// The header as the bytes at the begin of a file.
std::string to_bytes(const Header& header);

}  // namespace swath::formats::netcdf
