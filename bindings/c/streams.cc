#include "streams.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "throttle/tokens.h"

namespace swath::c_interface {
namespace {

namespace fs = std::filesystem;

std::optional<StreamLimit> limit_of(const std::string& word, const std::string& streams) {
  if (word == "auto") return StreamLimit::adaptive();
  if (word == "none") return std::nullopt;
  int32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size() && number > 0) return StreamLimit::fixed(number);
  fail_argument("streams '" + streams + "': expected \"auto\", \"none\", a number from 1 on, or \"read=4,write=auto\"");
}

// The disk of a file, which may not exist yet; a partition counts as its whole disk.
std::string target_of(const std::string& path) {
  struct stat found = {};
  const fs::path folder = fs::path(path).parent_path();
  if (stat(path.c_str(), &found) != 0 && stat(folder.empty() ? "." : folder.c_str(), &found) != 0) return "unknown";
  const std::string number = std::to_string(major(found.st_dev)) + ":" + std::to_string(minor(found.st_dev));
  std::error_code ignored;
  fs::path disk = fs::canonical("/sys/dev/block/" + number, ignored);
  if (disk.empty()) return "device " + number;
  if (fs::exists(disk / "partition", ignored)) disk = disk.parent_path();
  return "disk " + disk.filename().string();
}

}  // namespace

void limit_streams(const std::string& streams, const std::string& path, FileOptions& file) {
  if (streams.find('=') == std::string::npos) {
    file.throttle.reads = limit_of(streams, streams);  // buffered writes are not throttled: the kernel orders them
  } else {
    for (size_t begin = 0; begin < streams.size();) {
      const size_t end = std::min(streams.find(',', begin), streams.size());
      const std::string part = streams.substr(begin, end - begin);
      const size_t equals = std::min(part.find('='), part.size());
      const std::string direction = part.substr(0, equals);
      const auto limit = limit_of(equals < part.size() ? part.substr(equals + 1) : "", streams);
      if (direction != "read" && direction != "write") {
        fail_argument("streams '" + streams + "': '" + direction + "' is neither \"read\" nor \"write\"");
      }
      (direction == "read" ? file.throttle.reads : file.throttle.writes) = limit;
      begin = end + 1;
    }
  }
  if (!file.throttle.reads && !file.throttle.writes) return;
  file.tokens = NodeTokens::open("started by " + std::to_string(getppid()), target_of(path));
}

}  // namespace swath::c_interface
