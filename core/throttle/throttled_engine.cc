#include "throttle/throttled_engine.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "store/open_file.h"
#include "store/request.h"
#include "trace/trace.h"

namespace swath {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kSeenBytes = int64_t{64} << 20;
constexpr double kColdAtMost = 0.25;  // more may be cached because the kernel has read ahead
constexpr int kBurstsMost = 4;        // times burst_bytes, in one burst

trace::Counted counted(std::span<const Transfer> batch) {
  int64_t bytes = 0;
  if (trace::is_active()) {
    for (const Transfer& transfer : batch) bytes += transfer.bytes;
  }
  return {trace::bytes_in_flight(), bytes < trace::kBytesInFlightMin ? 0 : bytes};
}

}  // namespace

bool Turn::begin(Direction direction, Pattern pattern, StreamLimit limit, Counters& counters) {
  if (grant_ && (direction != direction_ || pattern != pattern_)) end();
  if (!grant_) {
    direction_ = direction;
    pattern_ = pattern;
    bytes_ = 0;
    from_device_ = true;
    grant_ = tokens_.acquire(direction, pattern, limit, clock_of_thread());
    if (grant_->seat >= 0) held_.emplace(trace::tokens_held(), 1);
    counters.token_waits += grant_->waited > 0;
    counters.token_seconds += grant_->waited;
  }
  return grant_->limit > 0;
}

void Turn::moved(int64_t bytes, bool from_device) {
  bytes_ += bytes;
  from_device_ = from_device_ && from_device;
  if (is_over()) end();
}

bool Turn::is_over() const {
  if (bytes_ < options_.burst_bytes) return false;
  return bytes_ >= kBurstsMost * options_.burst_bytes ||
         clock_of_thread().now() - grant_->granted_at >= options_.burst_seconds;
}

void Turn::end() {
  if (!grant_) return;
  tokens_.give_back(*grant_, bytes_, from_device_, clock_of_thread());
  grant_.reset();
  held_.reset();
}

ThrottledStream::ThrottledStream(std::shared_ptr<Tokens> tokens, const ThrottleOptions& options)
    : tokens_(std::move(tokens)), options_(options), turn_(*tokens_, options_) {
  tokens_->enter();
}

std::unique_ptr<Engine> ThrottledStream::carry(std::unique_ptr<Engine> engine) {
  return std::make_unique<ThrottledEngine>(std::move(engine), *this);
}

std::optional<StreamLimit> ThrottledStream::limit_of(Direction direction) const {
  if (tokens_->streams() < 2) return std::nullopt;
  return direction == Direction::kRead ? options_.reads : options_.writes;
}

bool ThrottledStream::may_read_ahead() const {
  const auto limit = limit_of(Direction::kRead);
  return !limit || (limit->streams == StreamLimit::adaptive().streams && !was_limited_);
}

void ThrottledStream::rest() {
  turn_.end();
  if (std::exchange(is_stream_, false)) tokens_->leave();
}

void ThrottledStream::go_on() {
  if (!std::exchange(is_stream_, true)) tokens_->enter();
}

ThrottledEngine::ThrottledEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Tokens> tokens,
                                 const ThrottleOptions& options)
    : own_stream_(std::make_unique<ThrottledStream>(std::move(tokens), options)),
      stream_(*own_stream_),
      engine_(std::move(engine)) {}

ThrottledEngine::ThrottledEngine(std::unique_ptr<Engine> engine, ThrottledStream& stream)
    : stream_(stream), engine_(std::move(engine)) {}

ThrottledEngine::Extent ThrottledEngine::extent_of(std::span<const Transfer> batch) {
  Extent extent;
  for (const Transfer& transfer : batch) {
    if (transfer.bytes == 0) continue;
    extent.bytes += transfer.bytes;
    extent.begin = std::min(extent.begin, transfer.offset);
    extent.end = std::max(extent.end, transfer.offset + transfer.bytes);
  }
  return extent;
}

// The common case of many small reads, decided without computation: the next request within a range that is cached as a
// whole. Like every copy it needs no token.
bool ThrottledEngine::goes_on_in_cache(Direction direction, std::span<const Transfer> batch) {
  if (direction != Direction::kRead || batch.size() != 1 || seen_.cached != 1.0) return false;
  if (started_ == Started::kBackground) return false;  // the other thread uses the data
  const Transfer& only = batch.front();
  if (only.offset < seen_.next || only.bytes < 0 || only.bytes > seen_.end - only.offset) return false;
  seen_.next = only.offset + only.bytes;
  return true;
}

void ThrottledEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  stream_.go_on();
  if (goes_on_in_cache(direction, batch)) {
    stream_.turn().end();
    engine_->transfer(direction, batch, counters);
    return;
  }
  const auto limit = stream_.limit_of(direction);
  const trace::Counted in_flight = counted(batch);
  if (!limit || started_ == Started::kBackground) {
    engine_->transfer(direction, batch, counters);
  } else {
    transfer_in_bursts({direction, *limit, stream_.turn(), counters}, batch);
  }
}

