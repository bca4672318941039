// Views of simulated ranks: random nests in file and memory, by all methods, compared with the plain list byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "array/array.h"
#include "store/engine_test_file.h"
#include "testing/allocations.h"
#include "testing/nests.h"
#include "testing/object_engine.h"
#include "testing/ranks_and_memory.h"

namespace swath {
namespace {

using namespace swath::testing;

int64_t setting(const char* name, int64_t otherwise) {
  const char* asked = std::getenv(name);
  return asked == nullptr ? otherwise : std::strtoll(asked, nullptr, 10);
}

int64_t wanted(int64_t few) { return setting("SWATH_RANDOM_VIEWS", few); }

// One rank's view, its memory, and the plain lists of both.
struct RankCase {
  View file;
  MemoryNest memory;
  std::vector<int64_t> offsets;  // in the file
  std::vector<int64_t> places;   // in `bytes`
  Bytes bytes;
  int64_t base = 0;  // the position of the nest's place 0 in `bytes`

  LocalMemory local() {
    LocalMemory local;
    local.view = {file, memory};
    local.addresses = {bytes.data() + base};
    local.is_packed = false;
    return local;
  }
};

struct ViewsCase {
  int64_t file_bytes = 0;
  bool overlaps = false;
  std::vector<RankCase> ranks;
  std::string text;
};

// Places the nest in memory: packed, regular, or irregular; with `repeats`, places may occur twice.
void place_in_memory(Random& random, RankCase& rank, bool repeats) {
  const int64_t bytes = std::ssize(rank.offsets);
  ListedNest nest{Nest::block(std::max<int64_t>(bytes, 1)), {}};
  for (int64_t i = 0; i < nest.nest.bytes(); ++i) nest.offsets.push_back(i);
  if (random.chance(60)) {
    const ListedNest one = random_nest(random, {.depth = static_cast<int>(random.between(1, 4)),
                                                .is_ascending = !repeats && random.chance(50),
                                                .bytes_max = std::max<int64_t>(bytes, 8)});
    if (!one.offsets.empty()) {
      const int64_t times = bytes / std::ssize(one.offsets) + 1;
      const int64_t distance =
          repeats && random.chance(30) ? random.between(-40, 40) : one.span() + random.between(0, 9);
      const int64_t extent = random.chance(20) ? -distance : distance;
      nest = {Nest::strided(times, extent, one.nest), {}};
      for (int64_t i = 0; i < times; ++i) nest.append(one, i * extent);
    }
  }
  auto sorted = nest.offsets;
  std::sort(sorted.begin(), sorted.end());
  if (!repeats && std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return place_in_memory(random, rank, repeats);
  }
  rank.memory.nest = nest.nest;
  rank.memory.first = random.between(0, std::ssize(nest.offsets) - std::max<int64_t>(bytes, 1));
  rank.base = 16 - nest.low();
  rank.bytes = random_bytes(random, nest.span() + 32);
  for (int64_t i = 0; i < bytes; ++i) rank.places.push_back(rank.base + nest.offsets[rank.memory.first + i]);
}

// Each byte of a file belongs to one rank or to none: the nests themselves divide it, unless they overlap.
ViewsCase random_views(Random& random, bool overlaps, bool repeats) {
  ViewsCase made;
  made.overlaps = overlaps;
  const int ranks = static_cast<int>(random.between(1, 5));
  std::vector<bool> is_taken;
  int64_t shift = random.between(0, 50);
  const bool is_alike = random.chance(40);  // all ranks have the same nest, shifted, as CYCLIC does
  ListedNest common;
  for (int rank = 0; rank < ranks; ++rank) {
    RankCase one;
    ListedNest nest = is_alike && rank > 0
                          ? common
                          : random_nest(random, {.depth = static_cast<int>(random.between(1, 4)), .bytes_max = 800});
    common = nest;
    nest.nest = nest.nest.shifted(shift - nest.low());
    const int64_t distance = shift - nest.low();
    for (int64_t& offset : nest.offsets) offset += distance;
    shift = random.chance(60) ? shift + random.between(1, 9) : nest.high() + random.between(0, 9);
    one.file.nest = nest.nest;
    const int64_t bytes = std::ssize(nest.offsets);
    one.file.first = random.chance(60) ? 0 : random.between(0, bytes);
    one.file.last = random.chance(60) ? bytes : random.between(one.file.first, bytes);
    one.offsets.assign(nest.offsets.begin() + one.file.first, nest.offsets.begin() + one.file.last);
    const bool meets = std::any_of(one.offsets.begin(), one.offsets.end(), [&](int64_t offset) {
      return offset < std::ssize(is_taken) && is_taken[static_cast<size_t>(offset)];
    });
    if (random.chance(10) || (meets && !overlaps)) {  // nothing to do
      one = RankCase();
    }
    for (const int64_t offset : one.offsets) {
      if (offset >= std::ssize(is_taken)) is_taken.resize(static_cast<size_t>(offset) + 1);
      is_taken[static_cast<size_t>(offset)] = true;
    }
    place_in_memory(random, one, repeats);
    made.text += " rank " + std::to_string(rank) + ": " + one.file.to_string() + " to " + one.memory.nest.to_string();
    made.ranks.push_back(std::move(one));
  }
  made.file_bytes = std::ssize(is_taken) + random.between(1, 100);
  return made;
}

std::shared_ptr<Comm> shared(Comm& comm) {
  return {&comm, [](Comm*) {}};
}

// "objects": a file that is accessed as if it were in a pool.
std::unique_ptr<Engine> open_by(const std::string& engine, const std::string& path) {
  if (engine != "objects") return open_for_engines(path, OpenMode::kReadWrite, {.engine = engine})(nullptr);
  auto posix = open_for_engines(path, OpenMode::kReadWrite, {.engine = "posix"})(nullptr);
  return std::make_unique<swath::testing::ObjectEngine>(std::move(posix), StripeMap{64, 3, 192});
}

// A file of bytes.
std::unique_ptr<Array> open_bytes(Comm& comm, const std::string& engine, const std::string& path, int64_t bytes) {
  const auto layout = std::make_shared<const Layout>(Layout::ordered({bytes}, 1, 0, {0}));
  Array::Options options;
  options.name = "a.raw";
  options.form = std::make_shared<const ArrayForm>("a.raw", layout->shape(), 1, layout);
  options.fill = {std::byte{0}};
  // On a busy machine, learning would change the sizes of windows, and so the messages.
  options.learning = std::make_shared<Learning>(std::make_shared<const Profile>(default_profile()), true);
  const auto file = std::make_shared<File>(path, [engine, path] { return open_by(engine, path); });
  return std::make_unique<Array>(shared(comm), file, options);
}

TuningSettings settings_of(const Tuning& tuning) {
  return {{"sieve_bytes", tuning.sieve_bytes},           {"window_bytes", tuning.window_bytes},
          {"domain_bytes_min", tuning.domain_bytes_min}, {"runs_bytes_min", tuning.runs_bytes_min},
          {"look_bytes_min", tuning.look_bytes_min},     {"aggregators", std::max(tuning.aggregators, 1)}};
}

Method random_method(Random& random) {
  return random.one_of(
      {Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kDatatype, Method::kTwoPhase});
}

// The inner method of two-phase.
Method random_inner(Random& random) {
  return random.one_of({Method::kAuto, Method::kSieve, Method::kList, Method::kDatatype});
}

Operation operation_of(const Array& array, const ViewsCase& given, int rank, Operation::Access access) {
  access.decomposition =
      Decomposition::own_view(given.ranks[static_cast<size_t>(rank)].file, rank, static_cast<int>(given.ranks.size()),
                              array.form()->shape(), given.overlaps);
  return {array.form(), std::move(access)};
}

void write_and_read(Random& random) {
  const bool overlaps = random.chance(20);
  ViewsCase given = random_views(random, overlaps, false);
  const Machine machine = random_machine(random, static_cast<int>(given.ranks.size()));
  const auto engine = random.one_of<std::string>({"posix", "auto", "uring", "objects", "objects"});
  Operation::Access write{Direction::kWrite, {}, random_method(random), {}, random_inner(random)};
  Operation::Access read{Direction::kRead, {}, random_method(random), {}, random_inner(random)};
  if (random.chance(60)) write.tuning = read.tuning = settings_of(random_tuning(random));
  SCOPED_TRACE(given.text + machine.text() + ", written by " + to_string(write.method) + ", read by " +
               to_string(read.method) + " by " + engine);
  const Bytes before = random_bytes(random, given.file_bytes);
  const EngineTestFile file;
  file.write(before);
  // the values that may be there afterwards
  std::vector<std::vector<std::byte>> values_of(static_cast<size_t>(given.file_bytes));
  for (const RankCase& rank : given.ranks) {
    for (size_t i = 0; i < rank.offsets.size(); ++i) {
      values_of[static_cast<size_t>(rank.offsets[i])].push_back(rank.bytes[static_cast<size_t>(rank.places[i])]);
    }
  }
  std::vector<Bytes> read_into;
  for (const RankCase& rank : given.ranks) read_into.push_back(random_bytes(random, std::ssize(rank.bytes)));
  const std::vector<Bytes> untouched = read_into;
  expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
    const auto at = static_cast<size_t>(comm.rank());
    const auto array = open_bytes(comm, engine, file.path(), given.file_bytes);
    array->execute(operation_of(*array, given, comm.rank(), write), given.ranks[at].local());
    const Operation reading = operation_of(*array, given, comm.rank(), read);
    for (int turn = 0; turn < 2; ++turn) {
      LocalMemory local = given.ranks[at].local();
      local.addresses = {read_into[at].data() + given.ranks[at].base};
      array->execute(reading, local);
    }
  }));
  const Bytes after = file.contents();
  ASSERT_EQ(after.size(), before.size());
  for (size_t offset = 0; offset < after.size(); ++offset) {
    const auto& values = values_of[offset];
    const bool is_right = values.empty() ? after[offset] == before[offset]
                                         : std::find(values.begin(), values.end(), after[offset]) != values.end();
    ASSERT_TRUE(is_right) << "byte " << offset << " of the file, which " << values.size() << " ranks have";
  }
  for (size_t rank = 0; rank < given.ranks.size(); ++rank) {
    Bytes expected = untouched[rank];
    const RankCase& one = given.ranks[rank];
    for (size_t i = 0; i < one.offsets.size(); ++i) {
      expected[static_cast<size_t>(one.places[i])] = after[static_cast<size_t>(one.offsets[i])];
    }
    ASSERT_EQ(read_into[rank], expected) << "rank " << rank;
  }
}

