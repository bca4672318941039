// A whole engine in few lines, to copy: one system call a request, on files of this machine. It is compiled into the
// tests only. CONTRIBUTING.md says how a copy becomes an engine of the library. An engine for another kind of store
// derives from Engine and has a file class of its own: store/rados/ is an example.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "store/background_batch.h"
#include "store/open_file.h"

namespace swath {

class SkeletonEngine final : public FileEngine {
 public:
  SkeletonEngine(std::shared_ptr<OpenFile> file, int64_t request_bytes_max)
      : FileEngine(std::move(file), request_bytes_max) {}

  std::string name() const override { return "skeleton"; }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override { background_.wait(counters); }

 private:
  void transfer_checked(Direction direction, std::span<const Transfer> batch, Counters& counters) const;

  BackgroundBatch background_;  // last, so that its thread ends before what it uses
};

std::unique_ptr<Engine> open_skeleton_engine(const std::string& path, OpenMode mode, const EngineOptions& options);

}  // namespace swath
