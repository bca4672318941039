// Each kind of fault, on both engines: retried errors are survived, and other errors are reported exactly.
#include "store/fault/fault.h"

#include "store/engine_test_file.h"

namespace swath {
namespace {

using FaultyEngine = FaultyEngineTest;

INSTANTIATE_TEST_SUITE_P(Over, FaultyEngine, testing::Values("posix", "uring"),
                         [](const testing::TestParamInfo<std::string>& param) { return param.param; });

TEST_P(FaultyEngine, OnlyTheChosenRequestFails) {
  auto engine = open("write@2=ENOSPC", OpenMode::kCreateNew);
  Bytes bytes = counting_bytes(512);
  move(*engine, Direction::kWrite, 0, bytes);
  move(*engine, Direction::kWrite, 512, bytes);
  const Error error = error_of([&] { move(*engine, Direction::kWrite, 1024, bytes); });
  EXPECT_EQ(std::string(error.what()),
            "write " + file.path() + " at 1024: wanted 512 bytes, wrote 0: No space left on device");
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), ENOSPC);
  EXPECT_EQ(file.contents().size(), 1024U);
  move(*engine, Direction::kWrite, 1024, bytes);
  EXPECT_EQ(file.contents().size(), 1536U);
  EXPECT_EQ(counters.write_requests, 4);
  EXPECT_EQ(counters.written_bytes, 1536);
}

TEST_P(FaultyEngine, ReadsAndWritesAreCountedApart) {
  file.write(counting_bytes(100));
  auto engine = open("read@0=EIO");
  Bytes bytes(10);
  move(*engine, Direction::kWrite, 0, bytes);
  EXPECT_EQ(error_of([&] { move(*engine, Direction::kRead, 0, bytes); }).os_error(), EIO);
}

TEST_P(FaultyEngine, AShortReadGoesOnAndIsComplete) {
  file.write(counting_bytes(1001));
  auto engine = open("read@0=short");
  Bytes bytes(1001);
  move(*engine, Direction::kRead, 0, bytes);
  EXPECT_EQ(bytes, counting_bytes(1001));
  EXPECT_EQ(counters.read_requests, 2);
  EXPECT_EQ(counters.read_bytes, 1001);
}

TEST_P(FaultyEngine, AShortReadIsNotTheEndOfTheFile) {
  file.write(counting_bytes(1001));
  auto engine = open("read@0=short,read@2=EINTR,read@3=EIO");
  Bytes bytes(2000);
  EXPECT_EQ(engine->read_to_end(transfer_of(0, bytes), counters), 1001);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 1001, counting_bytes(1001).begin()));
  EXPECT_EQ(counters.read_bytes, 1001);
  EXPECT_EQ(error_of([&] { engine->read_to_end(transfer_of(0, bytes), counters); }).os_error(), EIO);
}

TEST_P(FaultyEngine, AShortTransferOfManyPiecesGoesOnInTheMiddleOfAPiece) {
  auto engine = open("write@0=short,read@0=short,read@1=short", OpenMode::kCreateNew);
  std::vector<Bytes> pieces(9, Bytes());
  std::vector<Transfer> batch;
  int64_t offset = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = counting_bytes(11 + i, static_cast<int>(i));
    batch.push_back(transfer_of(offset, pieces[i]));
    offset += static_cast<int64_t>(pieces[i].size());
  }
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(counters.write_requests, 2);
  Bytes whole(static_cast<size_t>(offset));
  auto plain = open_engine(file.path(), OpenMode::kRead, {.engine = "posix"});
  move(*plain, Direction::kRead, 0, whole);
  counters = {};
  const std::vector<Bytes> written = pieces;
  for (Bytes& piece : pieces) std::fill(piece.begin(), piece.end(), std::byte{0});
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(pieces, written);
  EXPECT_EQ(counters.read_requests, 3);  // half, a quarter, the rest
  Bytes joined;
  for (const Bytes& piece : written) joined.insert(joined.end(), piece.begin(), piece.end());
  EXPECT_EQ(joined, whole);
}

