#include "base/progress_hook.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/thread.h"

namespace swath {
namespace {

std::mutex mutex;
std::condition_variable changed;
std::atomic<int> times{0};

void count_with_the_lock() {
  const std::lock_guard guard(mutex);
  ++times;
}

class ProgressHooks : public testing::Test {
 protected:
  ProgressHooks() {
    times = 0;
    set_progress_hook(&count_with_the_lock);
  }
  ~ProgressHooks() override { set_progress_hook(nullptr); }

  // How often the hook ran in a wait for nothing, which is longer than a moment.
  static int times_in_a_wait() {
    const int before = times;
    std::unique_lock guard(mutex);
    wait_with_progress(changed, guard, 20 * kProgressHookSeconds);
    return times - before;
  }
};

TEST_F(ProgressHooks, AreDoneWithTheLockLetGoOf) { EXPECT_EQ(times_in_a_wait(), 1); }

TEST_F(ProgressHooks, AreNotDoneWhereThereAreNone) {
  set_progress_hook(nullptr);
  EXPECT_FALSE(has_progress_hook());
  EXPECT_EQ(times_in_a_wait(), 0);
}

TEST_F(ProgressHooks, AreNotDoneByOwnThreads) {
  EXPECT_FALSE(is_own_thread());
  start_thread([] {
    EXPECT_TRUE(is_own_thread());
    EXPECT_FALSE(has_progress_hook());
    EXPECT_EQ(times_in_a_wait(), 0);
  }).join();
}

TEST_F(ProgressHooks, AreNotDoneByForkedChildren) {
  EXPECT_TRUE(has_progress_hook());
  const pid_t child = fork();
  if (child == 0) _exit(has_progress_hook() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace swath
