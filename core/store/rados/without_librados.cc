// Compiled in place of the other sources that include librados, where it is not installed.
#include "base/error.h"
#include "store/rados/driver.h"

namespace swath {
namespace {

[[noreturn]] void fail_without_librados(const std::string& path) {
  throw Error(ErrorKind::kUnsupported,
              path + ": this Swath was built without librados (install librados-dev, and build it again)");
}

}  // namespace

MakeEngine open_rados_engines(const std::string& path, OpenMode /*mode*/, const EngineOptions& /*options*/) {
  fail_without_librados(path);
}

std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& /*options*/) {
  fail_without_librados(final_path);
}

std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& /*options*/) {
  fail_without_librados(final_path);
}

std::string striped_name_of(const std::string& path) { fail_without_librados(path); }

std::string librados_version() { return ""; }

}  // namespace swath
