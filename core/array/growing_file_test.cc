// Files of unknown length are written by views, while other processes write them, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "array/array.h"
#include "store/engine_test_file.h"
#include "testing/ranks_and_memory.h"

namespace swath {
namespace {

using namespace swath::testing;

std::shared_ptr<Comm> shared(Comm& comm) { return {std::shared_ptr<Comm>(), &comm}; }

constexpr Method kMethods[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

// An array that is longer than any file: the file grows with the writes. Other writers are expected.
std::unique_ptr<Array> open_endless(std::shared_ptr<Comm> comm, const std::string& path) {
  const Shape shape{int64_t{1} << 61};
  Array::Options options;
  options.name = path;
  options.form = std::make_shared<const ArrayForm>(path, shape, 1,
                                                   std::make_shared<const Layout>(Layout::ordered(shape, 1, 0, {0})));
  FileOptions of_file;
  of_file.engine.other_writers = true;
  return std::make_unique<Array>(std::move(comm), File::open(path, OpenMode::kReadWrite, of_file), options);
}

void execute(Array& array, const View& view, Direction direction, Method method, Bytes& bytes) {
  const int rank = array.comm().rank();
  const auto own = Decomposition::own_view(view, rank, array.comm().size(), array.form()->shape(), true);
  array.execute({array.form(), {direction, own, method, {}}}, packed_memory(own, rank, 1, bytes.data()));
}

TEST(GrowingFile, EveryMethodWritesBeyondTheEndAndNoFurther) {
  for (const Method method : kMethods) {
    for (const int ranks : {1, 2, 3}) {
      for (const size_t size : {size_t{0}, size_t{50}, size_t{777}}) {
        SCOPED_TRACE(to_string(method) + ", " + std::to_string(ranks) + " ranks, " + std::to_string(size) + " bytes");
        const EngineTestFile file;
        Bytes expected = counting_bytes(size);
        file.write(expected);
        const auto view_of = [](int rank) {
          return View::all(Nest::strided(40, 50, Nest::block(3 + rank)).shifted(int64_t{10} * rank));
        };
        for (int rank = 0; rank < ranks; ++rank) {
          const View view = view_of(rank);
          for (int64_t p = 0; p < view.bytes(); ++p) {
            const auto offset = static_cast<size_t>(view.offset_of(p));
            if (expected.size() <= offset) expected.resize(offset + 1);
            expected[offset] = static_cast<std::byte>(100 + rank);
          }
        }
        expect_no_errors(on_all_ranks({ranks, 1, true, 5}, [&](Comm& comm) {
          const auto array = open_endless(shared(comm), file.path());
          const View view = view_of(comm.rank());
          Bytes data(static_cast<size_t>(view.bytes()), static_cast<std::byte>(100 + comm.rank()));
          execute(*array, view, Direction::kWrite, method, data);
          Bytes again(data.size());
          execute(*array, view, Direction::kRead, method, again);
          EXPECT_EQ(again, data);
        }));
        EXPECT_EQ(file.contents(), expected);
      }
    }
  }
}

// One rank writes windows with holes, others write single runs in the holes: neither restores old bytes.
TEST(GrowingFile, WhoFillsInHolesAndWhoDoesNotKeepEachOthersBytes) {
  for (const Method method : {Method::kDirect, Method::kList, Method::kTwoPhase}) {
    SCOPED_TRACE(to_string(method));
    const EngineTestFile file;
    file.write(Bytes(4096));
    const View holes = View::all(Nest::strided(64, 64, Nest::block(8)));
    const View between = View::all(Nest::strided(64, 64, Nest::block(8)).shifted(32));
    constexpr int kTurns = 300;
    std::thread filler([&] {
      const auto array = open_endless(make_solo_comm(), file.path());
      for (int turn = 1; turn <= kTurns; ++turn) {
        Bytes data(static_cast<size_t>(holes.bytes()), static_cast<std::byte>(turn));
        execute(*array, holes, Direction::kWrite, Method::kSieve, data);
      }
    });
    const auto array = open_endless(make_solo_comm(), file.path());
    int lost = 0;
    for (int turn = 1; turn <= kTurns; ++turn) {
      Bytes data(static_cast<size_t>(between.bytes()), static_cast<std::byte>(turn));
      execute(*array, between, Direction::kWrite, method, data);
      Bytes again(data.size());
      execute(*array, between, Direction::kRead, Method::kDirect, again);
      lost += again != data;
    }
    filler.join();
    EXPECT_EQ(lost, 0);
  }
}

}  // namespace
}  // namespace swath
