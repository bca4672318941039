// What readers see of a file that another process changes.

#include "journal/checkpoint_state.h"

#include <gtest/gtest.h>

#include <string>

#include "journal/journal_for_tests.h"

namespace swath {
namespace {

class CheckpointStateTest : public JournalTest {
 protected:
  // The content of the file for a reader.
  std::string read() const {
    const auto state = checkpoint_state(path, WhoChanges::kAnybody);
    std::string found = content_of(path);
    if (!state) return found;
    found.resize(static_cast<size_t>(state->bytes), '?');
    state->restore(0, std::as_writable_bytes(std::span(found)));
    return found;
  }
};

TEST_F(CheckpointStateTest, AFileThatNobodyChangesIsReadAsItIs) {
  EXPECT_FALSE(checkpoint_state(path));
  EXPECT_FALSE(has_journal(path));
}

TEST_F(CheckpointStateTest, ChangesAreSeenWhenTheyAreSettled) {
  Changes changes(path, {});
  EXPECT_EQ(read(), start);
  for (int number = 0; number < 6; ++number) {
    const std::string before = read();
    change(changes, number);
    EXPECT_EQ(read(), before);
    change(changes, number + 1);  // overwrites bytes that were kept, and bytes next to them
    EXPECT_EQ(read(), before);
    number % 2 == 0 ? changes.checkpoint() : changes.commit();
    EXPECT_EQ(read(), content_of(path));
    EXPECT_NE(read(), before);
  }
}

TEST_F(CheckpointStateTest, WhatIsReadInPiecesIsTheSame) {
  Changes changes(path, {});
  for (int number = 0; number < 4; ++number) change(changes, number);
  const auto state = checkpoint_state(path, WhoChanges::kAnybody);
  ASSERT_TRUE(state);
  for (const int64_t bytes : {1, 7, 100, 1000}) {
    std::string found = content_of(path).substr(0, start.size());
    for (int64_t at = 0; at < std::ssize(found); at += bytes) {
      const auto piece = std::as_writable_bytes(std::span(found)).subspan(static_cast<size_t>(at));
      state->restore(at, piece.first(std::min<size_t>(piece.size(), static_cast<size_t>(bytes))));
    }
    EXPECT_EQ(found, start);
  }
}

TEST_F(CheckpointStateTest, WhatThisProcessChangesIsNoneOfItsOwnBusiness) {
  {
    Changes changes(path, {});
    change(changes, 1);
    EXPECT_TRUE(has_journal(path));
    EXPECT_FALSE(checkpoint_state(path));
    changes.close();
    EXPECT_FALSE(has_journal(path));
  }
  killed_after([&] {
    auto* const changes = new Changes(path, {});  // the process is killed before it destroys this object
    change(*changes, 2);
  });
  EXPECT_NE(content_of(path), start);
  EXPECT_TRUE(checkpoint_state(path));  // another process started the changes
  EXPECT_EQ(read(), start);
}

TEST_F(CheckpointStateTest, AJournalOfAnotherFileSaysNothing) {
  killed_after([&] {
    auto* const changes = new Changes(path, {});
    change(*changes, 1);
  });
  EXPECT_TRUE(checkpoint_state(path));
  std::filesystem::rename(path, path + ".old");
  write_file(path, "new");
  EXPECT_FALSE(checkpoint_state(path));
  write_file(journal, "garbage");
  EXPECT_FALSE(checkpoint_state(path));
}

}  // namespace
}  // namespace swath
