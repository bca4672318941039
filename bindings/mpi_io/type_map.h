// MPI's datatypes as nests: what a program said of its bytes, kept as structure.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "space/nest.h"

namespace swath::mpi_io {

// MPI's type map: where the bytes of one element lie, in MPI's order, and how far it is to the next.
struct TypeMap {
  Nest nest;  // of the data bytes, offsets relative to the buffer's address; any order, any stride
  int64_t lower_bound = 0;
  int64_t extent = 0;  // may be 0 or negative

  int64_t size() const { return nest.bytes(); }
  // Whether it is one block from 0 of `extent` bytes: then so are any number of them.
  bool is_contiguous() const;
};

// Makes local MPI calls only, and may be called by any thread. It is kept with the datatype, as an attribute that its
// duplicates share; named types are looked up.
//
// Throws MpiError: MPI_ERR_TYPE for MPI_DATATYPE_NULL, for what MPI knows to be no datatype, for one that is not
// committed, and for one whose levels do not fit into a nest; MPI_ERR_NO_MEM; MPI_ERR_OTHER before MPI_Init and after
// MPI_Finalize. No error handler of the program is called. A type that was freed is not noticed, nor is it by MPI.
std::shared_ptr<const TypeMap> type_map_of(MPI_Datatype type);

// `count` elements, the first of them at the buffer's address. Throws MpiError: MPI_ERR_COUNT where they leave 62 bits.
Nest repeated(const TypeMap& type, int64_t count);

}  // namespace swath::mpi_io
