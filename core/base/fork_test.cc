#include "base/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swath {
namespace {

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Fork, EveryChildHasAnotherGenerationThanItsParentWhichKeepsItsOwn) {
  const uint64_t parent = fork_generation();
  const pid_t child = fork();
  if (child == 0) {
    const uint64_t own = fork_generation();
    const pid_t grandchild = fork();
    const bool is_alone = !has_memory_of_parent();
    if (grandchild == 0) _exit(is_alone && fork_generation() != own && fork_generation() != parent ? 0 : 1);
    _exit(own != parent && fork_generation() == own && status_of(grandchild) == 0 ? 0 : 1);
  }
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(fork_generation(), parent);
  EXPECT_FALSE(has_memory_of_parent());
}

}  // namespace
}  // namespace swath
