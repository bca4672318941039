// One of those that are served by a target at a time: it moves the bytes of any number of files, one after the other.
#pragma once

#include <functional>
#include <memory>

#include "store/engine.h"

namespace swath {

// This one waits for nobody; one that takes turns is in throttle/throttled_engine.h. Of one thread at a time.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // An engine whose transfers are this stream's; it must not outlive the stream.
  virtual std::unique_ptr<Engine> carry(std::unique_ptr<Engine> engine) { return engine; }
};

// Makes one more stream; called by any thread.
using MakeStream = std::function<std::unique_ptr<Stream>()>;

}  // namespace swath