// SWATH_RANDOM_VIEWS sets a larger number, SWATH_RANDOM_VIEWS_FROM the first one: processes can share them.
TEST(Views, RandomNestsMoveEachByteToItsPlaceAndNoOther) {
  const int64_t begin = setting("SWATH_RANDOM_VIEWS_FROM", 0);
  for (int64_t i = begin; i < begin + wanted(600) && !::testing::Test::HasFailure(); ++i) {
    Random random(static_cast<uint64_t>(i) + 5);
    SCOPED_TRACE("seed " + std::to_string(i));
    write_and_read(random);
  }
}

TEST(Views, MemoryThatIsThereTwiceIsWrittenFrom) {
  for (int64_t i = 0; i < wanted(600) / 3 && !::testing::Test::HasFailure(); ++i) {
    Random random(static_cast<uint64_t>(i) + 99);
    ViewsCase given = random_views(random, false, true);
    const Machine machine = random_machine(random, static_cast<int>(given.ranks.size()));
    const Operation::Access write{Direction::kWrite, {}, random_method(random), settings_of(random_tuning(random))};
    SCOPED_TRACE("seed " + std::to_string(i) + given.text + machine.text() + ", " + to_string(write.method));
    Bytes expected = random_bytes(random, given.file_bytes);
    const EngineTestFile file;
    file.write(expected);
    for (const RankCase& rank : given.ranks) {
      for (size_t k = 0; k < rank.offsets.size(); ++k) {
        expected[static_cast<size_t>(rank.offsets[k])] = rank.bytes[static_cast<size_t>(rank.places[k])];
      }
    }
    expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
      const auto array = open_bytes(comm, "posix", file.path(), given.file_bytes);
      array->execute(operation_of(*array, given, comm.rank(), write),
                     given.ranks[static_cast<size_t>(comm.rank())].local());
    }));
    ASSERT_EQ(file.contents(), expected);
  }
}

