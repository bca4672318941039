#include "trace/trace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "trace/adaptive_file.h"
#include "trace/gzip.h"

namespace swath::trace {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/swath-trace-XXXXXX";
};

class Named final : public Event {
 public:
  explicit Named(std::string text) : Event("read", "test", 1.5, 2.25), text_(std::move(text)) {}

 private:
  void write_arguments(JsonObject& arguments) const override { arguments.put("text", text_); }
  const std::string text_;
};

class Defined final : public Definition {
 public:
  Defined() : Definition("swath_array", 17) {}

 private:
  void write_arguments(JsonObject& arguments) const override { arguments.put("shape", "x"); }
};

// Uncompresses the file with another program, gzip.
std::string uncompressed(const std::string& path) {
  const std::string command = "gzip -dc '" + path + "' 2>/dev/null";
  FILE* const pipe = popen(command.c_str(), "r");  // NOLINT(bugprone-command-processor): an independent reader
  std::string text;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::istringstream text(uncompressed(path));
  std::vector<nlohmann::json> lines;
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "[");
  while (std::getline(text, line)) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  return found;
}

std::vector<nlohmann::json> calls(const std::vector<nlohmann::json>& lines) {
  std::vector<nlohmann::json> found;
  for (const auto& line : lines) {
    if (line.at("ph") == "X") found.push_back(line);
  }
  return found;
}

class TraceTest : public testing::Test {
 protected:
  ~TraceTest() override { stop(); }
  const TemporaryFolder folder_;
};

