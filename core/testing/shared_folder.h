// Tests only: each test has its own folder of shared memory, which its processes use instead of the user's.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace swath {

class OwnSharedFolder {
 public:
  OwnSharedFolder() {
    char made[] = "/dev/shm/swath-test-XXXXXX";
    if (mkdtemp(made) == nullptr) ADD_FAILURE() << "cannot make a folder in /dev/shm";
    around_ = made;
    setenv("SWATH_SHM_DIR", path().c_str(), 1);
  }
  ~OwnSharedFolder() {
    unsetenv("SWATH_SHM_DIR");
    std::filesystem::remove_all(around_);
  }
  OwnSharedFolder(const OwnSharedFolder&) = delete;
  OwnSharedFolder& operator=(const OwnSharedFolder&) = delete;

  // It does not exist yet: Swath makes it.
  std::string path() const { return around_ + "/own"; }
  int files() const {
    int count = 0;
    if (!std::filesystem::exists(path())) return 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path())) ++count;
    return count;
  }
  std::string only_file() const { return std::filesystem::directory_iterator(path())->path(); }

 private:
  std::string around_;
};

}  // namespace swath
