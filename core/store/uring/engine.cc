#include "store/uring/engine.h"

#ifdef SWATH_HAVE_LIBURING

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/fault/fault.h"
#include "store/request.h"

namespace swath {

namespace {

// An interrupt waits for the requests in flight; this many bytes of large requests keep any device busy.
constexpr int64_t kInFlightBytesMax = 4 * kCallBytesMax;

// A batch on its way through the ring.
struct UringBatch {
  UringBatch(Direction batch_direction, std::span<const Transfer> transfers, int64_t request_bytes_max)
      : direction(batch_direction), cutter(transfers, request_bytes_max) {}

  bool finished() const { return in_flight == 0 && (error || cutter.exhausted()); }

  Direction direction;
  RequestCutter cutter;
  Counters counters;
  int in_flight = 0;
  bool in_background = false;
  std::exception_ptr error;  // the first; nothing more is issued after it
};

// One request in flight. The iovecs that the kernel uses stay here, at the same address, until the completion arrives.
struct Slot {
  UringBatch* batch = nullptr;
  FileRequest request;
  FileRequest cut;    // the part of `request` that is to be moved now
  int64_t bytes = 0;  // bytes submitted to the kernel
};

class UringEngine : public FileEngine {
 public:
  // Takes over a ring with queue_depth entries or more.
  UringEngine(std::shared_ptr<OpenFile> file, const EngineOptions& options, const io_uring& ring)
      : FileEngine(std::move(file), options.request_bytes_max),
        ring_(ring),
        slots_(static_cast<size_t>(options.queue_depth)) {
    for (Slot& slot : slots_) free_slots_.push_back(&slot);
  }

  // The kernel writes into the caller's memory as long as a request is in flight: drain first.
  ~UringEngine() override {
    try {
      if (started_ && !broken_) drive(*started_);
    } catch (const Error&) {
      broken_ = true;  // the ring itself failed, and was drained
    }
    io_uring_queue_exit(&ring_);
  }

  std::string name() const override { return name_of("uring"); }

  void transfer(Direction direction, std::span<const Transfer> transfers, Counters& counters) override {
    check_usable();
    check_batch(transfers);
    UringBatch batch(direction, transfers, request_bytes_max(direction));
    finish(batch, counters);
  }

  void start(Direction direction, std::span<const Transfer> transfers) override {
    check_usable();
    if (started_) fail_already_started(path());
    check_batch(transfers);
    started_transfers_.assign(transfers.begin(), transfers.end());
    started_.emplace(direction, started_transfers_, request_bytes_max(direction));
    started_->in_background = true;
    fill(*started_);
    submit(0);
  }

  void wait(Counters& counters) override {
    if (!started_) return;
    struct Forget {
      std::optional<UringBatch>& started;
      ~Forget() { started.reset(); }
    } forget{started_};
    check_usable();
    finish(*started_, counters);
  }

 private:
  void finish(UringBatch& batch, Counters& counters) {
    drive(batch);
    counters += batch.counters;
    if (batch.error) std::rethrow_exception(batch.error);
  }

  // Returns when no request of the batch is in flight any more. Meanwhile the requests in flight of a started batch
  // complete, and free their slots.
  void drive(UringBatch& batch) {
    for (fill(batch); !batch.finished(); fill(batch)) {
      const bool has_signal = submit(1);
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(&ring_, &completion) == 0) {
        Slot& slot = *static_cast<Slot*>(io_uring_cqe_get_data(completion));
        const int result = completion->res;
        io_uring_cqe_seen(&ring_, completion);
        complete(slot, result);
      }
      stop_if_told(batch, has_signal);
    }
  }

  // After an interrupt, a batch submits no further requests; the ones in flight must still be waited for.
  static void stop_if_told(UringBatch& batch, bool has_signal) {
    try {
      has_signal ? check_interrupt_now() : check_interrupt();
    } catch (...) {
      if (!batch.error) batch.error = std::current_exception();
    }
  }

  bool has_room() const {
    return !free_slots_.empty() && (!is_interruptible() || in_flight_bytes_ < kInFlightBytesMax);
  }

  void fill(UringBatch& batch) {
    while (!batch.error && !batch.cutter.exhausted() && has_room()) {
      Slot& slot = *free_slots_.back();
      try {
        batch.cutter.next(slot.request);
      } catch (...) {  // out of memory: requests in flight must still be waited for
        batch.error = std::current_exception();
        return;
      }
      free_slots_.pop_back();
      slot.batch = &batch;
      ++batch.in_flight;
      attempt(slot);
    }
  }

  void attempt(Slot& slot) {
    int64_t bytes = bytes_to_attempt(slot.request);
    if (Faults* faults = file_->faults(); faults != nullptr) {
      const int64_t admitted = faults->admit(slot.batch->direction, slot.request);
      if (admitted < 0) return complete(slot, admitted);
      bytes = std::min(bytes, admitted);
    }
    slot.bytes = bytes;
    in_flight_bytes_ += bytes;
    if (bytes == slot.request.bytes_left()) return enter(slot, slot.request);
    slot.cut = slot.request.head(bytes);
    enter(slot, slot.cut);
  }

