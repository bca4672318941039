// Random arrays, distributions, selections and strides, compared with a naive loop over all elements.
// SWATH_C_CASES=10000 swath_c_tests --gtest_filter='CProperties.*'
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comm/simulated.h"
#include "naive_for_tests.h"
#include "opening.h"
#include "swath/swath.h"

namespace swath::c_interface {
namespace {

using Bytes = std::vector<std::byte>;

class Random {
 public:
  explicit Random(uint64_t seed) : generator_(seed) {}
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution(low, high)(generator_); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(between(0, std::ssize(choices) - 1))];
  }

 private:
  std::mt19937_64 generator_;
};

struct Kind {
  std::string suffix;
  const char* format;
  std::vector<std::string> types;
  std::vector<const char*> codecs;
};

const std::vector<Kind>& kinds() {
  static const std::vector<std::string> numbers = {"u1", "<i2", ">i2", "f4", ">f8", "<i8"};
  static const std::vector<std::string> all = {"u1", "<i2", ">i4", "f4", ">f8", "c16", ">c8", "S3", "V5"};
  static const std::vector<Kind> found = {{".raw", "raw", all, {nullptr}},
                                          {".npy", nullptr, all, {nullptr}},
                                          {".nc3", "netcdf-classic:cdf5", numbers, {nullptr}},
                                          {".zarr", nullptr, numbers, {nullptr, "", "shuffle,zlib", "zstd:3", "blosc"}},
                                          {".h5", nullptr, numbers, {nullptr, "zlib:1", "shuffle,zlib", "fletcher32"}}};
  return found;
}

int64_t bytes_of(const std::string& dtype) {
  const size_t digits = dtype.find_first_of("123456789");
  return std::stoll(dtype.substr(digits));
}

// A rank's share in memory: the offset of element 0, and the strides.
struct Placing {
  std::vector<int64_t> strides;
  int64_t first = 0;
  int64_t bytes = 0;
  bool is_packed = false;

  int64_t offset(const std::vector<int64_t>& local) const {
    int64_t at = first;
    for (size_t d = 0; d < local.size(); ++d) at += local[d] * strides[d];
    return at;
  }
};

Placing random_placing(Random& random, const std::vector<int64_t>& local, int64_t element_bytes, bool may_repeat) {
  Placing placing;
  placing.strides.resize(local.size());
  std::vector<size_t> order;
  for (size_t d = 0; d < local.size(); ++d) order.push_back(d);
  placing.is_packed = random.chance(25);
  if (!placing.is_packed) {
    for (size_t d = order.size(); d > 1; --d)
      std::swap(order[d - 1], order[random.between(0, static_cast<int64_t>(d) - 1)]);
  }
  int64_t extent = element_bytes;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    int64_t stride = extent;
    if (!placing.is_packed && random.chance(40)) stride += random.between(1, 2 * element_bytes);
    if (!placing.is_packed && may_repeat && random.chance(8)) stride = 0;
    extent = std::max(extent, stride * std::max<int64_t>(local[d] - 1, 0) + extent);
    if (!placing.is_packed && random.chance(30)) {
      placing.first += stride * std::max<int64_t>(local[d] - 1, 0);
      stride = -stride;
    }
    placing.strides[d] = stride;
  }
  placing.bytes = extent;
  return placing;
}

// The arguments of one collective call: the shares of all ranks, and each rank's memory.
struct Access {
  NaiveShares shares;
  std::vector<Placing> placings;
  std::vector<Bytes> memory;
  bool is_whole = false;
  bool is_async = false;

  std::vector<swath_slice> slices() const {
    std::vector<swath_slice> found;
    for (const NaiveDimension& one : shares) found.push_back(one.slice);
    return found;
  }
  swath_distribution* distribution() const {
    std::vector<swath_rule> rules;
    std::vector<int> grid;
    for (const NaiveDimension& one : shares) {
      rules.push_back(one.rule);
      grid.push_back(one.grid);
    }
    swath_distribution* made = nullptr;
    EXPECT_EQ(swath_distribution_create(static_cast<int>(shares.size()), rules.data(), grid.data(), &made), SWATH_OK)
        << swath_error_message();
    return made;
  }
};

swath_slice random_slice(Random& random, int64_t extent) {
  if (extent == 0 || random.chance(40)) return {0, SWATH_END, 1};
  const int64_t step = random.of<int64_t>({1, 1, 2, 3, -1, -2, -3, 7});
  const int64_t start = random.between(0, extent - 1);
  if (random.chance(40)) return {start, SWATH_END, step};
  return {start, step > 0 ? random.between(start, extent) : random.between(-1, start), step};
}

