// Engines by name, and the system calls at opening a file.
#include <fcntl.h>

#include <climits>

#include "store/engine_test_file.h"
#include "store/open_file.h"

namespace swath {
namespace {

TEST(OpenFile, LeavesNoFlagThatIsNotForFiles) {
  EngineTestFile file;
  file.write(counting_bytes(1));
  for (const int flags : {O_RDONLY, O_RDWR}) {
    const int descriptor = open_existing(AT_FDCWD, file.path(), flags | O_CLOEXEC, Openable::kRegularFiles);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(::fcntl(descriptor, F_GETFL) & (O_ACCMODE | O_NONBLOCK), flags);
    EXPECT_EQ(::fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    ::close(descriptor);
  }
  EXPECT_EQ(open_existing(AT_FDCWD, "/dev/null", O_RDWR, Openable::kRegularFilesAndBlockDevices), -ESPIPE);
  EXPECT_EQ(open_existing(AT_FDCWD, file.path() + "/none", O_RDONLY, Openable::kRegularFiles), -ENOTDIR);
}

TEST(OpenEngine, UnknownNamesAndOptionsAreRefusedWithWhatIsExpected) {
  EngineTestFile file;
  const auto error = [&](EngineOptions options) {
    return error_of([&] { open_engine(file.path(), OpenMode::kCreateNew, options); });
  };
  EXPECT_EQ(error({.engine = "floppy"}).kind(), ErrorKind::kArgument);
  EXPECT_EQ(std::string(error({.engine = "floppy"}).what()),
            "engine \"floppy\": expected auto, posix, uring, null, fault:RULE, or model:PRESET[@NAME]");
  EXPECT_EQ(error({.queue_depth = 0}).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error({.queue_depth = 1 << 20}).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error({.request_bytes_max = 0}).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error({.request_bytes_max = int64_t{1} << 31}).kind(), ErrorKind::kArgument);
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(OpenEngine, EnginesKeepToTheirCapabilities) {
  EngineTestFile file;
  file.write(counting_bytes(1));
  for (const std::string name : {"auto", "posix", "uring", "null", "fault:read@9=EIO", "model:p690-raid5"}) {
    const auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = name});
    const Capabilities able = engine->capabilities();
    EXPECT_EQ(engine->cached_part(0, 1).has_value(), able.reports_cached) << name;
    EXPECT_EQ(engine->cached_view() != nullptr, able.shows_cache) << name;
    EXPECT_EQ(engine->lock(0, 1) != nullptr, able.lock_for_holes) << name;
    EXPECT_EQ(able.ranges_max(Direction::kRead), IOV_MAX) << name;
  }
}

TEST(OpenEngine, NamesSayWhatCarriesTheBytes) {
  EngineTestFile file;
  file.write(counting_bytes(1));
  const auto name = [&](const std::string& engine) {
    return open_engine(file.path(), OpenMode::kRead, {.engine = engine})->name();
  };
  EXPECT_EQ(name("posix"), "posix");
  EXPECT_EQ(name("null"), "null");
  EXPECT_EQ(name("fault:read@0=EIO"), "fault(posix)");
  EXPECT_EQ(name("model:p690-raid5"), "modelled disk p690-raid5");
}

}  // namespace
}  // namespace swath
