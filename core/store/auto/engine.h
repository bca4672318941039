// An engine that chooses by batch: many reads that wait for a device go through io_uring, everything else through
// posix, as measured (decision record 0005).
#pragma once

#include <memory>
#include <string>

#include "store/open_file.h"
#include "store/posix/engine.h"

namespace swath {

class AutoEngine : public FileEngine {
 public:
  AutoEngine(const std::shared_ptr<OpenFile>& file, const EngineOptions& options);

  std::string name() const override;
  Capabilities capabilities() const override;
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  int64_t read_to_end(const Transfer& piece, Counters& counters) override {
    return posix_.read_to_end(piece, counters);
  }
  void start(Direction direction, std::span<const Transfer> batch) override { posix_.start(direction, batch); }
  void wait(Counters& counters) override { posix_.wait(counters); }
  std::unique_ptr<CachedView> cached_view() override;

 private:
  bool waits_for_device(std::span<const Transfer> batch) const;
  Engine* uring();

  EngineOptions options_;
  PosixEngine posix_;
  std::unique_ptr<Engine> uring_;  // made at first use: a ring costs memory
  bool uring_refused_ = false;
};

}  // namespace swath
