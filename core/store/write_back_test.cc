#include "store/write_back.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace swath {
namespace {

constexpr int64_t kPages = 8;

class WriteBack : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "write_back_" + std::to_string(::getpid());
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ASSERT_TRUE(file_.is_open());
    const std::string bytes(page_, 'x');
    for (int64_t page = 0; page < kPages; ++page) {  // single pages: one long write makes large folios
      ASSERT_EQ(::pwrite(file_.get(), bytes.data(), bytes.size(), page * page_), page_);
    }
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // For each page of the file, if it is in the page cache.
  std::vector<unsigned char> cached() const {
    const size_t bytes = kPages * page_;
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file_.get(), 0);
    std::vector<unsigned char> pages(kPages);
    EXPECT_EQ(::mincore(mapped, bytes, pages.data()), 0);
    ::munmap(mapped, bytes);
    for (auto& page : pages) page &= 1;
    return pages;
  }
  // False on a file system in memory, whose pages cannot be dropped.
  bool forgets() const {
    finish_write_back(path_, 0, 0);
    forget_cached(path_, 0, 0);
    const auto pages = cached();
    return std::count(pages.begin(), pages.end(), 0) == kPages;
  }

  const int64_t page_ = ::sysconf(_SC_PAGESIZE);
  std::string path_;
  Descriptor file_;
};

TEST_F(WriteBack, PagesThatHoldMoreThanTheRangeStayInTheCache) {
  begin_write_back(path_, 0, 0);
  finish_write_back(path_, page_ + 1, 5 * page_ - 1);
  forget_cached(path_, page_ + 1, 5 * page_ - 1);
  const auto pages = cached();
  if (pages[2] != 0 && !forgets()) GTEST_SKIP() << path_ << ": the file system keeps its files in memory";
  const std::vector<unsigned char> expected = {1, 1, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(pages, expected);
}

TEST_F(WriteBack, ARangeWithinAPageForgetsNothing) {
  finish_write_back(path_, 0, 0);
  forget_cached(path_, 1, page_ - 1);
  const std::vector<unsigned char> expected(kPages, 1);
  EXPECT_EQ(cached(), expected);
}

TEST_F(WriteBack, WhatIsNoFileIsLeftAlone) {
  for (const std::string& path : {testing::TempDir(), path_ + ".absent"}) {
    EXPECT_NO_THROW(begin_write_back(path, 0, 0));
    EXPECT_NO_THROW(finish_write_back(path, 0, 0));
    EXPECT_NO_THROW(forget_cached(path, 0, 0));
  }
}

}  // namespace
}  // namespace swath
