#include "store/model/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "store/file_identity.h"
#include "store/request.h"

namespace swath {
namespace {

FileKey key_of(const OpenFile& file) {
  struct stat status = {};
  ::fstat(file.descriptor(), &status);  // does not fail for an open descriptor
  return {status.st_dev, status.st_ino};
}

// 0 if the file system does not report it.
int64_t birth_time(const OpenFile& file) { return FileIdentity::of(file.descriptor()).born.value_or(0); }

std::vector<Transfer> transfers_of(const FileRequest& request) {
  std::vector<Transfer> transfers;
  int64_t offset = request.offset;
  for (const iovec& piece : request.pieces) {
    const auto bytes = static_cast<int64_t>(piece.iov_len);
    transfers.push_back({offset, static_cast<std::byte*>(piece.iov_base), bytes});
    offset += bytes;
  }
  return transfers;
}

}  // namespace

void add_new_file(const OpenFile& file, ModelledDisk& disk) { disk.create(key_of(file), birth_time(file)); }

ModelEngine::ModelEngine(const std::shared_ptr<OpenFile>& file, std::shared_ptr<ModelledDisk> disk,
                         int64_t request_bytes_max)
    : FileEngine(file, request_bytes_max),
      disk_(std::move(disk)),
      key_(key_of(*file)),
      posix_(file, request_bytes_max) {
  disk_->adopt(key_, birth_time(*file), file->size());
}

// Finishes the current batch. A deferred batch is still moved, without a wait for the modelled disk.
ModelEngine::~ModelEngine() {
  if (!remembered_) return;
  try {
    posix_.transfer(started_direction_, started_batch_, started_counters_);
  } catch (const Error&) {  // ignored, like the error of any background batch without a wait()
    remembered_ = false;
  }
}

Capabilities ModelEngine::capabilities() const {
  Capabilities able = FileEngine::capabilities();
  able.reports_cached = true;
  able.reads_ahead = false;
  return able;
}

void ModelEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  transfer_batch(direction, batch, counters);
}

void ModelEngine::start(Direction direction, std::span<const Transfer> batch) {
  if (remembered_ || background_.busy()) fail_already_started(path());
  check_batch(batch);
  started_batch_.assign(batch.begin(), batch.end());
  started_counters_ = {};
  started_direction_ = direction;
  if (clock_of_thread().simulated()) {
    remembered_ = true;
  } else {
    background_.start([this] { transfer_batch(started_direction_, started_batch_, started_counters_); });
  }
}

void ModelEngine::wait(Counters& counters) {
  struct AddAlways {  // bytes moved before an error count, too
    Counters& to;
    Counters& from;
    ~AddAlways() { to += std::exchange(from, {}); }
  } add{counters, started_counters_};
  if (std::exchange(remembered_, false)) {
    transfer_batch(started_direction_, started_batch_, started_counters_);
  } else {
    background_.wait();
  }
}

void ModelEngine::transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  Clock& clock = clock_of_thread();
  FileRequest request;
  for (RequestCutter cutter(batch, std::min(request_bytes_max(direction), disk_->request_bytes()));
       !cutter.exhausted();) {
    cutter.next(request);
    const double done =
        disk_->transfer(key_, direction, request.offset, request.bytes, [&clock] { return clock.now(); });
    posix_.transfer(direction, transfers_of(request), counters);
    sleep_unless_interrupted(clock, done);
  }
}

std::optional<double> ModelEngine::cached_part(int64_t /*offset*/, int64_t bytes) const {
  return bytes > 0 ? 0.0 : 1.0;
}

void ModelEngine::resize(int64_t bytes) {
  FileEngine::resize(bytes);
  disk_->resize(key_, bytes);
}

std::shared_ptr<ModelledDisk> modelled_disk_of(const std::string& rule) {
  const size_t at = rule.find('@');
  const std::string preset = rule.substr(0, at);
  const std::string name = at == std::string::npos ? preset : rule.substr(at + 1);
  if (name.empty()) fail_argument("engine \"model:" + rule + "\": expected model:PRESET or model:PRESET@NAME");
  return modelled_disk(name, preset);
}

}  // namespace swath
