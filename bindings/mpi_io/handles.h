// Owners of MPI handles, which free them.
#pragma once

#include <mpi.h>

namespace swath::mpi_io {

inline bool mpi_is_running() {
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  return is_initialized != 0 && is_finalized == 0;
}

// For the datatypes that MPI returns from MPI_File_get_view.
void free_unless_named(MPI_Datatype type);

// A copy of a datatype, independent of the program's handle. A named datatype is kept as it is.
class OwnedType {
 public:
  OwnedType() = default;
  // Throws MpiError if it is not a datatype.
  explicit OwnedType(MPI_Datatype type);
  OwnedType(OwnedType&& other) noexcept : type_(other.type_), is_named_(other.is_named_) { other.is_named_ = true; }
  OwnedType& operator=(OwnedType&& other) = delete;
  ~OwnedType();

  MPI_Datatype get() const { return type_; }
  // A duplicate for the caller, who frees it unless it is named.
  MPI_Datatype duplicate() const;

 private:
  MPI_Datatype type_ = MPI_BYTE;
  bool is_named_ = true;
};

}  // namespace swath::mpi_io
