// Compares decoded datatypes with MPI itself and with plain lists of bytes. Runs in one MPI process.
#include "mpi_io/type_map.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi_io/mpi_error.h"
#include "mpi_io/tests/random_datatypes.h"

namespace swath::mpi_io {
namespace {

using testing::ListedType;
using testing::Random;
using testing::Segment;
using testing::TypeOptions;

// The number of random types: SWATH_DATATYPE_CASES, or a few.
int cases(int few) {
  const char* wanted = std::getenv("SWATH_DATATYPE_CASES");
  return wanted != nullptr ? static_cast<int>(std::strtol(wanted, nullptr, 10)) : few;
}

// Random bytes at and around the address of `count` elements.
struct Image {
  Image(const ListedType& type, int64_t count, Random& random)
      : low(std::min<int64_t>({0, type.low(), type.low() + (count - 1) * type.extent()})),
        bytes(
            static_cast<size_t>(std::max<int64_t>({1, type.high(), type.high() + (count - 1) * type.extent()}) - low)) {
    // Eight bytes at a time: images are much larger than data.
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      const uint64_t next = random.next();
      std::memcpy(bytes.data() + at, &next, std::min(sizeof(next), bytes.size() - at));
    }
  }
  const char* address() const { return bytes.data() - low; }

  int64_t low;
  std::vector<char> bytes;
};

std::vector<char> gathered(const Nest& nest, const Image& image) {
  std::vector<char> data;
  for (int64_t position = 0; position < nest.bytes();) {
    const Nest::Run run = nest.run_at(position, nest.bytes());
    data.insert(data.end(), image.address() + run.offset, image.address() + run.offset + run.bytes);
    position += run.bytes;
  }
  return data;
}

std::vector<char> gathered(const ListedType& type, int64_t count, const Image& image) {
  std::vector<char> data;
  for (int64_t i = 0; i < count; ++i) {
    for (const Segment& segment : type.segments()) {
      const char* first = image.address() + segment.offset + i * type.extent();
      data.insert(data.end(), first, first + segment.bytes);
    }
  }
  return data;
}

std::vector<char> packed(const ListedType& type, int count, const Image& image) {
  int size = 0;
  MPI_Pack_size(count, type.type(), MPI_COMM_SELF, &size);
  std::vector<char> data(static_cast<size_t>(size) + 1);
  int position = 0;
  MPI_Pack(image.address(), count, type.type(), data.data(), size, &position, MPI_COMM_SELF);
  data.resize(static_cast<size_t>(position));
  return data;
}

// Compares the bounds with MPI's, and the bytes with the plain list, in its order.
void for_random_types(bool are_plain, const std::function<void(const ListedType&, const Nest&, Random&)>& check) {
  int64_t types = 0;
  int64_t runs = 0;
  int64_t listed = 0;
  int64_t refused = 0;
  for (int seed = 0; seed < cases(10'000); ++seed) {
    try {
      Random random(static_cast<uint64_t>(seed));
      const int depth = static_cast<int>(random.between(1, 4));
      const ListedType type = random_type(random, {.depth = depth, .is_plain = are_plain});
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + type.text());
      const auto map = type_map_of(type.type());
      MPI_Count size = 0;
      MPI_Type_size_x(type.type(), &size);
      ASSERT_EQ(map->size(), size);
      ASSERT_EQ(map->extent, type.extent());
      ASSERT_EQ(map->lower_bound, type.lower_bound());
      ASSERT_EQ(map->nest.low(), type.low());
      ASSERT_EQ(map->nest.high(), type.high());
      check(type, map->nest, random);
      if (::testing::Test::HasFatalFailure()) return;
      types += 1;
      runs += map->nest.runs();
      listed += map->nest.listed();
    } catch (const testing::Refused&) {
      ++refused;
    }
  }
  std::printf("%lld types, %lld runs in %lld numbers; MPI refused to make %lld\n", static_cast<long long>(types),
              static_cast<long long>(runs), static_cast<long long>(listed), static_cast<long long>(refused));
  EXPECT_GT(types, cases(10'000) / 2);
}

void expect_bytes(const ListedType& type, const Nest& nest, Random& random) {
  const int64_t count = random.between(0, 3);
  const Image image(type, count, random);
  ASSERT_EQ(gathered(repeated({.nest = nest, .extent = type.extent()}, count), image), gathered(type, count, image));
}

TEST(TypeMap, RandomTypesAreWhatMpiPacks) {
  for_random_types(true, [](const ListedType& type, const Nest& nest, Random& random) {
    expect_bytes(type, nest, random);
    const int count = static_cast<int>(random.between(0, 3));
    const Image image(type, count, random);
    ASSERT_EQ(gathered(repeated({.nest = nest, .extent = type.extent()}, count), image), packed(type, count, image));
  });
}

TEST(TypeMap, RandomTypesAreTheListsOfTheirDefinitions) { for_random_types(false, expect_bytes); }

// A type of a test, freed at its end.
class Made {
 public:
  explicit Made(const std::function<int(MPI_Datatype*)>& make) {
    EXPECT_EQ(make(&type_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&type_), MPI_SUCCESS);
  }
  ~Made() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  operator MPI_Datatype() const { return type_; }
  MPI_Datatype* address() { return &type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::string text_of(MPI_Datatype type) { return type_map_of(type)->nest.to_string(); }

TEST(TypeMap, SubarrayOfPnetcdfIsStrided) {
  const int sizes[] = {64, 128, 256};
  const int subsizes[] = {16, 32, 64};
  const int starts[] = {8, 4, 2};
  const Made vara([&](MPI_Datatype* type) {
    return MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, type);
  });
  EXPECT_EQ(text_of(vara), "16 x 262144 bytes apart of 32 x 2048 bytes apart of 512 bytes");
  EXPECT_EQ(type_map_of(vara)->nest.origin(), ((8 * 128 + 4) * 256 + 2) * 8);
  EXPECT_LT(type_map_of(vara)->nest.memory_bytes(), 2000);
  const Made columns([&](MPI_Datatype* type) {
    return MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, type);
  });
  EXPECT_EQ(text_of(columns), "64 x 65536 bytes apart of 32 x 512 bytes apart of 128 bytes");
}

Made hindexed_of_bytes(const std::vector<MPI_Aint>& displacements, const std::vector<int>& lengths) {
  return Made([&](MPI_Datatype* type) {
    return MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(), MPI_BYTE,
                                    type);
  });
}

TEST(TypeMap, ListsThatPnetcdfFlattenedAreStridedAgain) {
  std::vector<MPI_Aint> displacements(1000);
  for (size_t i = 0; i < displacements.size(); ++i) displacements[i] = 512 + 24 * static_cast<MPI_Aint>(i);
  const Made vars = hindexed_of_bytes(displacements, std::vector<int>(1000, 8));
  EXPECT_EQ(text_of(vars), "1000 x 24 bytes apart of 8 bytes");
  EXPECT_EQ(type_map_of(vars)->nest.origin(), 512);
  // Every third of each row, and a last row that is shorter.
  for (size_t i = 0; i < displacements.size(); ++i) {
    displacements[i] = static_cast<MPI_Aint>(i / 30 * 4096 + i % 30 * 24);
  }
  displacements.resize(990);
  const Made rows = hindexed_of_bytes(displacements, std::vector<int>(990, 8));
  EXPECT_EQ(text_of(rows), "33 x 4096 bytes apart of 30 x 24 bytes apart of 8 bytes");
  displacements.resize(980);
  const Made ragged = hindexed_of_bytes(displacements, std::vector<int>(980, 8));
  EXPECT_EQ(text_of(ragged), "2 places of different forms");
  EXPECT_EQ(type_map_of(ragged)->nest.child(0).to_string(), "32 x 4096 bytes apart of 30 x 24 bytes apart of 8 bytes");
  EXPECT_EQ(type_map_of(ragged)->nest.child(1).to_string(), "20 x 24 bytes apart of 8 bytes");
}

TEST(TypeMap, HyperslabOfHdf5IsStrided) {
  // 5 blocks of 2 of 4 in each of 7 rows of 100 doubles, as HDF5 makes it: resized hindexed of vector of vector.
  const Made blocks([](MPI_Datatype* type) { return MPI_Type_vector(5, 2, 4, MPI_DOUBLE, type); });
  const Made row([&](MPI_Datatype* type) { return MPI_Type_create_resized(blocks, 0, 800, type); });
  const Made rows([&](MPI_Datatype* type) { return MPI_Type_vector(7, 1, 3, row, type); });
  const int length = 1;
  const MPI_Aint start = 1640;
  const Made placed([&](MPI_Datatype* type) { return MPI_Type_create_hindexed(1, &length, &start, rows, type); });
  const Made slab([&](MPI_Datatype* type) { return MPI_Type_create_resized(placed, 0, 80000, type); });
  EXPECT_EQ(text_of(slab), "7 x 2400 bytes apart of 5 x 32 bytes apart of 16 bytes");
  EXPECT_EQ(type_map_of(slab)->nest.origin(), 1640);
  EXPECT_EQ(type_map_of(slab)->extent, 80000);
  EXPECT_EQ(type_map_of(slab)->lower_bound, 0);
  EXPECT_LT(type_map_of(slab)->nest.memory_bytes(), 2000);
}

TEST(TypeMap, FillValuesOfHdf5HaveStrideZero) {
  const Made fill([](MPI_Datatype* type) { return MPI_Type_create_hvector(1000, 1, 0, MPI_DOUBLE, type); });
  EXPECT_EQ(text_of(fill), "1000 x 0 bytes apart of 8 bytes");
  EXPECT_FALSE(type_map_of(fill)->is_contiguous());
}

// A rank's cells of NAS BTIO, class A on 4 ranks: 64³ points of 5 doubles, cells of 32³.
TEST(TypeMap, CellsOfBtioAreIndexed) {
  const int sizes[] = {5, 64, 64, 64};
  const int subsizes[] = {5, 32, 32, 32};
  const int starts[2][4] = {{0, 0, 0, 0}, {0, 32, 32, 32}};
  MPI_Datatype cells[2];
  for (int c = 0; c < 2; ++c) {
    MPI_Type_create_subarray(4, sizes, subsizes, starts[c], MPI_ORDER_FORTRAN, MPI_DOUBLE, &cells[c]);
  }
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 0};
  const Made file([&](MPI_Datatype* type) { return MPI_Type_create_struct(2, lengths, displacements, cells, type); });
  for (MPI_Datatype& cell : cells) MPI_Type_free(&cell);
  EXPECT_EQ(text_of(file), "2 x 5326080 bytes apart of 32 x 163840 bytes apart of 32 x 2560 bytes apart of 1280 bytes");
  EXPECT_LT(type_map_of(file)->nest.memory_bytes(), 2000);
}

TEST(TypeMap, RequestsThatPnetcdfWaitsForAreJoined) {
  const Made first = hindexed_of_bytes({0, 100, 250}, {8, 8, 8});
  const Made second = hindexed_of_bytes({1000, 1016}, {16, 4});  // blocks that touch
  MPI_Datatype parts[] = {first, second};
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 0};
  const Made both([&](MPI_Datatype* type) { return MPI_Type_create_struct(2, lengths, displacements, parts, type); });
  EXPECT_EQ(type_map_of(both)->nest.node() == nullptr, false);
  EXPECT_EQ(text_of(second), "20 bytes");
  EXPECT_EQ(text_of(both), "2 places of different forms");
  // Three records of two boxes each.
  const int sizes[] = {8, 8};
  const int subsizes[] = {2, 3};
  const int starts[] = {1, 1};
  const Made box([&](MPI_Datatype* type) {
    return MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, type);
  });
  const Made records([&](MPI_Datatype* type) { return MPI_Type_create_hvector(3, 1, 5000, box, type); });
  MPI_Datatype same[] = {records, records};
  const MPI_Aint apart[] = {0, 1200};
  const Made variables([&](MPI_Datatype* type) { return MPI_Type_create_struct(2, lengths, apart, same, type); });
  EXPECT_EQ(text_of(variables), "2 x 1200 bytes apart of 3 x 5000 bytes apart of 2 x 32 bytes apart of 12 bytes");
}

