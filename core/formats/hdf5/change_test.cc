// Creates and changes files by the HDF5 library that is found at run time; each change is journalled. Without a library
// the tests are skipped.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/all.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/changed_file.h"
#include "formats/hdf5/hdf5_format.h"
#include "formats/hdf5/reading.h"
#include "journal/changes.h"

namespace swath::formats::hdf5 {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

NumbersValue one_double(double value) {
  NumbersValue made{ElementType::parse("<f8"), {}, std::vector<std::byte>(sizeof value)};
  std::memcpy(made.bytes.data(), &value, sizeof value);
  return made;
}

NewArray record_variable(const std::string& name) {
  return {.shape = {0, 3},
          .type = ElementType::parse("<f4"),
          .variable = name,
          .dimensions = {{"time", "x"}},
          .attributes = {{"units", "K"}, {"scale", one_double(0.5)}},
          .unlimited = {true, false}};
}

class Hdf5ChangeTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    folder_ = ::testing::TempDir() + "hdf5_change_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/a.h5";
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  const Format& format() const { return format_named(GetParam()); }

  void create(std::vector<NewArray> arrays = {}) const {
    NewContents contents;
    contents.groups.push_back({.path = "", .attributes = {{"title", "run"}}});
    contents.arrays = std::move(arrays);
    format().create(path_, contents);
  }

  // Commits the changes that `work` makes.
  template <typename Work>
  void change(const Work& work) const {
    Changes changes(path_, {});
    {
      const auto file = format().open(path_, &changes);
      work(*file);
    }
    changes.commit();
  }

  // The description from a newly opened file, as other programs see it.
  Description described(const std::string& variable) const { return format().open(path_, nullptr)->describe(variable); }
  Contents contents() const { return read_contents(path_); }

  std::string folder_;
  std::string path_;
};

TEST_P(Hdf5ChangeTest, AVariableMayGrowToAnEnd) {
  NewArray wanted{.shape = {2, 3}, .type = ElementType::parse("<i2"), .variable = "map", .chunks = Shape{2, 2}};
  wanted.maxshape = {7, 1};  // a limit below the shape becomes the shape
  create({wanted});
  EXPECT_EQ(contents().variable("map")->maxshape, (std::vector<std::optional<int64_t>>{7, 3}));
  EXPECT_TRUE(described("map").unlimited.empty());
}

TEST_P(Hdf5ChangeTest, WhatScalesKeepForThemselvesIsNoAttributeAndFixedDimensionsHaveOneLength) {
  create({record_variable("t")});
  const std::string before = content_of(path_);
  change([&](FormatFile& file) {
    EXPECT_THROW(file.set_attributes("t", {{"DIMENSION_LIST", "b"}}), Error);
    EXPECT_THROW(file.set_length("x", 5), Error);
  });
  EXPECT_EQ(content_of(path_), before);
}

