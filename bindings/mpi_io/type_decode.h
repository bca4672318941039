// One level of a datatype, decoded.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

#include "mpi_io/type_contents.h"
#include "mpi_io/type_map.h"

namespace swath::mpi_io {

using PartOf = std::function<std::shared_ptr<const TypeMap>(MPI_Datatype)>;

// Decodes a type whose constructor's arguments are `contents`; part_of decodes its component types. Throws MpiError,
// and Error{kArgument} if the type does not fit into a nest.
TypeMap decode(MPI_Datatype type, TypeContents& contents, const PartOf& part_of);

}  // namespace swath::mpi_io
