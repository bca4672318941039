// Random MPI datatypes, each with a plain list of its bytes, made entry by entry from MPI's definitions. Needs MPI
// only, so that programs can test any MPI-IO with it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace swath::mpi_io::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Includes both bounds. Not std::uniform_int_distribution, whose values for a seed depend on the library.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(engine_() % static_cast<uint64_t>(last - first + 1));
  }
  uint64_t next() { return engine_(); }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

// Thrown for a valid type that MPI cannot make; contains its description.
struct Refused {
  std::string text;
};

// Throws Refused for numbers that MPI's functions with int arguments cannot take.
inline void require_int(const std::vector<int64_t>& numbers) {
  for (const int64_t number : numbers) {
    if (number != static_cast<int>(number)) throw Refused{"displacement " + std::to_string(number) + " in an int"};
  }
}

struct Segment {
  int64_t offset;
  int64_t bytes;
};

// A committed type and its bytes in MPI's order.
class ListedType {
 public:
  ListedType(MPI_Datatype named, std::vector<Segment> segments, std::string text)
      : type_(named), segments_(std::move(segments)), text_(std::move(text)) {
    ask_bounds();
  }
  // Takes ownership of the type.
  ListedType(MPI_Datatype made, std::string text, std::vector<Segment> segments)
      : type_(made), is_named_(false), segments_(std::move(segments)), text_(std::move(text)) {
    if (type_ == MPI_DATATYPE_NULL) throw Refused{text_};
    MPI_Type_commit(&type_);
    ask_bounds();
  }
  ListedType(ListedType&& other) noexcept { *this = std::move(other); }
  ListedType& operator=(ListedType&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(is_named_, other.is_named_);
    std::swap(lower_bound_, other.lower_bound_);
    std::swap(extent_, other.extent_);
    segments_.swap(other.segments_);
    text_.swap(other.text_);
    return *this;
  }
  ListedType(const ListedType&) = delete;
  ListedType& operator=(const ListedType&) = delete;
  ~ListedType() {
    if (!is_named_) MPI_Type_free(&type_);
  }

