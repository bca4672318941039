#include "store/write_back.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/math.h"
#include "store/open_file.h"

namespace swath {
namespace {

Descriptor open_regular(const std::string& path) {
  return Descriptor(open_existing(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, Openable::kRegularFiles));
}

void write_back(const std::string& path, int64_t begin, int64_t end, unsigned flags) {
  const Descriptor file = open_regular(path);
  if (file.is_open()) sync_file_range(file.get(), begin, end - begin, flags);
}

}  // namespace

void begin_write_back(int descriptor, int64_t offset, int64_t bytes) {
  sync_file_range(descriptor, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

void begin_write_back(const std::string& path, int64_t begin, int64_t end) {
  write_back(path, begin, end, SYNC_FILE_RANGE_WRITE);
}

void finish_write_back(const std::string& path, int64_t begin, int64_t end) {
  write_back(path, begin, end, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

void forget_cached(const std::string& path, int64_t begin, int64_t end) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const int64_t first = ceil_div(begin, page_bytes) * page_bytes;
  const int64_t last = end / page_bytes * page_bytes;
  const bool is_whole = begin == 0 && end == 0;
  if (!is_whole && last <= first) return;
  const Descriptor file = open_regular(path);
  if (file.is_open()) posix_fadvise(file.get(), first, last - first, POSIX_FADV_DONTNEED);
}

}  // namespace swath
