#include "formats/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "store/file_calls.h"

namespace swath::formats {
namespace {

constexpr int64_t kClearedBytes = int64_t{4} << 20;  // written at a time

}  // namespace

FreshFile::FreshFile(std::string path) : path_(std::move(path)) {
  descriptor_ = store_errors(path_, "create", [&] {
    constexpr mode_t kMode = 0666;
    return file_calls::open_file(path_, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR, kMode).release();
  });
}

FreshFile::~FreshFile() {
  const Descriptor closed(descriptor_);
  if (is_kept_) return;
  try {
    file_calls::remove_file(path_);
  } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): the caller gets the first error
  }
}

void FreshFile::write(const std::string& bytes) {
  store_errors(path_, "create", [&] { file_calls::write_next(descriptor_, bytes); });
}

void FreshFile::extend(int64_t bytes) { formats::extend(path_, descriptor_, bytes); }

void extend(const std::string& path, int descriptor, int64_t bytes) {
  store_errors(path, "extend to " + std::to_string(bytes) + " bytes", [&] {
    if (file_calls::status_of(descriptor).st_size < bytes) file_calls::set_size(descriptor, bytes);
  });
}

void extend(const std::string& path, int64_t bytes) {
  const Descriptor file = store_errors(path, "extend", [&] { return file_calls::open_file(path, O_RDWR); });
  extend(path, file.get(), bytes);
}

std::vector<FileRange> stored_ranges(int descriptor, FileRange range) {
  std::vector<FileRange> found;
  range.end = std::min<int64_t>(range.end, file_calls::status_of(descriptor).st_size);
  for (int64_t at = range.begin; at < range.end;) {
    int64_t data = lseek(descriptor, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // there are no more data
    int64_t hole = data < 0 ? -1 : lseek(descriptor, data, SEEK_HOLE);
    if (data < 0 || hole < 0) {
      data = at;
      hole = range.end;
    }
    if (data < range.end) found.push_back({data, std::min(hole, range.end)});
    at = hole;
  }
  return found;
}

void clear(int descriptor, FileRange range) {
  for (const FileRange& stored : stored_ranges(descriptor, range)) {
    for (int64_t at = stored.begin; at < stored.end; at += kClearedBytes) {
      file_calls::write_at(descriptor, std::string(std::min(kClearedBytes, stored.end - at), '\0'), at);
    }
  }
}

void check_whole(const Description& description, int64_t file_bytes) {
  if (file_bytes >= description.end) return;
  throw Error(ErrorKind::kFormat, description.name() + ": the format places data up to byte " +
                                      std::to_string(description.end) + ", but the file has " +
                                      std::to_string(file_bytes) +
                                      " bytes: " + std::to_string(description.end - file_bytes) +
                                      " are missing; the file is truncated or its header is wrong");
}

}  // namespace swath::formats
