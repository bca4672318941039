// Datatypes decoded, against MPI itself and against plain lists. Run it as one process.
#include "mpi_io/type_map.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mpi_io/mpi_error.h"
#include "mpi_io/tests/random_datatypes.h"

namespace swath::mpi_io {
namespace {

using testing::ListedType;
using testing::Random;
using testing::Segment;
using testing::TypeOptions;

// As many types as SWATH_DATATYPE_CASES asks for, or a few.
int cases(int few) {
  const char* wanted = std::getenv("SWATH_DATATYPE_CASES");
  return wanted != nullptr ? static_cast<int>(std::strtol(wanted, nullptr, 10)) : few;
}

// The bytes of an image of memory in the order of the nest. `image` begins at offset `low`.
std::vector<char> gathered(const Nest& nest, const std::vector<char>& image, int64_t low) {
  std::vector<char> data;
  for (int64_t position = 0; position < nest.bytes();) {
    const Nest::Run run = nest.run_at(position, nest.bytes());
    const auto first = image.begin() + (run.offset - low);
    data.insert(data.end(), first, first + run.bytes);
    position += run.bytes;
  }
  return data;
}

std::vector<char> gathered(const ListedType& type, int64_t count, const std::vector<char>& image, int64_t low) {
  std::vector<char> data;
  for (int64_t i = 0; i < count; ++i) {
    for (const Segment& segment : type.segments()) {
      const auto first = image.begin() + (segment.offset + i * type.extent() - low);
      data.insert(data.end(), first, first + segment.bytes);
    }
  }
  return data;
}

std::vector<char> packed(const ListedType& type, int count, const char* address) {
  int size = 0;
  MPI_Pack_size(count, type.type(), MPI_COMM_SELF, &size);
  std::vector<char> data(static_cast<size_t>(size) + 1);
  int position = 0;
  MPI_Pack(address, count, type.type(), data.data(), size, &position, MPI_COMM_SELF);
  data.resize(static_cast<size_t>(position));
  return data;
}

TEST(TypeMap, RandomTypesAreWhatMpiPacks) {
  int64_t types = 0;
  int64_t runs = 0;
  int64_t numbers = 0;
  for (int seed = first_case(); seed < cases(10'000); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const ListedType type = random_type(random, {.depth = static_cast<int>(random.between(1, 4))});
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + type.text());
    const auto map = type_map_of(type.type());
    MPI_Count size = 0;
    MPI_Type_size_x(type.type(), &size);
    ASSERT_EQ(map->size(), size);
    ASSERT_EQ(map->size(), type.size());
    ASSERT_EQ(map->extent, type.extent());
    ASSERT_EQ(map->lower_bound, type.lower_bound());
    const int count = static_cast<int>(random.between(0, 3));
    const Nest nest = repeated(*map, count);
    const int64_t low = std::min<int64_t>({0, type.low(), type.low() + (count - 1) * type.extent()});
    const int64_t high = std::max<int64_t>({1, type.high(), type.high() + (count - 1) * type.extent()});
    if (high - low > 4'000'000) continue;
    ASSERT_GE(nest.low(), low);
    ASSERT_LE(nest.high(), high);
    std::vector<char> image(static_cast<size_t>(high - low));
    for (char& byte : image) byte = static_cast<char>(random.between(0, 255));
    const std::vector<char> data = gathered(nest, image, low);
    ASSERT_EQ(data, gathered(type, count, image, low));
    ASSERT_EQ(data, packed(type, count, image.data() - low));
    types += 1;
    runs += nest.runs();
    numbers += nest.memory_bytes() / 8;
  }
  std::printf("%lld types, %lld runs\n", static_cast<long long>(types), static_cast<long long>(runs));
  EXPECT_GT(types, 0);
}

}  // namespace
}  // namespace swath::mpi_io

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
