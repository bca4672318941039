// Creates and reads files by the HDF5 library that is found at run time. Without a library the tests are skipped.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "formats/all.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/hdf5_format.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/reading.h"

namespace swath::formats::hdf5 {
namespace {

constexpr unsigned kTruncate = 2;

template <typename Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(library().symbol(name));
}

class Hdf5Test : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    path_ = ::testing::TempDir() + "hdf5_test_" + std::to_string(::getpid()) + ".h5";
  }
  void TearDown() override { std::remove(path_.c_str()); }

  // Makes a file with a dataset /g/v of 10 by 4 big-endian numbers of 2 bytes in chunks of 4 by 4, an attribute, a soft
  // link to the dataset, and one that leads nowhere. No chunk is stored.
  void make_file() {
    const Session session;
    const Handle file(
        function<hid_t(const char*, unsigned, hid_t, hid_t)>("H5Fcreate")(path_.c_str(), kTruncate, 0, 0));
    const Handle group(
        function<hid_t(hid_t, const char*, hid_t, hid_t, hid_t)>("H5Gcreate2")(file.get(), "g", 0, 0, 0));
    const hsize_t shape[] = {10, 4}, longest[] = {H5S_UNLIMITED, 4}, chunk[] = {4, 4};
    const Handle space(function<hid_t(int, const hsize_t*, const hsize_t*)>("H5Screate_simple")(2, shape, longest));
    const Handle properties(library().H5Pcreate(library().id("H5P_CLS_DATASET_CREATE_ID_g")));
    checked(function<herr_t(hid_t, int, const hsize_t*)>("H5Pset_chunk")(properties.get(), 2, chunk));
    const int fill = 7;
    checked(function<herr_t(hid_t, hid_t, const void*)>("H5Pset_fill_value")(properties.get(),
                                                                             library().id("H5T_NATIVE_INT_g"), &fill));
    const Handle dataset(function<hid_t(hid_t, const char*, hid_t, hid_t, hid_t, hid_t, hid_t)>("H5Dcreate2")(
        group.get(), "v", library().id("H5T_STD_I16BE_g"), space.get(), 0, properties.get(), 0));
    const Handle scalar(function<hid_t(int)>("H5Screate")(H5S_SCALAR));
    const Handle attribute(function<hid_t(hid_t, const char*, hid_t, hid_t, hid_t, hid_t)>("H5Acreate2")(
        dataset.get(), "level", library().id("H5T_STD_I32LE_g"), scalar.get(), 0, 0));
    const int level = 3;
    checked(function<herr_t(hid_t, hid_t, const void*)>("H5Awrite")(attribute.get(), library().id("H5T_NATIVE_INT_g"),
                                                                    &level));
    auto* soft = function<herr_t(const char*, hid_t, const char*, hid_t, hid_t)>("H5Lcreate_soft");
    checked(soft("/g/v", file.get(), "same", 0, 0));
    checked(soft("/gone", file.get(), "nowhere", 0, 0));
  }

  std::string path_;
};

TEST_F(Hdf5Test, ContentsAreThoseOfTheFile) {
  make_file();
  const Contents found = read_contents(path_);
  EXPECT_EQ(found.format(), "hdf5");
  ASSERT_NE(found.variable("g/v"), nullptr);
  const Variable& variable = *found.variable("g/v");
  EXPECT_EQ(variable.shape, (Shape{10, 4}));
  EXPECT_EQ(variable.type->to_string(), ">i2");
  EXPECT_EQ(variable.chunks, (Shape{4, 4}));
  EXPECT_FALSE(variable.is_coordinate);
  ASSERT_NE(found.variable("same"), nullptr);
  EXPECT_EQ(found.variable("same")->same_as, "g/v");
  EXPECT_EQ(found.others().at("nowhere"), "a link that leads nowhere, to /gone");
}

