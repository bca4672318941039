#include "store/rados_engine.h"

#ifdef SWATH_HAVE_RADOS

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"
#include "store/rados_lists.h"

namespace swath {
namespace {

// An OSD refuses 91 MiB in one operation (osd_max_write_size), and many small ones keep more servers busy.
constexpr int64_t kOperationBytesMax = int64_t{8} << 20;

[[noreturn]] void fail_transfer(const RadosFile& file, Direction direction, const Transfer& transfer, int64_t moved) {
  const bool reading = direction == Direction::kRead;
  const std::string what = (reading ? "read " : "write ") + file.path() + " at " + std::to_string(transfer.offset) +
                           ": wanted " + std::to_string(transfer.bytes) + " bytes, " + (reading ? "got " : "wrote ") +
                           std::to_string(moved);
  if (!reading) throw Error(ErrorKind::kStore, what + ": " + system_message(EBADF) + " (opened for reading)", EBADF);
  throw Error(ErrorKind::kStore, what + ": end of file (file is " + std::to_string(file.size()) +
                                     " bytes; it may be truncated)");
}

}  // namespace

RadosEngine::RadosEngine(std::shared_ptr<RadosFile> file, const EngineOptions& options)
    : file_(std::move(file)),
      operation_bytes_max_(std::min(options.request_bytes_max, kOperationBytesMax)),
      in_flight_max_(std::max<int64_t>(options.queue_depth / 4, 1)) {}

Capabilities RadosEngine::capabilities() const {
  const StripeLayout& stripes = file_->stripes();
  return {.read_ranges_max = kReadRangesMax,
          .write_ranges_max = kWriteRangesMax,
          .reads_ahead = false,
          .durable_when_answered = true,
          .stripes = StripeMap{stripes.unit, static_cast<int32_t>(stripes.count)}};
}

// Ends before anything is moved: what lies beyond the end cannot be read, and the size covers what will be written.
void RadosEngine::check(Direction direction, std::span<const Transfer> batch) const {
  check_batch(batch);
  int64_t end = 0;
  for (const Transfer& transfer : batch) {
    if (transfer.bytes > 0) end = std::max(end, transfer.offset + transfer.bytes);
  }
  if (end == 0) return;
  if (direction == Direction::kWrite) {
    if (!file_->may_write()) fail_transfer(*file_, direction, batch.front(), 0);
    file_->grow(end);
    return;
  }
  if (file_->has_at_least(end)) return;
  const int64_t size = file_->size();
  for (const Transfer& transfer : batch) {
    if (transfer.bytes > 0 && transfer.offset + transfer.bytes > size) fail_transfer(*file_, direction, transfer, 0);
  }
}

void RadosEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  transfer_batch(direction, batch, counters);
}

void RadosEngine::transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) const {
  check(direction, batch);
  check_interrupt();
  Flight flight(*file_, in_flight_max_, counters);
  ObjectLists lists(*file_, direction, operation_bytes_max_, flight);
  lists.add(batch);
  lists.flush();
  flight.finish();
}

void RadosEngine::transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) {
  check_interrupt();
  Flight flight(*file_, in_flight_max_, counters);
  ObjectLists lists(*file_, direction, operation_bytes_max_, flight);
  for_each_flat_batch(structured, [&](std::span<const Transfer> batch) {
    check(direction, batch);
    lists.add(batch);
    if (structured.bytes_done == nullptr) return;
    for (const Transfer& piece : batch) *structured.bytes_done += piece.bytes;
  });
  lists.flush();
  flight.finish();
}

void RadosEngine::start(Direction direction, std::span<const Transfer> batch) {
  if (background_.busy()) fail_already_started(path());
  check_batch(batch);
  started_batch_.assign(batch.begin(), batch.end());
  started_counters_ = {};
  background_.start([this, direction] { transfer_batch(direction, started_batch_, started_counters_); });
}

void RadosEngine::wait(Counters& counters) {
  if (!background_.busy()) return;
  struct AddAlways {  // what was moved before an error was moved all the same
    Counters& to;
    const Counters& from;
    ~AddAlways() { to += from; }
  } add{counters, started_counters_};
  background_.wait();
}

}  // namespace swath

#endif
