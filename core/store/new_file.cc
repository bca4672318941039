// Left after a kill: a chunk's file under its working name. A copy that goes on with the store removes it.
#include "store/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "store/atomic_file.h"
#include "store/open_file.h"

namespace swath {
namespace {

void make_folders(int folder, const std::string& name) {
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    // An existing folder, or an error, shows when the file is created.
    static_cast<void>(::mkdirat(folder, name.substr(0, slash).c_str(), 0777));
  }
}

Descriptor create(int folder, const std::string& name) {
  return Descriptor(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
}

}  // namespace

NewFile::NewFile(const FolderStore& folder, std::string name, Stream& stream, Counters& counters)
    : folder_(folder), name_(std::move(name)), working_name_(new_working_name(name_)), counters_(counters) {
  Descriptor file = create(folder_.folder_.get(), working_name_);
  if (!file.is_open() && errno == ENOENT) {
    make_folders(folder_.folder_.get(), name_);
    file = create(folder_.folder_.get(), working_name_);
  }
  if (!file.is_open()) fail("create", errno);
  try {
    const auto make = engines_of(std::move(file), folder_.path_of(name_), OpenMode::kCreateNew, folder_.options_);
    engine_ = stream.carry(make(nullptr));
  } catch (...) {
    remove();
    throw;
  }
}

NewFile::~NewFile() {
  if (!completed_) remove();
}

void NewFile::remove() const noexcept { ::unlinkat(folder_.folder_.get(), working_name_.c_str(), 0); }

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
  const int error = give_name(folder_.folder_.get(), working_name_, name_, Existing::kReplace);
  if (error != 0) fail("rename " + working_name_ + " to", error);
  completed_ = true;
}

void NewFile::flush() {
  write_at(gathered_, written_);
  written_ += static_cast<int64_t>(gathered_.size());
  gathered_.clear();
}

void NewFile::write_at(std::span<const std::byte> bytes, int64_t offset) {
  // On a write, an engine only reads from the memory.
  const Transfer piece{offset, const_cast<std::byte*>(bytes.data()), static_cast<int64_t>(bytes.size())};
  engine_->transfer(Direction::kWrite, {&piece, 1}, counters_);
  engine_->end_burst();  // the next data is encoded first: other streams may use the token meanwhile
}

void NewFile::fail(const std::string& what, int error) const {
  throw Error(ErrorKind::kStore, what + " " + folder_.path_of(name_) + ": " + system_message(error), error);
}

}  // namespace swath
