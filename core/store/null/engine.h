// No store: reads return zeros, writes are dropped, and requests and bytes are counted as by posix. For measuring
// everything but the store.
//
// It opens and creates no file. size() starts as the size of the file at `path` (0 if none), and grows with writes. A
// read beyond it returns zeros, too: another rank's null engine does not know the writes of this one.
#pragma once

#include <span>
#include <string>

#include "store/engine.h"

namespace swath {

class NullEngine : public Engine {
 public:
  NullEngine(const std::string& path, OpenMode mode, int64_t request_bytes_max);

  std::string name() const override { return "null"; }
  const std::string& path() const override { return path_; }
  // Reports nothing about a cache, since it has none.
  Capabilities capabilities() const override { return {.lock_for_holes = false, .durable_when_answered = true}; }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override;
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override;
  int64_t size() const override { return size_; }
  void resize(int64_t bytes) override;
  void sync() override {}

 private:
  std::string path_;
  int64_t request_bytes_max_;
  int64_t size_ = 0;
  bool started_ = false;
  Counters started_counters_;
};

}  // namespace swath