TEST_F(Hdf5Test, ADatasetIsDescribedWithItsAttributesAndFillValue) {
  make_file();
  const Description found = describe(path_, {"g/v"}, {}).front();
  const auto& layout = std::get<ChunkedLayout>(found.layout);
  EXPECT_EQ(layout.offsets, std::vector<int64_t>(3, -1));
  EXPECT_EQ(found.fill, (std::vector<std::byte>{std::byte{0}, std::byte{7}}));
  EXPECT_EQ(found.unlimited, (std::vector<bool>{true, false}));
  const auto& level = std::get<NumbersValue>(*found.attributes.find("level"));
  EXPECT_EQ(level.type.to_string(), "<i4");
  EXPECT_EQ(level.bytes[0], std::byte{3});
}

TEST_F(Hdf5Test, WhatWasSeenBeforeSaysHowLongADatasetIs) {
  make_file();
  const Description found = describe(path_, {"g/v"}, {{"g/v", {{15, 4}, {"t", "x"}}}}).front();
  EXPECT_EQ(found.shape, (Shape{15, 4}));
  EXPECT_EQ(found.stored_shape, (Shape{10, 4}));
  EXPECT_EQ(found.dimensions, (std::vector<std::string>{"t", "x"}));
}

TEST_F(Hdf5Test, NamesThatAreNotThereAreErrorsThatListWhatIs) {
  make_file();
  const auto message = [&](const std::string& name) {
    try {
      describe(path_, {name}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("g").find("'g' is a group; name a dataset in it: g/v"), std::string::npos) << message("g");
  EXPECT_NE(message("w").find("g/v"), std::string::npos) << message("w");
}

TEST_F(Hdf5Test, ATruncatedFileIsAnErrorThatNamesIt) {
  make_file();
  ASSERT_EQ(::truncate(path_.c_str(), 300), 0);
  try {
    read_contents(path_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_NE(std::string(error.what()).find(path_ + ": not a readable HDF5 file: Unable to "), std::string::npos)
        << error.what();
  }
}

TEST_F(Hdf5Test, ThreadsReadAtTheSameTime) {
  make_file();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) right += read_contents(path_).variable("g/v")->shape == Shape{10, 4};
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

TEST_F(Hdf5Test, HowErrorsArePrintedIsAsItWasAfterASession) {
  H5E_auto2_t before = nullptr, inside = nullptr, after = nullptr;
  void* data = nullptr;
  library().H5Eget_auto2(H5E_DEFAULT, &before, &data);
  {
    const Session session;
    library().H5Eget_auto2(H5E_DEFAULT, &inside, &data);
    EXPECT_THROW(Handle(library().H5Fopen("/nowhere/at all", H5F_ACC_RDONLY, H5P_DEFAULT)), CallError);
  }
  library().H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(inside, nullptr);
  EXPECT_EQ(before, after);
}

TEST(Hdf5NamesTest, NamesOfNetcdf4LoseWhatItPutsBeforeThem) {
  EXPECT_EQ(shown_name("/g/_nc4_non_coord_x"), "g/x");
  EXPECT_EQ(shown_name("/x"), "x");
  EXPECT_EQ(shown_name("/\xE4/b"), "ä/b");
}

TEST(Hdf5NamesTest, ANameMayBeInLatin1) {
  EXPECT_EQ(encodings("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(encodings("ä"), (std::vector<std::string>{"ä", "\xE4"}));
  EXPECT_EQ(encodings("温"), std::vector<std::string>{"温"});
}

TEST(Hdf5NamesTest, WhatCannotBeANameIsNone) {
  for (const std::string bad : {"", "a//b", ".", "a/./b", "\xE4"}) EXPECT_FALSE(is_name(bad)) << bad;
  EXPECT_FALSE(is_name(std::string("a\0b", 3)));
  EXPECT_TRUE(is_name("/g/ä"));
}

}  // namespace
}  // namespace swath::formats::hdf5
