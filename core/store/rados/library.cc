#include "store/rados/library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace swath {
namespace {

struct Found {
  Librados functions;
  std::string refusal;  // why it cannot be used; empty if it can
};

Found find() {
  Found found;
  dlerror();
  // Returns the library of the program if it has loaded one. Never closed: the library's threads run until the process
  // ends.
  void* handle = dlopen("librados.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    found.refusal = "files in Ceph pools need librados, and it is not found: install it (Debian: librados2); tried: ";
    found.refusal += why == nullptr ? "librados.so.2" : why;
    return found;
  }
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments of a function have theirs
#define SWATH_RADOS_FIND(result, name, arguments)                                                           \
  found.functions.name = reinterpret_cast<result(*) arguments>(dlsym(handle, "rados_" #name));              \
  if (found.functions.name == nullptr && found.refusal.empty()) {                                           \
    found.refusal =                                                                                         \
        "files in Ceph pools need librados of Ceph 14 or newer: the one that is found has no rados_" #name; \
  }
  SWATH_RADOS_FUNCTIONS(SWATH_RADOS_FIND)
#undef SWATH_RADOS_FIND
  // NOLINTEND(bugprone-macro-parentheses)
  return found;
}

const Found& found_once() {
  static const Found* const found = new Found(find());  // never destroyed: late destructors use it
  return *found;
}

}  // namespace

const Librados& librados() {
  const Found& found = found_once();
  if (!found.refusal.empty()) throw Error(ErrorKind::kUnsupported, found.refusal);
  return found.functions;
}

std::string librados_refusal() { return found_once().refusal; }

}  // namespace swath
