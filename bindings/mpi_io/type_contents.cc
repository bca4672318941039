#include "mpi_io/type_contents.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "mpi_io/mpi_error.h"
#include "mpi_io/type_calls.h"

namespace swath::mpi_io {
namespace {

Envelope envelope_of(MPI_Datatype type) {
  Envelope envelope;
  check_mpi(get_envelope(type, envelope));
  return envelope;
}

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

// Converts `count` ints at the front to 64-bit numbers in place, from the last on, so that none is overwritten before
// it is read.
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
  const Envelope envelope = envelope_of(type);
  combiner_ = envelope.combiner;
  if (is_predefined() && envelope.types == 0) return;
  ints_ = envelope.ints;
  addresses_ = envelope.addresses;
  large_counts_ = envelope.large_counts;
  types_.resize(static_cast<size_t>(envelope.types));
  read(type);
}

// MPI writes all numbers directly into the result, since lists may be long; ints are widened in place afterwards.
void TypeContents::read(MPI_Datatype type) {
  static_assert(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t));
  numbers_.resize(static_cast<size_t>(ints_ + addresses_ + large_counts_));
  auto* const ints = reinterpret_cast<int*>(numbers_.data());
  auto* const addresses = reinterpret_cast<MPI_Aint*>(numbers_.data() + ints_);
  auto* const large_counts = reinterpret_cast<MPI_Count*>(numbers_.data() + ints_ + addresses_);
  check_mpi(get_contents(type, {{ints, static_cast<size_t>(ints_)},
                                {addresses, static_cast<size_t>(addresses_)},
                                {large_counts, static_cast<size_t>(large_counts_)},
                                types_}));
  widen(numbers_, ints_);
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : types_) {
    if (!mpi_io::is_predefined(envelope_of(type).combiner)) MPI_Type_free(&type);
  }
}

bool TypeContents::is_predefined() const { return mpi_io::is_predefined(combiner_); }

TypeBounds bounds_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  check_mpi(get_extent(type, &lower_bound, &extent));
  return {.lower_bound = lower_bound, .extent = extent};
}

int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  check_mpi(get_size(type, &size));
  return size;
}

}  // namespace swath::mpi_io
