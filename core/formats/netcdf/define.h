// What changes in the header of a netCDF classic file: variables, dimensions and attributes, and where data then lie.
//
// Pure: no file is touched. Data follow each other as netCDF's library wants them, which opens no other file: the fixed
// variables in the order of the header, then the records, each of which holds the record variables in that order.
// Each function throws Error{kArgument} for what the version cannot store, and leaves the header as it was then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/contents.h"
#include "formats/netcdf/header.h"
#include "formats/new_array.h"

namespace swath::formats::netcdf {

// Adds a variable, with the dimensions that are not there yet; it begins nowhere before `assign_begins`. Throws
// Error{kStore} with EEXIST where its name is taken.
void add_variable(Header& header, const NewArray& array);

// Adds a dimension; where it is unlimited the header tells its length, as `records`.
void add_dimension(Header& header, const Dimension& dimension);

// Adds, replaces and (null) removes attributes of a variable, or of the file (null). A _FillValue becomes one value of
// the variable's type.
void change_attributes(Header& header, StoredVariable* variable, const Attributes& changes);

// Where the data of a variable are.
struct VariableData {
  int64_t begin;
  int64_t slab_bytes;
  bool is_record;

  int64_t end() const { return begin + padded(slab_bytes); }
};

// Of a whole file: all that moving its data needs to know.
struct DataLayout {
  int64_t header_bytes = 0;
  int64_t records = 0;
  int64_t record_bytes = 0;
  std::vector<VariableData> variables = {};

  static DataLayout of(const Header& header, int64_t header_bytes);
  // How long the file is, the padding of its last record included.
  int64_t file_end() const;
  // Whether records lie behind the fixed variables and have no gaps, as netCDF's library writes them.
  bool is_in_order() const;
};

// Gives each variable a place behind the header. What has one keeps it where there is room. Else all data go up by as
// much as makes room for this header and for as much again; and all records, where a new fixed variable does not fit
// before them.
void assign_begins(Header& header);

// Pieces of a file that go to where they stand `new_step` bytes apart: never to lower offsets, nor closer.
struct Move {
  int64_t begin;     // of the first piece
  int64_t to;        // where it goes
  int64_t count;     // of pieces
  int64_t step;      // bytes of a piece, and from one to the next
  int64_t new_step;  // bytes from one to the next afterwards; between them are zeros

  bool is_needed() const { return begin != to || step != new_step; }
};

// Where the data of a file of `file_bytes` go in one that has its variables, too. In this order those that are needed
// may be carried out in place. Of records there are all that the file has bytes of, also those that are not counted
// yet.
std::vector<Move> moves(const DataLayout& before, const DataLayout& after, int64_t file_bytes);

// Throws where the version, or 64-bit offsets, cannot tell of so many records.
void check_records(const Header& header, int64_t records);

}  // namespace swath::formats::netcdf
