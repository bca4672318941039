// Transfers of a served file: independent, collective, and atomic.
#include <algorithm>
#include <mutex>
#include <optional>

#include "array/traced_operation.h"
#include "base/stopwatch.h"
#include "mpi_io/errors.h"
#include "mpi_io/file.h"
#include "mpi_io/in_view_order.h"

namespace swath::mpi_io {
namespace {

std::string kind_of(Direction direction, bool is_collective) {
  return (is_collective ? "collective " : "independent ") + to_string(direction);
}

}  // namespace

// The bytes of a transfer; of a read, only those before the end of the file.
int64_t ServedFile::clipped_bytes(const DataTransfer& transfer, File& file) const {
  if (transfer.direction == Direction::kWrite || transfer.bytes == 0) return transfer.bytes;
  return transfer.view->at(transfer.first, transfer.bytes).bytes_before(file.size());
}

Execution ServedFile::carry_out(Array& array, const DataTransfer& transfer, Method method) const {
  Comm& comm = array.comm();
  const auto form = array.form();
  const View view = transfer.view->at(transfer.first, transfer.bytes);
  const auto own = Decomposition::own_view(view, comm.rank(), comm.size(), form->shape(), true);
  LocalMemory memory;
  memory.view = {view, MemoryNest{transfer.memory(), 0}};
  memory.addresses = {transfer.address};
  memory.is_packed = transfer.is_packed();
  const bool is_collective = &array == collective_.get();
  const TuningSettings tuning =
      is_collective ? hints_.collective_tuning(transfer.direction) : hints_.own_tuning(transfer.direction);
  return array.execute({form, {transfer.direction, own, method, tuning}}, memory);
}

int64_t ServedFile::move_in_order_of_view(const DataTransfer& transfer, File& file, bool is_collective) {
  Execution done;
  done.method = "direct";
  const TracedTransfer traced(transfer.direction, file, std::nullopt);
  const int64_t bytes = move_in_view_order(
      file, {transfer.direction, transfer.view->nest(transfer.first + transfer.bytes), transfer.first, transfer.bytes},
      {transfer.memory(), transfer.address}, done.counters);
  traced.end(done.counters);
  report_.add(kind_of(transfer.direction, is_collective) + ", a view that does not ascend,", bytes, done);
  return bytes;
}

// Transfers one contiguous range between file and memory, without a plan.
int64_t ServedFile::move_run(const DataTransfer& transfer, int64_t offset, bool is_collective) {
  Counters done;
  std::optional<Stopwatch> watch;
  if (is_reported_) watch.emplace();
  const TracedTransfer traced(transfer.direction, *own_file_, offset);
  const auto engine = own_file_->engine().lease();
  int64_t bytes = transfer.bytes;
  const Transfer piece{offset, transfer.address, bytes};
  if (transfer.direction == Direction::kWrite) {
    const auto lock = engine->lock_shared(offset, offset + bytes);
    engine->transfer(Direction::kWrite, {&piece, 1}, done);
  } else {
    bytes = engine->read_to_end(piece, done);
  }
  engine->end_burst();
  if (watch) done.total_seconds = watch->seconds();
  traced.end(done);
  if (bytes > 0) report_.add_contiguous(transfer.direction, is_collective, done);
  return bytes;
}

int64_t ServedFile::move_by_itself(const DataTransfer& transfer, bool is_collective) {
  if (transfer.bytes == 0) return 0;
  if (transfer.is_packed()) {
    const auto offset = transfer.view->offset_of_run(transfer.first, transfer.bytes);
    if (offset) return move_run(transfer, *offset, is_collective);
  }
  if (!transfer.view->is_ascending()) return move_in_order_of_view(transfer, *own_file_, is_collective);
  DataTransfer clipped = transfer;
  clipped.bytes = clipped_bytes(transfer, *own_file_);
  if (clipped.bytes == 0) return 0;
  report_.add(kind_of(transfer.direction, is_collective), clipped.bytes,
              carry_out(*own_, clipped, hints_.own_method(transfer.direction)));
  return clipped.bytes;
}

// Locks the range during the transfer, so that it contains either all or none of another atomic write.
int64_t ServedFile::move_atomically(const DataTransfer& transfer, bool is_collective) {
  if (transfer.bytes == 0) return 0;
  const Nest places = transfer.view->nest(transfer.first + transfer.bytes);
  int64_t begin = places.low();
  int64_t end = places.high();
  if (transfer.view->is_ascending()) {
    begin = places.offset_of(transfer.first);
    end = places.offset_of(transfer.first + transfer.bytes - 1) + 1;
  }
  const std::lock_guard turn(atomic_turn_);
  const auto engine = atomic_file_->engine().lease();
  std::unique_ptr<RangeLock> lock;
  if (!is_read_only()) lock = engine->lock(begin, end);
  if (!transfer.view->is_ascending()) return move_in_order_of_view(transfer, *atomic_file_, is_collective);
  DataTransfer clipped = transfer;
  clipped.bytes = clipped_bytes(transfer, *atomic_file_);
  if (clipped.bytes == 0) return 0;
  report_.add(kind_of(transfer.direction, is_collective) + ", atomic,", clipped.bytes,
              carry_out(*atomic_, clipped, Method::kList));
  return clipped.bytes;
}

int64_t ServedFile::move(const DataTransfer& transfer) {
  return is_atomic_ ? move_atomically(transfer, false) : move_by_itself(transfer, false);
}

// Decides without communication, from values that are the same on all ranks.
bool ServedFile::ranks_go_alone(Direction direction) const {
  if (is_atomic_) return false;
  if (comm_->size() == 1 || !hints_.together(direction)) return true;
  const bool is_cheaper = of_all_.alone_is_cheaper[static_cast<size_t>(direction)] != 0;
  return of_all_.views_are_contiguous != 0 && hints_.goes_alone(direction, is_cheaper);
}

int64_t ServedFile::move_collectively(const DataTransfer& transfer, const std::optional<Error>& failure) {
  if (ranks_go_alone(transfer.direction)) return move_alone(transfer, failure);
  last_direction_ = transfer.direction;
  if (!is_atomic_) return move_together(transfer, with_pending(failure));
  int64_t bytes = 0;
  auto what = with_pending(failure);
  if (!what) what = failure_in([&] { bytes = move_atomically(transfer, true); });
  meet(what);
  return bytes;
}

// Ranks meet only when a read follows a write, or a write a read: programs rely on a collective read to find the data
// of earlier collective writes.
int64_t ServedFile::move_alone(const DataTransfer& transfer, const std::optional<Error>& failure) {
  if (comm_->size() > 1 && last_direction_ != transfer.direction) {
    meet(failure);
    last_direction_ = transfer.direction;
  }
  int64_t bytes = 0;
  auto what = failure;
  if (!what) what = failure_in([&] { bytes = move_by_itself(transfer, true); });
  if (!what) return bytes;
  if (comm_->size() > 1) pending_error_ = what;
  throw Error(*what);
}

int64_t ServedFile::move_together(const DataTransfer& transfer, const std::optional<Error>& failure) {
  // If its view does not ascend, this rank transfers its bytes independently, and takes part with zero bytes.
  DataTransfer shared = transfer;
  int64_t by_itself = 0;
  auto what = failure;
  if (!what) {
    what = failure_in([&] {
      if (!transfer.view->is_ascending()) {
        by_itself = move_in_order_of_view(transfer, *file_, true);
        shared.bytes = 0;
      } else {
        shared.bytes = clipped_bytes(transfer, *file_);
        if (shared.bytes > 0) static_cast<void>(transfer.view->at(shared.first, shared.bytes));
      }
    });
  }
  if (what) collective_->refuse(nullptr, *what);
  report_.add(kind_of(transfer.direction, true), shared.bytes,
              carry_out(*collective_, shared, hints_.collective_method(transfer.direction)));
  return by_itself + shared.bytes;
}

}  // namespace swath::mpi_io
