// The contract of every engine with a real file, including files in a Ceph pool (needs a cluster: make rados-test).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "base/math.h"
#include "base/write_behind.h"
#include "store/engine_contract_for_tests.h"

namespace swath {
namespace {

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract,
                         testing::Values("auto", "posix", "uring", "fault:", "fault:engine=uring", "model:ssd",
                                         "throttled", "skeleton", "rados:65536,4,4194304", "rados:1000,3,4000"),
                         [](const testing::TestParamInfo<std::string>& param) {
                           std::string name = param.param;
                           if (name.starts_with("rados")) name[0] = 'R';  // near rados/engine_test.cc's
                           std::replace(name.begin(), name.end(), ',', 'x');
                           std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
                           return name;
                         });

TEST_P(EngineContract, ScatteredTransfersInAnyOrderReachTheirPlacesAndNothingElse) {
  Bytes expected = counting_bytes(100'000);
  file.write(expected);
  std::vector<Bytes> pieces;
  std::vector<int64_t> offsets;
  for (int64_t offset = 0; offset + 40 < 100'000; offset += 97) {
    offsets.push_back(offset);
    pieces.push_back(counting_bytes(static_cast<size_t>(1 + offset % 40), static_cast<int>(offset % 200)));
    std::copy(pieces.back().begin(), pieces.back().end(), expected.begin() + offset);
  }
  std::vector<Transfer> batch;
  for (size_t i = 0; i < pieces.size(); ++i) batch.push_back(transfer_of(offsets[i], pieces[i]));
  std::shuffle(batch.begin(), batch.end(), std::mt19937(7));

  auto engine = open(OpenMode::kReadWrite);
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(file.contents(), expected);
  expect_requests(counters.write_requests, static_cast<int64_t>(batch.size()));

  const std::vector<Bytes> written = pieces;
  for (Bytes& piece : pieces) std::fill(piece.begin(), piece.end(), std::byte{0});
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(pieces, written);
  EXPECT_EQ(counters.read_bytes, counters.written_bytes);
  expect_requests(counters.read_requests, static_cast<int64_t>(batch.size()));
}

// A view of blocks of 3 and 5 bytes, with a negative stride in memory; only its part in [200, 900) is transferred.
TEST_P(EngineContract, StructuredTransfersMoveWhatTheRegionsSayInBatchesThatAreCounted) {
  const std::vector<int64_t> displacements{0, 10};
  const Nest blocks = Nest::blocks(displacements, std::vector<int64_t>{3, 5});
  const View view = View::all(Nest::strided(60, 20, blocks).shifted(7));
  const MemoryNest memory{Nest::strided(120, -4, Nest::block(4)).shifted(480), 0};
  const Layout layout = Layout::ordered({2000}, 1, 0, {0});
  const Access access(layout, view, memory);
  Bytes expected = counting_bytes(2000);
  file.write(expected);
  Bytes data = counting_bytes(500, 99);
  std::vector<int64_t> moved;  // data bytes of the view
  for (int64_t p = 0; p < view.bytes(); ++p) {
    if (view.offset_of(p) >= 200 && view.offset_of(p) < 900) moved.push_back(p);
  }
  for (const int64_t p : moved) {
    expected[static_cast<size_t>(view.offset_of(p))] = data[static_cast<size_t>(memory.nest.offset_of(p))];
  }
  auto engine = open(OpenMode::kReadWrite);
  std::byte* const address = data.data();
  std::atomic<int64_t> bytes_done{0};
  const StructuredTransfer part{access, {&address, 1}, 16, 200, 900, &bytes_done};
  engine->transfer_structured(Direction::kWrite, part, counters);
  EXPECT_EQ(file.contents(), expected);
  EXPECT_EQ(counters.written_bytes, std::ssize(moved));
  EXPECT_EQ(bytes_done, std::ssize(moved));
  expect_requests(counters.write_requests, view.nest.runs(moved.front(), moved.back() + 1));
  const Bytes written = data;
  for (const int64_t p : moved) data[static_cast<size_t>(memory.nest.offset_of(p))] = std::byte{0};
  engine->transfer_structured(Direction::kRead, part, counters);
  EXPECT_EQ(data, written);
  EXPECT_EQ(counters.read_requests, counters.write_requests);
  int64_t pieces = 0;
  for_each_flat_batch(part, [&](std::span<const Transfer> batch) {
    EXPECT_LE(std::ssize(batch), 16);
    for (const Transfer& piece : batch) pieces += piece.bytes;
  });
  EXPECT_EQ(pieces, std::ssize(moved));
}

TEST(StructuredTransfers, AreBrokenWhereTheFaultIs) {
  const EngineTestFile file;
  file.write(counting_bytes(1000));
  const View view = View::all(Nest::strided(40, 20, Nest::block(3)));
  const Layout layout = Layout::ordered({1000}, 1, 0, {0});
  const Access access(layout, view, MemoryNest::packed(view.bytes()));
  Bytes data(static_cast<size_t>(view.bytes()));
  std::byte* const address = data.data();
  Counters counters;
  const auto engine = open_engine(file.path(), OpenMode::kRead, {.engine = "fault:read@25=EIO"});
  try {
    engine->transfer_structured(Direction::kRead, {access, {&address, 1}, 10}, counters);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at 500"), std::string::npos) << error.what();
  }
  EXPECT_EQ(counters.read_bytes, 75);  // plus the 25 before it
}

TEST_P(EngineContract, NeighboursThatAbutInTheFileAreOneRequest) {
  file.write(counting_bytes(64));
  Bytes first(10), second(20), third(5), apart(3);
  const Transfer batch[] = {transfer_of(0, first), transfer_of(10, second), transfer_of(30, third),
                            transfer_of(40, apart)};
  open(OpenMode::kRead)->transfer(Direction::kRead, batch, counters);
  expect_requests(counters.read_requests, 2);
  EXPECT_EQ(counters.read_bytes, 38);
  const Bytes whole = counting_bytes(64);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), whole.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), whole.begin() + 10));
  EXPECT_TRUE(std::equal(third.begin(), third.end(), whole.begin() + 30));
  EXPECT_TRUE(std::equal(apart.begin(), apart.end(), whole.begin() + 40));
}