// Two ranks share the blocks of a file of many GiB; the file has holes between the blocks.
TEST(Views, SpansAboveFourGiBAreMovedLikeOthers) {
  constexpr int64_t kFar = (int64_t{3} << 30) + 13;
  const std::vector<int64_t> listed{0, 100, kFar / 2, kFar / 2 + 9};
  for (const Method method : {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
    for (const bool is_listed : {false, true}) {
      SCOPED_TRACE(to_string(method) + (is_listed ? " listed" : " strided"));
      const Nest pair = Nest::strided(2, 64, Nest::block(9));
      const Nest nest = is_listed ? Nest::strided(3, kFar, Nest::indexed(listed, Nest::block(7)))
                                  : Nest::strided(3, kFar, Nest::strided(4, 256, pair));
      const int64_t file_bytes = nest.high() + 200;
      const EngineTestFile file;
      file.write({});
      std::filesystem::resize_file(file.path(), static_cast<uintmax_t>(file_bytes));
      std::array<Bytes, 2> written;
      expect_no_errors(on_all_ranks({2, 1, true, 5}, [&](Comm& comm) {
        Random random(static_cast<uint64_t>(comm.rank()) + 1);
        const auto array = open_bytes(comm, "posix", file.path(), file_bytes);
        const View view = View::all(nest.shifted(int64_t{16} * comm.rank()));
        const auto own = Decomposition::own_view(view, comm.rank(), 2, array->form()->shape());
        Bytes& data = written[static_cast<size_t>(comm.rank())];
        data = random_bytes(random, view.bytes());
        Bytes again(data.size());
        const auto execute = [&](Direction direction, Bytes& bytes) {
          array->execute({array->form(), {direction, own, method, {{"runs_bytes_min", 1}}}},
                         packed_memory(own, comm.rank(), 1, bytes.data()));
        };
        execute(Direction::kWrite, data);
        execute(Direction::kRead, again);
        EXPECT_EQ(again, data);
      }));
      // Around each block, bytes of no rank are still zero.
      std::map<int64_t, std::byte> expected;
      for (size_t rank = 0; rank < 2; ++rank) {
        for (int64_t p = 0; p < nest.bytes(); ++p) {
          expected[nest.offset_of(p) + 16 * static_cast<int64_t>(rank)] = written[rank][static_cast<size_t>(p)];
        }
      }
      const auto engine = open_for_engines(file.path(), OpenMode::kRead, {})(nullptr);
      Counters counters;
      for (const auto& [offset, value] : expected) {
        Bytes around(3);
        const int64_t begin = std::max<int64_t>(offset - 1, 0);
        const Transfer piece{begin, around.data(), 3};
        engine->transfer(Direction::kRead, {&piece, 1}, counters);
        for (int64_t i = 0; i < 3; ++i) {
          const auto found = expected.find(begin + i);
          EXPECT_EQ(around[static_cast<size_t>(i)], found == expected.end() ? std::byte{0} : found->second);
        }
      }
    }
  }
}

// Two ranks that both have bytes 8 to 12.
ViewsCase overlapping_pair() {
  ViewsCase given;
  given.file_bytes = 64;
  for (const int64_t shift : {0, 8}) {
    RankCase rank;
    rank.file = View::all(Nest::block(12).shifted(shift));
    for (int64_t i = 0; i < 12; ++i) {
      rank.offsets.push_back(shift + i);
      rank.places.push_back(i);
    }
    rank.memory = MemoryNest::packed(12);
    rank.bytes.assign(12, static_cast<std::byte>(shift + 1));
    given.ranks.push_back(std::move(rank));
  }
  return given;
}

TEST(Views, WritesThatOverlapAreRefusedOnAllRanksUnlessTheyAreAllowed) {
  for (const bool is_allowed : {false, true}) {
    ViewsCase given = overlapping_pair();
    given.overlaps = is_allowed;
    const EngineTestFile file;
    file.write(Bytes(64, std::byte{9}));
    const auto errors = on_all_ranks({2, 1, true, 3}, [&](Comm& comm) {
      const auto array = open_bytes(comm, "posix", file.path(), 64);
      array->execute(operation_of(*array, given, comm.rank(), {Direction::kWrite, {}, Method::kTwoPhase, {}}),
                     given.ranks[static_cast<size_t>(comm.rank())].local());
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), is_allowed ? ErrorKind::kNone : ErrorKind::kArgument) << error.what();
      if (!is_allowed) EXPECT_NE(std::string(error.what()).find("both have byte 8"), std::string::npos) << error.what();
    }
    const Bytes after = file.contents();
    EXPECT_EQ(after[63], std::byte{9});
    EXPECT_EQ(after[0], is_allowed ? std::byte{1} : std::byte{9});
  }
}

