#include "journal/changes.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "journal/journal_for_tests.h"

namespace swath {
namespace {

namespace fs = std::filesystem;

// ---- Marks, checkpoints and commits -------------------------------------------------------------------------

class EveryLog : public JournalTest, public testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<Changes> open_changes() const { return open({.is_durable = GetParam()}); }
};

TEST_P(EveryLog, ChangesAreTakenBackToTheLastCommitOrToAMark) {
  std::string kept;
  {
    const auto changes = open_changes();
    change(*changes, 1);
    const std::string first = content_of(path);
    const Mark mark = changes->mark();
    change(*changes, 1);
    change(*changes, 2);
    changes->undo(mark);
    EXPECT_EQ(content_of(path), first);
    change(*changes, 3);
    changes->undo();
    EXPECT_EQ(content_of(path), start);
    change(*changes, 4);
    changes->commit();
    kept = content_of(path);
    changes->undo();  // there is nothing to undo
    EXPECT_EQ(content_of(path), kept);
    change(*changes, 5);
  }
  EXPECT_EQ(content_of(path), kept) << "let go of without a commit";
  EXPECT_EQ(names(), std::set<std::string>{"a.bin"});
}

TEST_P(EveryLog, WhatWasAddedBeforeAMarkIsAtTheMarkAgainWhatItWas) {
  const auto changes = open_changes();
  changes->begin();
  add_behind_end(std::string(100, '1'));
  const Mark mark = changes->mark();
  overwrite(*changes, static_cast<int64_t>(start.size()) + 20, std::string(10, '2'));
  overwrite(*changes, static_cast<int64_t>(start.size()) - 5, std::string(30, '3'));
  changes->undo(mark);
  EXPECT_EQ(content_of(path), start + std::string(100, '1'));
  changes->undo();
  EXPECT_EQ(content_of(path), start);
}

TEST_P(EveryLog, WhatWasSettledAfterAMarkIsNotTakenBackToTheMark) {
  const auto changes = open_changes();
  change(*changes, 1);
  const Mark mark = changes->mark();
  change(*changes, 2);
  changes->checkpoint();
  const std::string kept = content_of(path);
  change(*changes, 3);
  changes->undo(mark);
  EXPECT_EQ(content_of(path), kept);
  change(*changes, 4);
  changes->close();
  EXPECT_EQ(content_of(path), kept);
}

TEST_P(EveryLog, RangesOfOneCallThatOverlapAreEachKept) {
  const auto changes = open_changes();
  const std::vector<KeptRange> ranges = {{10, 20}, {20, 20}, {10, 20}, {9000, 100000}, {1 << 30, 5}, {50, -3}};
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  changes->keep_all(file.get(), ranges);
  write_file(path, "short");
  changes->undo();
  EXPECT_EQ(content_of(path).substr(10, 30), start.substr(10, 30));
  EXPECT_EQ(content_of(path).substr(9000), start.substr(9000));
}

TEST_P(EveryLog, AFileWhoseDataWereLostIsNeitherChangedNorCommitted) {
  const auto changes = open_changes();
  change(*changes, 1);
  changes->lose("no room");
  EXPECT_EQ(error_thrown_by([&] { changes->begin(); }).os_error(), EIO);
  const Error error = error_thrown_by([&] { changes->commit(); });
  EXPECT_NE(std::string(error.what()).find("moved in it are lost: no room; create it again"), std::string::npos);
}

TEST_P(EveryLog, ThreadsThatChangeAFileTogetherLoseNothing) {
  const auto changes = open_changes();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) overwrite(*changes, 2000 * t + 7 * i, std::string(10, static_cast<char>('a' + t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(content_of(path), start);
  changes->undo();
  EXPECT_EQ(content_of(path), start);
}

TEST_P(EveryLog, AForkedChildHasNoPartInTheChangesOfItsParent) {
  const auto changes = open_changes();
  change(*changes, 1);
  const std::string changed = content_of(path);
  const std::string log = GetParam() ? content_of(journal) : "";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<std::function<void()>> refused = {
        [&] { changes->begin(); },   [&] { changes->mark(); },   [&] { changes->keep(0, 0, 1); },
        [&] { changes->adds("x"); }, [&] { changes->commit(); }, [&] { changes->checkpoint(); }};
    for (const auto& call : refused) {
      if (error_thrown_by(call).os_error() != EBADF) ::_exit(1);
    }
    changes->undo();
    changes->close();
    ::_exit(content_of(path) == changed && (!GetParam() || content_of(journal) == log) ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  if (GetParam()) {
    EXPECT_EQ(error_thrown_by([&] { open({.lock_seconds = 0}); }).os_error(), EAGAIN) << "the child has unlocked it";
  }
  changes->commit();
  EXPECT_EQ(content_of(path), changed);
}

INSTANTIATE_TEST_SUITE_P(Changes, EveryLog, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Durable" : "InMemory"; });

// ---- After a kill -------------------------------------------------------------------------------------------------

using ChangesTest = JournalTest;

TEST_F(ChangesTest, AKillLeavesWhatWasSettledLast) {
  killed_after([&] {
    auto* changes = open().release();
    change(*changes, 1);
    changes->checkpoint();
    write_file(folder + "/kept", content_of(path));
    change(*changes, 2);
  });
  EXPECT_NE(content_of(path), content_of(folder + "/kept"));
  EXPECT_TRUE(repair(path));
  EXPECT_EQ(content_of(path), content_of(folder + "/kept"));
  EXPECT_FALSE(fs::exists(journal));
  EXPECT_FALSE(repair(path));
}

TEST_F(ChangesTest, TheJournalOfManySettledChangesStaysShort) {
  const auto changes = open({.long_bytes = 3000});
  std::vector<int64_t> lengths;
  for (int number = 0; number < 60; ++number) {
    change(*changes, number % 10);
    changes->checkpoint();
    lengths.push_back(static_cast<int64_t>(fs::file_size(journal)));
    EXPECT_LT(lengths.back(), 3 * 3000);
  }
  EXPECT_FALSE(std::is_sorted(lengths.begin(), lengths.end())) << "it was never written anew";
  const std::string checkpoint = content_of(path);
  change(*changes, 5);
  changes->undo();
  EXPECT_EQ(content_of(path), checkpoint);
  EXPECT_EQ(error_thrown_by([&] { open({.lock_seconds = 0}); }).os_error(), EAGAIN) << "the new one is not locked";
}

TEST_F(ChangesTest, NobodyElseChangesTheFileMeanwhile) {
  const auto changes = open();
  const Error error = error_thrown_by([&] { open({.lock_seconds = 0}); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), EAGAIN);
  const std::string said = error.what();
  EXPECT_NE(said.find(path + ": another program is changing it: process "), std::string::npos) << said;
  EXPECT_NE(said.find(" holds " + journal + "; wait for it"), std::string::npos) << said;
  EXPECT_FALSE(repair(path));
}

TEST_F(ChangesTest, WhatIsPlantedUnderTheNameOfTheJournalIsRefusedAndNotTouched) {
  const std::string victim = folder + "/victim";
  const std::vector<std::function<void()>> plants = {[&] { fs::create_symlink(victim, journal); },
                                                     [&] { fs::create_hard_link(victim, journal); },
                                                     [&] { EXPECT_EQ(::mkfifo(journal.c_str(), 0600), 0); }};
  for (const auto& plant : plants) {
    write_file(victim, "mine");
    plant();
    EXPECT_EQ(error_thrown_by([&] { open(); }).os_error(), EPERM);
    EXPECT_EQ(error_thrown_by([&] { repair(path); }).os_error(), EPERM);
    EXPECT_EQ(content_of(victim), "mine");
    fs::remove(journal);
  }
}

TEST_F(ChangesTest, AJournalIsNotAppliedToAFileThatHasReplacedItsOwn) {
  write_file(folder + "/older", "another");
  killed_after([&] { change(*open().release(), 1); });
  fs::rename(path, folder + "/kept");
  fs::rename(folder + "/older", path);
  EXPECT_EQ(error_thrown_by([&] { repair(path); }).os_error(), ESTALE);
  EXPECT_EQ(error_thrown_by([&] { open(); }).os_error(), ESTALE);
  EXPECT_EQ(content_of(path), "another");
  fs::rename(folder + "/kept", path);
  EXPECT_TRUE(repair(path));
  EXPECT_EQ(content_of(path), start);
}

TEST_F(ChangesTest, TheJournalOfAFileThatAYoungerOneHasReplacedGoes) {
  killed_after([&] { change(*open().release(), 1); });
  write_file(folder + "/new", "another");
  fs::rename(folder + "/new", path);
  EXPECT_FALSE(repair(path));
  EXPECT_EQ(content_of(path), "another");
  EXPECT_EQ(names(), std::set<std::string>{"a.bin"});
}

TEST_F(ChangesTest, AFileThatWasCopiedWithItsJournalIsRepairedWhereThatIsSaid) {
  killed_after([&] { change(*open().release(), 1); });
  const std::string copy = folder + "/b.bin";
  fs::copy(path, copy);
  fs::copy(journal, journal_path(copy));
  EXPECT_EQ(error_thrown_by([&] { repair(copy); }).os_error(), ESTALE);
  EXPECT_TRUE(repair(copy, true));
  EXPECT_EQ(content_of(copy), start);
}

TEST_F(ChangesTest, TheJournalIsFoundByALinkToTheFileAlsoWhereThatIsGone) {
  killed_after([&] { change(*open().release(), 1); });
  fs::create_symlink("a.bin", folder + "/link");
  EXPECT_EQ(journal_path(folder + "/link"), fs::canonical(folder).string() + "/.a.bin.swath-undo");
  fs::remove(path);
  EXPECT_FALSE(repair(folder + "/link"));
  EXPECT_FALSE(fs::exists(journal));
}

TEST_F(ChangesTest, TheOldJournalGoesWhenANewFileHasTakenTheName) {
  killed_after([&] { change(*open().release(), 1); });
  {
    const Replacing replacing(path);
  }
  EXPECT_TRUE(fs::exists(journal)) << "the new file has not come";
  Replacing replacing(path);
  replacing.taken();
  replacing.close();
  EXPECT_FALSE(fs::exists(journal));
}

TEST_F(ChangesTest, AFileThatAnotherOneChangesIsNotReplaced) {
  const auto changes = open();
  change(*changes, 1);
  EXPECT_EQ(error_thrown_by([&] { Replacing replacing(path); }).os_error(), EAGAIN);
}

TEST_F(ChangesTest, WhereTheFolderMayNotBeWrittenChangesAreKeptInMemory) {
  EXPECT_TRUE(changes_of(path, true)->is_durable());
  EXPECT_FALSE(changes_of(path, false)->is_durable());
  EXPECT_EQ(error_thrown_by([] { changes_of("rados:pool/a.nc", true); }).kind(), ErrorKind::kUnsupported);
  EXPECT_FALSE(repair("rados:pool/a.nc"));
}

// ---- Stores -------------------------------------------------------------------------------------------------------

using StoreChanges = StoreJournalTest;

TEST_F(StoreChanges, AStoreIsAsAtTheLastCommitAfterAKill) {
  const auto before = tree();
  killed_after([&] {
    auto* changes = new Changes(store, {});
    add_array(*changes, 0);
  });
  EXPECT_NE(tree(), before);
  EXPECT_TRUE(repair(store));
  EXPECT_EQ(tree(), before);
}

TEST_F(StoreChanges, AStoreWhoseJournalWasWrittenAnewGoesBackToWhatWasSettled) {
  std::map<std::string, std::string> checkpoint;
  {
    Changes changes(store, {.long_bytes = 0});
    for (int number = 0; number < 4; ++number) {
      add_array(changes, number);
      changes.checkpoint();
    }
    checkpoint = tree();
    add_array(changes, 4);
  }
  EXPECT_EQ(tree(), checkpoint);
  EXPECT_EQ(checkpoint.at("a/zarr.json"), "second 3");
}

TEST_F(StoreChanges, WhatIsThereIsNotAddedAndPathsStayInsideTheStore) {
  Changes changes(store, {});
  const Error error = error_thrown_by([&] { changes.adds("a"); });
  EXPECT_EQ(error.os_error(), EEXIST);
  EXPECT_EQ(std::string(error.what()), store + ": a: cannot add: it is there already");
  for (const std::string wrong : {"../x", "/etc/x", "", ".", "a/../../x"}) {
    EXPECT_EQ(error_thrown_by([&] { changes.adds(wrong); }).kind(), ErrorKind::kArgument) << wrong;
    EXPECT_EQ(error_thrown_by([&] { changes.replaces_all({&wrong, 1}); }).kind(), ErrorKind::kArgument) << wrong;
  }
  fs::create_directory(folder + "/outside");
  fs::create_directory_symlink(folder + "/outside", store + "/out");
  changes.adds("out/file");
  write_file(folder + "/outside/file", "theirs");
  EXPECT_EQ(error_thrown_by([&] { changes.undo(); }).os_error(), EPERM);
  EXPECT_EQ(content_of(folder + "/outside/file"), "theirs");
  fs::remove(store + "/out");
}

}  // namespace
}  // namespace swath
