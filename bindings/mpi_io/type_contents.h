// A datatype's constructor, its arguments and its bounds, from local MPI calls.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace swath::mpi_io {

// Throws MpiError with MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code);

// The constructor of a datatype and its arguments. The destructor frees the derived datatypes among them.
class TypeContents {
 public:
  explicit TypeContents(MPI_Datatype type);
  ~TypeContents();
  TypeContents(const TypeContents&) = delete;
  TypeContents& operator=(const TypeContents&) = delete;

  int combiner() const { return combiner_; }
  // True if it has no parts: named types and those from MPI_Type_create_f90_….
  bool is_predefined() const;
  // The arguments given as int, then those given as addresses, then as large counts: this is the order of the
  // arguments, except for subarrays and darrays.
  std::span<const int64_t> numbers() const { return numbers_; }
  // The same without a copy of a long list: numbers() is empty afterwards.
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
