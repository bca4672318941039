// What MPI says of a datatype: how it was constructed, its bounds. Local calls.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace swath::mpi_io {

// Throws MpiError with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code);

// Its constructor and the arguments of it. The datatypes among them that are not predefined are freed in the end.
class TypeContents {
 public:
  explicit TypeContents(MPI_Datatype type);
  ~TypeContents();
  TypeContents(const TypeContents&) = delete;
  TypeContents& operator=(const TypeContents&) = delete;

  int combiner() const { return combiner_; }
  // Whether it has no parts: named types and those that MPI_Type_create_f90_… return.
  bool is_predefined() const;
  // What was given as int, then as addresses, then as large counts: but for those of subarrays and darrays that is the
  // order of the arguments.
  std::span<const int64_t> numbers() const { return numbers_; }
  // The same, without a copy of what may be a long list: numbers() has none then.
  std::vector<int64_t> take_numbers() { return std::exchange(numbers_, {}); }
  bool has_large_counts() const { return large_counts_ > 0; }
  std::span<const MPI_Datatype> types() const { return types_; }

 private:
  void read(MPI_Datatype type);

  int combiner_ = MPI_COMBINER_NAMED;
  int64_t ints_ = 0;
  int64_t addresses_ = 0;
  int64_t large_counts_ = 0;
  std::vector<int64_t> numbers_;
  std::vector<MPI_Datatype> types_;
};

struct TypeBounds {
  int64_t lower_bound = 0;
  int64_t extent = 0;
};
TypeBounds bounds_of(MPI_Datatype type);
int64_t size_of(MPI_Datatype type);

}  // namespace swath::mpi_io
