// An engine that is served in turns: cold reads, and writes where that is asked for, take a token of their target for a
// burst at a time (tokens.h).
//
// What the page cache holds is copied without a token: whether it does is asked of the kernel once every 64 MiB. While
// a limit is in force the kernel does not read ahead, which would be reading out of turn; what was cold when the stream
// came to it counts as read from the device also where reading ahead has fetched it meanwhile.
//
// The token is kept between transfers until the burst is over, and given back before whatever waits for others: a lock
// of the file, the end of the operation, an exchange (Engine::end_burst).
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

namespace swath {

struct ThrottleOptions {
  // Nothing: not throttled. Buffered writes are not unless asked: the more of them the kernel has to choose from, the
  // better it orders them (the paper, section 3.1).
  std::optional<StreamLimit> reads = StreamLimit::adaptive();
  std::optional<StreamLimit> writes = std::nullopt;
  int64_t burst_bytes = int64_t{4} << 20;
  // A burst goes on for so long, up to four times its bytes: a fast disk must not seek after each 20 ms.
  double burst_seconds = 0.1;
};

// A stream's turn at a target: from the first transfer that needed a token to the end of the burst.
class Turn {
 public:
  Turn(Tokens& tokens, const ThrottleOptions& options) : tokens_(tokens), options_(options) {}
  ~Turn() { end(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Holds a token when it returns. Whether there is a limit.
  bool begin(Direction direction, Pattern pattern, StreamLimit limit, Counters& counters);
  // So much was moved; ends the turn where that is enough.
  void moved(int64_t bytes, bool from_device);
  void end();

 private:
  bool is_over() const;

  Tokens& tokens_;
  const ThrottleOptions& options_;
  std::optional<Grant> grant_;
  Direction direction_ = Direction::kRead;
  Pattern pattern_ = Pattern::kLarge;
  int64_t bytes_ = 0;
  bool from_device_ = true;
};

// A stream of the target, from when it is made, and when it comes back after a rest, until it is gone or rests.
class ThrottledStream final : public Stream {
 public:
  ThrottledStream(std::shared_ptr<Tokens> tokens, const ThrottleOptions& options);
  ~ThrottledStream() override { rest(); }

  std::unique_ptr<Engine> carry(std::unique_ptr<Engine> engine) override;

  Tokens& tokens() const { return *tokens_; }
  const ThrottleOptions& options() const { return options_; }
  // Of all its engines: what is moved now.
  Turn& turn() { return turn_; }
  // One stream alone has nobody to take turns with: no limit.
  std::optional<StreamLimit> limit_of(Direction direction) const;
  // Not while a limit is in force, which a number is, and a controller's may be: it would be reading out of turn.
  bool may_read_ahead() const;
  // Whether there was a limit when this stream was served last.
  void set_limited(bool limited) { was_limited_ = limited; }
  void rest();
  // It is a stream again, if it has rested.
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
  // A stream of its own.
  ThrottledEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Tokens> tokens, const ThrottleOptions& options);
  // One of the engines of a stream, which lives longer.
  ThrottledEngine(std::unique_ptr<Engine> engine, ThrottledStream& stream);

  std::string name() const override { return engine_->name(); }
  const std::string& path() const override { return engine_->path(); }
  Capabilities capabilities() const override { return engine_->capabilities(); }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override;
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override;
  std::unique_ptr<RangeLock> lock_shared(int64_t begin, int64_t end) override;
  // Looking at what is in the page cache takes no token.
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
  // Of the file, from the first byte of a batch to the last.
  struct Extent {
    int64_t bytes = 0;  // that are moved
    int64_t begin = INT64_MAX;
    int64_t end = 0;
  };
  // What the page cache held of a part of the file when this stream came to it.
  struct Seen {
    int64_t next = 0;  // where the stream has come to: before it, it has read itself
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

  const std::unique_ptr<ThrottledStream> own_stream_;  // null: one of another's
  ThrottledStream& stream_;
  const std::unique_ptr<Engine> engine_;  // ends before its stream does
  Seen seen_;
  bool readahead_ = true;

  // Of what was started: in the background, or, where time is simulated, when it is waited for.
  enum class Started { kNothing, kInner, kBackground, kDeferred };
  Started started_ = Started::kNothing;
  Direction started_direction_ = Direction::kRead;
  StreamLimit started_limit_;
  std::vector<Transfer> started_batch_;
  Counters started_counters_;
  Background background_;
};

}  // namespace swath
