#include "mpi_io/shared_pointer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace swath::mpi_io {
namespace {

[[noreturn]] void fail(const std::string& path, const char* doing) {
  const int error = errno;
  throw Error(ErrorKind::kStore,
              std::string(doing) + " the shared file pointer in " + path + ": " + std::strerror(error), error);
}

// Holds a fair lock of the kernel during its lifetime: only for the time of one addition.
class Locked {
 public:
  explicit Locked(int file) : file_(file) {
    while (set(F_OFD_SETLKW, F_WRLCK) != 0) {
      if (errno != EINTR) fail("a small file", "lock");
    }
  }
  ~Locked() { set(F_OFD_SETLK, F_UNLCK); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int set(int command, short type) const {
    struct flock all = {};
    all.l_type = type;
    all.l_whence = SEEK_SET;
    return ::fcntl(file_, command, &all);
  }

  int file_;
};

}  // namespace

SharedPointer::~SharedPointer() = default;

void SharedPointer::open() {
  if (file_.is_open()) return;
  if (folder_.empty()) {
    std::string reason;
    shared_memory_ = SharedFolder::open(reason);
    do {  // the first process in the folder removes unused files
      if (shared_memory_ != nullptr) file_ = shared_memory_->open_or_create(SharedFolder::table_name(name_), reason);
      if (!file_.is_open()) {
        throw Error(ErrorKind::kStore, "open the shared file pointer in shared memory: " + reason, errno);
      }
    } while (!hold_with_others(file_) || !has_name(file_));
    return;
  }
  const std::string path = folder_ + "/." + name_;
  file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.is_open()) fail(path, "open");
}

int64_t SharedPointer::advance(int64_t etypes) {
  const std::lock_guard guard(mutex_);
  open();
  const Locked lock(file_.get());
  Record record{0, 0};
  if (::pread(file_.get(), &record, sizeof record, 0) < 0) fail(name_, "read");
  if (record.epoch < begun_.epoch) record = begun_;
  const int64_t before = record.value;
  record.value += etypes;
  if (::pwrite(file_.get(), &record, sizeof record, 0) != sizeof record) fail(name_, "write");
  return before;
}

void SharedPointer::set(int64_t etypes) {
  const std::lock_guard guard(mutex_);
  begun_ = {begun_.epoch + 1, etypes};
}

void SharedPointer::remove() {
  const std::lock_guard guard(mutex_);
  if (!folder_.empty()) {
    ::unlink((folder_ + "/." + name_).c_str());
  } else if (shared_memory_ != nullptr) {
    shared_memory_->remove(SharedFolder::table_name(name_));
  }
}

}  // namespace swath::mpi_io
