#include "array/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "store/open_file.h"

namespace swath {
namespace {

void sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::syncfs(folder.get()) != 0) {
    throw Error(ErrorKind::kStore, "sync " + path + ": " + system_message(errno), errno);
  }
}

void check_offset(const char* doing, const std::string& path, int64_t offset) {
  if (offset < 0)
    fail_argument(std::string(doing) + " " + path + ": offset " + std::to_string(offset) + " is negative");
}

}  // namespace

File::File(std::string path, SharedEngine::Make make)
    : path_(std::move(path)), engine_(std::in_place, std::move(make)) {}

std::string File::engine_name() { return engine_ ? engine_->lease()->name() : "chunks"; }

SharedEngine& File::engine() {
  if (!engine_) throw Error(ErrorKind::kInternal, path_ + " is a folder: no engine moves its bytes");
  return *engine_;
}

int64_t File::read(int64_t offset, std::span<std::byte> bytes) {
  check_offset("read", path_, offset);
  const auto lease = engine().lease();
  const int64_t count = std::clamp<int64_t>(lease->size() - offset, 0, std::ssize(bytes));
  if (count == 0) return 0;
  Counters counters;
  const Transfer transfer{offset, bytes.data(), count};
  lease->transfer(Direction::kRead, {&transfer, 1}, counters);
  lease->end_burst();
  return count;
}

void File::write(int64_t offset, std::span<const std::byte> bytes) {
  check_offset("write", path_, offset);
  if (bytes.empty()) return;
  const auto lease = engine().lease();
  Counters counters;
  // An engine reads from the memory of a write, and leaves it as it is.
  const Transfer transfer{offset, const_cast<std::byte*>(bytes.data()), std::ssize(bytes)};
  lease->transfer(Direction::kWrite, {&transfer, 1}, counters);
  lease->end_burst();
}

void File::sync() {
  if (engine_) {
    engine_->lease()->sync();
  } else {
    sync_folder(path_);
  }
}

}  // namespace swath