  MPI_Datatype type() const { return type_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::string& text() const { return text_; }
  int64_t lower_bound() const { return lower_bound_; }
  int64_t extent() const { return extent_; }
  int64_t size() const {
    int64_t bytes = 0;
    for (const Segment& segment : segments_) bytes += segment.bytes;
    return bytes;
  }
  int64_t low() const {
    int64_t low = segments_.empty() ? 0 : segments_[0].offset;
    for (const Segment& segment : segments_) low = std::min(low, segment.offset);
    return low;
  }
  int64_t high() const {
    int64_t high = segments_.empty() ? 0 : segments_[0].offset + segments_[0].bytes;
    for (const Segment& segment : segments_) high = std::max(high, segment.offset + segment.bytes);
    return high;
  }
  // True if it is a valid file type: when repeated, no byte occurs twice, and offsets never decrease.
  bool is_file_type() const {
    int64_t end = 0;
    for (const Segment& segment : segments_) {
      if (segment.offset < end) return false;
      end = segment.offset + segment.bytes;
    }
    return lower_bound_ >= 0 && extent_ >= high() - low();
  }

 private:
  void ask_bounds() {
    MPI_Count lower_bound = 0;
    MPI_Count extent = 0;
    MPI_Type_get_extent_x(type_, &lower_bound, &extent);
    lower_bound_ = lower_bound;
    extent_ = extent;
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool is_named_ = true;
  int64_t lower_bound_ = 0;
  int64_t extent_ = 0;
  std::vector<Segment> segments_;
  std::string text_;
};

struct TypeOptions {
  int depth = 3;
  bool is_forward = false;  // displacements grow and strides are positive, as in most file types
  // Excludes types that MPIs themselves pack incorrectly: empty parts and extents that are not positive (MPICH 4.0 to
  // 5.0 divides by zero, or repeats wrongly; Open MPI 4.1 packs other bytes, or refuses darrays), and a stride of -1
  // (Open MPI 4.1).
  bool is_plain = false;
  int64_t segments_max = 2000;       // about
  int64_t far = 0;                   // size of an occasional large hole
  const ListedType* leaf = nullptr;  // the component type; null: named types
};

inline ListedType random_named(Random& random) {
  const int64_t pair = sizeof(int);
  switch (random.between(0, 12)) {
    case 0:
      return ListedType(MPI_BYTE, {{0, 1}}, "byte");
    case 1:
      return ListedType(MPI_CHAR, {{0, 1}}, "char");
    case 2:
      return ListedType(MPI_SHORT, {{0, sizeof(short)}}, "short");
    case 3:
      return ListedType(MPI_INT, {{0, sizeof(int)}}, "int");
    case 4:
      return ListedType(MPI_FLOAT, {{0, sizeof(float)}}, "float");
    case 5:
      return ListedType(MPI_INT64_T, {{0, 8}}, "int64");
    case 6:
      return ListedType(MPI_C_DOUBLE_COMPLEX, {{0, 16}}, "double complex");
    case 7:
      return ListedType(MPI_2INT, {{0, 2 * pair}}, "2int");
    case 8:
      return ListedType(MPI_SHORT_INT, {{0, sizeof(short)}, {pair, pair}}, "short_int");
    case 9:
      return ListedType(MPI_DOUBLE_INT, {{0, sizeof(double)}, {sizeof(double), pair}}, "double_int");
    case 10:
      return ListedType(MPI_LONG_DOUBLE_INT, {{0, sizeof(long double)}, {sizeof(long double), pair}},
                        "long_double_int");
    case 11:
      return ListedType(MPI_FLOAT_INT, {{0, sizeof(float)}, {sizeof(float), pair}}, "float_int");
    default:
      return ListedType(MPI_DOUBLE, {{0, sizeof(double)}}, "double");
  }
}

// Makes types: each function calls one constructor with random arguments, and makes the list by MPI's definition.
class TypeMaker {
 public:
  TypeMaker(Random& random, const TypeOptions& options) : random_(random), options_(options) {}

  ListedType make(int depth, int64_t segments_max) {
    if (depth == 0) return leaf();
    switch (random_.between(0, 11)) {
      case 0:
        return contiguous(depth, segments_max);
      case 1:
        return vector(depth, segments_max, false);
      case 2:
        return vector(depth, segments_max, true);
      case 3:
        return indexed(depth, segments_max, false);
      case 4:
        return indexed(depth, segments_max, true);
      case 5:
        return indexed_block(depth, segments_max, false);
      case 6:
        return indexed_block(depth, segments_max, true);
      case 7:
        return structure(depth, segments_max);
      case 8:
        return subarray(depth, segments_max);
      case 9:
        return darray(depth, segments_max);
      case 10:
        return resized(depth, segments_max);
      default:
        return duplicate(depth, segments_max);
    }
  }

 private:
  using Places = std::vector<Segment>;

  ListedType leaf() {
    if (options_.leaf == nullptr) return random_named(random_);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_dup(options_.leaf->type(), &type);
    return {type, "etype", options_.leaf->segments()};
  }

  // True to use large counts. Always draws a random number, so that a seed gives the same types with every MPI.
  bool is_large() { return random_.chance(40) && MPI_VERSION >= 4; }

  int64_t fewest() const { return options_.is_plain ? 1 : 0; }

  // A random number of elements.
  int64_t count(int64_t most, int64_t segments_max, const ListedType& child) {
    const int64_t room = segments_max / std::max<int64_t>(1, std::ssize(child.segments()));
    return random_.between(fewest(), std::min(most, std::max<int64_t>(1, room)));
  }

  static void append(Places& places, const ListedType& child, int64_t displacement, int64_t elements = 1) {
    for (int64_t i = 0; i < elements; ++i) {
      for (const Segment& segment : child.segments()) {
        places.push_back({displacement + i * child.extent() + segment.offset, segment.bytes});
      }
    }
  }

  int64_t but_minus_one(int64_t stride) const { return options_.is_plain && stride == -1 ? -2 : stride; }

  // A random distance between two blocks of that many bytes.
  int64_t stride(int64_t span) {
    if (!options_.is_forward && random_.chance(50)) return but_minus_one(random_.between(-3 * span - 8, 3 * span + 8));
    if (options_.far > 0 && random_.chance(10)) return span + options_.far;
    return span + (random_.chance(30) ? 0 : random_.between(0, 40));
  }

  ListedType contiguous(int depth, int64_t segments_max) {
    const ListedType child = make(depth - 1, segments_max / 2);
    const int64_t n = count(6, segments_max, child);
    Places places;
    append(places, child, 0, n);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) MPI_Type_contiguous_c(n, child.type(), &type);
#endif
    if (type == MPI_DATATYPE_NULL) MPI_Type_contiguous(static_cast<int>(n), child.type(), &type);
    return {type, "contiguous(" + std::to_string(n) + ", " + child.text() + ")", std::move(places)};
  }

  ListedType vector(int depth, int64_t segments_max, bool in_bytes) {
    const ListedType child = make(depth - 1, segments_max / 4);
    const int64_t length = count(4, segments_max / 2, child);
    const int64_t n = count(8, segments_max / std::max<int64_t>(1, length), child);
    int64_t distance = 0;
    if (in_bytes) {
      distance = stride(std::abs(child.extent()) * length);
    } else {
      distance = options_.is_forward ? length + random_.between(0, 4) : but_minus_one(random_.between(-6, 9));
      if (options_.far > 0 && random_.chance(10))
        distance += options_.far / std::max<int64_t>(1, std::abs(child.extent()));
      distance = std::min<int64_t>(distance, INT32_MAX);
    }
    const int64_t bytes = in_bytes ? distance : distance * child.extent();
    Places places;
    for (int64_t i = 0; i < n; ++i) append(places, child, i * bytes, length);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      if (in_bytes) {
        MPI_Type_create_hvector_c(n, length, distance, child.type(), &type);
      } else {
        MPI_Type_vector_c(n, length, distance, child.type(), &type);
      }
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      if (in_bytes) {
        MPI_Type_create_hvector(static_cast<int>(n), static_cast<int>(length), distance, child.type(), &type);
      } else {
        require_int({distance});
        MPI_Type_vector(static_cast<int>(n), static_cast<int>(length), static_cast<int>(distance), child.type(), &type);
      }
    }
    return {type, (in_bytes ? "hvector(" : "vector(") + joined({n, length, distance}) + child.text() + ")",
            std::move(places)};
  }