TEST(TypeMap, FourMillionBlocksAreThreeNumbers) {
  const Made vector([](MPI_Datatype* type) { return MPI_Type_vector(4'000'000, 1, 2, MPI_DOUBLE, type); });
  EXPECT_EQ(text_of(vector), "4000000 x 16 bytes apart of 8 bytes");
  EXPECT_EQ(type_map_of(vector)->size(), 32'000'000);
  EXPECT_LT(type_map_of(vector)->nest.memory_bytes(), 1000);
}

TEST(TypeMap, CyclicArraysAreStridedWithATail) {
  const auto share = [](int rank) {
    return Made([&](MPI_Datatype* type) {
      const int sizes[] = {1000};
      const int kinds[] = {MPI_DISTRIBUTE_CYCLIC};
      const int arguments[] = {7};
      const int grid[] = {3};
      return MPI_Type_create_darray(3, rank, 1, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_DOUBLE, type);
    });
  };
  EXPECT_EQ(text_of(share(0)), "48 x 168 bytes apart of 56 bytes");
  EXPECT_EQ(text_of(share(1)), "2 places of different forms");
  EXPECT_EQ(type_map_of(share(1))->nest.child(1).to_string(), "48 bytes");  // 1000 = 47 * 21 + 7 + 6
  EXPECT_EQ(text_of(share(2)), "47 x 168 bytes apart of 56 bytes");
}