  void enter(Slot& slot, const FileRequest& request) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);  // never null: there are at least as many entries as slots
    const std::span<const iovec> pieces = request.pieces_left();
    const unsigned count = static_cast<unsigned>(pieces.size());
    const unsigned bytes = static_cast<unsigned>(pieces.front().iov_len);
    const auto offset = static_cast<uint64_t>(request.next_offset());
    const bool reading = slot.batch->direction == Direction::kRead;
    const int descriptor = file_->descriptor();
    if (count == 1 && reading) {
      io_uring_prep_read(entry, descriptor, pieces.front().iov_base, bytes, offset);
    } else if (count == 1) {
      io_uring_prep_write(entry, descriptor, pieces.front().iov_base, bytes, offset);
    } else if (reading) {
      io_uring_prep_readv(entry, descriptor, pieces.data(), count, offset);
    } else {
      io_uring_prep_writev(entry, descriptor, pieces.data(), count, offset);
    }
    // Without this flag, cached data is copied inside start(), and nothing overlaps.
    if (slot.batch->in_background) io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
    io_uring_sqe_set_data(entry, &slot);
  }

  // After an error the requests in flight complete and their results are only counted.
  void complete(Slot& slot, int64_t result) {
    UringBatch& batch = *slot.batch;
    in_flight_bytes_ -= std::exchange(slot.bytes, 0);
    try {
      finish_attempt(*file_, batch.direction, slot.request, result, batch.counters);
      if (!slot.request.complete() && !batch.error) return attempt(slot);
      if (slot.request.complete()) moved(batch.direction, slot.request);
    } catch (...) {
      if (!batch.error) batch.error = std::current_exception();
    }
    --batch.in_flight;
    free_slots_.push_back(&slot);
  }

  // Submits prepared entries to the kernel and blocks there until `completions_min` have completed, or until a signal
  // arrives: then returns true.
  bool submit(unsigned completions_min) {
    const int result = io_uring_submit_and_wait(&ring_, completions_min);
    if (result >= 0 || result == -EINTR) return result == -EINTR;
    if (result != -EAGAIN && result != -EBUSY) fail_ring(-result);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the kernel is short of memory for now
    return false;
  }

  // The ring has failed. Entries that the kernel has not taken never run; the others are waited for.
  [[noreturn]] void fail_ring(int error) {
    broken_ = true;
    const size_t taken = slots_.size() - free_slots_.size() - io_uring_sq_ready(&ring_);
    io_uring_cqe* completion = nullptr;
    for (size_t seen = 0; seen < taken;) {
      if (io_uring_peek_cqe(&ring_, &completion) == 0) {
        io_uring_cqe_seen(&ring_, completion);
        ++seen;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    throw Error(ErrorKind::kStore,
                "io_uring of " + path() + ": " + system_message(error) + " (open the file with engine=\"posix\")",
                error);
  }

  void check_usable() const {
    if (broken_) {
      throw Error(ErrorKind::kStore,
                  "io_uring of " + path() + " failed earlier: open the file again with engine=\"posix\"", EIO);
    }
  }

  io_uring ring_;
  bool broken_ = false;
  int64_t in_flight_bytes_ = 0;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_slots_;
  std::vector<Transfer> started_transfers_;
  std::optional<UringBatch> started_;
};

bool has_needed_operations(io_uring& ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return false;
  const bool has =
      io_uring_opcode_supported(probe, IORING_OP_READ) != 0 && io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
  io_uring_free_probe(probe);
  return has;
}

std::string refusal(int error) {
  std::string hint;
  if (error == EPERM) hint = "; see /proc/sys/kernel/io_uring_disabled";
  if (error == ENOMEM) hint = "; see ulimit -l";
  return "io_uring refused by the kernel (" + system_message(error) + hint + "): posix carries the bytes";
}

}  // namespace

std::unique_ptr<Engine> make_uring_engine(const std::shared_ptr<OpenFile>& file, const EngineOptions& options,
                                          std::string& reason) {
  io_uring ring = {};
  const int result = io_uring_queue_init(static_cast<unsigned>(options.queue_depth), &ring, 0);
  if (result < 0) {
    reason = refusal(-result);
    return nullptr;
  }
  if (!has_needed_operations(ring)) {
    io_uring_queue_exit(&ring);
    reason = "io_uring of this kernel has no READ and WRITE (Linux 5.6 has): posix carries the bytes";
    return nullptr;
  }
  return std::make_unique<UringEngine>(file, options, ring);
}

}  // namespace swath

#else

namespace swath {

std::unique_ptr<Engine> make_uring_engine(const std::shared_ptr<OpenFile>&, const EngineOptions&, std::string& reason) {
  reason = "built without liburing: posix carries the bytes";
  return nullptr;
}

}  // namespace swath

#endif
