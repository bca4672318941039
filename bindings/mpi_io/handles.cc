#include "mpi_io/handles.h"

#include "mpi_io/mpi_error.h"
#include "mpi_io/type_calls.h"

namespace swath::mpi_io {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw MpiError(code, std::string(call) + " of a datatype failed");
}

bool is_named(MPI_Datatype type) {
  Envelope envelope;
  check(get_envelope(type, envelope), "MPI_Type_get_envelope");
  return envelope.combiner == MPI_COMBINER_NAMED;
}

MPI_Datatype duplicate_of(MPI_Datatype type) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check(MPI_Type_dup(type, &made), "MPI_Type_dup");
  return made;
}

}  // namespace

void free_unless_named(MPI_Datatype type) {
  if (!is_named(type)) MPI_Type_free(&type);
}

OwnedType::OwnedType(MPI_Datatype type) : is_named_(is_named(type)) { type_ = is_named_ ? type : duplicate_of(type); }

OwnedType::~OwnedType() {
  if (!is_named_ && mpi_is_running()) MPI_Type_free(&type_);
}

MPI_Datatype OwnedType::duplicate() const { return is_named_ ? type_ : duplicate_of(type_); }

}  // namespace swath::mpi_io