TEST(TypeMap, IrregularListsTakeWhatWasListed) {
  constexpr int kCount = 1'000'000;
  Random random(1);
  std::vector<MPI_Aint> displacements(kCount);
  MPI_Aint at = 0;
  for (MPI_Aint& displacement : displacements) displacement = at += random.between(33, 99);
  std::vector<int> lengths(kCount, 8);
  const Made equal = hindexed_of_bytes(displacements, lengths);
  EXPECT_EQ(text_of(equal), "1000000 places of 8 bytes");
  EXPECT_LT(type_map_of(equal)->nest.memory_bytes(), int64_t{kCount} * 8 + 2000);
  for (int& length : lengths) length = static_cast<int>(random.between(1, 4)) * 8;
  const Made unequal = hindexed_of_bytes(displacements, lengths);
  EXPECT_EQ(text_of(unequal), "1000000 places of 1 to 32 bytes");
  EXPECT_LT(type_map_of(unequal)->nest.memory_bytes(), int64_t{kCount} * 16 + 2000);
  const std::vector<MPI_Datatype> doubles(kCount, MPI_DOUBLE);
  std::fill(lengths.begin(), lengths.end(), 1);
  const Made fields([&](MPI_Datatype* type) {
    return MPI_Type_create_struct(kCount, lengths.data(), displacements.data(), doubles.data(), type);
  });
  EXPECT_EQ(type_map_of(fields)->nest, type_map_of(equal)->nest);
}