// Cuts the batch into bursts; a transfer that exceeds the rest of a burst is cut, too. Bursts of a batch are about
// equal: 4.5 MiB are one burst of 4.5, not one of 4 and a small one after it.
void ThrottledEngine::transfer_in_bursts(const Job& job, std::span<const Transfer> batch) {
  check_batch(batch);
  const Extent extent = extent_of(batch);
  if (extent.bytes == 0) return;
  if (job.direction == Direction::kRead && cached_before(extent) == 1.0) {
    job.turn.end();  // copies without waiting: other streams may use the device meanwhile
    engine_->transfer(job.direction, batch, job.counters);
    return;
  }
  const int64_t bursts = std::max<int64_t>(extent.bytes / stream_.options().burst_bytes, 1);
  if (bursts == 1) {
    transfer_burst(job, batch);
    return;
  }
  const int64_t burst_bytes = (extent.bytes + bursts * kPageBytes - 1) / (bursts * kPageBytes) * kPageBytes;
  std::vector<Transfer> burst;
  int64_t bytes = 0;
  for (Transfer rest : batch) {
    while (rest.bytes > 0) {
      const int64_t taken = std::min(rest.bytes, burst_bytes - bytes);
      burst.push_back({rest.offset, rest.data, taken});
      rest = {rest.offset + taken, rest.data + taken, rest.bytes - taken};
      bytes += taken;
      if (bytes < burst_bytes) continue;
      transfer_burst(job, burst);
      burst.clear();
      bytes = 0;
    }
  }
  transfer_burst(job, burst);
}

void ThrottledEngine::transfer_burst(const Job& job, std::span<const Transfer> burst) {
  const Extent extent = extent_of(burst);
  if (extent.bytes == 0) return;
  const Pattern pattern = pattern_of(extent.bytes / std::ssize(burst));
  const bool limited = job.turn.begin(job.direction, pattern, job.limit, job.counters);
  stream_.set_limited(limited);
  if (readahead_ == limited) {
    readahead_ = !limited;
    engine_->set_readahead(readahead_);
  }
  try {
    engine_->transfer(job.direction, burst, job.counters);
  } catch (...) {
    job.turn.end();
    throw;
  }
  job.turn.moved(extent.bytes, reached_device(job.direction, extent));
}

// The controller ignores what the kernel cannot report. For a read the kernel reports before it, for a write after it:
// dirty pages still in the page cache have not reached the device.
bool ThrottledEngine::reached_device(Direction direction, const Extent& extent) const {
  if (direction == Direction::kRead) return seen_.cached && *seen_.cached <= kColdAtMost;
  return engine_->cached_part(extent.begin, extent.end - extent.begin) == 0.0;
}

// The cached part of the whole transfer, or of the next 64 MiB up to the end of the file, queried when the stream first
// gets there. If the stream jumps, or returns to what it has read, it queries again.
std::optional<double> ThrottledEngine::cached_before(const Extent& extent) {
  if (extent.begin < seen_.next || extent.end > seen_.end) {
    const int64_t end = std::max(extent.end, std::min(extent.begin + kSeenBytes, engine_->size()));
    seen_ = {extent.begin, end, engine_->cached_part(extent.begin, end - extent.begin)};
  }
  seen_.next = extent.end;
  return seen_.cached;
}

void ThrottledEngine::start(Direction direction, std::span<const Transfer> batch) {
  if (started_ != Started::kNothing) fail_already_started(path());
  stream_.go_on();
  started_in_flight_.emplace(counted(batch));
  const auto limit = stream_.limit_of(direction);
  if (!limit) {
    engine_->start(direction, batch);
    started_ = Started::kInner;
    return;
  }
  check_batch(batch);
  stream_.turn().end();  // the started transfers take tokens of their own, and would wait for this one
  started_limit_ = *limit;
  started_direction_ = direction;
  started_batch_.assign(batch.begin(), batch.end());
  started_counters_ = {};
  // Simulated time only advances for the ranks' own threads.
  started_ = clock_of_thread().simulated() ? Started::kDeferred : Started::kBackground;
  if (started_ == Started::kDeferred) return;
  background_.start([this] {
    Turn turn(stream_.tokens(), stream_.options());
    transfer_in_bursts({started_direction_, started_limit_, turn, started_counters_}, started_batch_);
  });
}

void ThrottledEngine::wait(Counters& counters) {
  const auto in_flight = std::exchange(started_in_flight_, std::nullopt);
  switch (std::exchange(started_, Started::kNothing)) {
    case Started::kNothing:
      break;
    case Started::kInner:
      engine_->wait(counters);
      break;
    case Started::kDeferred: {
      stream_.turn().end();
      Turn turn(stream_.tokens(), stream_.options());
      transfer_in_bursts({started_direction_, started_limit_, turn, counters}, started_batch_);
      break;
    }
    case Started::kBackground: {
      struct AddAlways {  // bytes moved before an error count, too
        Counters& to;
        const Counters& from;
        ~AddAlways() { to += from; }
      } add{counters, started_counters_};
      background_.wait();
      break;
    }
  }
}

std::unique_ptr<RangeLock> ThrottledEngine::lock(int64_t begin, int64_t end) {
  stream_.turn().end();  // the holder of the lock may be waiting for the token
  return engine_->lock(begin, end);
}

std::unique_ptr<RangeLock> ThrottledEngine::lock_shared(int64_t begin, int64_t end) {
  stream_.turn().end();
  return engine_->lock_shared(begin, end);
}

}  // namespace swath
