// Kernels that refuse io_uring: simulated by a seccomp filter on one thread, as container runtimes install it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <thread>

#include "store/engine_test_file.h"

namespace swath {
namespace {

// From now on `system_call` fails with `error`, in the calling thread only.
bool refuse_in_this_thread(unsigned system_call, int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = 4, .filter = program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class UringRefused : public testing::Test {
 protected:
  void SetUp() override {
    file.write(counting_bytes(1000));
    open_engine(file.path(), OpenMode::kRead, {.engine = "uring"}, &fell_back);
    if (!fell_back.empty()) GTEST_SKIP() << fell_back;
  }
  EngineTestFile file;
  std::string fell_back;
};

TEST_F(UringRefused, PosixCarriesTheBytesAndTheReasonSaysWhy) {
  bool filtered = false;
  std::string name, reason;
  Bytes bytes(1000);
  std::thread([&] {
    filtered = refuse_in_this_thread(SYS_io_uring_setup, EPERM);
    auto engine = open_engine(file.path(), OpenMode::kRead, {.engine = "uring"}, &reason);
    name = engine->name();
    Counters counters;
    const Transfer batch[] = {transfer_of(0, bytes)};
    engine->transfer(Direction::kRead, batch, counters);
  }).join();
  if (!filtered) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(name, "posix");
  EXPECT_EQ(reason,
            "io_uring refused by the kernel (Operation not permitted; see /proc/sys/kernel/io_uring_disabled): posix "
            "carries the bytes");
  EXPECT_EQ(bytes, counting_bytes(1000));
}

TEST_F(UringRefused, ARingThatBreaksLaterWaitsForWhatIsInFlightAndThenThrows) {
  auto engine = open_engine(file.path(), OpenMode::kRead, {.engine = "uring", .queue_depth = 4}, nullptr);
  bool filtered = false;
  Error broken(ErrorKind::kNone, "");
  Counters counters;
  Bytes started(500), bytes(500);
  const Transfer in_flight[] = {transfer_of(0, started)};
  engine->start(Direction::kRead, in_flight);
  std::thread([&] {
    filtered = refuse_in_this_thread(SYS_io_uring_enter, EPERM);
    const Transfer batch[] = {transfer_of(500, bytes)};
    broken = error_of([&] { engine->transfer(Direction::kRead, batch, counters); });
  }).join();
  if (!filtered) {
    engine->wait(counters);
    GTEST_SKIP() << "no seccomp filters here";
  }
  EXPECT_EQ(broken.kind(), ErrorKind::kStore);
  EXPECT_EQ(broken.os_error(), EPERM);
  EXPECT_EQ(started, [] {
    Bytes head = counting_bytes(1000);
    head.resize(500);
    return head;
  }());
  EXPECT_NE(std::string(error_of([&] { engine->wait(counters); }).what()).find("failed earlier"), std::string::npos);
}

}  // namespace
}  // namespace swath
