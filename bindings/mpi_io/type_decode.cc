#include "mpi_io/type_decode.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi_io/mpi_error.h"
#include "mpi_io/offsets.h"
#include "mpi_io/type_levels.h"

namespace swath::mpi_io {
namespace {

using Numbers = std::span<const int64_t>;

// Combiners of MPI-1's Fortran calls with int displacements, which MPI 3 removed. Open MPI still uses their values
// without the names; the standard ABI has neither.
#if defined(OPEN_MPI)
constexpr int kHvectorInteger = MPI_COMBINER_HVECTOR - 1;
constexpr int kHindexedInteger = MPI_COMBINER_HINDEXED - 1;
constexpr int kStructInteger = MPI_COMBINER_STRUCT - 1;
#elif defined(MPI_ABI)
constexpr int kHvectorInteger = -1;
constexpr int kHindexedInteger = -2;
constexpr int kStructInteger = -3;
#else
constexpr int kHvectorInteger = MPI_COMBINER_HVECTOR_INTEGER;
constexpr int kHindexedInteger = MPI_COMBINER_HINDEXED_INTEGER;
constexpr int kStructInteger = MPI_COMBINER_STRUCT_INTEGER;
#endif

[[noreturn]] void fail_to_decode(MPI_Datatype type, const std::string& why) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (MPI_Type_get_name(type, name, &length) != MPI_SUCCESS) length = 0;
  throw MpiError(MPI_ERR_TYPE, "datatype '" + std::string(name, static_cast<size_t>(length)) + "': " + why);
}

// ---- predefined types -------------------------------------------------------------------------------------------

// The layout of C's struct {Value value; int index;}.
template <typename Value>
Nest pair_with_int() {
  struct Pair {
    Value value;
    int index;
  };
  Sequence sequence;
  sequence.add_block(0, sizeof(Value));
  sequence.add_block(static_cast<int64_t>(offsetof(Pair, index)), sizeof(int));
  return sequence.take();
}

Nest nest_of_pair(MPI_Datatype type) {
  if (type == MPI_FLOAT_INT) return pair_with_int<float>();
  if (type == MPI_DOUBLE_INT) return pair_with_int<double>();
  if (type == MPI_LONG_INT) return pair_with_int<long>();
  if (type == MPI_SHORT_INT) return pair_with_int<short>();
  if (type == MPI_LONG_DOUBLE_INT) return pair_with_int<long double>();
  return {};
}

// A value and an index of any two predefined types, in C's layout: integers are aligned to their size.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
Nest nest_of_value_index(const TypeContents& contents) {
  const int64_t value = size_of(contents.types()[0]);
  const int64_t index = size_of(contents.types()[1]);
  Sequence sequence;
  sequence.add_block(0, value);
  sequence.add_block((value + index - 1) / index * index, index);
  return sequence.take();
}
#endif

Nest nest_of_predefined(MPI_Datatype type, int64_t extent) {
  const int64_t size = size_of(type);
  if (size == extent || size == 0) return Nest::block(size);
  const Nest nest = nest_of_pair(type);
  if (nest.bytes() != size) fail_to_decode(type, "a predefined type with holes that is not known");
  return nest;
}

// ---- constructed types ------------------------------------------------------------------------------------------

Element element_of(const TypeMap& type) { return {type.nest, type.extent}; }

// Removes the numbers from `first` on, and returns them multiplied by `unit`, in bytes.
std::vector<int64_t> take_scaled(std::vector<int64_t>& numbers, size_t first, int64_t unit) {
  std::vector<int64_t> bytes(numbers.begin() + static_cast<std::ptrdiff_t>(first), numbers.end());
  numbers.resize(first);
  for (int64_t& number : bytes) number = checked_product(number, unit);
  return bytes;
}

// Numbers: count, lengths, displacements.
Nest nest_of_indexed(const Element& element, std::vector<int64_t> numbers, int64_t unit) {
  Entries entries{.displacements = take_scaled(numbers, 1 + static_cast<size_t>(numbers[0]), unit), .lengths = {}};
  numbers.erase(numbers.begin());
  numbers.shrink_to_fit();
  entries.lengths = std::move(numbers);
  return indexed_of(element, std::move(entries));
}

// Numbers: count, length, displacements.
Nest nest_of_indexed_block(const Element& element, std::vector<int64_t> numbers, int64_t unit) {
  std::vector<int64_t> displacements = take_scaled(numbers, 2, unit);
  return indexed_of(element, {std::move(displacements), std::vector<int64_t>(numbers[0], numbers[1])});
}

// Numbers: count, lengths, displacements; with a type for each block.
Nest nest_of_struct(const TypeContents& contents, const PartOf& part_of) {
  const auto count = static_cast<size_t>(contents.numbers()[0]);
  const Numbers lengths = contents.numbers().subspan(1, count);
  const Numbers displacements = contents.numbers().subspan(1 + count, count);
  std::unordered_map<MPI_Datatype, std::shared_ptr<const TypeMap>> parts;
  std::map<std::pair<const TypeMap*, int64_t>, Nest> fields;
  Sequence sequence;
  for (size_t i = 0; i < count; ++i) {
    if (lengths[i] <= 0) continue;
    auto& part = parts[contents.types()[i]];
    if (part == nullptr) part = part_of(contents.types()[i]);
    if (part->is_contiguous()) {
      sequence.add_block(displacements[i], checked_product(part->extent, lengths[i]));
      continue;
    }
    Nest& field = fields[{part.get(), lengths[i]}];
    if (field.empty()) field = repeated(element_of(*part), lengths[i]);
    sequence.add(displacements[i], field);
  }
  return sequence.take();
}

Order order_of(int64_t order) { return order == MPI_ORDER_FORTRAN ? Order::kFortran : Order::kC; }

// Numbers: dimensions, sizes, subsizes, starts, order; with large counts, the order is second.
Nest nest_of_subarray(const Element& element, const TypeContents& contents) {
  const Numbers numbers = contents.numbers();
  const auto dimensions = static_cast<size_t>(numbers[0]);
  const bool is_large = contents.has_large_counts();
  const Numbers boxes = numbers.subspan(is_large ? 2 : 1, 3 * dimensions);
  return subarray_of(element, {.sizes = boxes.first(dimensions),
                               .subsizes = boxes.subspan(dimensions, dimensions),
                               .starts = boxes.last(dimensions),
                               .order = order_of(is_large ? numbers[1] : numbers.back())});
}

// The block size of a distribution.
int64_t block_of(int64_t distribution, int64_t argument, int64_t size, int64_t processes) {
  if (distribution == MPI_DISTRIBUTE_NONE) return size;
  if (argument != MPI_DISTRIBUTE_DFLT_DARG) return argument;
  return distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
}

// Numbers: processes, rank, dimensions, sizes, distributions, arguments, grid, order; with large counts, the sizes are
// last.
Nest nest_of_darray(const Element& element, const TypeContents& contents) {
  Numbers numbers = contents.numbers();
  const auto dimensions = static_cast<size_t>(numbers[2]);
  const bool is_large = contents.has_large_counts();
  const Numbers sizes = is_large ? numbers.last(dimensions) : numbers.subspan(3, dimensions);
  numbers = numbers.subspan(is_large ? 3 : 3 + dimensions, 3 * dimensions + 1);
  Darray array{.order = order_of(numbers.back())};
  int64_t processes = contents.numbers()[0];
  int64_t rank = contents.numbers()[1];
  for (size_t d = 0; d < dimensions; ++d) {  // ranks are in C order, even if the array is in Fortran order
    const int64_t along = numbers[2 * dimensions + d];
    processes /= along;
    array.dimensions.push_back({.size = sizes[d],
                                .block = block_of(numbers[d], numbers[dimensions + d], sizes[d], along),
                                .processes = along,
                                .process = rank / processes});
    rank %= processes;
  }
  return darray_of(element, array);
}

Nest nest_of_constructed(MPI_Datatype type, TypeContents& contents, const PartOf& part_of) {
  const int combiner = contents.combiner();
  if (combiner == MPI_COMBINER_STRUCT || combiner == kStructInteger) return nest_of_struct(contents, part_of);
  const Numbers numbers = contents.numbers();
  const Element element = element_of(*part_of(contents.types()[0]));
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return element.nest;
    case MPI_COMBINER_CONTIGUOUS:
      return repeated(element, numbers[0]);
    case MPI_COMBINER_VECTOR:
      return vector_of(element, numbers[0], numbers[1], checked_product(numbers[2], element.extent));
    case MPI_COMBINER_HVECTOR:
    case kHvectorInteger:
      return vector_of(element, numbers[0], numbers[1], numbers[2]);
    case MPI_COMBINER_INDEXED:
      return nest_of_indexed(element, contents.take_numbers(), element.extent);
    case MPI_COMBINER_HINDEXED:
    case kHindexedInteger:
      return nest_of_indexed(element, contents.take_numbers(), 1);
    case MPI_COMBINER_INDEXED_BLOCK:
      return nest_of_indexed_block(element, contents.take_numbers(), element.extent);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return nest_of_indexed_block(element, contents.take_numbers(), 1);
    case MPI_COMBINER_SUBARRAY:
      return nest_of_subarray(element, contents);
    case MPI_COMBINER_DARRAY:
      return nest_of_darray(element, contents);
    default:
      fail_to_decode(type, "made by constructor " + std::to_string(combiner) + ", which is not known");
  }
}

}  // namespace

TypeMap decode(MPI_Datatype type, TypeContents& contents, const PartOf& part_of) {
  const TypeBounds bounds = bounds_of(type);
  TypeMap map{.lower_bound = bounds.lower_bound, .extent = bounds.extent};
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  if (contents.combiner() == MPI_COMBINER_VALUE_INDEX) {
    map.nest = nest_of_value_index(contents);
    return map;
  }
#endif
  map.nest =
      contents.is_predefined() ? nest_of_predefined(type, bounds.extent) : nest_of_constructed(type, contents, part_of);
  return map;
}

}  // namespace swath::mpi_io