TEST_P(EngineContract, OneRequestTakesNoMorePiecesThanTheKernelAllows) {
  Bytes memory = counting_bytes(2 * 2 * IOV_MAX + 2);
  std::vector<Transfer> batch;  // every other byte of memory, all bytes of the file
  for (int64_t i = 0; i < 2 * IOV_MAX + 1; ++i) batch.push_back({i, memory.data() + 2 * i, 1});
  auto engine = open(OpenMode::kCreateNew);
  engine->transfer(Direction::kWrite, batch, counters);
  expect_requests(counters.write_requests, 3);
  const Bytes contents = file.contents();
  ASSERT_EQ(contents.size(), 2 * IOV_MAX + 1);
  for (size_t i = 0; i < contents.size(); ++i) ASSERT_EQ(contents[i], memory[2 * i]) << i;
}

TEST_P(EngineContract, RequestsStopAtTheirBoundEvenInsideATransfer) {
  Bytes memory = counting_bytes(370);
  const Transfer batch[] = {{0, memory.data(), 60}, {60, memory.data() + 60, 60}, {120, memory.data() + 120, 250}};
  auto engine = open(OpenMode::kCreateNew, {.request_bytes_max = 100});
  engine->transfer(Direction::kWrite, batch, counters);
  expect_requests(counters.write_requests, 4);  // 100, 100, 100, 70
  EXPECT_EQ(counters.written_bytes, 370);
  EXPECT_EQ(file.contents(), memory);
}