TEST_P(FaultyEngine, AShortWriteThenAFullDiskTellsHowFarItCame) {
  file.write(counting_bytes(100));
  auto engine = open("write@0=short+ENOSPC");
  Bytes bytes = counting_bytes(64, 101);
  const Error error = error_of([&] { move(*engine, Direction::kWrite, 10, bytes); });
  EXPECT_EQ(std::string(error.what()),
            "write " + file.path() + " at 10: wanted 64 bytes, wrote 32: No space left on device");
  Bytes expected = counting_bytes(100);
  std::copy(bytes.begin(), bytes.begin() + 32, expected.begin() + 10);
  EXPECT_EQ(file.contents(), expected);
}

TEST_P(FaultyEngine, AFullDiskIsToldEvenWhereOneByteCannotBeHalved) {
  auto engine = open("write@0=short+ENOSPC", OpenMode::kCreateNew);
  Bytes byte(1);
  EXPECT_EQ(error_of([&] { move(*engine, Direction::kWrite, 0, byte); }).os_error(), ENOSPC);
}

TEST_P(FaultyEngine, InterruptedAndDelayedRequestsAreTriedAgain) {
  auto engine = open("write@0=EINTR,write@1=EAGAIN,read@0=EAGAIN,read@1=EINTR,lock@9=EIO", OpenMode::kCreateNew);
  Bytes bytes = counting_bytes(100);
  move(*engine, Direction::kWrite, 0, bytes);
  Bytes seen(100);
  move(*engine, Direction::kRead, 0, seen);
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(counters.write_requests, 3);
  EXPECT_EQ(counters.read_requests, 3);
  EXPECT_EQ(counters.written_bytes, 100);
}

TEST_P(FaultyEngine, ABackgroundBatchBreaksInWait) {
  auto engine = open("write@5=EIO", OpenMode::kCreateNew);
  std::vector<Bytes> pieces(200, counting_bytes(16));
  std::vector<Transfer> batch;
  for (int64_t i = 0; i < 200; ++i) batch.push_back(transfer_of(i * 32, pieces[static_cast<size_t>(i)]));
  engine->start(Direction::kWrite, batch);
  const Error error = error_of([&] { engine->wait(counters); });
  EXPECT_EQ(std::string(error.what()),
            "write " + file.path() + " at 160: wanted 16 bytes, wrote 0: Input/output error");
  EXPECT_GE(counters.write_requests, 6);
  EXPECT_EQ(counters.written_bytes % 16, 0);
  engine->transfer(Direction::kWrite, batch, counters);  // once only
}

TEST_P(FaultyEngine, ABrokenLockAdvisesTheMethodThatNeedsNone) {
  file.write(counting_bytes(10));
  auto engine = open("lock@1=ENOLCK");
  engine->lock(0, 5);
  const Error error = error_of([&] { engine->lock(0, 5); });
  EXPECT_EQ(error.os_error(), ENOLCK);
  EXPECT_EQ(std::string(error.what()),
            "lock " + file.path() +
                " [0, 5): No locks available (use method=\"two-phase\", or a file system with "
                "open-file-description locks)");
  engine->lock(0, 5);
}

TEST_P(FaultyEngine, SyncAndResizeBreakOnce) {
  file.write(counting_bytes(10));
  auto engine = open("sync@0=EIO,resize@0=ENOSPC");
  EXPECT_EQ(error_of([&] { engine->sync(); }).os_error(), EIO);
  EXPECT_EQ(error_of([&] { engine->resize(100); }).os_error(), ENOSPC);
  EXPECT_EQ(engine->size(), 10);
  engine->sync();
  engine->resize(100);
  EXPECT_EQ(engine->size(), 100);
}

TEST(FaultRule, WhatCannotBeReadExplainsTheGrammar) {
  for (const std::string rule :
       {"write", "write@", "write@3", "write@x=EIO", "write@-1=EIO", "write@3=", "write@3=EWHAT", "write@3=short+",
        "write@3=short+EWHAT", "wrote@3=EIO", "lock@0=short", "@=", "engine=null", "write@ 3=EIO", "=write@3",
        "write@99999999999999999999=EIO", "read@0=EIO,,write@0=EIO"}) {
    const Error error = error_of([&] { Faults::parse(rule); });
    EXPECT_EQ(error.kind(), ErrorKind::kArgument) << rule;
    EXPECT_NE(std::string(error.what()).find("write@3=ENOSPC"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace swath
