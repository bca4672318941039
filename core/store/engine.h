// The only interface through which stored bytes are accessed. An engine is one open file and one way of moving bytes.
//
// Every engine passes the same contract suite (engine_contract_test.cc). One operation at a time uses an engine;
// threads that share an array have one each (array/shared_engine.h). An engine counts requests and bytes, also those
// before an error; the caller counts seconds and locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/counters.h"
#include "base/descriptor.h"
#include "base/direction.h"
#include "store/batch.h"
#include "store/cached_view.h"
#include "store/capabilities.h"
#include "store/open_mode.h"
#include "store/server_turns.h"
#include "store/structured.h"

namespace swath {

// A lock on [begin, end) of the file, released by the destructor.
class RangeLock {
 public:
  virtual ~RangeLock() = default;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // "posix", "uring", "null", "fault(posix)", "modelled disk ssd".
  virtual std::string name() const = 0;
  virtual const std::string& path() const = 0;
  // What the engine can do; constant while it is open.
  virtual Capabilities capabilities() const { return {}; }

  // Carries out the whole batch. On return every byte has been moved, or an Error names path, offset, bytes wanted,
  // bytes got and the reason. Adjacent file ranges of the batch (a.offset + a.bytes == b.offset) are ONE request:
  // memory may be scattered, the file range may not (preadv, pwritev; at most IOV_MAX pieces a request). Short
  // transfers continue, EINTR retries, EAGAIN waits. Reading beyond the end of the file is an error.
  virtual void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) = 0;

  // Reads one range, or its part before the end of the file, and returns its bytes. An empty part is no error.
  virtual int64_t read_to_end(const Transfer& piece, Counters& counters);

  // Transfers the elements of an access in a range, as structure. This default flattens it into batches of bounded size
  // for transfer(); an engine whose store accepts structure (capabilities().structured_requests) passes it on.
  virtual void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters);

  // Writes a range of which the caller has some bytes only (read-modify-write). Reads the range into `image.data`
  // (zeros beyond the end), calls fill_in() to set the caller's bytes, and writes the range. No concurrent write of
  // other bytes is lost, if other writers also use this call, or hold lock_shared() where capabilities() requires a
  // lock. fill_in() may be called several times. Without holes nothing is read, but the write is still visible to other
  // updates of the range.
  virtual void update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                      Counters& counters);

  // Starts a batch in the background; at most one may run. wait() returns when it is done, and throws its error. The
  // batch's memory must stay valid until then; the span itself need not (it is copied).
  virtual void start(Direction direction, std::span<const Transfer> batch) = 0;
  virtual void wait(Counters& counters) = 0;
  // Starts a structured transfer in the background, until wait(): flattened or passed on, as above. Everything that it
  // refers to must stay valid; bytes_done is not updated.
  virtual void start_structured(Direction direction, const StructuredTransfer& structured);

  // Waits for exclusive use of [begin, end) among cooperating writers: an open-file-description lock. Null if
  // capabilities() requires no lock.
  virtual std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) = 0;
  // The same for writers that read nothing: any number at a time, but no writer fills holes there meanwhile (it would
  // write back old bytes). Null if no other writers are expected (EngineOptions::other_writers).
  virtual std::unique_ptr<RangeLock> lock_shared(int64_t /*begin*/, int64_t /*end*/) { return nullptr; }

  // The part of [offset, offset + bytes) in the page cache, from 0 to 1, sampled above 4 MiB; nullopt if unknown (no
  // cachestat). Reading a range that is cached as a whole does not wait for the device.
  virtual std::optional<double> cached_part(int64_t /*offset*/, int64_t /*bytes*/) const { return std::nullopt; }
  // Maps cached pages without copying them, for one operation; null if this engine must see every byte (to count, break
  // or model requests).
  virtual std::unique_ptr<CachedView> cached_view() { return nullptr; }

  // Copies a cached range without a wait for the device. Returns false if a part is not cached, or if the engine must
  // see every byte; memory is then undefined.
  virtual bool read_cached(const Transfer& /*piece*/, Counters& /*counters*/) { return false; }
  // A hint that the range will be read: it may be prefetched from the device. Does not wait.
  virtual void will_need(int64_t /*offset*/, int64_t /*bytes*/) {}

  // This stream has finished its transfers for now: a throttled engine (throttle/throttled_engine.h) gives back the
  // token that it keeps between transfers. To be called before waiting for other ranks.
  virtual void end_burst() {}
  // No transfers will follow for a while: a throttled engine does not count as a stream until the next one.
  virtual void rest() {}
  // Allows or forbids the kernel's readahead; it is allowed by default.
  virtual void set_readahead(bool /*wanted*/) {}
  // The device should write data at once, since a sync will follow (base/write_behind.h).
  virtual void set_write_behind(bool /*wanted*/) {}

  virtual int64_t size() const = 0;
  virtual void resize(int64_t bytes) = 0;  // new bytes read as zero
  // Reserves storage for the first `bytes` bytes, if the store can, so that later writes do not run out of space. The
  // file grows to that size, and existing bytes do not change.
  virtual void allocate(int64_t bytes) {
    if (bytes < 0 || size() < bytes) resize(bytes);
  }
  virtual void sync() = 0;  // fsync: on the medium when it returns
  // For a store that accepts writes to a removed file: throws Error{kStore} with ESTALE if writes through engines of
  // this file since the last check or sync may be lost.
  virtual void check_written() {}
};

struct EngineOptions {
  // "auto" takes the engine that was measured best (decision record 0005); "posix", "uring", "null";
  // "fault:<rule>" wraps posix and breaks a chosen request, for tests (see fault.h);
  // "model:<preset>" moves bytes in the time of a modelled disk (see model.h).
  std::string engine = "auto";
  int queue_depth = 64;                          // requests in flight of one uring batch
  int64_t request_bytes_max = int64_t{1} << 30;  // larger transfers are split: the kernel stops at 2 GiB - 4096
  double lock_timeout_seconds = kNever;          // the timeout of lock()
  // Other processes write to other bytes of the file, outside of these operations: every write takes lock_shared().
  bool other_writers = false;
  // For a store of several servers: gives each server's turns to operations; null: no throttling.
  std::shared_ptr<ServerTurns> servers = nullptr;
};

// Makes one more engine of an open file. If it is not the engine that was asked for, `reason` (may be null) receives
// the reason; else it stays empty.
using MakeEngine = std::function<std::unique_ptr<Engine>(std::string* reason)>;

// Opens `path` for any number of engines, which several threads may make and use: they share the file, its injected
// faults and its modelled disk. Throws Error{kStore} with the errno of the system.
MakeEngine open_for_engines(const std::string& path, OpenMode mode, const EngineOptions& options);

// The same for an open file; errors call it `path`.
MakeEngine engines_of(Descriptor file, const std::string& path, OpenMode mode, const EngineOptions& options);

// The same for one engine.
std::unique_ptr<Engine> open_engine(const std::string& path, OpenMode mode, const EngineOptions& options,
                                    std::string* reason = nullptr);

}  // namespace swath
