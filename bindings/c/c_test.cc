#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "comm/simulated.h"
#include "opening.h"
#include "swath/swath.h"

extern "C" const char* swath_c99_first_column(swath_array* array, double* column);

namespace swath::c_interface {
namespace {

namespace fs = std::filesystem;

#define MUST(call) ASSERT_EQ(call, SWATH_OK) << swath_error_message()

class CTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // The error of all ranks, which must be the same; "" if there is none.
  template <typename Work>
  std::string error_on_ranks(int ranks, const Work& work) {
    std::vector<std::string> errors(static_cast<size_t>(ranks));
    Simulation simulation(ranks, 1, 0);
    run_ranks(simulation, [&](Comm& comm) {
      try {
        const int kind = work(std::shared_ptr<Comm>(&comm, [](Comm*) {}));
        if (kind != SWATH_OK) errors[static_cast<size_t>(comm.rank())] = swath_error_message();
      } catch (const Error& error) {
        errors[static_cast<size_t>(comm.rank())] = error.what();
      }
    });
    for (const std::string& error : errors) EXPECT_EQ(error, errors.front());
    return errors.front();
  }

  // Creates a file with "t" (records of 4) and "g/n" (3 by 5), on one rank.
  void make(const std::string& name) const {
    swath_file* file = nullptr;
    swath_array* t = nullptr;
    swath_array* n = nullptr;
    const int64_t of_t[] = {SWATH_UNLIMITED, 4};
    const int64_t of_n[] = {3, 5};
    const char* const along_t[] = {"time", "x"};
    const char* const along_n[] = {"y", "z"};
    MUST(swath_file_create(path(name).c_str(), nullptr, &file));
    MUST(swath_define(file, "t", 2, of_t, along_t, "f8", nullptr, &t));
    MUST(swath_define(file, grouped(name), 2, of_n, along_n, "i4", nullptr, &n));
    std::vector<int32_t> numbers(15);
    std::iota(numbers.begin(), numbers.end(), 0);
    MUST(swath_write(n, nullptr, nullptr, numbers.data(), nullptr));
    for (int step = 0; step < 3; ++step) {
      const std::vector<double> row(4, step);
      MUST(swath_append(t, nullptr, row.data(), nullptr));
    }
    MUST(swath_file_close(file));
  }
  // netCDF classic has no groups.
  static const char* grouped(const std::string& name) { return name.ends_with(".nc3") ? "n" : "g/n"; }

