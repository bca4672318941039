#include "store/new_name.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "store/open_file.h"

namespace swath {

std::string random_digits() {
  std::array<unsigned char, 6> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw Error(ErrorKind::kStore, "no random numbers: " + system_message(errno), errno);
  }
  std::string digits;
  for (const unsigned char byte : random) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", byte);
    digits += two.data();
  }
  return digits;
}

}  // namespace swath
