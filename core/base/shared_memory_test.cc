#include "base/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "comm/fork_ranks_for_tests.h"
#include "comm/node_shared.h"
#include "testing/shared_folder.h"
#include "throttle/tokens.h"

namespace swath {
namespace {

constexpr uid_t kNobody = 65534;

class SharedMemory : public testing::Test {
 protected:
  std::shared_ptr<const SharedFolder> open() {
    reason.clear();
    return SharedFolder::open(reason);
  }
  std::string file(const std::string& name) const { return own.path() + "/" + name; }
  void make_file(const std::string& name, mode_t mode = 0600) const {
    std::ofstream(file(name)) << "text";
    chmod(file(name).c_str(), mode);
  }
  bool exists(const std::string& name) const {
    struct stat status{};
    return lstat(file(name).c_str(), &status) == 0;
  }

  OwnSharedFolder own;
  std::string reason;
};

bool is_root() { return geteuid() == 0; }

// The result of `work` in a process that has not opened the folder yet.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void expect_reason(const std::string& reason, const std::string& part) {
  EXPECT_NE(reason.find(part), std::string::npos) << reason;
}

TEST_F(SharedMemory, TheFolderIsMadeForThisUserAlone) {
  const auto folder = open();
  ASSERT_NE(folder, nullptr) << reason;
  struct stat status{};
  ASSERT_EQ(stat(own.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  EXPECT_EQ(status.st_uid, geteuid());
}

TEST_F(SharedMemory, AFolderThatOthersMayUseIsRefused) {
  mkdir(own.path().c_str(), 0700);
  chmod(own.path().c_str(), 0770);
  EXPECT_EQ(open(), nullptr);
  EXPECT_EQ(reason, own.path() +
                        ": other users may use it (mode 0770, expected 0700); SWATH_SHM_DIR names another "
                        "folder for shared memory");
}

TEST_F(SharedMemory, AFolderOfAnotherUserIsRefused) {
  if (!is_root()) GTEST_SKIP() << "only root can make a folder of another user's";
  mkdir(own.path().c_str(), 0700);
  ASSERT_EQ(chown(own.path().c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(open(), nullptr);
  expect_reason(reason, "it belongs to user 65534, expected 0");
}

TEST_F(SharedMemory, WhatIsNoFolderIsRefused) {
  const std::string elsewhere = own.path() + ".elsewhere";
  mkdir(elsewhere.c_str(), 0700);
  ASSERT_EQ(symlink(elsewhere.c_str(), own.path().c_str()), 0);
  EXPECT_EQ(open(), nullptr);
  expect_reason(reason, "it is no folder, or a link");
  unlink(own.path().c_str());
  std::ofstream(own.path()) << "";
  EXPECT_EQ(open(), nullptr);
  expect_reason(reason, "it is no folder, or a link");
}

TEST_F(SharedMemory, OnlyPlainFilesOfThisUserAloneAreOpened) {
  const auto folder = open();
  ASSERT_NE(folder, nullptr);
  std::string why;

  make_file("good");
  EXPECT_TRUE(folder->open_file("good", why).is_open()) << why;

  EXPECT_FALSE(folder->open_file("none", why).is_open());
  EXPECT_EQ(errno, ENOENT);

  ASSERT_EQ(symlink("good", file("link").c_str()), 0);
  EXPECT_FALSE(folder->open_file("link", why).is_open());
  EXPECT_FALSE(folder->open_or_create("link", why).is_open());

  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(folder->open_file("pipe", why).is_open());
  EXPECT_EQ(why, file("pipe") + ": it is no plain file");

  make_file("readable", 0644);
  EXPECT_FALSE(folder->open_file("readable", why).is_open());
  expect_reason(why, "other users may use it (mode 0644, expected 0600)");

  ASSERT_EQ(link(file("good").c_str(), file("again").c_str()), 0);
  EXPECT_FALSE(folder->open_file("good", why).is_open());
  expect_reason(why, "it has several names");

  EXPECT_FALSE(folder->create("again").is_open());
  EXPECT_EQ(errno, EEXIST);

  if (!is_root()) return;
  make_file("foreign");
  ASSERT_EQ(chown(file("foreign").c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(folder->open_file("foreign", why).is_open());
  expect_reason(why, "it belongs to user 65534, expected 0");
}

TEST_F(SharedMemory, NamesOfWindowsCannotBeToldBeforehand) {
  const std::string one = SharedFolder::new_window_name();
  const std::string other = SharedFolder::new_window_name();
  EXPECT_EQ(one.find("window-" + std::to_string(getpid()) + "-"), 0U);
  ASSERT_EQ(one.size(), other.size());
  int different = 0;
  for (size_t i = one.size() - 32; i < one.size(); ++i) different += one[i] != other[i];
  EXPECT_GT(different, 16) << one << " " << other;
}

TEST_F(SharedMemory, WhatTheDeadHaveLeftIsRemovedAndWhatIsInUseIsNot) {
  ASSERT_NE(open(), nullptr);
  make_file(SharedFolder::table_name("left"));
  make_file(SharedFolder::table_name("held"));
  const Descriptor holder(::open(file(SharedFolder::table_name("held")).c_str(), O_RDWR));
  ASSERT_TRUE(hold_with_others(holder));

  const std::string being_attached = SharedFolder::new_window_name();
  make_file(being_attached);
  SharedByForks<std::array<char, 128>> name;
  in_child([&] {
    SharedFolder::new_window_name().copy(name->data(), name->size() - 1);
    return 0;
  });
  const std::string left = name->data();
  make_file(left);
  const std::string forgotten = SharedFolder::new_window_name();
  make_file(forgotten);
  const timespec long_ago[2] = {{.tv_sec = time(nullptr) - 7200, .tv_nsec = 0},
                                {.tv_sec = time(nullptr) - 7200, .tv_nsec = 0}};
  utimensat(AT_FDCWD, file(forgotten).c_str(), long_ago, 0);

  EXPECT_EQ(in_child([&] { return open() == nullptr ? 1 : 0; }), 0);
  EXPECT_FALSE(exists(SharedFolder::table_name("left")));
  EXPECT_TRUE(exists(SharedFolder::table_name("held")));
  EXPECT_TRUE(exists(being_attached));
  EXPECT_FALSE(exists(left));
  EXPECT_FALSE(exists(forgotten));
}

// Earlier versions left files in /dev/shm itself, which other programs use, too.
TEST_F(SharedMemory, WhatEarlierVersionsHaveLeftIsRemovedWhereItIsOurs) {
  const std::string tables = "/dev/shm/swath-tokens-" + std::to_string(geteuid()) + "-test" + std::to_string(getpid());
  const std::string window = "/dev/shm/swath-" + std::to_string(getpid()) + "-0123456789abcde";
  const std::vector<std::string> paths = {tables + "left", tables + "held", tables + "link",
                                          window + "0",    window + "1",    window + "2"};
  for (const std::string& path : paths) {
    if (!path.ends_with("link")) std::ofstream(path) << "text";
    chmod(path.c_str(), path == window + "2" ? 0666 : 0600);
  }
  ASSERT_EQ(symlink("somewhere", paths[2].c_str()), 0);
  const Descriptor holder(::open(paths[1].c_str(), O_RDWR));
  ASSERT_TRUE(hold_with_others(holder));
  const timespec long_ago[2] = {{.tv_sec = time(nullptr) - 7200, .tv_nsec = 0},
                                {.tv_sec = time(nullptr) - 7200, .tv_nsec = 0}};
  for (const char* last : {"1", "2"}) utimensat(AT_FDCWD, (window + last).c_str(), long_ago, 0);

  EXPECT_EQ(in_child([&] { return open() == nullptr ? 1 : 0; }), 0);
  std::vector<bool> there;
  for (const std::string& path : paths) {
    struct stat status{};
    there.push_back(lstat(path.c_str(), &status) == 0);
    unlink(path.c_str());
  }
  EXPECT_EQ(there, (std::vector<bool>{false, true, true, true, false, true}));
}

// Half of the processes hold tokens; half are killed while their ranks attach windows of a MiB.
TEST_F(SharedMemory, AHundredKilledProcessesLeaveNothingAfterOneStart) {
  constexpr int kProcesses = 100;
  SharedByForks<std::atomic<int>> started;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    if (open() == nullptr) _exit(1);  // so that no process removes the files of another one
    ++*started;
    while (*started < kProcesses) usleep(1000);
    if (i % 2 == 0) {
      const auto tokens = NodeTokens::open("killed " + std::to_string(i), "disk", &reason);
      tokens->enter();
      tokens->acquire(Direction::kRead, Pattern::kLarge, StreamLimit::fixed(1), real_clock());
      if (!reason.empty()) _exit(1);
      kill(getpid(), SIGKILL);
    }
    const auto killed = [](std::span<const std::byte>, std::span<std::byte>) { kill(getpid(), SIGKILL); };
    std::string refusal;
    NodeShared::attach(0, 4, killed, refusal);
    _exit(1);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
  }
  EXPECT_EQ(own.files(), kProcesses);
  {
    const auto tokens = NodeTokens::open("one start", "disk", &reason);
    EXPECT_EQ(reason, "");
    EXPECT_EQ(own.files(), 1);
  }
  EXPECT_EQ(own.files(), 0);
}

// Another user has created the folder first.
TEST_F(SharedMemory, TokensAndWindowsInAForeignFolderAreThisProcessAlone) {
  mkdir(own.path().c_str(), 0700);
  chmod(own.path().c_str(), 0777);
  const auto tokens = NodeTokens::open("foreign", "disk", &reason);
  expect_reason(reason, "other users may use it (mode 0777, expected 0700)");
  expect_reason(reason, "; this process counts its own streams only");
  const Grant grant = tokens->acquire(Direction::kRead, Pattern::kLarge, StreamLimit::fixed(1), real_clock());
  EXPECT_GE(grant.seat, 0);
  tokens->give_back(grant, 1, true, real_clock());
  EXPECT_TRUE(NodeTokens::status_of_all(&reason).empty());
  expect_reason(reason, "other users may use it");
  EXPECT_EQ(own.files(), 0);
  std::string refusal;
  const auto alone = [](std::span<const std::byte> mine, std::span<std::byte> all) {
    std::copy(mine.begin(), mine.end(), all.begin());
  };
  EXPECT_EQ(NodeShared::attach(0, 1, alone, refusal), nullptr);
  expect_reason(refusal, "other users may use it");
}

}  // namespace
}  // namespace swath