TEST(Views, RanksThatAllowOverlapsAndRanksThatDoNotDisagree) {
  ViewsCase given = overlapping_pair();
  const EngineTestFile file;
  file.write(Bytes(64, std::byte{9}));
  const auto errors = on_all_ranks({2, 1, true, 3}, [&](Comm& comm) {
    const auto array = open_bytes(comm, "posix", file.path(), 64);
    ViewsCase mine = given;
    mine.overlaps = comm.rank() == 1;
    array->execute(operation_of(*array, mine, comm.rank(), {Direction::kWrite, {}, Method::kAuto, {}}),
                   given.ranks[static_cast<size_t>(comm.rank())].local());
  });
  for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kDisagreement) << error.what();
}

TEST(Views, RankWhoseFileBreaksIsHeardByAll) {
  Random random(4);
  for (int64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    ViewsCase given = random_views(random, false, false);
    const Machine machine = random_machine(random, static_cast<int>(given.ranks.size()));
    const Operation::Access write{random.one_of({Direction::kWrite, Direction::kRead}), {}, random_method(random), {}};
    const EngineTestFile file;
    file.write(random_bytes(random, given.file_bytes));
    const auto errors = on_all_ranks(machine, [&](Comm& comm) {
      const bool breaks = comm.rank() == static_cast<int>(given.ranks.size()) / 2;
      const auto array =
          open_bytes(comm, breaks ? "fault:read@0=EIO,write@0=EIO" : "posix", file.path(), given.file_bytes);
      array->execute(operation_of(*array, given, comm.rank(), write),
                     given.ranks[static_cast<size_t>(comm.rank())].local());
    });
    for (const Error& error : errors) EXPECT_STREQ(error.what(), errors[0].what());
  }
}

