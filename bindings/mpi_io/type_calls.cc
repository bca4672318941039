#include "mpi_io/type_calls.h"

#include <dlfcn.h>

namespace swath::mpi_io {
namespace {

using GetEnvelope = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
using GetContents = int (*)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*, MPI_Count*,
                            MPI_Datatype*);
using GetExtent = int (*)(MPI_Datatype, MPI_Count*, MPI_Count*);
using GetSize = int (*)(MPI_Datatype, MPI_Count*);

// A function of the loaded MPI, whose symbols are always global here; null if the MPI is older than MPI-4.
template <typename Function>
Function large(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int get_envelope(MPI_Datatype type, Envelope& envelope) {
  static const auto function = large<GetEnvelope>("PMPI_Type_get_envelope_c");
  if (function != nullptr) {
    MPI_Count ints = 0;
    MPI_Count addresses = 0;
    MPI_Count large_counts = 0;
    MPI_Count types = 0;
    const int code = function(type, &ints, &addresses, &large_counts, &types, &envelope.combiner);
    envelope.ints = ints;
    envelope.addresses = addresses;
    envelope.large_counts = large_counts;
    envelope.types = types;
    return code;
  }
  int ints = 0;
  int addresses = 0;
  int types = 0;
  const int code = MPI_Type_get_envelope(type, &ints, &addresses, &types, &envelope.combiner);
  envelope.ints = ints;
  envelope.addresses = addresses;
  envelope.types = types;
  return code;
}

int get_contents(MPI_Datatype type, const Contents& contents) {
  static const auto function = large<GetContents>("PMPI_Type_get_contents_c");
  const auto& [ints, addresses, large_counts, types] = contents;
  if (function != nullptr) {
    return function(type, std::ssize(ints), std::ssize(addresses), std::ssize(large_counts), std::ssize(types),
                    ints.data(), addresses.data(), large_counts.data(), types.data());
  }
  return MPI_Type_get_contents(type, static_cast<int>(ints.size()), static_cast<int>(addresses.size()),
                               static_cast<int>(types.size()), ints.data(), addresses.data(), types.data());
}

int get_extent(MPI_Datatype type, MPI_Count* lower_bound, MPI_Count* extent) {
  static const auto function = large<GetExtent>("PMPI_Type_get_extent_c");
  return function != nullptr ? function(type, lower_bound, extent) : MPI_Type_get_extent_x(type, lower_bound, extent);
}

int get_size(MPI_Datatype type, MPI_Count* size) {
  static const auto function = large<GetSize>("PMPI_Type_size_c");
  return function != nullptr ? function(type, size) : MPI_Type_size_x(type, size);
}

}  // namespace swath::mpi_io
