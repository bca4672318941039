// Converts MPI datatypes to nests, which keep their structure.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "space/nest.h"

namespace swath::mpi_io {

// MPI's type map: the offsets of one element's bytes, in MPI's order, and the extent, the distance to the next element.
struct TypeMap {
  Nest nest;  // the data bytes, relative to the buffer's address, in any order
  int64_t lower_bound = 0;
  int64_t extent = 0;  // may be 0 or negative

  int64_t size() const { return nest.bytes(); }
  // True if it is one block from 0 of `extent` bytes: then any number of elements is contiguous.
  bool is_contiguous() const;
};

// Makes local MPI calls only; any thread may call it. The result is cached as an attribute of the datatype, which its
// duplicates share; named types are in a table.
//
// Throws MpiError: MPI_ERR_TYPE for MPI_DATATYPE_NULL, for invalid or uncommitted datatypes, and for types with too
// many levels for a nest; MPI_ERR_NO_MEM; MPI_ERR_OTHER before MPI_Init and after MPI_Finalize. Calls no error handler
// of the program. Does not detect freed types; nor does MPI.
std::shared_ptr<const TypeMap> type_map_of(MPI_Datatype type);

// `count` elements, the first at the buffer's address. Throws MpiError: MPI_ERR_COUNT if offsets exceed 62 bits.
Nest repeated(const TypeMap& type, int64_t count);

}  // namespace swath::mpi_io