  static std::string joined(const std::vector<int64_t>& numbers) {
    std::string text;
    for (const int64_t number : numbers) text += std::to_string(number) + ", ";
    return text;
  }
  static std::string listed(const std::vector<int64_t>& numbers) {
    std::string text = joined(numbers);
    if (!text.empty()) text.resize(text.size() - 2);
    return "[" + text + "], ";
  }

  // Random displacements of blocks of these lengths, in bytes or in extents.
  std::vector<int64_t> displacements(const std::vector<int64_t>& lengths, int64_t extent, bool in_bytes) {
    std::vector<int64_t> places;
    const int64_t unit = in_bytes ? std::abs(extent) : 1;
    const bool is_regular = random_.chance(30);
    const int64_t gap = in_bytes ? random_.between(0, 40) : random_.between(0, 5);
    int64_t at = random_.between(0, 6);
    for (const int64_t length : lengths) {
      if (!is_regular && !options_.is_forward && random_.chance(40)) at = random_.between(-60, 60);
      places.push_back(at);
      at += length * unit + (is_regular ? gap : random_.chance(40) ? 0 : random_.between(0, 12));
      if (options_.far > 0 && random_.chance(3))
        at = std::min<int64_t>(INT32_MAX, at + options_.far / (in_bytes ? 1 : std::max<int64_t>(1, std::abs(extent))));
    }
    return places;
  }