TEST_F(TraceTest, NothingIsTracedUnlessItIsAsked) {
  EXPECT_FALSE(is_active());
  add(std::make_unique<Named>("nobody sees it"));
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(TraceTest, EventsAreLinesOfJsonInTheOrderInWhichTheyWereAdded) {
  start(folder_.path());
  EXPECT_TRUE(is_active());
  for (int at = 0; at < 3; ++at) {
    if (needs_definition(17)) add(std::make_unique<Defined>());
    add(std::make_unique<Named>("\"" + std::to_string(at) + "\"\n\x01 \xff ü"));
  }
  stop();
  const auto files = files_in(folder_.path());
  ASSERT_EQ(files.size(), 1U);
  const auto lines = lines_of(files[0]);
  const auto events = calls(lines);
  ASSERT_EQ(events.size(), 3U);
  for (int at = 0; at < 3; ++at) {
    EXPECT_EQ(events[at].at("name"), "read");
    EXPECT_EQ(events[at].at("cat"), "test");
    EXPECT_EQ(events[at].at("dur"), 750000.0);
    EXPECT_EQ(events[at].at("pid"), 0);
    EXPECT_EQ(events[at].at("tid"), gettid());
    EXPECT_EQ(events[at].at("args").at("text"), "\"" + std::to_string(at) + "\"\n\x01 \xEF\xBF\xBD ü");
  }
  EXPECT_EQ(lines[2].at("name"), "swath_trace");
  EXPECT_EQ(lines[2].at("args").at("version"), 2);
  EXPECT_EQ(lines[3].at("name"), "swath_array");  // once
  EXPECT_EQ(lines[3].at("args").at("key"), "0000000000000011");
  EXPECT_EQ(lines.back().at("name"), "swath_trace_end");
  EXPECT_EQ(lines.back().at("args").at("lines"), 4);
  EXPECT_EQ(lines.size(), 3U + 1U + 3U + 1U);
}

TEST_F(TraceTest, WhatSwathAdaptsIsNotedOnceForEachArrayAndMeans) {
  add_adaptive_file("a.raw", "prefetch");  // not traced
  start(folder_.path());
  for (int at = 0; at < 3; ++at) {
    add_adaptive_file("a.raw", "prefetch");
    add_adaptive_file("b.raw", "prefetch");
    add_adaptive_file("b.raw", "write behind");
  }
  stop();
  std::vector<std::string> notes;
  for (const auto& line : lines_of(files_in(folder_.path())[0])) {
    if (line.at("name") != "swath_adaptive_file") continue;
    EXPECT_EQ(line.at("ph"), "M");
    const auto& arguments = line.at("args");
    notes.push_back(arguments.at("identity").get<std::string>() + ": " + arguments.at("means").get<std::string>());
  }
  EXPECT_EQ(notes, (std::vector<std::string>{"a.raw: prefetch", "b.raw: prefetch", "b.raw: write behind"}));
}

TEST_F(TraceTest, ThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 30000;  // more than the queue holds
  start(folder_.path());
  std::vector<std::thread> threads;
  for (int at = 0; at < kThreads; ++at) {
    threads.emplace_back([] {
      for (int event = 0; event < kEvents; ++event) add(std::make_unique<Named>(std::to_string(event)));
    });
  }
  for (auto& thread : threads) thread.join();
  stop();
  std::map<int64_t, int> next;
  for (const auto& event : calls(lines_of(files_in(folder_.path())[0]))) {
    EXPECT_EQ(event.at("args").at("text"), std::to_string(next[event.at("tid")]++));
  }
  EXPECT_EQ(next.size(), size_t{kThreads});
  for (const auto& [thread, count] : next) EXPECT_EQ(count, kEvents);
}

TEST_F(TraceTest, AForkedChildHasAFileOfItsOwn) {
  start(folder_.path());
  add(std::make_unique<Named>("parent"));
  const pid_t child = fork();
  if (child == 0) {
    add(std::make_unique<Named>("child"));
    flush();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  stop();
  const auto files = files_in(folder_.path());
  ASSERT_EQ(files.size(), 2U);
  for (const auto& file : files) {
    const auto events = calls(lines_of(file));
    ASSERT_EQ(events.size(), 1U);
    const bool is_child = file.ends_with("-" + std::to_string(child) + ".pfw.gz");
    EXPECT_EQ(events[0].at("args").at("text"), is_child ? "child" : "parent");
  }
}

TEST_F(TraceTest, AKilledProcessLeavesWhatItDidUntilThen) {
  const pid_t child = fork();
  if (child == 0) {
    start(folder_.path());
    for (int event = 0; event < 100; ++event) add(std::make_unique<Named>(std::to_string(event)));
    flush();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto lines = lines_of(files_in(folder_.path())[0]);
  EXPECT_EQ(calls(lines).size(), 100U);
  EXPECT_NE(lines.back().at("name"), "swath_trace_end");
}

TEST_F(TraceTest, WhereTheLimitIsReachedTheTraceEndsAndTheProgramGoesOn) {
  setenv("SWATH_TRACE_LIMIT", "2000", 1);
  start(folder_.path());
  unsetenv("SWATH_TRACE_LIMIT");
  for (int event = 0; event < 100000; ++event) add(std::make_unique<Named>(std::to_string(event * 7919)));
  flush();
  stop();
  const std::string file = files_in(folder_.path())[0];
  EXPECT_LE(fs::file_size(file), 2000U);
  const auto lines = lines_of(file);  // whole
  EXPECT_NE(lines.back().at("name"), "swath_trace_end");
}

TEST_F(TraceTest, AFullDiskEndsTheTraceAndNotTheProgram) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3000, 3000};
    setrlimit(RLIMIT_FSIZE, &limit);
    start(folder_.path());
    for (int event = 0; event < 100000; ++event) add(std::make_unique<Named>(std::to_string(event * 7919)));
    flush();
    stop();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  const auto lines = lines_of(files_in(folder_.path())[0]);  // whole members
  EXPECT_NE(lines.back().at("name"), "swath_trace_end");
}

TEST_F(TraceTest, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_THROW(start("/dev/null/none"), Error);
  EXPECT_FALSE(is_active());
}

TEST(Gzip, MembersAreReadByGzip) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/text.gz";
  std::string all;
  std::ofstream file(path, std::ios::binary);
  for (const size_t bytes : {0U, 1U, 1000U, 0xFFFFU, 0x10000U, 200000U}) {
    std::string text(bytes, 'x');
    for (size_t at = 0; at < bytes; ++at) text[at] = static_cast<char>('a' + at * at % 23);
    file << gzip_member(text) << stored_gzip_member(text);
    all += text + text;
  }
  file.close();
  EXPECT_EQ(uncompressed(path), all);
}

TEST(Rank, IsThatOfTheEnvironment) {
  EXPECT_EQ(rank_of_environment(), 0);
  setenv("PMIX_RANK", "3", 1);
  EXPECT_EQ(rank_of_environment(), 3);
  unsetenv("PMIX_RANK");
  EXPECT_EQ(ranks_of_environment(), 0);
  setenv("PMI_SIZE", "4", 1);
  EXPECT_EQ(ranks_of_environment(), 4);
  unsetenv("PMI_SIZE");
}

}  // namespace
}  // namespace swath::trace