TEST_P(EngineContract, WhatIsWrittenBehindReachesItsPlaceAndNothingElse) {
  Bytes expected = counting_bytes(6 << 20);
  file.write(expected);
  Bytes written = counting_bytes((5 << 20) - 3, 77);
  std::copy(written.begin(), written.end(), expected.begin() + 100);
  auto engine = open(OpenMode::kReadWrite);
  for (const bool wanted : {true, false}) {
    engine->set_write_behind(wanted);
    const Transfer whole[] = {transfer_of(100, written)};
    const int64_t before = counters.write_requests;
    engine->transfer(Direction::kWrite, whole, counters);
    engine->start(Direction::kWrite, whole);
    engine->wait(counters);
    engine->sync();
    EXPECT_EQ(file.contents(), expected);
    const bool as_asked = !GetParam().starts_with("model") && GetParam() != "throttled";  // these have their own limits
    const int64_t parts = wanted ? ceil_div(std::ssize(written), kWriteBehindBytes) : 1;
    if (as_asked) expect_requests(counters.write_requests - before, 2 * parts);
  }
  EXPECT_EQ(counters.written_bytes, 4 * std::ssize(written));
  EXPECT_EQ(counters.token_waits, 0) << "nobody else wants a token";
}

TEST_P(EngineContract, EmptyBatchesAndEmptyTransfersAreNoRequests) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  engine->transfer(Direction::kRead, {}, counters);
  Bytes none;
  const Transfer empty[] = {transfer_of(5, none), transfer_of(1000, none)};
  engine->transfer(Direction::kRead, empty, counters);
  engine->transfer(Direction::kWrite, empty, counters);
  engine->start(Direction::kRead, {});
  engine->wait(counters);
  EXPECT_EQ(counters.read_requests + counters.write_requests, 0);
  EXPECT_EQ(engine->size(), 10);
}

TEST_P(EngineContract, EmptyTransfersBetweenNeighboursDoNotPartThem) {
  file.write(counting_bytes(20));
  Bytes first(5), none, second(5);
  const Transfer batch[] = {transfer_of(0, first), transfer_of(5, none), transfer_of(5, second)};
  open(OpenMode::kRead)->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(counters.read_requests, 1);
}

