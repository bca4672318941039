#include "files/file_changes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "files/chunk_room.h"
#include "formats/all.h"
#include "formats/hdf5/library.h"

namespace swath {
namespace {

using formats::Description;
using formats::ElementType;
using formats::FormatFile;
using formats::NewArray;

class FileChangesTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "hdf5") {
      try {
        formats::hdf5::library();
      } catch (const Error& error) {
        GTEST_SKIP() << error.what();
      }
    }
    path_ = testing::TempDir() + "swath_file_changes_" + std::to_string(getpid());
    std::filesystem::remove(path_);
    NewArray array{.shape = {4, 6}, .type = ElementType::parse("<f4"), .variable = "t"};
    if (GetParam() == "hdf5") {
      array.chunks = {2, 3};
      array.codecs = {Codec{.kind = CodecKind::kZlib, .level = 1}};
    }
    formats::NewContents contents;
    contents.groups.emplace_back();
    contents.arrays.push_back(array);
    format().create(path_, contents);
    before_ = bytes();
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove(path_);
  }

  static const formats::Format& format() { return formats::format_named(GetParam()); }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has_journal() const { return std::filesystem::exists(journal_path(path_)); }
  static void set_title(FileChanges& changes, const std::string& title) {
    changes.change([&](FormatFile& file) { file.set_attributes("", {{"title", title}}); });
  }

  std::string path_;
  std::string before_;
};

TEST_P(FileChangesTest, TheFirstChangeBeginsWhatIsTakenBackUnlessItIsCommitted) {
  FileChanges changes(format(), path_, {});
  EXPECT_EQ(changes.read([](FormatFile& file) { return file.describe("t").shape; }), (Shape{4, 6}));
  EXPECT_FALSE(changes.has_begun());
  EXPECT_FALSE(has_journal());
  set_title(changes, "run");
  EXPECT_TRUE(changes.has_begun());
  EXPECT_TRUE(has_journal());
  changes.close();
  EXPECT_FALSE(changes.has_begun());
  EXPECT_EQ(bytes(), before_);
  set_title(changes, "run");
  changes.end();
  EXPECT_FALSE(has_journal());
  EXPECT_NE(bytes(), before_);
}

TEST_P(FileChangesTest, WhatIsTakenBackToAMarkLeavesWhatWasChangedBefore) {
  FileChanges changes(format(), path_, {});
  set_title(changes, "run");
  const std::string with_title = bytes();
  const Mark mark = changes.mark();
  changes.change([](FormatFile& file) { file.set_attributes("", {{"more", "words"}}); });
  EXPECT_NE(bytes(), with_title);
  changes.undo(mark);
  EXPECT_EQ(bytes(), with_title);
  changes.undo(std::nullopt);
  EXPECT_EQ(bytes(), before_);
}

TEST_P(FileChangesTest, WhatTheHandleDoesNotKnowOfIsRefusedBeforeAnythingIsChanged) {
  FileChanges::Options given;
  given.refuse_stale = [this](FormatFile& file, const OwnRows& own) {
    refuse_stale(path_, file, own, {{"t", {4, 5}}});
  };
  FileChanges changes(format(), path_, given);
  EXPECT_THROW(set_title(changes, "run"), Error);
  EXPECT_FALSE(changes.has_begun());
  EXPECT_FALSE(has_journal());
  EXPECT_EQ(bytes(), before_);
}

TEST_P(FileChangesTest, AFileThatAnotherOneReplacedIsNeitherChangedNorTakenBack) {
  FileChanges changes(format(), path_, {});
  changes.note_name(path_);
  set_title(changes, "run");
  std::ofstream(path_ + ".new", std::ios::binary) << "another file";
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_TRUE(changes.is_replaced());
  try {
    set_title(changes, "again");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.os_error(), ESTALE);
  }
  changes.take_back();
  changes.close();
  EXPECT_EQ(bytes(), "another file");
}

TEST_P(FileChangesTest, ANewFileHasNoJournalBeforeItHasItsName) {
  FileChanges changes(format(), path_, {.is_new = true});
  set_title(changes, "run");
  EXPECT_FALSE(has_journal());
  changes.end();
  changes.has_name(path_);
  const std::string with_title = bytes();
  set_title(changes, "other");
  EXPECT_TRUE(has_journal());
  changes.close();
  EXPECT_EQ(bytes(), with_title);
}

TEST_P(FileChangesTest, RoomForChunksIsTakenBackAloneOrStays) {
  if (GetParam() != "hdf5") GTEST_SKIP() << "its chunks are files, or it has none";
  const auto changes = std::make_shared<FileChanges>(format(), path_, FileChanges::Options{});
  set_title(*changes, "run");
  const std::string with_title = bytes();
  ChunkRoom room(changes, "t");
  const std::vector<NewChunk> chunks{{{0, 0}, 200, 0, false}, {{1, 1}, 300, 0, false}};
  const auto write = [&](const std::vector<int64_t>& offsets) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (size_t i = 0; i < offsets.size(); ++i) {
      file.seekp(offsets[i]);
      file << std::string(static_cast<size_t>(chunks[i].bytes), 'x');
    }
  };
  write(room.place({4, 6}, chunks));
  EXPECT_NE(bytes(), with_title);
  room.undo();
  EXPECT_EQ(bytes(), with_title);
  write(room.place({4, 6}, chunks));
  room.keep();
  room.undo();  // nothing to undo
  const std::string kept = bytes();
  EXPECT_NE(kept, with_title);
  changes->close();
  EXPECT_EQ(bytes(), kept);
}

INSTANTIATE_TEST_SUITE_P(OfFormats, FileChangesTest, testing::Values("netcdf-classic", "hdf5"));

}  // namespace
}  // namespace swath