TEST(TypeMap, UnequalBlocksOfHolesAreOfTheirGreatestDivisor) {
  const Made spaced([](MPI_Datatype* type) { return MPI_Type_create_resized(MPI_INT, 0, 10, type); });
  const auto indexed = [&](const std::vector<int>& lengths, const std::vector<int>& at) {
    return Made([&](MPI_Datatype* type) {
      return MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), at.data(), spaced, type);
    });
  };
  EXPECT_EQ(text_of(indexed({2, 4, 2}, {0, 5, 30})), "4 places of 2 x 10 bytes apart of 4 bytes");
  EXPECT_EQ(text_of(indexed({2, 3, 1}, {0, 2, 5})), "6 x 10 bytes apart of 4 bytes");  // each begins where one ends
  EXPECT_EQ(text_of(indexed({1, 1000}, {0, 5})), "2 places of different forms");
}

// Applies `wrap` repeatedly.
Made nested(int levels, const std::function<int(int, MPI_Datatype, MPI_Datatype*)>& wrap) {
  return Made([&](MPI_Datatype* type) {
    MPI_Type_dup(MPI_DOUBLE, type);
    for (int level = 1; level <= levels; ++level) {
      MPI_Datatype inner = *type;
      EXPECT_EQ(wrap(level, inner, type), MPI_SUCCESS);
      MPI_Type_free(&inner);
    }
    return MPI_SUCCESS;
  });
}