TEST_P(EngineContract, ReadingPastTheEndSaysWhereWhatAndWhy) {
  file.write(counting_bytes(100));
  auto engine = open(OpenMode::kRead);
  Bytes bytes(50);
  const Transfer batch[] = {transfer_of(80, bytes)};
  const Error error = error_of([&] { engine->transfer(Direction::kRead, batch, counters); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  // The size of a file in a pool is known before anything is read.
  const std::string got = in_pool ? "0" : "20";
  EXPECT_EQ(std::string(error.what()), "read " + file.path() + " at 80: wanted 50 bytes, got " + got +
                                           ": end of file (file is 100 bytes; it may be truncated)");
  EXPECT_EQ(counters.read_requests, in_pool ? 0 : 2);  // the second one found the end
  EXPECT_EQ(counters.read_bytes, in_pool ? 0 : 20);
}

TEST_P(EngineContract, AnErrorInALargeBatchLeavesTheEngineUsable) {
  file.write(counting_bytes(1000));
  auto engine = open(OpenMode::kRead, {.queue_depth = 4});
  std::vector<Bytes> pieces(500, Bytes(2));
  std::vector<Transfer> batch;
  for (int64_t i = 0; i < 500; ++i) batch.push_back(transfer_of(i * 3, pieces[static_cast<size_t>(i)]));
  EXPECT_EQ(error_of([&] { engine->transfer(Direction::kRead, batch, counters); }).kind(), ErrorKind::kStore);
  batch.resize(300);
  Bytes beyond(1);
  batch.insert(batch.begin(), transfer_of(5000, beyond));
  counters = {};
  EXPECT_EQ(error_of([&] { engine->transfer(Direction::kRead, batch, counters); }).kind(), ErrorKind::kStore);
  EXPECT_LE(counters.read_requests, 16);  // only the requests in flight were completed
  batch.erase(batch.begin());
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(pieces[299][0], counting_bytes(1000)[897]);
}

TEST_P(EngineContract, ABackgroundBatchDoesWhatTransferDoes) {
  file.write(counting_bytes(20'000));
  auto engine = open(OpenMode::kReadWrite, {.queue_depth = 8});  // more transfers than the ring has entries
  std::vector<Bytes> pieces(300, Bytes(7));
  {
    std::vector<Transfer> batch;
    for (int64_t i = 0; i < 300; ++i) batch.push_back(transfer_of(i * 60, pieces[static_cast<size_t>(i)]));
    engine->start(Direction::kRead, batch);
  }  // the span need not live on
  engine->wait(counters);
  expect_requests(counters.read_requests, 300);
  EXPECT_EQ(counters.read_bytes, 2100);
  const Bytes whole = counting_bytes(20'000);
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_TRUE(std::equal(pieces[i].begin(), pieces[i].end(), whole.begin() + static_cast<int64_t>(i) * 60)) << i;
  }
  engine->wait(counters);  // no batch is running: returns at once
  EXPECT_EQ(counters.read_bytes, 2100);
}

TEST_P(EngineContract, AForegroundBatchMayPassWhileABackgroundBatchIsUnderWay) {
  file.write(counting_bytes(20'000));
  auto engine = open(OpenMode::kReadWrite, {.queue_depth = 2});
  std::vector<Bytes> written(100, counting_bytes(8));
  std::vector<Transfer> writes;
  for (int64_t i = 0; i < 100; ++i) writes.push_back(transfer_of(10'000 + i * 16, written[static_cast<size_t>(i)]));
  engine->start(Direction::kWrite, writes);
  Bytes head(5000);
  const Transfer read[] = {transfer_of(0, head)};
  engine->transfer(Direction::kRead, read, counters);
  EXPECT_EQ(head, counting_bytes(5000));
  expect_requests(counters.read_requests, 1);
  EXPECT_EQ(counters.write_requests, 0);
  engine->wait(counters);
  expect_requests(counters.write_requests, 100);
  const Bytes contents = file.contents();
  EXPECT_TRUE(std::equal(written[99].begin(), written[99].end(), contents.begin() + 11'584));
}

TEST_P(EngineContract, WaitThrowsWhatTheBackgroundBatchThrew) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kRead);
  Bytes bytes(20);
  const Transfer batch[] = {transfer_of(0, bytes)};
  engine->start(Direction::kRead, batch);
  const Error error = error_of([&] { engine->wait(counters); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  const int64_t got = in_pool ? 0 : 10;
  EXPECT_NE(std::string(error.what()).find("wanted 20 bytes, got " + std::to_string(got) + ": end of file"),
            std::string::npos)
      << error.what();
  EXPECT_EQ(counters.read_bytes, got);

  const Transfer good[] = {{0, bytes.data(), 10}};
  engine->start(Direction::kRead, good);
  engine->wait(counters);
  EXPECT_EQ(counters.read_bytes, got + 10);
}

TEST_P(EngineContract, ASecondStartBeforeWaitIsRefused) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kRead);
  Bytes bytes(10);
  const Transfer batch[] = {transfer_of(0, bytes)};
  engine->start(Direction::kRead, batch);
  EXPECT_EQ(error_of([&] { engine->start(Direction::kRead, batch); }).kind(), ErrorKind::kInternal);
  engine->wait(counters);
  EXPECT_EQ(bytes, counting_bytes(10));
}

TEST_P(EngineContract, DestroyingAnEngineFinishesTheBatchUnderWay) {
  Bytes memory = counting_bytes(8 << 20);
  std::vector<Transfer> batch;
  for (int64_t i = 0; i < 512; ++i) batch.push_back({i << 15, memory.data() + (i << 14), 1 << 14});
  auto engine = open(OpenMode::kCreateNew, {.queue_depth = 4});
  engine->start(Direction::kWrite, batch);
  engine.reset();
  const Bytes contents = file.contents();
  ASSERT_EQ(contents.size(), (size_t{511} << 15) + (1 << 14));
  EXPECT_TRUE(std::equal(memory.end() - (1 << 14), memory.end(), contents.end() - (1 << 14)));
}

TEST_P(EngineContract, OffsetsBeyondFourGibibytesAreOrdinary) {
  if (GetParam() == "rados:1000,3,4000") GTEST_SKIP() << "a million objects would have to be looked at";
  auto engine = open(OpenMode::kCreateNew);
  const int64_t far = (int64_t{5} << 30) + 3;
  engine->resize(far + 100);
  EXPECT_EQ(engine->size(), far + 100);
  Bytes bytes = counting_bytes(32);
  const Transfer batch[] = {transfer_of(far, bytes)};
  engine->transfer(Direction::kWrite, batch, counters);
  Bytes seen(34, std::byte{9});
  const Transfer around[] = {transfer_of(far - 1, seen)};
  engine->transfer(Direction::kRead, around, counters);
  EXPECT_EQ(seen.front(), std::byte{0});
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), seen.begin() + 1));
  EXPECT_EQ(seen.back(), std::byte{0});
  engine->sync();
}

TEST_P(EngineContract, ReadingToTheEndTellsHowMuchThereWas) {
  file.write(counting_bytes(100));
  auto engine = open(OpenMode::kReadWrite);
  const Bytes expected = counting_bytes(100);
  for (const int64_t offset : {0, 60, 99, 100, 200}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{40}, size_t{500}}) {
      SCOPED_TRACE(std::to_string(offset) + ", " + std::to_string(bytes) + " bytes");
      Bytes seen(bytes, std::byte{0xee});
      counters = {};
      const int64_t there = std::clamp<int64_t>(100 - offset, 0, std::ssize(seen));
      EXPECT_EQ(engine->read_to_end(transfer_of(offset, seen), counters), there);
      EXPECT_TRUE(std::equal(seen.begin(), seen.begin() + there, expected.begin() + std::min<int64_t>(offset, 100)));
      EXPECT_EQ(std::count(seen.begin() + there, seen.end(), std::byte{0xee}), std::ssize(seen) - there);
      EXPECT_EQ(counters.read_requests, there > 0 ? 1 : 0);
      EXPECT_EQ(counters.read_bytes, there);
    }
  }
  EXPECT_EQ(error_of([&] { engine->read_to_end({-1, nullptr, 4}, counters); }).kind(), ErrorKind::kArgument);
}

TEST_P(EngineContract, AnUpdateKeepsWhatItDoesNotKnow) {
  file.write(counting_bytes(100));
  auto engine = open(OpenMode::kReadWrite);
  Bytes image(60);
  const auto every_seventh = [](std::byte* bytes) {
    for (size_t i = 0; i < 60; i += 7) bytes[i] = std::byte{0xee};
  };
  engine->update(transfer_of(80, image), true, every_seventh, counters);
  Bytes expected = counting_bytes(100);
  expected.resize(140);
  every_seventh(&expected[80]);
  EXPECT_EQ(file.contents(), expected);
  counters = {};
  engine->update(
      transfer_of(10, image), false, [](std::byte* bytes) { std::fill_n(bytes, 60, std::byte{1}); }, counters);
  std::fill_n(&expected[10], 60, std::byte{1});
  EXPECT_EQ(file.contents(), expected);
  EXPECT_EQ(counters.read_requests, 0);
}

TEST_P(EngineContract, CachedPartTellsWhatTheKernelHoldsFromWhatItMustFetch) {
  if (GetParam().starts_with("model:")) GTEST_SKIP() << "nothing of a modelled disk is ever in the page cache";
  auto engine = open(OpenMode::kCreateNew);
  engine->resize(1 << 20);
  Bytes bytes = counting_bytes(512 << 10);
  const Transfer batch[] = {transfer_of(0, bytes)};
  engine->transfer(Direction::kWrite, batch, counters);
  if (!engine->cached_part(0, 1)) GTEST_SKIP() << "this kernel or file system has no cachestat";
  EXPECT_EQ(engine->cached_part(4095, 2), 1);
  EXPECT_EQ(engine->cached_part(0, 512 << 10), 1);
  EXPECT_EQ(engine->cached_part(900'000, 1), 0);  // a hole that was never read
  EXPECT_EQ(engine->cached_part(900'000, 0), 1);
  EXPECT_EQ(engine->cached_part(0, 1 << 20), 0.5);
}

TEST_P(EngineContract, ResizeShrinksAndGrowsWithZeros) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  engine->resize(4);
  engine->resize(6);
  Bytes expected = counting_bytes(4);
  expected.resize(6);
  EXPECT_EQ(file.contents(), expected);
}

TEST_P(EngineContract, AllocatingGrowsAndNeitherShrinksNorChangesWhatIsThere) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  for (const int64_t bytes : {0, 4, 10}) {
    engine->allocate(bytes);
    EXPECT_EQ(file.contents(), counting_bytes(10));
  }
  engine->allocate(100'000);
  Bytes expected = counting_bytes(10);
  expected.resize(100'000);
  EXPECT_EQ(file.contents(), expected);
}

TEST_P(EngineContract, WritingToAFileOpenForReadingIsAnError) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kRead);
  Bytes bytes = counting_bytes(4, 100);
  const Transfer batch[] = {transfer_of(0, bytes)};
  const Error error = error_of([&] { engine->transfer(Direction::kWrite, batch, counters); });
  const std::string why = "write " + file.path() + " at 0: wanted 4 bytes, wrote 0: Bad file descriptor";
  EXPECT_TRUE(std::string(error.what()).starts_with(why)) << error.what();
  EXPECT_EQ(error.os_error(), EBADF);
  EXPECT_EQ(file.contents(), counting_bytes(10));
}

TEST_P(EngineContract, ImpossibleTransfersAreRefusedBeforeAnythingIsTouched) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  Bytes bytes = counting_bytes(4, 100);
  for (const Transfer& bad :
       {Transfer{-1, bytes.data(), 4}, Transfer{0, bytes.data(), -4}, Transfer{INT64_MAX - 1, bytes.data(), 4}}) {
    const Transfer batch[] = {transfer_of(0, bytes), bad};
    EXPECT_EQ(error_of([&] { engine->transfer(Direction::kWrite, batch, counters); }).kind(), ErrorKind::kArgument);
    EXPECT_EQ(error_of([&] { engine->start(Direction::kWrite, batch); }).kind(), ErrorKind::kArgument);
  }
  if (engine->capabilities().lock_for_holes) {
    EXPECT_EQ(error_of([&] { engine->lock(5, 5); }).kind(), ErrorKind::kArgument);
  }
  EXPECT_EQ(error_of([&] { engine->resize(-1); }).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error_of([&] { engine->allocate(-1); }).kind(), ErrorKind::kArgument);
  engine->wait(counters);
  EXPECT_EQ(counters.write_requests, 0);
  EXPECT_EQ(file.contents(), counting_bytes(10));
}

TEST_P(EngineContract, WhatCannotBeOpenedIsAnErrorWithThePath) {
  const auto text = [&](OpenMode mode) { return std::string(error_of([&] { open(mode); }).what()); };
  if (in_pool) {
    EXPECT_EQ(error_of([&] { open(OpenMode::kRead); }).os_error(), ENOENT);
    file.write(counting_bytes(1));
    const Error error = error_of([&] { open(OpenMode::kCreateNew); });
    EXPECT_EQ(error.os_error(), EEXIST);
    EXPECT_NE(std::string(error.what()).find(file.path()), std::string::npos) << error.what();
    return;
  }
  EXPECT_EQ(text(OpenMode::kRead), "open " + file.path() + " for reading: No such file or directory");
  file.write(counting_bytes(1));
  EXPECT_EQ(text(OpenMode::kCreateNew), "create " + file.path() + ": File exists");
  std::filesystem::remove(file.path());
  std::filesystem::create_directory(file.path());
  EXPECT_EQ(text(OpenMode::kRead), "open " + file.path() + " for reading: Is a directory");
  std::filesystem::remove(file.path());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite}) {  // no test writes to this file
    EXPECT_NE(text(mode).find("expected a regular file or a block device"), std::string::npos);
  }
}

}  // namespace
}  // namespace swath
