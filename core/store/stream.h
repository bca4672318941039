// A stream, as targets count them: it moves the bytes of any number of files, one after another.
#pragma once

#include <functional>
#include <memory>

#include "store/engine.h"

namespace swath {

// This base class never waits; throttle/throttled_engine.h has one that takes tokens. For one thread at a time.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Wraps an engine whose transfers belong to this stream; it must not outlive the stream.
  virtual std::unique_ptr<Engine> carry(std::unique_ptr<Engine> engine) { return engine; }
};

// Makes one more stream; any thread may call it.
using MakeStream = std::function<std::unique_ptr<Stream>()>;

}  // namespace swath