TEST(TypeMap, StructsInStructsAreServedHoweverDeep) {
  const Made deep = nested(500, [](int level, MPI_Datatype inner, MPI_Datatype* type) {
    const int lengths[] = {1, 1};
    const MPI_Aint displacements[] = {0, 8 + level % 5};
    MPI_Datatype parts[] = {MPI_INT, inner};
    return MPI_Type_create_struct(2, lengths, displacements, parts, type);
  });
  const auto map = type_map_of(deep);
  EXPECT_EQ(map->size(), 500 * 4 + 8);
  EXPECT_LE(map->nest.depth(), Nest::kDepthMax);
  int64_t offset = 0;
  for (int level = 500; level > 0; --level) {
    EXPECT_EQ(map->nest.offset_of(int64_t{4} * (500 - level)), offset);
    offset += 8 + level % 5;
  }
  EXPECT_EQ(map->nest.offset_of(2000), offset);
}

TEST(TypeMap, LevelsAroundALongListAreJoined) {
  // 100,000 displacements are too many to list for each of 100 levels.
  const Made deep = nested(100, [](int level, MPI_Datatype inner, MPI_Datatype* type) {
    if (level == 1) {
      std::vector<MPI_Aint> places(100'000);
      for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(i * 40 + i * i % 17);
      return MPI_Type_create_hindexed_block(100'000, 1, places.data(), inner, type);
    }
    const int lengths[] = {1, 1};
    const MPI_Aint displacements[] = {0, 16 + level % 5};
    MPI_Datatype parts[] = {MPI_INT, inner};
    return MPI_Type_create_struct(2, lengths, displacements, parts, type);
  });
  const auto map = type_map_of(deep);
  EXPECT_EQ(map->size(), 99 * 4 + 800'000);
  EXPECT_LE(map->nest.depth(), Nest::kDepthMax - 4);
  EXPECT_LT(map->nest.memory_bytes(), 1'000'000);
}

int doubled(int level, MPI_Datatype inner, MPI_Datatype* type) {
  return MPI_Type_create_hvector(2, 1, 8 + MPI_Aint{1000} * level * level, inner, type);
}

TEST(TypeMap, LevelsThatCannotBeJoinedAreRefused) {
  const auto forty = type_map_of(nested(40, doubled));
  EXPECT_EQ(forty->size(), int64_t{8} << 40);
  EXPECT_LE(forty->nest.depth(), Nest::kDepthMax);
  EXPECT_EQ(forty->nest.end() - 8, int64_t{40} * 8 + int64_t{1000} * (int64_t{40} * 41 * 81 / 6));
  const Made fifty = nested(50, doubled);
  try {
    type_map_of(fifty);
    FAIL() << "50 levels were decoded";
  } catch (const MpiError& error) {
    EXPECT_EQ(error.code(), MPI_ERR_TYPE);
    EXPECT_NE(error.text().find("levels"), std::string::npos) << error.text();
  }
}

TEST(TypeMap, TypesThatSayTheSameAreEqualHoweverDeep) {
  const Made deep = nested(1000, [](int level, MPI_Datatype inner, MPI_Datatype* type) {
    return level % 2 == 0 ? MPI_Type_contiguous(1, inner, type) : MPI_Type_dup(inner, type);
  });
  EXPECT_TRUE(type_map_of(deep)->is_contiguous());
  EXPECT_EQ(text_of(deep), "8 bytes");
}

TEST(TypeMap, PairsHaveTheHolesOfTheirStructs) {
  EXPECT_EQ(text_of(MPI_SHORT_INT), "2 places of 1 to 4 bytes");
  EXPECT_EQ(type_map_of(MPI_SHORT_INT)->nest.offset_of(2), 4);
  EXPECT_EQ(type_map_of(MPI_DOUBLE_INT)->nest, Nest::block(12));
  EXPECT_FALSE(type_map_of(MPI_DOUBLE_INT)->is_contiguous());
  EXPECT_EQ(type_map_of(MPI_LONG_DOUBLE_INT)->nest.offset_of(16), 16);
  for (const MPI_Datatype type : {MPI_2INT, MPI_FLOAT_INT, MPI_PACKED, MPI_LONG_DOUBLE, MPI_C_BOOL, MPI_INT8_T,
                                  MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_WCHAR}) {
    EXPECT_TRUE(type_map_of(type)->is_contiguous());
    EXPECT_EQ(type_map_of(type), type_map_of(type)) << "it is looked up";
  }
}

TEST(TypeMap, TypesOfFortranAndOfValuesWithIndicesAreBlocks) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Type_create_f90_real(15, 307, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL) {
    EXPECT_EQ(type_map_of(type)->nest, Nest::block(8));
    const Made pair([&](MPI_Datatype* made) { return MPI_Type_vector(3, 1, 2, type, made); });
    EXPECT_EQ(text_of(pair), "3 x 16 bytes apart of 8 bytes");
  }
  if (MPI_Type_create_f90_integer(9, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL) {
    EXPECT_EQ(type_map_of(type)->nest, Nest::block(4));
  }
  if (MPI_DOUBLE_PRECISION != MPI_DATATYPE_NULL) {
    EXPECT_EQ(type_map_of(MPI_DOUBLE_PRECISION)->nest, Nest::block(8));
    EXPECT_EQ(type_map_of(MPI_2DOUBLE_PRECISION)->nest, Nest::block(16));
  }
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  const std::pair<MPI_Datatype, MPI_Datatype> parts[] = {{MPI_SHORT, MPI_INT64_T}, {MPI_DOUBLE, MPI_INT32_T}};
  for (const auto& [value, index] : parts) {
    ASSERT_EQ(MPI_Type_get_value_index(value, index, &type), MPI_SUCCESS);
    if (type == MPI_DATATYPE_NULL) continue;
    const auto map = type_map_of(type);
    EXPECT_EQ(map->nest.offset_of(0), 0);
    EXPECT_EQ(map->nest.offset_of(map->size() - 1), value == MPI_SHORT ? 15 : 11);
    EXPECT_EQ(map->extent, 16);
  }
#endif
}

std::atomic<int> handler_calls{0};
// NOLINTNEXTLINE(modernize-avoid-variadic-functions): MPI's
void count_call(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++handler_calls; }

int code_of(MPI_Datatype type) {
  try {
    type_map_of(type);
    return MPI_SUCCESS;
  } catch (const MpiError& error) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(error.code(), &error_class);
    EXPECT_FALSE(error.text().empty());
    return error_class;
  }
}

TEST(TypeMap, WrongTypesAreErrorsAndCallNoHandlerOfTheProgram) {
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_call, &counting);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, counting);
  EXPECT_EQ(code_of(MPI_DATATYPE_NULL), MPI_ERR_TYPE);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  EXPECT_EQ(code_of(type), MPI_ERR_TYPE) << "it is not committed";
  EXPECT_EQ(code_of(type), MPI_ERR_TYPE) << "nor is it when it is known";
  MPI_Type_commit(&type);
  EXPECT_EQ(code_of(type), MPI_SUCCESS);
  MPI_Type_free(&type);
#if defined(MPICH_VERSION) && !defined(MPI_ABI)  // elsewhere a handle is an address
  EXPECT_EQ(code_of(0x12345678), MPI_ERR_TYPE);
#endif
  EXPECT_EQ(handler_calls, 0);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &found);
    EXPECT_EQ(found, counting) << "it is the program's again";
    MPI_Errhandler_free(&found);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  MPI_Errhandler_free(&counting);
}