NaiveShares random_shares(Random& random, const std::vector<int64_t>& shape, int ranks, bool is_whole) {
  NaiveShares shares;
  int left = ranks;
  for (const int64_t extent : shape) {
    NaiveDimension one;
    one.extent = extent;
    if (!is_whole) one.slice = random_slice(random, extent);
    one.rule.kind = static_cast<int>(random.between(0, 2));
    if (one.rule.kind != SWATH_WHOLE) {
      one.grid = static_cast<int>(random.between(1, left));
      left /= one.grid;
    }
    const auto count = std::ssize(one.selected());
    if (one.rule.kind == SWATH_CYCLIC) one.rule.block = random.between(0, 3);
    if (one.rule.kind == SWATH_BLOCK && random.chance(50)) {
      one.rule.block = std::max<int64_t>((count + one.grid - 1) / one.grid, 1) + random.between(0, 2);
    }
    shares.push_back(one);
  }
  return shares;
}

Access random_access(Random& random, const std::vector<int64_t>& shape, int ranks, int64_t element_bytes, bool is_write,
                     bool is_whole) {
  Access access;
  access.is_whole = is_whole;
  access.is_async = random.chance(20);
  access.shares = random_shares(random, shape, ranks, is_whole);
  swath_distribution* whose = access.distribution();
  std::vector<int64_t> selected;
  for (const NaiveDimension& one : access.shares) selected.push_back(std::ssize(one.selected()));
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int64_t> local(shape.size());
    EXPECT_EQ(swath_local_shape(whose, static_cast<int>(shape.size()), selected.data(), rank, local.data()), SWATH_OK);
    access.placings.push_back(random_placing(random, local, element_bytes, is_write));
    Bytes memory(static_cast<size_t>(access.placings.back().bytes));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.between(0, 255));
    access.memory.push_back(std::move(memory));
  }
  swath_distribution_free(whose);
  return access;
}

// Calls take(element's bytes in the array, its bytes in a rank's memory) for each element, by a naive loop.
template <typename Take>
void naively(Access& access, Bytes& array, int64_t element_bytes, const Take& take) {
  for_each_selected(access.shares, [&](int rank, int64_t element, const std::vector<int64_t>& local) {
    const auto number = static_cast<size_t>(rank);
    take(array.data() + element * element_bytes, access.memory[number].data() + access.placings[number].offset(local));
  });
}

// Transfers the same through the library, on one rank.
void move(swath_array* array, Access& access, int rank, bool is_write) {
  const auto number = static_cast<size_t>(rank);
  const Placing& placing = access.placings[number];
  swath_distribution* whose = access.distribution();
  const std::vector<swath_slice> slices = access.slices();
  const swath_slice* chosen = access.is_whole ? nullptr : slices.data();
  const int64_t* strides = placing.is_packed ? nullptr : placing.strides.data();
  void* data = access.memory[number].data() + placing.first;
  int kind = SWATH_OK;
  if (access.is_async) {
    swath_request* request = nullptr;
    kind = is_write ? swath_write_async(array, whose, chosen, data, strides, &request)
                    : swath_read_async(array, whose, chosen, data, strides, &request);
    if (kind == SWATH_OK) kind = swath_wait(request);
  } else {
    kind =
        is_write ? swath_write(array, whose, chosen, data, strides) : swath_read(array, whose, chosen, data, strides);
  }
  EXPECT_EQ(kind, SWATH_OK) << swath_error_message();
  swath_distribution_free(whose);
}

struct CaseOfArray {
  const Kind* kind;
  std::string dtype, path;
  std::vector<int64_t> shape, chunks;
  const char* codecs;
  int ranks;
};

CaseOfArray random_case(Random& random, const std::string& folder, bool has_hdf5) {
  CaseOfArray made;
  made.kind = &kinds()[static_cast<size_t>(random.between(0, has_hdf5 ? 4 : 3))];
  made.dtype = random.of(made.kind->types);
  made.path = folder + "/a" + made.kind->suffix;
  made.codecs = random.of(made.kind->codecs);
  made.ranks = static_cast<int>(random.between(1, 5));
  const int64_t dimensions = random.between(made.kind->codecs.size() > 1 ? 1 : 0, 4);
  for (int64_t d = 0; d < dimensions; ++d) {
    const bool may_be_empty = made.kind->suffix != ".nc3";  // netCDF classic has no dimension of length 0
    made.shape.push_back(may_be_empty && random.chance(4) ? 0 : random.between(1, 9));
    made.chunks.push_back(random.between(1, std::max<int64_t>(made.shape.back(), 1)));
  }
  return made;
}