TEST_P(Hdf5ChangeTest, AChangeThatFailsLeavesTheFileAsItWas) {
  create({record_variable("t")});
  const std::string before = content_of(path_);
  Changes changes(path_, {});
  ChangedFile changed(changes);
  const auto fail_after_changes = [&](const OpenFile& file) {
    const Handle made(library().H5Gcreate2(file.id(), "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    checked(library().H5Fflush(file.id(), H5F_SCOPE_GLOBAL));
    fail_argument("it fails");
  };
  EXPECT_THROW(changed.change(fail_after_changes), Error);
  EXPECT_EQ(content_of(path_), before);
  changed.change([&](const OpenFile& file) {
    EXPECT_LE(library().H5Lexists(file.id(), "new", H5P_DEFAULT), 0);
    const Handle made(library().H5Gcreate2(file.id(), "other", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  });
  EXPECT_NE(contents().group("other"), nullptr);
  EXPECT_EQ(contents().group("new"), nullptr);
}

TEST_P(Hdf5ChangeTest, AWriteThatTheSystemRefusesIsAnErrorAndChangesNothing) {
  create({record_variable("t")});
  const std::string before = content_of(path_);
  // This runs in a child whose files may not grow.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 4096, before.size() + 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int result = 1;
    try {
      Changes changes(path_, {});
      const auto file = format().open(path_, &changes);
      try {
        file->set_attributes("t", {{"long", std::string(30000, 'x')}});
      } catch (const Error& error) {
        result = error.os_error() == EFBIG ? 0 : 2;
      }
      file->set_attributes("t", {{"units", "m"}});  // the handle still works
      if (file->contents().variable("t")->attributes.text("units") != "m") result = 3;
    } catch (...) {
      result = 4;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  repair(path_);
  EXPECT_EQ(content_of(path_), before);
}

// ---- Definitions of a file that has no name yet
// ----------------------------------------------------------------------

NewArray coded_variable(const std::string& name) {
  NewArray made{.shape = {8, 3}, .type = ElementType::parse("<f4"), .variable = name, .dimensions = {{"y", "x"}}};
  made.attributes = {{"units", "K"}};
  made.chunks = Shape{4, 3};
  made.codecs = std::vector<Codec>{{.kind = CodecKind::kZlib}};
  return made;
}

std::vector<std::string> names_of(const Contents& contents) {
  std::vector<std::string> names;
  for (const Variable& one : contents.variables()) names.push_back(one.path);
  return names;
}

TEST_P(Hdf5ChangeTest, DefinitionsOfAFileWithoutANameAreWrittenTogether) {
  create();
  Changes changes(path_, {.is_durable = false});
  const auto file = format().open(path_, &changes);
  EXPECT_TRUE(file->may_delay(coded_variable("b")));
  for (const std::string name : {"b", "a"}) EXPECT_EQ(file->add(coded_variable(name)).shape, Shape({8, 3}));
  file->set_attributes("b", {{"units", "m"}});
  EXPECT_THROW(contents(), Error) << "they are in memory, and the file is locked";
  EXPECT_EQ(file->describe("b").attributes.text("units"), "m");
  EXPECT_EQ(names_of(file->contents()), (std::vector<std::string>{"b", "a"}));
  file->write_delayed();
  EXPECT_EQ(names_of(contents()), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(described("b").attributes.text("units"), "m");
  EXPECT_EQ(described("a").dimensions, (std::vector<std::string>{"y", "x"}));
}

TEST_P(Hdf5ChangeTest, ADefinitionThatFailsLeavesThoseBeforeIt) {
  create();
  Changes changes(path_, {.is_durable = false});
  const auto file = format().open(path_, &changes);
  for (const std::string name : {"b", "a"}) file->add(coded_variable(name));
  NewArray fails_late = coded_variable("c");
  fails_late.dimensions = {{"z", "x"}};
  fails_late.attributes = {{"DIMENSION_LIST", "of HDF5 alone"}};
  EXPECT_THROW(file->add(fails_late), Error);
  EXPECT_THROW(file->add(coded_variable("a")), Error);
  file->add(coded_variable("d"));
  EXPECT_THROW(file->set_attributes("none", {{"units", "K"}}), Error);
  NewArray contiguous = coded_variable("e");
  contiguous.codecs.reset();
  contiguous.chunks.reset();
  EXPECT_FALSE(file->may_delay(contiguous));
  file->add(contiguous);
  EXPECT_EQ(names_of(contents()), (std::vector<std::string>{"b", "a", "d", "e"}));
  const Contents found = contents();
  EXPECT_EQ(found.dimension("", "z"), nullptr);
  EXPECT_NE(found.dimension("", "y"), nullptr);
}

TEST_P(Hdf5ChangeTest, DefinitionsThatTheSystemRefusesToStoreMakeTheFileUnusable) {
  create();
  const int64_t bytes = std::ssize(content_of(path_));
  // This runs in a child whose files may not grow.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    int result = 1;
    try {
      Changes changes(path_, {.is_durable = false});
      const auto file = format().open(path_, &changes);
      file->add(coded_variable("a"));
      const rlimit limit{static_cast<rlim_t>(bytes) + 64, static_cast<rlim_t>(bytes) + 64};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        file->write_delayed();
      } catch (const Error& error) {
        result = error.os_error() == EFBIG ? 2 : 3;
      }
      try {
        changes.commit();
      } catch (const Error&) {
        if (result == 2) result = 0;
      }
    } catch (...) {
      result = 4;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(Hdf5ChangeTest, AFileThatAnotherProgramHasOpenIsNotChanged) {
  create({record_variable("t")});
  const Session session;
  const Handle open(library().H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  Changes changes(path_, {});
  const auto file = format().open(path_, &changes);
  try {
    file->add(record_variable("u"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.os_error(), EAGAIN) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(OfFormats, Hdf5ChangeTest, ::testing::Values("hdf5", "netcdf4"));

}  // namespace
}  // namespace swath::formats::hdf5
