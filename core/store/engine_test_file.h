// Shared by the engine tests: a temporary file, and memory contents that are easy to compare.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/engine.h"

namespace swath {

using Bytes = std::vector<std::byte>;

inline Bytes counting_bytes(size_t count, int first = 1) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((first + static_cast<int>(i % 251)) & 0xff);
  return bytes;
}

// A temporary folder, removed after the test.
class EngineTestFile {
 public:
  EngineTestFile() {
    std::string pattern = ::testing::TempDir() + "swath_engine_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~EngineTestFile() { std::filesystem::remove_all(folder_); }

  std::string folder() const { return folder_; }
  std::string path() const { return folder_ + "/bytes.raw"; }

  void write(const Bytes& bytes) const {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  Bytes contents() const {
    Bytes bytes(std::filesystem::file_size(path()));
    std::ifstream(path(), std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

 private:
  std::string folder_;
};

inline Transfer transfer_of(int64_t offset, Bytes& bytes) {
  return {offset, bytes.data(), static_cast<int64_t>(bytes.size())};
}

template <typename Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::kNone, "nothing was thrown");
}

// Tests with engines by name; each is a fault engine, with rules that may be empty.
class FaultyEngineTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Engine> open(const std::string& rules = "", OpenMode mode = OpenMode::kReadWrite) {
    const std::string separator = rules.empty() ? "" : ",";
    return open_engine(file.path(), mode, {.engine = "fault:" + rules + separator + "engine=" + GetParam()},
                       &fell_back);
  }
  void TearDown() override {
    if (!fell_back.empty()) GTEST_SKIP() << fell_back;
  }

  void move(Engine& engine, Direction direction, int64_t offset, Bytes& bytes) {
    const Transfer batch[] = {transfer_of(offset, bytes)};
    engine.transfer(direction, batch, counters);
  }

  EngineTestFile file;
  Counters counters;
  std::string fell_back;
};

}  // namespace swath