TEST(TypeMap, ItIsKeptWithTheTypeAndItsDuplicatesAndFreedWithThem) {
  std::weak_ptr<const TypeMap> kept;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  kept = type_map_of(type);
  EXPECT_EQ(type_map_of(type), kept.lock());
  MPI_Datatype duplicate = MPI_DATATYPE_NULL;
  MPI_Type_dup(type, &duplicate);
  MPI_Type_free(&type);
  EXPECT_EQ(type_map_of(duplicate), kept.lock());
  EXPECT_FALSE(kept.expired());
  MPI_Type_free(&duplicate);
  EXPECT_TRUE(kept.expired());
}

TEST(TypeMap, PartsThatTheProgramHasFreedAreDecodedAndFreedWithTheWhole) {
  MPI_Datatype part = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &part);
  MPI_Type_commit(&part);
  const std::weak_ptr<const TypeMap> kept = type_map_of(part);
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(2, 1, 1000, part, &whole);
  MPI_Type_commit(&whole);
  MPI_Type_free(&part);
  EXPECT_EQ(text_of(whole), "2 x 1000 bytes apart of 3 x 8 bytes apart of 4 bytes");
  MPI_Type_free(&whole);
  EXPECT_TRUE(kept.expired());
}

TEST(TypeMap, ThreadsMayAskForTheSameTypes) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI is not for many threads";
  for (int round = 0; round < 50; ++round) {
    std::vector<MPI_Datatype> types(20);
    for (size_t i = 0; i < types.size(); ++i) {
      MPI_Type_vector(3, 1, 2 + static_cast<int>(i), MPI_INT, &types[i]);
      MPI_Type_commit(&types[i]);
    }
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (size_t i = 0; i < types.size(); ++i) {
          const auto map = type_map_of(types[i]);
          if (map->nest.offset_of(4) != 4 * (2 + static_cast<int64_t>(i))) ++wrong;
          if (map != type_map_of(types[i])) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
  }
}

