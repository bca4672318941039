// Changes of the header of a netCDF classic file: variables, dimensions, attributes, and the new offsets of the data.
//
// Pure: these functions touch no file. Data are in the order that netCDF's library requires: the fixed variables in the
// order of the header, then the records, each with the record variables in that order. Each function throws
// Error{kArgument} for what the version cannot store, and then leaves the header as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/contents.h"
#include "formats/netcdf/header.h"
#include "formats/new_array.h"

namespace swath::formats::netcdf {

// Adds a variable, and the dimensions that do not exist yet; it has no offset before `assign_begins`. Throws
// Error{kStore} with EEXIST if the name exists.
void add_variable(Header& header, const NewArray& array);

// Adds a dimension; the length of the unlimited one is the header's `records`.
void add_dimension(Header& header, const Dimension& dimension);

// Adds, replaces, or (null) removes attributes of a variable, or of the file (null). A _FillValue is converted to one
// value of the variable's type.
void change_attributes(Header& header, StoredVariable* variable, const Attributes& changes);

// The offsets of a variable's data.
struct VariableData {
  int64_t begin;
  int64_t slab_bytes;
  bool is_record;

  int64_t end() const { return begin + padded(slab_bytes); }
};

// The offsets of all data of a file.
struct DataLayout {
  int64_t header_bytes = 0;
  int64_t records = 0;
  int64_t record_bytes = 0;
  std::vector<VariableData> variables = {};

  static DataLayout of(const Header& header, int64_t header_bytes);
  // The length of the file, including the padding of its last record.
  int64_t file_end() const;
  // Whether the records follow the fixed variables and have no gaps, as netCDF's library writes them.
  bool is_in_order() const;
};

// Gives each variable an offset after the header. Existing variables stay if there is space. If the header became too
// long, all data move up, to make space for it and as much again; if a new fixed variable does not fit before the
// records, the records move.
void assign_begins(Header& header);

// Pieces of a file that move up, and are `new_step` bytes apart afterwards; offsets and distances never become smaller.
struct Move {
  int64_t begin;     // of the first piece
  int64_t to;        // the new offset of the first piece
  int64_t count;     // of the pieces
  int64_t step;      // bytes of a piece, and from one to the next
  int64_t new_step;  // bytes from one to the next afterwards; the gaps are zeros

  bool is_needed() const { return begin != to || step != new_step; }
};

// The moves of a file of `file_bytes` to another layout with the same variables. The needed ones can be done in place
// in this order. Records are all that the file has bytes of, also those that are not counted yet.
std::vector<Move> moves(const DataLayout& before, const DataLayout& after, int64_t file_bytes);

// Throws if this number of records exceeds the limits of the version, or 64-bit offsets.
void check_records(const Header& header, int64_t records);

}  // namespace swath::formats::netcdf