void check_case(uint64_t seed, const std::string& folder, bool has_hdf5) {
  Random random(seed);
  const CaseOfArray one = random_case(random, folder, has_hdf5);
  const int64_t bytes = bytes_of(one.dtype);
  int64_t elements = 1;
  for (const int64_t extent : one.shape) elements *= extent;
  Bytes model(static_cast<size_t>(elements * bytes));

  std::vector<Access> writes, reads;
  writes.push_back(random_access(random, one.shape, one.ranks, bytes, true, true));
  for (int i = 0; i < 2; ++i) writes.push_back(random_access(random, one.shape, one.ranks, bytes, true, false));
  for (int i = 0; i < 2; ++i) reads.push_back(random_access(random, one.shape, one.ranks, bytes, false, false));
  for (Access& access : writes) {
    naively(access, model, bytes, [&](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
  }
  std::vector<std::vector<Bytes>> expected;
  for (const Access& access : reads) {
    Access copy = access;
    naively(copy, model, bytes, [&](const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); });
    expected.push_back(copy.memory);
  }

  swath_options options;
  swath_options_init(&options);
  options.format = one.kind->format;
  options.codecs = one.codecs;
  options.overwrite = 1;
  options.atomic = random.chance(20) ? 1 : 0;
  options.method = random.of<const char*>({nullptr, nullptr, "sieve", "list", "two-phase", "direct"});
  const bool has_chunks = one.kind->codecs.size() > 1 && random.chance(70);
  if (has_chunks || (one.codecs != nullptr && one.codecs[0] != '\0')) options.chunks = one.chunks.data();
  const bool names_variable = one.kind->suffix != ".npy" && one.kind->suffix != ".raw";
  const char* const name = one.kind->suffix == ".nc3" ? "v" : "g/v";
  const auto ndim = static_cast<int>(one.shape.size());
  Simulation simulation(one.ranks, static_cast<int>(random.between(1, one.ranks)), seed);
  run_ranks(simulation, [&](Comm& comm) {
    const std::shared_ptr<Comm> ranks(&comm, [](Comm*) {});
    swath_array* array = nullptr;
    const NewArrayArguments arguments{names_variable ? name : nullptr, ndim, one.shape.data(), nullptr,
                                      one.dtype.c_str()};
    create_array(ranks, one.path.c_str(), arguments, &options, &array);
    for (Access& access : writes) move(array, access, comm.rank(), true);
    EXPECT_EQ(swath_close(array), SWATH_OK) << swath_error_message();
    ArrayToOpen wanted{one.path.c_str(), nullptr, "r", &options, one.kind->suffix == ".raw"};
    wanted.raw = {nullptr, ndim, one.shape.data(), nullptr, one.dtype.c_str()};
    open_array(ranks, wanted, &array);
    for (Access& access : reads) move(array, access, comm.rank(), false);
    EXPECT_EQ(swath_close(array), SWATH_OK) << swath_error_message();
  });
  for (size_t i = 0; i < reads.size(); ++i) {
    for (size_t rank = 0; rank < expected[i].size(); ++rank) {
      ASSERT_EQ(reads[i].memory[rank], expected[i][rank])
          << "read " << i << ", rank " << rank << " of " << one.ranks << ", " << one.path << " " << one.dtype;
    }
  }
}

TEST(CProperties, WhatIsWrittenAndReadIsWhatANaiveLoopMoves) {
  const std::string folder = testing::TempDir() + "swath_c_properties_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  swath_array* probe = nullptr;
  const int64_t shape[] = {1};
  const bool has_hdf5 = swath_create((folder + "/probe.h5").c_str(), "v", 1, shape, "f4", nullptr, &probe) == SWATH_OK;
  if (has_hdf5) EXPECT_EQ(swath_discard(probe), SWATH_OK);
  const char* asked = std::getenv("SWATH_C_CASES");
  const int64_t cases = asked == nullptr ? 300 : std::strtoll(asked, nullptr, 10);
  for (int64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_THROW(check_case(static_cast<uint64_t>(seed), folder, has_hdf5));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace swath::c_interface