  const std::string folder_ = testing::TempDir() + "swath_c_" + std::to_string(getpid());
};

TEST_F(CTest, AFirstProgramReadsWhatItWrote) {
  const int64_t shape[] = {3, 4};
  double numbers[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  swath_array* array = nullptr;
  MUST(swath_create(path("a.npy").c_str(), nullptr, 2, shape, "f8", nullptr, &array));
  MUST(swath_write(array, nullptr, nullptr, numbers, nullptr));
  EXPECT_FALSE(fs::exists(path("a.npy"))) << "it gets its name when it is complete";
  MUST(swath_close(array));
  MUST(swath_open(path("a.npy").c_str(), nullptr, "r", nullptr, &array));
  double column[3] = {};
  EXPECT_STREQ(swath_c99_first_column(array, column), "");
  EXPECT_EQ(std::vector<double>(column, column + 3), (std::vector<double>{1, 5, 9}));
  MUST(swath_close(array));
}

TEST_F(CTest, WhatAFileHoldsIsTold) {
  for (const std::string name : {"a.nc3", "a.zarr"}) {
    make(name);
    swath_file* file = nullptr;
    MUST(swath_file_open(path(name).c_str(), "r", nullptr, &file));
    int64_t count = 0;
    const char* text = nullptr;
    MUST(swath_variable_count(file, &count));
    EXPECT_EQ(count, 2);
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      MUST(swath_variable_name(file, i, &text));
      names.emplace_back(text);
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{grouped(name), "t"}));
    MUST(swath_group_count(file, &count));
    EXPECT_EQ(count, name == "a.zarr" ? 2 : 1);
    MUST(swath_group_name(file, count - 1, &text));
    EXPECT_STREQ(text, name == "a.zarr" ? "g" : "");
    EXPECT_EQ(swath_variable_name(file, 2, &text), SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(swath_group_name(file, -1, &text), SWATH_ERROR_ARGUMENT);

    swath_array* t = nullptr;
    swath_array* again = nullptr;
    MUST(swath_variable(file, "t", &t));
    MUST(swath_variable(file, "t", &again));
    EXPECT_EQ(t, again);
    EXPECT_EQ(swath_file_of(t), file);
    int ndim = 0;
    int is_unlimited = 0;
    int64_t shape[SWATH_DIMENSIONS_MAX];
    char dtype[SWATH_DTYPE_MAX];
    MUST(swath_inquire(t, &ndim, shape, dtype));
    EXPECT_EQ(ndim, 2);
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{3, 4}));
    EXPECT_STREQ(dtype, "<f8") << "as it is in memory, also where the file has the other byte order";
    MUST(swath_inquire(t, nullptr, nullptr, nullptr));
    MUST(swath_dimension(t, 0, &text, &is_unlimited));
    EXPECT_STREQ(text, "time");
    EXPECT_EQ(is_unlimited, 1);
    MUST(swath_dimension(t, 1, &text, &is_unlimited));
    EXPECT_STREQ(text, "x");
    EXPECT_EQ(is_unlimited, 0);
    EXPECT_EQ(swath_dimension(t, 2, &text, nullptr), SWATH_ERROR_ARGUMENT);
    MUST(swath_array_name(t, &text));
    EXPECT_STREQ(text, "t");
    double rows[3][4];
    MUST(swath_read(t, nullptr, nullptr, rows, nullptr));
    EXPECT_EQ(rows[2][3], 2);
    EXPECT_EQ(swath_variable(file, "none", &again), SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(again, nullptr);
    EXPECT_NE(std::string(swath_error_message()).find("none"), std::string::npos);
    MUST(swath_close(t)) << "the file has it";
    EXPECT_EQ(swath_discard(t), SWATH_ERROR_ARGUMENT);
    MUST(swath_file_close(file));
  }
}