// The needs of one rank of two, each on its own node, for a strided view of many regions of 8 bytes.
struct Needed {
  int64_t memory_bytes = 0;  // without the local data
  int64_t told_bytes = 0;    // bytes that a node sends in the first operation, minus those of the second
};

Needed needed_by_view(int64_t regions, Method method, Direction direction, const Nest& nest) {
  Needed needed;
  Simulation simulation(2, 2, 1);
  const int64_t file_bytes = regions * 32 + 64;
  run_ranks(simulation, [&](Comm& comm) {
    const auto array = open_bytes(comm, "null", "/dev/zero", file_bytes);
    const View view = View::all(nest.shifted(int64_t{8} * comm.rank()));
    const auto own = Decomposition::own_view(view, comm.rank(), 2, array->form()->shape());
    // The sizes are given: computed ones depend on the end of the file, which a write moves.
    const TuningSettings sizes{{"aggregators", 2}, {"sieve_bytes", 1 << 20}, {"window_bytes", 512 << 10}};
    const Operation operation(array->form(), {direction, own, method, sizes});
    Bytes data(static_cast<size_t>(view.bytes()));
    const LocalMemory local = packed_memory(own, comm.rank(), 1, data.data());
    std::array<int64_t, 2> sent{};
    comm.barrier();
    for (int64_t& bytes : sent) {
      allocations().peak_bytes = allocations().live_bytes;
      const int64_t live = allocations().live_bytes;
      const int64_t before = simulation.traffic().nodes[0].bytes_sent;
      comm.barrier();
      array->execute(operation, local);
      comm.barrier();
      bytes = simulation.traffic().nodes[0].bytes_sent - before;
      if (comm.rank() == 0) needed.memory_bytes = std::max(needed.memory_bytes, allocations().peak_bytes - live);
    }
    if (comm.rank() == 0) needed.told_bytes = sent[0] - sent[1];
  });
  return needed;
}

TEST(Views, RegularOneNeedsNoMoreMemoryAndMessagesForFourMillionRegions) {
  if (!SWATH_COUNTS_ALLOCATIONS) GTEST_SKIP() << "a sanitizer counts otherwise";
  for (const Method method : {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      // it is the same as reading, and takes as long
      if (method == Method::kDirect && direction == Direction::kWrite) continue;
      SCOPED_TRACE(to_string(method) + " " + to_string(direction));
      const auto of = [&](int64_t regions) {
        return needed_by_view(regions, method, direction, Nest::strided(regions, 32, Nest::block(8)));
      };
      const Needed few = of(600'000);
      const Needed many = of(4'000'000);
      EXPECT_EQ(many.told_bytes, few.told_bytes);
      EXPECT_LT(many.told_bytes, 2000);
      EXPECT_LE(many.memory_bytes, few.memory_bytes + 4096);
    }
  }
}

TEST(Views, ListedOneNeedsWhatWasListedOnce) {
  if (!SWATH_COUNTS_ALLOCATIONS) GTEST_SKIP() << "a sanitizer counts otherwise";
  Random random(3);
  std::vector<int64_t> displacements;
  for (int64_t i = 0, at = 0; i < 200'000; ++i) {
    displacements.push_back(at);
    at += 8 * random.between(2, 4);
  }
  const Nest nest = Nest::indexed(displacements, Nest::block(8));
  const int64_t list_bytes = 8 * nest.listed();
  EXPECT_LT(nest.memory_bytes(), list_bytes + 1000);
  const Needed needed = needed_by_view(200'000, Method::kList, Direction::kRead, nest);
  // A node sends its own list to the other node once.
  EXPECT_GE(needed.told_bytes, list_bytes);
  EXPECT_LT(needed.told_bytes, list_bytes + 2000);
}

}  // namespace
}  // namespace swath
