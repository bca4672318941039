// An engine that takes tokens: uncached reads, and writes if asked for, need a token of their target for each burst
// (tokens.h).
//
// Cached bytes are copied without a token: the kernel reports every 64 MiB if the next bytes are cached. While a limit
// is in force, the kernel's readahead is off, since it would read without a token. Bytes that were not cached when the
// stream reached them count as read from the device, even if readahead has fetched them meanwhile.
//
// The token is kept between transfers until the burst ends. It is given back before the stream waits for others: for a
// file lock, at the end of the operation, before an exchange (Engine::end_burst).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/background.h"
#include "store/engine.h"
#include "store/stream.h"
#include "throttle/tokens.h"
#include "trace/counter_track.h"

namespace swath {

struct ThrottleOptions {
  // Nullopt: no throttling. By default buffered writes are not throttled: the kernel orders them better if it has more
  // of them (the paper, section 3.1).
  std::optional<StreamLimit> reads = StreamLimit::adaptive();
  std::optional<StreamLimit> writes = std::nullopt;
  int64_t burst_bytes = int64_t{4} << 20;
  // The duration of a burst, which may extend to four times its bytes: a fast disk must not seek every 20 ms.
  double burst_seconds = 0.1;
};

// A stream's burst at a target: from the first transfer that needed a token to the burst's end.
class Turn {
 public:
  Turn(Tokens& tokens, const ThrottleOptions& options) : tokens_(tokens), options_(options) {}
  ~Turn() { end(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Takes a token, and returns true if there is a limit.
  bool begin(Direction direction, Pattern pattern, StreamLimit limit, Counters& counters);
  // Counts moved bytes; ends the burst if they are enough.
  void moved(int64_t bytes, bool from_device);
  void end();

 private:
  bool is_over() const;

  Tokens& tokens_;
  const ThrottleOptions& options_;
  std::optional<Grant> grant_;
  std::optional<trace::Counted> held_;
  Direction direction_ = Direction::kRead;
  Pattern pattern_ = Pattern::kLarge;
  int64_t bytes_ = 0;
  bool from_device_ = true;
};

// A stream of a target. It counts as a stream from construction to destruction, except while it rests.
class ThrottledStream final : public Stream {
 public:
  ThrottledStream(std::shared_ptr<Tokens> tokens, const ThrottleOptions& options);
  ~ThrottledStream() override { rest(); }

  std::unique_ptr<Engine> carry(std::unique_ptr<Engine> engine) override;

  Tokens& tokens() const { return *tokens_; }
  const ThrottleOptions& options() const { return options_; }
  // The current burst, shared by all its engines.
  Turn& turn() { return turn_; }
  // Without other streams there is no limit.
  std::optional<StreamLimit> limit_of(Direction direction) const;
  // False while a limit is in force (a fixed number, or a controller's), since readahead would read without a token.
  bool may_read_ahead() const;
  // Records if there was a limit at the last transfer.
  void set_limited(bool limited) { was_limited_ = limited; }
  void rest();
  // Makes it a stream again after a rest.
  void go_on();

 private:
  const std::shared_ptr<Tokens> tokens_;
  const ThrottleOptions options_;
  Turn turn_;
  std::atomic<bool> was_limited_ = false;  // a batch in the background is served on another thread
  bool is_stream_ = true;
};

class ThrottledEngine final : public Engine {
 public:
  // An engine with a stream of its own.
  ThrottledEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Tokens> tokens, const ThrottleOptions& options);
  // One of the engines of a stream; the stream must outlive it.
  ThrottledEngine(std::unique_ptr<Engine> engine, ThrottledStream& stream);

  std::string name() const override { return engine_->name(); }
  const std::string& path() const override { return engine_->path(); }
  Capabilities capabilities() const override { return engine_->capabilities(); }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override;
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override;
  std::unique_ptr<RangeLock> lock_shared(int64_t begin, int64_t end) override;
  // Mapped cached pages need no token.
  std::unique_ptr<CachedView> cached_view() override { return engine_->cached_view(); }
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const override {
    return engine_->cached_part(offset, bytes);
  }
  // Copies from the page cache take no token.
  bool read_cached(const Transfer& piece, Counters& counters) override { return engine_->read_cached(piece, counters); }
  void will_need(int64_t offset, int64_t bytes) override {
    if (stream_.may_read_ahead()) engine_->will_need(offset, bytes);
  }
  void end_burst() override { stream_.turn().end(); }
  void rest() override { stream_.rest(); }
  void set_readahead(bool wanted) override { engine_->set_readahead(wanted); }
  void set_write_behind(bool wanted) override { engine_->set_write_behind(wanted); }
  int64_t size() const override { return engine_->size(); }
  void resize(int64_t bytes) override { engine_->resize(bytes); }
  void allocate(int64_t bytes) override { engine_->allocate(bytes); }
  void sync() override { engine_->sync(); }
  void check_written() override { engine_->check_written(); }

 private:
  // The extent of a batch in the file, from the first byte to the last.
  struct Extent {
    int64_t bytes = 0;  // moved bytes
    int64_t begin = INT64_MAX;
    int64_t end = 0;
  };
  // The cached part of a file range when this stream reached it.
  struct Seen {
    int64_t next = 0;  // the stream's position: it has read the bytes before it itself
    int64_t end = 0;
    std::optional<double> cached;
  };

  static Extent extent_of(std::span<const Transfer> batch);
  bool goes_on_in_cache(Direction direction, std::span<const Transfer> batch);
  std::optional<double> cached_before(const Extent& extent);
  struct Job {
    Direction direction;
    StreamLimit limit;
    Turn& turn;
    Counters& counters;
  };
  void transfer_in_bursts(const Job& job, std::span<const Transfer> batch);
  void transfer_burst(const Job& job, std::span<const Transfer> burst);
  bool reached_device(Direction direction, const Extent& extent) const;

  const std::unique_ptr<ThrottledStream> own_stream_;  // null: the stream is shared with other engines
  ThrottledStream& stream_;
  const std::unique_ptr<Engine> engine_;  // destroyed before its stream
  Seen seen_;
  bool readahead_ = true;

  // The kind of a started batch: in the background, or, in simulated time, deferred until wait().
  enum class Started { kNothing, kInner, kBackground, kDeferred };
  Started started_ = Started::kNothing;
  Direction started_direction_ = Direction::kRead;
  StreamLimit started_limit_;
  std::vector<Transfer> started_batch_;
  Counters started_counters_;
  std::optional<trace::Counted> started_in_flight_;
  Background background_;
};

}  // namespace swath