TEST_F(CTest, AttributesHaveTheirTypesAndCounts) {
  for (const std::string name : {"a.nc3", "a.zarr"}) {
    make(name);
    swath_file* file = nullptr;
    MUST(swath_file_open(path(name).c_str(), "r+", nullptr, &file));
    const double half = 0.5;
    const int16_t range[] = {-3, 7};
    MUST(swath_set_attribute(file, nullptr, "title", "text", -1, "a run"));
    MUST(swath_set_attribute(file, "t", "units", "text", 1, "Kelvin"));
    MUST(swath_set_attribute(file, "t", "scale", "f8", 1, &half));
    MUST(swath_set_attribute(file, "t", "range", "i2", 2, range));
    MUST(swath_file_close(file));
    MUST(swath_file_open(path(name).c_str(), "r+", nullptr, &file));
    char dtype[SWATH_DTYPE_MAX];
    int64_t count = 0;
    void* values = nullptr;
    MUST(swath_get_attribute(file, "", "title", dtype, &count, &values));
    EXPECT_STREQ(dtype, "text");
    EXPECT_EQ(count, 5);
    EXPECT_STREQ(static_cast<char*>(values), "a run");
    swath_free(values);
    MUST(swath_get_attribute(file, "t", "units", nullptr, nullptr, &values));
    EXPECT_STREQ(static_cast<char*>(values), "K");
    swath_free(values);
    MUST(swath_get_attribute(file, "t", "scale", dtype, &count, &values));
    EXPECT_EQ(count, 1);
    EXPECT_EQ(*static_cast<double*>(values), 0.5);
    swath_free(values);
    if (name == "a.nc3") {  // Zarr's attributes are JSON, with integers of 8 bytes
      MUST(swath_get_attribute(file, "t", "range", dtype, &count, &values));
      EXPECT_STREQ(dtype, "<i2");
      EXPECT_EQ(count, 2);
      EXPECT_EQ(static_cast<int16_t*>(values)[1], 7);
      swath_free(values);
    }
    MUST(swath_attribute_count(file, "t", &count));
    EXPECT_EQ(count, 3);
    const char* text = nullptr;
    MUST(swath_attribute_name(file, "t", 0, &text));
    EXPECT_STREQ(text, "units");
    EXPECT_EQ(swath_attribute_name(file, "t", 3, &text), SWATH_ERROR_ARGUMENT);
    MUST(swath_set_attribute(file, "t", "units", nullptr, 0, nullptr));
    MUST(swath_attribute_count(file, "t", &count));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(swath_get_attribute(file, "t", "units", dtype, &count, &values), SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(values, nullptr);
    EXPECT_EQ(swath_attribute_count(file, "none", &count), SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(swath_set_attribute(file, "t", "x", "f8", -2, &half), SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(swath_set_attribute(file, "t", "x", "f7", 1, &half), SWATH_ERROR_ARGUMENT);
    MUST(swath_file_close(file));
    fs::remove_all(path(name));
  }
}

TEST_F(CTest, WhatWasWrongIsOfTheThread) {
  EXPECT_EQ(swath_open(path("none.nc").c_str(), nullptr, "r", nullptr, nullptr), SWATH_ERROR_ARGUMENT);
  swath_array* array = nullptr;
  EXPECT_EQ(swath_open(path("none.nc").c_str(), nullptr, "r", nullptr, &array), SWATH_ERROR_STORE);
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(swath_error_errno(), ENOENT);
  EXPECT_EQ(swath_error_kind(), SWATH_ERROR_STORE);
  const std::string message = swath_error_message();
  EXPECT_NE(message.find(path("none.nc")), std::string::npos);
  std::thread([] {
    EXPECT_EQ(swath_error_kind(), SWATH_OK);
    EXPECT_STREQ(swath_error_message(), "");
    EXPECT_EQ(swath_wait(nullptr), SWATH_ERROR_ARGUMENT);
  }).join();
  EXPECT_EQ(swath_error_message(), message);
  std::ofstream(path("a.nc")) << "CDF\1 is this a file?";
  EXPECT_EQ(swath_open(path("a.nc").c_str(), nullptr, "r", nullptr, &array), SWATH_ERROR_FORMAT);
  EXPECT_STREQ(swath_version(), SWATH_VERSION);
}

TEST_F(CTest, ArgumentsThatCannotBeMeantAreRefused) {
  const int64_t shape[] = {3, 4};
  swath_options options;
  swath_options_init(&options);
  swath_array* array = nullptr;
  const auto error_of = [&](const char* file, const char* dtype) {
    EXPECT_NE(swath_create(path(file).c_str(), nullptr, 2, shape, dtype, &options, &array), SWATH_OK);
    EXPECT_EQ(array, nullptr);
    EXPECT_TRUE(fs::is_empty(folder_));
    swath_options_init(&options);
    return std::string(swath_error_message());
  };
  const auto says = [](const std::string& message, const char* words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says(error_of("a.npy", "float"), "dtype 'float'");
  says(error_of("a.npy", nullptr), "dtype is NULL");
  says(error_of("a.what", "f4"), "a.what");
  options.size = 0;
  says(error_of("a.npy", "f4"), "swath_options_init()");
  options.order = "0,0";
  says(error_of("a.npy", "f4"), "order '0,0'");
  options.method = "fast";
  says(error_of("a.npy", "f4"), "fast");
  options.codecs = "zlib:4";
  says(error_of("a.npy", "f4"), "codecs");
  options.codecs = "zlib:11";
  says(error_of("a.zarr", "f4"), "expected a level from 0 to 9");
  options.codecs = "shuffle:2";
  says(error_of("a.zarr", "f4"), "has no level");
  options.codecs = "squeeze";
  says(error_of("a.zarr", "f4"), "squeeze");
  options.streams = "many";
  says(error_of("a.npy", "f4"), "streams 'many'");
  options.streams = "sideways=2";
  says(error_of("a.npy", "f4"), "sideways");
  EXPECT_EQ(swath_create(path("a.npy").c_str(), nullptr, 33, shape, "f4", nullptr, &array), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(swath_create(path("a.npy").c_str(), nullptr, 2, nullptr, "f4", nullptr, &array), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(swath_create(nullptr, nullptr, 2, shape, "f4", nullptr, &array), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(swath_open(path("a.npy").c_str(), nullptr, "w", nullptr, &array), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(swath_close(nullptr), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(swath_file_close(nullptr), SWATH_ERROR_ARGUMENT);
  swath_distribution* whose = nullptr;
  const swath_rule rule = {7, 0};
  const int grid = 1;
  EXPECT_EQ(swath_distribution_create(1, &rule, &grid, &whose), SWATH_ERROR_ARGUMENT);
  EXPECT_EQ(whose, nullptr);
  swath_distribution_free(nullptr);
}

// Programs built with an older and with a newer header.
TEST_F(CTest, OptionsOfOtherVersionsAreKnownByTheirSize) {
  struct Newer {
    swath_options known;
    const char* what_is_new;
  } newer = {};
  const int64_t shape[] = {2};
  swath_array* array = nullptr;
  swath_options_init_sized(&newer.known, sizeof(newer));
  MUST(swath_create(path("a.npy").c_str(), nullptr, 1, shape, "f4", &newer.known, &array));
  MUST(swath_discard(array));
  EXPECT_TRUE(fs::is_empty(folder_));
  newer.what_is_new = "x";
  EXPECT_EQ(swath_create(path("a.npy").c_str(), nullptr, 1, shape, "f4", &newer.known, &array),
            SWATH_ERROR_UNSUPPORTED);
  alignas(swath_options) char bytes[sizeof(swath_options)];
  std::memset(bytes, 0x55, sizeof(bytes));
  auto* older = reinterpret_cast<swath_options*>(bytes);
  swath_options_init_sized(older, offsetof(swath_options, streams));
  MUST(swath_create(path("a.npy").c_str(), nullptr, 1, shape, "f4", older, &array));
  MUST(swath_close(array));
}

TEST_F(CTest, RawFilesAreOpenedWithWhatTheyHold) {
  std::ofstream(path("a.bin"), std::ios::binary) << "xyz" << std::string("\0\1\0\2\0\3\0\4", 8);
  swath_options options;
  swath_options_init(&options);
  options.offset = 3;
  options.order = "F";
  const int64_t shape[] = {2, 2};
  swath_array* array = nullptr;
  MUST(swath_open_raw(path("a.bin").c_str(), 2, shape, ">i2", "r", &options, &array));
  int16_t numbers[2][2];
  MUST(swath_read(array, nullptr, nullptr, numbers, nullptr));
  EXPECT_EQ(numbers[0][1], 3);
  EXPECT_EQ(numbers[1][0], 2);
  EXPECT_EQ(swath_write(array, nullptr, nullptr, numbers, nullptr), SWATH_ERROR_ARGUMENT) << "it is open for reading";
  MUST(swath_close(array));
  MUST(swath_open_raw(path("a.bin").c_str(), 2, shape, ">i2", "r+", &options, &array));
  const int16_t nine = 9;
  const swath_slice corner[] = {{1, 2, 1}, {1, 2, 1}};
  MUST(swath_write(array, nullptr, corner, &nine, nullptr));
  MUST(swath_sync(array));
  MUST(swath_close(array));
  std::ifstream file(path("a.bin"), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "xyz" + std::string("\0\1\0\2\0\3\0\11", 8));
}

TEST_F(CTest, SlicesOutsideTheArrayAreRefused) {
  make("a.nc3");
  swath_array* n = nullptr;
  MUST(swath_open(path("a.nc3").c_str(), "n", "r", nullptr, &n));
  int32_t numbers[15];
  const auto kind = [&](swath_slice columns) {
    const swath_slice slices[] = {{0, SWATH_END, 1}, columns};
    return swath_read(n, nullptr, slices, numbers, nullptr);
  };
  for (const swath_slice wrong : {swath_slice{0, 6, 1}, swath_slice{-1, 3, 1}, swath_slice{5, 0, -1},
                                  swath_slice{3, -2, -1}, swath_slice{0, 5, 0}}) {
    EXPECT_EQ(kind(wrong), SWATH_ERROR_ARGUMENT) << wrong.start << ":" << wrong.stop << ":" << wrong.step;
  }
  for (const swath_slice empty : {swath_slice{5, 5, 1}, swath_slice{3, 2, 1}, swath_slice{2, 3, -1}}) {
    EXPECT_EQ(kind(empty), SWATH_OK) << swath_error_message();
  }
  EXPECT_EQ(kind({4, SWATH_END, INT64_MIN}), SWATH_OK);
  EXPECT_EQ(numbers[0], 4);
  EXPECT_EQ(kind({4, SWATH_END, -4}), SWATH_OK);
  EXPECT_EQ(numbers[1], 0);
  EXPECT_EQ(kind({0, SWATH_END, INT64_MAX}), SWATH_OK);
  EXPECT_EQ(numbers[2], 10);
  MUST(swath_close(n));
}

TEST_F(CTest, EnginesMethodsAndStreamsAreTheProgramsChoice) {
  make("a.nc3");
  const std::vector<std::vector<const char*>> choices = {{"posix", "sieve", "auto"},
                                                         {"auto", "direct", "none"},
                                                         {"posix", "two-phase/list", "2"},
                                                         {nullptr, "list", "read=1,write=auto"}};
  for (const auto& choice : choices) {
    swath_options options;
    swath_options_init(&options);
    options.engine = choice[0];
    options.method = choice[1];
    options.streams = choice[2];
    swath_array* n = nullptr;
    MUST(swath_open(path("a.nc3").c_str(), "n", "r", &options, &n));
    int32_t numbers[3][3];
    const swath_slice slices[] = {{0, SWATH_END, 1}, {0, SWATH_END, 2}};
    MUST(swath_read(n, nullptr, slices, numbers, nullptr));
    EXPECT_EQ(numbers[2][1], 12);
    char* text = nullptr;
    MUST(swath_explain(n, 0, nullptr, slices, &text));
    const std::string method = std::string(choice[1]).substr(0, std::string(choice[1]).find('/'));
    if (method != "two-phase") EXPECT_NE(std::string(text).find(method), std::string::npos) << text;
    swath_free(text);
    MUST(swath_close(n));
  }
}

TEST_F(CTest, APlanIsExplained) {
  make("a.nc3");
  swath_array* n = nullptr;
  MUST(swath_open(path("a.nc3").c_str(), "n", "r", nullptr, &n));
  char* text = nullptr;
  MUST(swath_explain(n, 0, nullptr, nullptr, &text));
  EXPECT_NE(std::string(text).find("a.nc3:n"), std::string::npos) << text;
  swath_free(text);
  EXPECT_EQ(swath_explain(n, 0, nullptr, nullptr, nullptr), SWATH_ERROR_ARGUMENT);
  MUST(swath_close(n));
}

TEST_F(CTest, BoxesMayLieAnywhereInMemory) {
  make("a.zarr");
  const std::string error = error_on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    swath_array* n = nullptr;
    open_array(comm, {path("a.zarr").c_str(), "g/n", "r+", nullptr}, &n);
    // Rank 0 has two boxes, rank 1 one box with transposed memory, rank 2 none.
    const int64_t begins[] = {0, 0, 2, 1};
    const int64_t ends[] = {1, 2, 3, 3};
    const int64_t begin_of_1[] = {1, 3};
    const int64_t end_of_1[] = {3, 5};
    int32_t first[2] = {};
    int32_t second[3] = {};
    int32_t square[4] = {};
    void* const of_0[] = {first, second};
    void* const of_1[] = {square};
    const int64_t apart[] = {12, 8};
    const int64_t transposed[] = {4, 8};
    const int64_t* const strides_of_0[] = {nullptr, apart};
    const int64_t* const strides_of_1[] = {transposed};
    int kind = SWATH_OK;
    if (comm->rank() == 0) kind = swath_read_boxes(n, 2, begins, ends, of_0, strides_of_0);
    if (comm->rank() == 1) kind = swath_read_boxes(n, 1, begin_of_1, end_of_1, of_1, strides_of_1);
    if (comm->rank() == 2) kind = swath_read_boxes(n, 0, nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(kind, SWATH_OK) << swath_error_message();
    if (comm->rank() == 0) {
      EXPECT_EQ(std::vector<int32_t>(first, first + 2), (std::vector<int32_t>{0, 1}));
      EXPECT_EQ(std::vector<int32_t>(second, second + 3), (std::vector<int32_t>{11, 0, 12}));
    }
    if (comm->rank() == 1) EXPECT_EQ(std::vector<int32_t>(square, square + 4), (std::vector<int32_t>{8, 13, 9, 14}));
    // One rank's box is invalid: all ranks get the error.
    const void* const data[] = {square};
    const int wrong = swath_write_boxes(n, 1, comm->rank() == 1 ? end_of_1 : begin_of_1, end_of_1, data, nullptr);
    EXPECT_EQ(wrong, SWATH_ERROR_ARGUMENT) << "and ranks 0 and 2 write the same elements";
    const int64_t far[] = {9, 9};
    kind = swath_write_boxes(n, comm->rank() == 2 ? 1 : 0, begin_of_1, far, data, nullptr);
    const std::string message = swath_error_message();
    EXPECT_EQ(kind, SWATH_ERROR_ARGUMENT);
    EXPECT_EQ(message.substr(0, 7), "rank 2:");
    EXPECT_EQ(swath_close(n), SWATH_OK);
    return SWATH_OK;
  });
  EXPECT_EQ(error, "");
}

// No rank waits for ever: an error of one rank is raised on all.
TEST_F(CTest, WhatIsWrongOnOneRankIsTheSameErrorOnAll) {
  for (const std::string name : {"a.nc3", "a.zarr"}) {
    make(name);
    const std::string variable = grouped(name);
    for (int wrong = 0; wrong < 6; ++wrong) {
      SCOPED_TRACE(name + " " + std::to_string(wrong));
      const std::string error = error_on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
        swath_array* n = nullptr;
        open_array(comm, {path(name).c_str(), wrong > 3 ? "t" : variable.c_str(), "r+", nullptr}, &n);
        const bool is_wrong = comm->rank() == 1;
        const swath_rule rules[] = {{SWATH_CYCLIC, 1}, {SWATH_WHOLE, 0}};
        const int grid[] = {is_wrong && wrong == 0 ? 4 : 3, 1};
        const swath_rule one_rule = {SWATH_BLOCK, 0};
        const int one_grid = 3;
        swath_distribution* whose = nullptr;
        if (wrong == 4) {
          swath_distribution_create(is_wrong ? 2 : 1, is_wrong ? rules : &one_rule, is_wrong ? grid : &one_grid,
                                    &whose);
        } else if (wrong == 5) {
          swath_distribution_create(1, &one_rule, &one_grid, &whose);
        } else {
          swath_distribution_create(is_wrong && wrong == 1 ? 1 : 2, rules, grid, &whose);
        }
        const swath_slice slices[] = {{0, is_wrong && wrong == 2 ? 9 : 3, 1}, {0, 5, 1}};
        std::vector<double> numbers(15);
        void* data = is_wrong && (wrong == 3 || wrong == 5) ? nullptr : numbers.data();
        int kind = SWATH_OK;
        if (wrong < 4) {
          kind = swath_read(n, whose, slices, data, nullptr);
          const std::string first = swath_error_message();
          swath_request* request = nullptr;
          int later = swath_read_async(n, whose, slices, data, nullptr, &request);
          if (later == SWATH_OK) later = swath_wait(request);
          EXPECT_EQ(later, kind);
          EXPECT_EQ(swath_error_message(), first);
          if (wrong == 0) {  // no pointer for the request, on one rank
            EXPECT_EQ(swath_read_async(n, whose, slices, data, nullptr, is_wrong ? nullptr : &request) == SWATH_OK &&
                          swath_wait(request) == SWATH_OK,
                      false);
          }
          EXPECT_EQ(swath_write(n, whose, slices, data, nullptr), kind);
        } else {
          kind = swath_append(n, whose, data, nullptr);
        }
        EXPECT_EQ(kind, SWATH_ERROR_ARGUMENT);
        const std::string message = swath_error_message();
        swath_distribution_free(whose);
        int64_t shape[SWATH_DIMENSIONS_MAX];
        EXPECT_EQ(swath_inquire(n, nullptr, shape, nullptr), SWATH_OK);
        EXPECT_EQ(shape[0], 3) << "no record more";
        EXPECT_EQ(swath_close(n), SWATH_OK) << swath_error_message();
        if (kind != SWATH_OK) fail_argument(message);
        return kind;
      });
      EXPECT_EQ(error.substr(0, 7), "rank 1:") << error;
    }
    fs::remove_all(path(name));
  }
}

TEST_F(CTest, OptionsThatDifferAreToldToAll) {
  const int64_t shape[] = {4};
  const std::string error = error_on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    swath_array* array = nullptr;
    create_array(comm, path("a.npy").c_str(), {nullptr, 1, shape, nullptr, comm->rank() == 2 ? "f9" : "f4"}, nullptr,
                 &array);
    return SWATH_OK;
  });
  EXPECT_EQ(error.substr(0, 20), "rank 2: dtype 'f9': ");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CTest, WhatIsDiscardedIsGone) {
  const std::string error = error_on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    const int64_t shape[] = {4, SWATH_UNLIMITED};
    swath_array* array = nullptr;
    create_array(comm, path("a.npy").c_str(), {nullptr, 1, shape, nullptr, "f4"}, nullptr, &array);
    EXPECT_EQ(swath_discard(array), SWATH_OK);
    EXPECT_TRUE(fs::is_empty(folder_));
    swath_file* file = nullptr;
    create_file(comm, path("a.zarr").c_str(), nullptr, &file);
    EXPECT_EQ(swath_define(file, "t", 1, shape, nullptr, "f4", nullptr, &array), SWATH_OK) << swath_error_message();
    EXPECT_EQ(swath_file_discard(file), SWATH_OK);
    EXPECT_TRUE(fs::is_empty(folder_));
    comm->barrier();
    return SWATH_OK;
  });
  EXPECT_EQ(error, "");
  // In an existing file, only the additions are undone.
  for (const std::string name : {"b.zarr", "b.nc3"}) {
    make(name);
    swath_file* file = nullptr;
    swath_array* t = nullptr;
    const int64_t shape[] = {4};
    int64_t count = 0;
    MUST(swath_open(path(name).c_str(), "t", "r+", nullptr, &t));
    EXPECT_EQ(swath_file_close(swath_file_of(t)), SWATH_ERROR_ARGUMENT) << "it is closed with its array";
    MUST(swath_set_attribute(swath_file_of(t), "", "title", "text", -1, "new"));
    MUST(swath_discard(t));
    MUST(swath_file_open(path(name).c_str(), "r+", nullptr, &file));
    MUST(swath_attribute_count(file, "", &count));
    EXPECT_EQ(count, 0);
    MUST(swath_define(file, "new", 1, shape, nullptr, "f4", nullptr, &t));
    MUST(swath_file_discard(file));
    MUST(swath_file_open(path(name).c_str(), "r", nullptr, &file));
    MUST(swath_variable_count(file, &count));
    EXPECT_EQ(count, 2);
    MUST(swath_file_close(file));
  }
}

// Ranks append records from memory with borders, in formats of both byte orders.
TEST_F(CTest, RecordsAreAppendedFromStridedMemory) {
  for (const std::string name : {"a.nc3", "a.zarr", "a.h5", "a.nc4"}) {
    SCOPED_TRACE(name);
    const std::string error = error_on_ranks(2, [&](const std::shared_ptr<Comm>& comm) {
      const int64_t shape[] = {SWATH_UNLIMITED, 4, 3};
      const swath_rule rules[] = {{SWATH_CYCLIC, 1}, {SWATH_WHOLE, 0}};
      const int grid[] = {2, 1};
      const int64_t strides[] = {40, 8};
      swath_file* file = nullptr;
      swath_array* t = nullptr;
      swath_distribution* rows = nullptr;
      create_file(comm, path(name).c_str(), nullptr, &file);
      const bool has_names = name != "a.h5";
      const char* const names[] = {"time", "y", "x"};
      EXPECT_EQ(swath_define(file, "t", 3, shape, has_names ? names : nullptr, "f8", nullptr, &t), SWATH_OK)
          << swath_error_message();
      EXPECT_EQ(swath_distribution_create(2, rules, grid, &rows), SWATH_OK);
      for (int step = 0; step < 3; ++step) {
        double memory[2][5] = {};
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 3; ++j) memory[i][j + 1] = 100 * step + 10 * (2 * i + comm->rank()) + j;
        }
        EXPECT_EQ(swath_append(t, rows, &memory[0][1], strides), SWATH_OK) << swath_error_message();
      }
      swath_distribution_free(rows);
      return swath_file_close(file);
    });
    if (error.find("libhdf5") != std::string::npos) continue;  // no HDF5 on this machine
    EXPECT_EQ(error, "");
    swath_array* t = nullptr;
    MUST(swath_open(path(name).c_str(), "t", "r", nullptr, &t));
    double found[3][4][3] = {};
    MUST(swath_read(t, nullptr, nullptr, found, nullptr));
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 3; ++j) EXPECT_EQ(found[step][i][j], 100 * step + 10 * i + j);
      }
    }
    MUST(swath_close(t));
  }
}

}  // namespace
}  // namespace swath::c_interface
