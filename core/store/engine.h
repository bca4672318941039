// The only seam through which stored bytes are touched. An engine is one open file and one way of moving bytes.
//
// Every engine passes the same contract suite (engine_contract_test.cc). An engine belongs to one operation at a time;
// threads that share an array have one each (array/shared_engine.h). It counts requests and bytes, up to the point of
// an error too; seconds and locks are for the caller to count.
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
  // What may be asked of it, and what it tells; does not change while it is open.
  virtual Capabilities capabilities() const { return {}; }

  // Carries out the whole batch: on return every byte has been moved, or an Error names path, offset, bytes wanted,
  // bytes got and the reason. Neighbours in the batch whose file ranges abut (a.offset + a.bytes == b.offset) are ONE
  // request: memory may be scattered, the file is not (preadv, pwritev; at most IOV_MAX pieces a request).
  // Short transfers go on, EINTR retries, EAGAIN waits. Reading past the end of the file is an error.
  virtual void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) = 0;

  // Reads one range, or what there is of it before the end of the file: how many bytes that is. None is no error.
  virtual int64_t read_to_end(const Transfer& piece, Counters& counters);

  // Carries out what an access has of a range, as structure. Here it is flattened, in batches of bounded size, which go
  // through transfer(): an engine whose store takes structure (capabilities().structured_requests) sends it on as it
  // is.
  virtual void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters);

  // Writes a range of which `fill_in` knows some bytes only: `image.data` is what is stored there (zero beyond the
  // end), fill_in() puts in what it knows, and that is written back. No byte that somebody else writes meanwhile is
  // lost, as far as they, too, use this, or hold lock_shared() where capabilities() says that a lock is needed.
  // fill_in() may be called several times. Without holes nothing is read: whoever else updates the range must see what
  // is written.
  virtual void update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                      Counters& counters);

  // A batch in the background: at most one is under way. wait() returns when it is done and throws what it
  // threw. The batch's memory must stay valid until then; the span itself need not (it is copied).
  virtual void start(Direction direction, std::span<const Transfer> batch) = 0;
  virtual void wait(Counters& counters) = 0;
  // A structured transfer in the background, until wait(): flattened, or sent on, like the one in the foreground. What
  // it speaks of must stay valid; its bytes_done is not told.
  virtual void start_structured(Direction direction, const StructuredTransfer& structured);

  // Waits until [begin, end) is ours alone among cooperating writers: an open-file-description lock. Null where
  // capabilities() says that none is needed.
  virtual std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) = 0;
  // The same for who writes what it has and reads nothing: any number at a time, but nobody fills in holes there
  // meanwhile, which would write back what was there before. Null where nobody else is to be expected
  // (EngineOptions::other_writers).
  virtual std::unique_ptr<RangeLock> lock_shared(int64_t /*begin*/, int64_t /*end*/) { return nullptr; }

  // What part of [offset, offset + bytes) is in the page cache, from 0 to 1, of more than 4 MiB by samples; nothing
  // where that is not known (cachestat). What is all there is a copy to read, not a wait.
  virtual std::optional<double> cached_part(int64_t /*offset*/, int64_t /*bytes*/) const { return std::nullopt; }
  // To look at what is in the page cache without copying it, for one operation; null where every byte that this engine
  // moves is to be seen by somebody (who counts requests, breaks or models them).
  virtual std::unique_ptr<CachedView> cached_view() { return nullptr; }

  // Copies what is in the page cache, without a wait for the device: false where not all of it is there, or where every
  // byte is to be seen by somebody; memory is then anything.
  virtual bool read_cached(const Transfer& /*piece*/, Counters& /*counters*/) { return false; }
  // It will be read: what is not in the page cache may be asked of the device at once. Nobody waits.
  virtual void will_need(int64_t /*offset*/, int64_t /*bytes*/) {}

  // This stream has moved all that it has for now: a throttled engine (throttle/throttled_engine.h) gives back the
  // token that it keeps between transfers. To be called before waiting for other ranks.
  virtual void end_burst() {}
  // Nothing is to be moved until the next transfer: a throttled engine is no stream meanwhile.
  virtual void rest() {}
  // Whether the kernel may read on beyond what is asked for, in the background; it may by default.
  virtual void set_readahead(bool /*wanted*/) {}
  // Whether the device is to begin at once with what is written, as where a sync will follow (base/write_behind.h).
  virtual void set_write_behind(bool /*wanted*/) {}

  virtual int64_t size() const = 0;
  virtual void resize(int64_t bytes) = 0;  // new bytes read as zero
  // Reserves storage for the first `bytes` bytes, where the store can, so that writing there does not run out of it.
  // The file grows to hold them, and no byte that is there changes.
  virtual void allocate(int64_t bytes) {
    if (bytes < 0 || size() < bytes) resize(bytes);
  }
  virtual void sync() = 0;  // fsync: on the medium when it returns
  // Of a store that takes writes into a file that was removed meanwhile: throws Error{kStore} with ESTALE where what
  // was written through engines of this file since the last check, or sync, may be lost so.
  virtual void check_written() {}
};

struct EngineOptions {
  // "auto" takes what was measured best (decision record 0005); "posix", "uring", "null";
  // "fault:<rule>" wraps posix and breaks a chosen request, for tests (see fault.h);
  // "model:<preset>" moves bytes in the time of a modelled disk (see model.h).
  std::string engine = "auto";
  int queue_depth = 64;                          // requests in flight of one uring batch
  int64_t request_bytes_max = int64_t{1} << 30;  // larger transfers are split: the kernel stops at 2 GiB - 4096
  double lock_timeout_seconds = kNever;          // how long lock() waits
  // The file is written by others meanwhile who do not take part in the same operations, each in bytes of its own:
  // every write takes lock_shared().
  bool other_writers = false;
  // Of a store of several servers: whose operations each of them serves now; null: everybody's.
  std::shared_ptr<ServerTurns> servers = nullptr;
};

// Makes one more engine of an open file. `reason` (may be null) receives why the engine is another than the one asked
// for, else stays empty.
using MakeEngine = std::function<std::unique_ptr<Engine>(std::string* reason)>;

// Opens `path`, for any number of engines, which may be made and used by several threads: they have the file, its
// faults and its modelled disk in common. Throws Error{kStore} with the errno where the system refuses.
MakeEngine open_for_engines(const std::string& path, OpenMode mode, const EngineOptions& options);

// The same of a file that is open already, and is called `path` in errors.
MakeEngine engines_of(Descriptor file, const std::string& path, OpenMode mode, const EngineOptions& options);

// The same for one engine.
std::unique_ptr<Engine> open_engine(const std::string& path, OpenMode mode, const EngineOptions& options,
                                    std::string* reason = nullptr);

}  // namespace swath
