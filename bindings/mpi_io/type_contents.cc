#include "mpi_io/type_contents.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "mpi_io/mpi_error.h"

namespace swath::mpi_io {
namespace {

// How a datatype was constructed. MPI 4 tells everything in one form; before it there is the form of int alone, and
// MPICH ends the program where that is asked about a type with large counts.
#if MPI_VERSION >= 4
struct Envelope {
  MPI_Count ints = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count types = 0;
  int combiner = 0;

  explicit Envelope(MPI_Datatype type) {
    check_mpi(MPI_Type_get_envelope_c(type, &ints, &addresses, &large_counts, &types, &combiner));
  }
};
#else
struct Envelope {
  int ints = 0;
  int addresses = 0;
  int large_counts = 0;
  int types = 0;
  int combiner = 0;

  explicit Envelope(MPI_Datatype type) { check_mpi(MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner)); }
};
#endif

bool is_predefined(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
#endif
      return true;
    default:
      return false;
  }
}

// The first `count` numbers stand as ints at the front: from the last on, none is overwritten before it is read.
void widen(std::vector<int64_t>& numbers, int64_t count) {
  auto* const bytes = reinterpret_cast<std::byte*>(numbers.data());
  for (int64_t i = count - 1; i >= 0; --i) {
    int number = 0;
    std::memcpy(&number, bytes + i * static_cast<int64_t>(sizeof(int)), sizeof(int));
    numbers[static_cast<size_t>(i)] = number;
  }
}

}  // namespace

void check_mpi(int code) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  text.resize(static_cast<size_t>(length));
  throw MpiError(code, text);
}

TypeContents::TypeContents(MPI_Datatype type) {
  const Envelope envelope(type);
  combiner_ = envelope.combiner;
  if (is_predefined() && envelope.types == 0) return;
  ints_ = envelope.ints;
  addresses_ = envelope.addresses;
  large_counts_ = envelope.large_counts;
  types_.resize(static_cast<size_t>(envelope.types));
  read(type);
}

// All numbers are written where they are to stay, ints at the front of their part: lists may be long.
void TypeContents::read(MPI_Datatype type) {
  static_assert(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t));
  numbers_.resize(static_cast<size_t>(ints_ + addresses_ + large_counts_));
  auto* const ints = reinterpret_cast<int*>(numbers_.data());
  auto* const addresses = reinterpret_cast<MPI_Aint*>(numbers_.data() + ints_);
#if MPI_VERSION >= 4
  auto* const large_counts = reinterpret_cast<MPI_Count*>(numbers_.data() + ints_ + addresses_);
  check_mpi(MPI_Type_get_contents_c(type, ints_, addresses_, large_counts_, std::ssize(types_), ints, addresses,
                                    large_counts, types_.data()));
#else
  check_mpi(MPI_Type_get_contents(type, static_cast<int>(ints_), static_cast<int>(addresses_),
                                  static_cast<int>(std::ssize(types_)), ints, addresses, types_.data()));
#endif
  widen(numbers_, ints_);
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : types_) {
    if (!mpi_io::is_predefined(Envelope(type).combiner)) MPI_Type_free(&type);
  }
}

bool TypeContents::is_predefined() const { return mpi_io::is_predefined(combiner_); }

TypeBounds bounds_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
#if MPI_VERSION >= 4
  check_mpi(MPI_Type_get_extent_c(type, &lower_bound, &extent));
#else
  check_mpi(MPI_Type_get_extent_x(type, &lower_bound, &extent));
#endif
  return {.lower_bound = lower_bound, .extent = extent};
}

int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
#if MPI_VERSION >= 4
  check_mpi(MPI_Type_size_c(type, &size));
#else
  check_mpi(MPI_Type_size_x(type, &size));
#endif
  return size;
}

}  // namespace swath::mpi_io
