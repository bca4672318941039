#include "formats/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/descriptor.h"

namespace swath::formats {
namespace {

TEST(FilesTest, ARangeIsClearedAndNothingElse) {
  const std::string path = testing::TempDir() + "swath_cleared_" + std::to_string(getpid());
  const std::string before((9 << 20) + 5, 'x');  // more than one write
  std::ofstream(path, std::ios::binary) << before;
  {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    clear(file.get(), {3, (9 << 20) + 1});
    clear(file.get(), {std::ssize(before), std::ssize(before) + 10});  // after the end: the file does not grow
  }
  std::ifstream read(path, std::ios::binary);
  const std::string after{std::istreambuf_iterator<char>(read), {}};
  ::unlink(path.c_str());
  EXPECT_EQ(after, "xxx" + std::string((9 << 20) - 2, '\0') + "xxxx");
}

}  // namespace
}  // namespace swath::formats