TEST(TypeMap, AForkedChildAsksToo) {
  const Made vector([](MPI_Datatype* type) { return MPI_Type_vector(3, 1, 2, MPI_INT, type); });
  type_map_of(vector);
  const pid_t child = fork();
  if (child == 0) _exit(text_of(vector) == "3 x 8 bytes apart of 4 bytes" ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(TypeMap, ElementsBeyondAllOffsetsAreErrors) {
  try {
    repeated(*type_map_of(MPI_DOUBLE), INT64_MAX / 4);
    FAIL() << "more than 2^62 bytes";
  } catch (const MpiError& error) {
    EXPECT_EQ(error.code(), MPI_ERR_COUNT);
  }
}

#if MPI_VERSION >= 4
TEST(TypeMap, CountsBeyondAnIntAreKept) {
  const MPI_Count count = MPI_Count{3} << 31;
  const Made vector([&](MPI_Datatype* type) { return MPI_Type_vector_c(count, 1, 3, MPI_DOUBLE, type); });
  EXPECT_EQ(text_of(vector), std::to_string(count) + " x 24 bytes apart of 8 bytes");
  const MPI_Count sizes[] = {count, 4};
  const MPI_Count subsizes[] = {count - 10, 2};
  const MPI_Count starts[] = {5, 1};
  const Made box([&](MPI_Datatype* type) {
    return MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, type);
  });
  EXPECT_EQ(text_of(box),
            "2 x " + std::to_string(4 * count) + " bytes apart of " + std::to_string(4 * (count - 10)) + " bytes");
  EXPECT_EQ(type_map_of(box)->nest.origin(), 4 * (count + 5));
}
#endif

}  // namespace
}  // namespace swath::mpi_io

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  ::testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Datatype left = MPI_DATATYPE_NULL;  // which MPI frees, or does not
  MPI_Type_vector(3, 1, 2, MPI_INT, &left);
  MPI_Type_commit(&left);
  swath::mpi_io::type_map_of(left);
  MPI_Finalize();
  try {
    swath::mpi_io::type_map_of(left);
    failed = 1;
  } catch (const swath::mpi_io::MpiError& error) {
    failed += error.code() == MPI_ERR_OTHER ? 0 : 1;
  }
  return failed;
}