  ListedType indexed(int depth, int64_t segments_max, bool in_bytes) {
    const ListedType child = make(depth - 1, segments_max / 8);
    std::vector<int64_t> lengths(static_cast<size_t>(count(random_.chance(20) ? 60 : 8, segments_max / 2, child)));
    const bool are_equal = random_.chance(30);
    for (int64_t& length : lengths)
      length = are_equal ? 1 : random_.chance(20) ? 4 * random_.between(fewest(), 2) : random_.between(fewest(), 4);
    const auto at = displacements(lengths, child.extent(), in_bytes);
    const auto n = static_cast<int>(lengths.size());
    Places places;
    for (size_t i = 0; i < lengths.size(); ++i)
      append(places, child, in_bytes ? at[i] : at[i] * child.extent(), lengths[i]);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const std::vector<int> int_lengths(lengths.begin(), lengths.end());
    const std::vector<int> int_at(at.begin(), at.end());
    const std::vector<MPI_Aint> addresses(at.begin(), at.end());
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      const std::vector<MPI_Count> count_lengths(lengths.begin(), lengths.end());
      const std::vector<MPI_Count> count_at(at.begin(), at.end());
      if (in_bytes) {
        MPI_Type_create_hindexed_c(n, count_lengths.data(), count_at.data(), child.type(), &type);
      } else {
        MPI_Type_indexed_c(n, count_lengths.data(), count_at.data(), child.type(), &type);
      }
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      if (in_bytes) {
        MPI_Type_create_hindexed(n, int_lengths.data(), addresses.data(), child.type(), &type);
      } else {
        require_int(at);
        MPI_Type_indexed(n, int_lengths.data(), int_at.data(), child.type(), &type);
      }
    }
    return {type, (in_bytes ? "hindexed(" : "indexed(") + listed(lengths) + listed(at) + child.text() + ")",
            std::move(places)};
  }

  ListedType indexed_block(int depth, int64_t segments_max, bool in_bytes) {
    const ListedType child = make(depth - 1, segments_max / 8);
    const int64_t length = random_.between(fewest(), 3);
    const std::vector<int64_t> lengths(static_cast<size_t>(count(random_.chance(20) ? 60 : 8, segments_max / 3, child)),
                                       length);
    const auto at = displacements(lengths, child.extent(), in_bytes);
    const auto n = static_cast<int>(lengths.size());
    Places places;
    for (const int64_t place : at) append(places, child, in_bytes ? place : place * child.extent(), length);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const std::vector<int> int_at(at.begin(), at.end());
    const std::vector<MPI_Aint> addresses(at.begin(), at.end());
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      const std::vector<MPI_Count> count_at(at.begin(), at.end());
      if (in_bytes) {
        MPI_Type_create_hindexed_block_c(n, length, count_at.data(), child.type(), &type);
      } else {
        MPI_Type_create_indexed_block_c(n, length, count_at.data(), child.type(), &type);
      }
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      if (in_bytes) {
        MPI_Type_create_hindexed_block(n, static_cast<int>(length), addresses.data(), child.type(), &type);
      } else {
        require_int(at);
        MPI_Type_create_indexed_block(n, static_cast<int>(length), int_at.data(), child.type(), &type);
      }
    }
    return {type,
            (in_bytes ? "hindexed_block(" : "indexed_block(") + joined({length}) + listed(at) + child.text() + ")",
            std::move(places)};
  }

  ListedType structure(int depth, int64_t segments_max) {
    const int64_t n = random_.between(fewest(), 5);
    const bool are_alike = random_.chance(20);
    std::vector<ListedType> children;
    std::vector<int64_t> lengths;
    std::vector<int64_t> at;
    std::string text = "struct(";
    Places places;
    int64_t next = random_.between(0, 8);
    for (int64_t i = 0; i < n; ++i) {
      if (!are_alike || i == 0)
        children.push_back(make(static_cast<int>(random_.between(0, depth - 1)), segments_max / 12));
      const ListedType& child = children.back();
      lengths.push_back(random_.between(fewest(), 2));
      if (!options_.is_forward && random_.chance(40)) {
        next = random_.between(-100, 100);
      } else if (options_.is_forward) {
        next = std::max(next, next - child.low());
      }
      at.push_back(next);
      append(places, child, next, lengths.back());
      next += std::max(child.high(), child.extent()) + (lengths.back() > 1 ? std::abs(child.extent()) : 0) +
              random_.between(0, 9);
      text += joined({lengths.back(), at.back()}) + child.text() + "; ";
    }
    std::vector<MPI_Datatype> types;
    for (int64_t i = 0; i < n; ++i) types.push_back(children[static_cast<size_t>(are_alike ? 0 : i)].type());
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const std::vector<int> int_lengths(lengths.begin(), lengths.end());
    const std::vector<MPI_Aint> addresses(at.begin(), at.end());
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      const std::vector<MPI_Count> count_lengths(lengths.begin(), lengths.end());
      const std::vector<MPI_Count> count_at(at.begin(), at.end());
      MPI_Type_create_struct_c(n, count_lengths.data(), count_at.data(), types.data(), &type);
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      MPI_Type_create_struct(static_cast<int>(n), int_lengths.data(), addresses.data(), types.data(), &type);
    }
    return {type, text + ")", std::move(places)};
  }

  // Converts the indices of each dimension, the slowest varying first, to offsets.
  static void append_array(Places& places, const ListedType& child, const std::vector<std::vector<int64_t>>& indices,
                           const std::vector<int64_t>& sizes) {
    std::vector<int64_t> offsets{0};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> inner;
      for (const int64_t offset : offsets) {
        for (const int64_t index : indices[d]) inner.push_back(offset * sizes[d] + index);
      }
      offsets.swap(inner);
    }
    for (const int64_t offset : offsets) append(places, child, offset * child.extent());
  }

  template <typename T>
  static std::vector<T> slowest_first(std::vector<T> of_dimensions, int order) {
    if (order == MPI_ORDER_FORTRAN) std::reverse(of_dimensions.begin(), of_dimensions.end());
    return of_dimensions;
  }

  ListedType subarray(int depth, int64_t segments_max) {
    const ListedType child = make(depth - 1, segments_max / 30);
    const auto n = static_cast<size_t>(random_.between(1, 4));
    const int order = random_.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int64_t> sizes(n);
    std::vector<int64_t> subsizes(n);
    std::vector<int64_t> starts(n);
    std::vector<std::vector<int64_t>> indices(n);
    for (size_t d = 0; d < n; ++d) {
      sizes[d] = random_.between(1, 6);
      subsizes[d] = random_.chance(30) ? sizes[d] : random_.between(1, sizes[d]);
      starts[d] = random_.between(0, sizes[d] - subsizes[d]);
      for (int64_t i = 0; i < subsizes[d]; ++i) indices[d].push_back(starts[d] + i);
    }
    Places places;
    append_array(places, child, slowest_first(indices, order), slowest_first(sizes, order));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const auto dimensions = static_cast<int>(n);
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      const std::vector<MPI_Count> counts[3] = {
          {sizes.begin(), sizes.end()}, {subsizes.begin(), subsizes.end()}, {starts.begin(), starts.end()}};
      MPI_Type_create_subarray_c(dimensions, counts[0].data(), counts[1].data(), counts[2].data(), order, child.type(),
                                 &type);
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      const std::vector<int> ints[3] = {
          {sizes.begin(), sizes.end()}, {subsizes.begin(), subsizes.end()}, {starts.begin(), starts.end()}};
      MPI_Type_create_subarray(dimensions, ints[0].data(), ints[1].data(), ints[2].data(), order, child.type(), &type);
    }
    return {type,
            "subarray(" + listed(sizes) + listed(subsizes) + listed(starts) + (order == MPI_ORDER_C ? "C, " : "F, ") +
                child.text() + ")",
            std::move(places)};
  }

  ListedType darray(int depth, int64_t segments_max) {
    const ListedType child = make(depth - 1, segments_max / 30);
    const auto n = static_cast<size_t>(random_.between(1, 3));
    const int order = random_.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int64_t> sizes(n);
    std::vector<int> kinds(n);
    std::vector<int> arguments(n);
    std::vector<int> grid(n);
    int processes = 1;
    for (size_t d = 0; d < n; ++d) {
      sizes[d] = random_.between(1, 12);
      kinds[d] = random_.chance(33)   ? MPI_DISTRIBUTE_NONE
                 : random_.chance(50) ? MPI_DISTRIBUTE_BLOCK
                                      : MPI_DISTRIBUTE_CYCLIC;
      grid[d] = kinds[d] == MPI_DISTRIBUTE_NONE ? 1 : static_cast<int>(random_.between(1, 3));
      arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
      if (kinds[d] == MPI_DISTRIBUTE_CYCLIC && random_.chance(70))
        arguments[d] = static_cast<int>(random_.between(1, 4));
      if (kinds[d] == MPI_DISTRIBUTE_BLOCK && random_.chance(50)) {
        arguments[d] = static_cast<int>((sizes[d] + grid[d] - 1) / grid[d] + random_.between(0, 2));
      }
      processes *= grid[d];
    }
    int rank = static_cast<int>(random_.between(0, processes - 1));
    if (options_.is_plain) rank = 0;  // rank 0 is never empty
    std::vector<std::vector<int64_t>> indices(n);
    int rest = rank;
    for (size_t d = n; d-- > 0; rest /= grid[d]) {
      const int64_t process = rest % grid[d];
      int64_t block = arguments[d];
      if (kinds[d] == MPI_DISTRIBUTE_NONE) {
        block = sizes[d];
      } else if (arguments[d] == MPI_DISTRIBUTE_DFLT_DARG) {
        block = kinds[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
      }
      for (int64_t i = 0; i < sizes[d]; ++i) {
        if (i / block % grid[d] == process) indices[d].push_back(i);
      }
    }
    Places places;
    append_array(places, child, slowest_first(indices, order), slowest_first(sizes, order));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const auto dimensions = static_cast<int>(n);
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) {
      const std::vector<MPI_Count> counts(sizes.begin(), sizes.end());
      MPI_Type_create_darray_c(processes, rank, dimensions, counts.data(), kinds.data(), arguments.data(), grid.data(),
                               order, child.type(), &type);
    }
#endif
    if (type == MPI_DATATYPE_NULL) {
      const std::vector<int> ints(sizes.begin(), sizes.end());
      MPI_Type_create_darray(processes, rank, dimensions, ints.data(), kinds.data(), arguments.data(), grid.data(),
                             order, child.type(), &type);
    }
    std::string text = "darray(" + joined({processes, rank}) + listed(sizes);
    for (size_t d = 0; d < n; ++d) {
      text += kinds[d] == MPI_DISTRIBUTE_NONE ? "none" : kinds[d] == MPI_DISTRIBUTE_BLOCK ? "block" : "cyclic";
      text += "(" + std::to_string(arguments[d]) + ")/" + std::to_string(grid[d]) + ", ";
    }
    return {type, text + (order == MPI_ORDER_C ? "C, " : "F, ") + child.text() + ")", std::move(places)};
  }

  ListedType resized(int depth, int64_t segments_max) {
    const ListedType child = make(depth - 1, segments_max);
    int64_t lower_bound = 0;
    int64_t extent = std::max<int64_t>(options_.is_plain ? 1 : INT64_MIN, child.high() + random_.between(0, 24));
    if (!options_.is_forward && random_.chance(60)) {
      lower_bound = random_.between(-20, 20);
      extent = random_.between(options_.is_plain ? 1 : -40, 60);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    [[maybe_unused]] const bool large = is_large();
#if MPI_VERSION >= 4
    if (large) MPI_Type_create_resized_c(child.type(), lower_bound, extent, &type);
#endif
    if (type == MPI_DATATYPE_NULL) MPI_Type_create_resized(child.type(), lower_bound, extent, &type);
    return {type, "resized(" + joined({lower_bound, extent}) + child.text() + ")", child.segments()};
  }

  ListedType duplicate(int depth, int64_t segments_max) {
    const ListedType child = make(depth - 1, segments_max);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_dup(child.type(), &type);
    return {type, "dup(" + child.text() + ")", child.segments()};
  }

  Random& random_;
  const TypeOptions& options_;
};

inline ListedType random_type(Random& random, const TypeOptions& options) {
  return TypeMaker(random, options).make(options.depth, options.segments_max);
}

}  // namespace swath::mpi_io::testing
