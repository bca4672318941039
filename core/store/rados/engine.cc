#include "store/rados/engine.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"
#include "store/rados/structured.h"
#include "store/rados/update.h"

namespace swath {
namespace {

[[noreturn]] void fail_transfer(const RadosFile& file, Direction direction, const Transfer& transfer, int64_t moved) {
  const bool reading = direction == Direction::kRead;
  const std::string what = (reading ? "read " : "write ") + file.path() + " at " + std::to_string(transfer.offset) +
                           ": wanted " + std::to_string(transfer.bytes) + " bytes, " + (reading ? "got " : "wrote ") +
                           std::to_string(moved);
  if (!reading) throw Error(ErrorKind::kStore, what + ": " + system_message(EBADF) + " (opened for reading)", EBADF);
  throw Error(ErrorKind::kStore,
              what + ": end of file (file is " + std::to_string(file.size()) + " bytes; it may be truncated)");
}

}  // namespace

RadosEngine::RadosEngine(std::shared_ptr<RadosFile> file, const EngineOptions& options)
    : file_(std::move(file)),
      operation_bytes_max_(std::min(options.request_bytes_max, kObjectOperationBytesMax)),
      in_flight_max_(std::max<int64_t>(options.queue_depth / 4, 1)) {}

Capabilities RadosEngine::capabilities() const {
  const StripeLayout& stripes = file_->stripes();
  return pool_capabilities({stripes.unit, static_cast<int32_t>(stripes.count), stripes.object_bytes},
                           file_->class_refusal().empty());
}

// Throws before any byte is moved: bytes beyond the end cannot be read. Before a write, the size is raised to include
// it.
void RadosEngine::check(Direction direction, std::span<const Transfer> batch, Flight& flight) const {
  check_batch(batch);
  Transfer last{0, nullptr, 0};
  for (const Transfer& transfer : batch) {
    if (transfer.bytes > 0 && transfer.offset + transfer.bytes > last.offset + last.bytes) last = transfer;
  }
  if (last.bytes > 0) check_end(direction, last, flight);
}

void RadosEngine::check_end(Direction direction, const Transfer& last, Flight& flight) const {
  if (direction == Direction::kWrite) return grow(last);
  const int64_t end = last.offset + last.bytes;
  if (!file_->has_at_least(end) && file_->size() < end) fail_transfer(*file_, direction, last, 0);
  flight.reads_up_to(end);
}

void RadosEngine::grow(const Transfer& last) const {
  if (!file_->may_write()) fail_transfer(*file_, Direction::kWrite, last, 0);
  file_->grow(last.offset + last.bytes);
}

void RadosEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  transfer_batch(direction, batch, counters);
}

void RadosEngine::transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) const {
  Flight flight(*file_, in_flight_max_, counters);
  check(direction, batch, flight);
  check_interrupt();
  ObjectLists lists = this->lists(direction, flight);
  lists.add(batch);
  lists.flush();
  flight.finish();
}

void RadosEngine::transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) {
  move_structured(direction, structured, counters);
}

void RadosEngine::move_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) const {
  check_interrupt();
  Flight flight(*file_, in_flight_max_, counters);
  if (structured.as_described && file_->class_refusal().empty()) {
    structured.access.visit(structured.begin, structured.end, [&](const Slice& slice) {
      check_interrupt();
      move_slice(direction, structured, slice, flight);
    });
    flight.finish();
    return;
  }
  ObjectLists lists = this->lists(direction, flight);
  for_each_flat_batch(structured, [&](std::span<const Transfer> batch) {
    check(direction, batch, flight);
    lists.add(batch);
    if (structured.bytes_done == nullptr) return;
    for (const Transfer& piece : batch) *structured.bytes_done += piece.bytes;
  });
  lists.flush();
  flight.finish();
}

// Sends the slice as a description, or as a list if the description is too long for a request.
void RadosEngine::move_slice(Direction direction, const StructuredTransfer& structured, const Slice& slice,
                             Flight& flight) const {
  const Regions& regions = slice.regions;
  check_end(direction, {regions.offset_of(slice.last - 1), nullptr, regions.element_bytes()}, flight);
  if (!begin_structured(*file_, direction, slice, memory_of(structured, slice), flight)) {
    ObjectLists lists = this->lists(direction, flight);
    std::vector<Transfer> pieces;
    const auto flush = [&] {
      lists.add(pieces);
      pieces.clear();
    };
    flatten(structured, slice, pieces, flush);
    flush();
    lists.flush();
  }
  if (structured.bytes_done != nullptr) *structured.bytes_done += slice.bytes();
}

ObjectLists RadosEngine::lists(Direction direction, Flight& flight) const {
  return {file_->stripes(), direction, operation_bytes_max_,
          [this, direction, &flight](int64_t object, std::vector<ObjectRange> ranges) {
            flight.begin(make_list_operation(*file_, direction, object, std::move(ranges), flight));
          }};
}

void RadosEngine::update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                         Counters& counters) {
  check_batch({&image, 1});
  if (!has_holes) {
    fill_in(image.data);
    transfer_batch(Direction::kWrite, {&image, 1}, counters);
  } else if (image.bytes > 0) {
    grow(image);
    ObjectUpdate(*file_, image, operation_bytes_max_, in_flight_max_).carry_out(fill_in, counters);
  }
}

void RadosEngine::start(Direction direction, std::span<const Transfer> batch) {
  background_.start(path(), batch, [this, direction](std::span<const Transfer> started, Counters& counters) {
    transfer_batch(direction, started, counters);
  });
}

void RadosEngine::start_structured(Direction direction, const StructuredTransfer& structured) {
  background_.start(
      path(), [this, direction, structured](Counters& counters) { move_structured(direction, structured, counters); });
}

}  // namespace swath
