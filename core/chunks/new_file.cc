#include "chunks/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"

namespace swath {
namespace {

// A hidden name beside `name` that no other process and no other thread has.
std::string name_aside(const std::string& name) {
  static std::atomic<uint64_t> files{0};
  const size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  return name.substr(0, base) + "." + name.substr(base) + ".swath-" + std::to_string(::getpid()) + "-" +
         std::to_string(files++);
}

void make_folders(int folder, const std::string& name) {
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    // Where it is there already, or cannot be made, creating the file says so.
    static_cast<void>(::mkdirat(folder, name.substr(0, slash).c_str(), 0777));
  }
}

int create(int folder, const std::string& name) {
  return ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

}  // namespace

NewFile::NewFile(int folder, const std::string& folder_path, std::string name, Counters& counters)
    : folder_(folder),
      path_(folder_path + "/" + name),
      name_(std::move(name)),
      aside_(name_aside(name_)),
      counters_(counters) {
  int opened = create(folder_, aside_);
  if (opened < 0 && errno == ENOENT) {
    make_folders(folder_, name_);
    opened = create(folder_, aside_);
  }
  if (opened < 0) fail("create", errno);
  descriptor_ = Descriptor(opened);
}

NewFile::~NewFile() {
  if (descriptor_.is_open() && !completed_) ::unlinkat(folder_, aside_.c_str(), 0);
}

void NewFile::append(std::span<const std::byte> bytes) {
  if (gathered_.size() + bytes.size() > static_cast<size_t>(kGatheredBytes)) flush();
  if (bytes.size() >= static_cast<size_t>(kGatheredBytes)) {
    write_at(bytes, written_);
    written_ += static_cast<int64_t>(bytes.size());
  } else {
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  }
}

void NewFile::replace_start(std::span<const std::byte> bytes) {
  flush();
  write_at(bytes, 0);
}

void NewFile::complete() {
  flush();
  if (::renameat(folder_, aside_.c_str(), folder_, name_.c_str()) != 0) fail("rename " + aside_ + " to", errno);
  completed_ = true;
}

void NewFile::flush() {
  write_at(gathered_, written_);
  written_ += static_cast<int64_t>(gathered_.size());
  gathered_.clear();
}

void NewFile::write_at(std::span<const std::byte> bytes, int64_t offset) {
  size_t done = 0;
  while (done < bytes.size()) {
    check_interrupt();
    const size_t left = bytes.size() - done;
    const size_t part = std::min(left, static_cast<size_t>(kCallBytesMax));
    const ssize_t wrote = ::pwrite(descriptor_.get(), bytes.data() + done, part, offset + static_cast<int64_t>(done));
    if (wrote < 0 && errno == EINTR) {
      check_interrupt_now();
      continue;
    }
    if (wrote <= 0) {
      fail("write at " + std::to_string(offset) + ": wanted " + std::to_string(bytes.size()) + " bytes, wrote " +
               std::to_string(done) + " of",
           wrote < 0 ? errno : ENOSPC);
    }
    done += static_cast<size_t>(wrote);
    counters_.write_requests += part == left || static_cast<size_t>(wrote) < part;
    counters_.written_bytes += wrote;
  }
}

void NewFile::fail(const std::string& what, int error) const {
  throw Error(ErrorKind::kStore, what + " " + path_ + ": " + system_message(error), error);
}

}  // namespace swath
