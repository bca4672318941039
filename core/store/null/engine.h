// No store at all: reads give zeros, writes vanish, requests and bytes are counted as posix would count them. For
// measuring everything but the store.
//
// Nothing is opened or made. size() starts as the size of the file that `path` names (0 where there is none), and grows
// with writes. A read past it gives zeros too: another rank's null engine cannot know how far this one has written.
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
  // It tells nothing of a cache, having none.
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
