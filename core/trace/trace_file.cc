#include "trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/units.h"
#include "store/file_calls.h"
#include "trace/gzip.h"

namespace swath::trace {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "host";
}

}  // namespace

TraceFile::TraceFile(const std::string& folder, int rank, int64_t bytes_max) : bytes_max_(bytes_max) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // if it failed, opening the file reports the reason
  char rank_text[16] = {};
  std::snprintf(rank_text, sizeof(rank_text), "%06d", rank);
  const std::filesystem::path whole = std::filesystem::absolute(folder, error);  // the program may change its folder
  const std::string stem =
      (error ? folder : whole.string()) + "/rank-" + rank_text + "-" + host_name() + "-" + std::to_string(getpid());
  int reason = EEXIST;  // the name is taken by another copy of this library, or by an earlier process
  for (int copy = 1; reason == EEXIST && copy < 1000; ++copy) {
    path_ = stem + (copy == 1 ? "" : "-" + std::to_string(copy)) + ".pfw.gz";
    try {
      file_calls::open_file(path_, O_WRONLY | O_CREAT | O_EXCL, 0666);
      reason = 0;
    } catch (const Refusal& refusal) {
      reason = refusal.error();
    }
  }
  if (reason != 0) throw Error(ErrorKind::kStore, "trace " + path_ + ": " + std::strerror(reason), reason);
}

std::string TraceFile::append(std::string_view lines) {
  if (!stopped_.empty()) return stopped_;
  const std::string member = gzip_member(lines);
  const auto bytes = static_cast<int64_t>(member.size());
  if (bytes_ + bytes > bytes_max_) {
    stopped_ = "it would be longer than " + in_bytes(bytes_max_) + " (SWATH_TRACE_LIMIT)";
    return stopped_;
  }
  try {
    const Descriptor file = file_calls::open_file(path_, O_WRONLY | O_APPEND);
    try {
      file_calls::write_next(file.get(), member);
      bytes_ += bytes;
    } catch (const Refusal& refusal) {
      stopped_ = std::strerror(refusal.error());
      end_with_whole_members(file.get());
    }
  } catch (const Refusal& refusal) {
    stopped_ = std::strerror(refusal.error());
  }
  return stopped_;
}

void TraceFile::end_with_whole_members(int descriptor) {
  try {
    file_calls::set_size(descriptor, bytes_);
  } catch (const Refusal&) {
    stopped_ += ", and its last part is cut";
  }
}

}  // namespace swath::trace
