#include "files/open_name.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace swath {

OpenName::FileNumber OpenName::now() const {
  struct stat status = {};
  if (stat(path_.c_str(), &status) == 0) return {status.st_dev, status.st_ino};
  if (errno == ENOENT || errno == ENOTDIR) return {0, 0};
  const int error = errno;
  throw Error(ErrorKind::kStore,
              path_ + ": cannot see which file has its name: " + std::generic_category().message(error), error);
}

void OpenName::refuse_replaced(const std::string& doing) const {
  if (!is_replaced()) return;
  throw Error(ErrorKind::kStore,
              doing + " " + path_ +
                  ": the file that is open has lost its name since, to another one that replaced it or as it was "
                  "removed, and what is written into it is lost: open it again",
              ESTALE);
}

}  // namespace swath
