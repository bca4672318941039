// Requests as system calls: pread and pwrite; preadv and pwritev for scattered memory. One call is one request, so that
// strace and the counters agree; in interruptible work a long request is several calls (bytes_to_attempt).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/background_batch.h"
#include "store/open_file.h"
#include "store/request.h"

namespace swath {

class PosixEngine : public FileEngine {
 public:
  PosixEngine(std::shared_ptr<OpenFile> file, int64_t request_bytes_max)
      : FileEngine(std::move(file), request_bytes_max) {}

  std::string name() const override { return name_of("posix"); }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  // Reads the file's size only after a short read.
  int64_t read_to_end(const Transfer& piece, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override { background_.wait(counters); }

 private:
  void transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) const;
  int64_t attempt(Direction direction, FileRequest& request) const;
  int64_t call(Direction direction, const FileRequest& request) const;

  BackgroundBatch background_;  // last, so that its thread ends before what it uses
};

}  // namespace swath
