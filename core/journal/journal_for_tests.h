// Tests only: a file that changes, and the journals of killed processes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "journal/changes.h"

namespace swath {

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Leaves the state of a killed process: a child does the work, and ends without releasing anything.
inline void killed_after(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child has thrown an error";
}

template <typename Work>
Error error_thrown_by(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kNone, "nothing was thrown"};
}

// A folder with a file and a store; the test removes it at its end.
class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    std::string pattern = testing::TempDir() + "swath_journal_XXXXXX";
    folder = ::mkdtemp(pattern.data());
    path = folder + "/a.bin";
    journal = folder + "/.a.bin.swath-undo";
    for (int i = 0; i < 40 * 256; ++i) start.push_back(static_cast<char>(i));
    write_file(path, start);
  }
  ~JournalTest() override { std::filesystem::remove_all(folder); }

  // Overwrites bytes as a program does: their old content is kept first.
  void overwrite(Changes& changes, int64_t offset, const std::string& data) const {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    changes.keep(file.get(), offset, static_cast<int64_t>(data.size()));
    EXPECT_EQ(::pwrite(file.get(), data.data(), data.size(), offset), static_cast<ssize_t>(data.size()));
  }
  void add_behind_end(const std::string& data) const { std::ofstream(path, std::ios::binary | std::ios::app) << data; }
  // Changes a few ranges of the file, also across its end and after it; each number makes different changes.
  void change(Changes& changes, int number) const {
    const auto letter = static_cast<char>('A' + number);
    const auto end = static_cast<int64_t>(std::filesystem::file_size(path));
    changes.begin();
    overwrite(changes, 1000 + 100 * number, std::string(150, letter));
    overwrite(changes, end - 10, std::string(10, letter));
    add_behind_end(std::string(20 + static_cast<size_t>(number), letter));
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) found.insert(entry.path().filename());
    return found;
  }
  std::unique_ptr<Changes> open(ChangesOptions options = {}) const { return std::make_unique<Changes>(path, options); }

  std::string folder;
  std::string path;
  std::string journal;
  std::string start;  // the content of the file at first
};

class StoreJournalTest : public JournalTest {
 protected:
  StoreJournalTest() : store(folder + "/s.zarr") {
    std::filesystem::create_directories(store + "/a");
    write_file(store + "/zarr.json", "{}");
    write_file(store + "/a/zarr.json", "{\"shape\": 1}");
  }

  // The content of each file of the store; the name of a folder ends in "/".
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store)) {
      const std::string name = std::filesystem::relative(entry.path(), store);
      found[entry.is_directory() ? name + "/" : name] = entry.is_directory() ? "" : content_of(entry.path());
    }
    return found;
  }
  void replace(Changes& changes, const std::string& name, const std::string& content) const {
    changes.replaces_all({&name, 1});
    write_file(store + "/new", content);
    std::filesystem::rename(store + "/new", store + "/" + name);
  }
  void add_array(Changes& changes, int number) const {
    const std::string name = "v" + std::to_string(number);
    changes.adds("new");
    changes.adds(name);
    std::filesystem::create_directory(store + "/" + name);
    replace(changes, name + "/zarr.json", "new");
    replace(changes, "a/zarr.json", "first " + std::to_string(number));
    replace(changes, "a/zarr.json", "second " + std::to_string(number));
  }

  std::string store;
};

}  // namespace swath
