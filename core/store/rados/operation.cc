#include "store/rados/operation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "store/open_file.h"
#include "store/rados/library.h"

namespace swath {

RadosOperation::RadosOperation(const RadosFile& file, Direction direction, int64_t object, Flight& flight)
    : ServedOperation(flight.operations_.arrival()),
      file_(file),
      pool_(file.pool()),
      direction_(direction),
      object_(object),
      name_(file.object(object)),
      flight_(flight) {}

RadosOperation::~RadosOperation() {
  if (completion_ != nullptr) librados().aio_release(completion_);
}

int64_t RadosOperation::server() const {
  const auto osd = pool_->placement().known_osd_of(name_);
  return osd ? *osd : -1 - object_ % file_.stripes().count;
}

void RadosOperation::submit() {
  const auto arrived = [](rados_completion_t, void* of) { static_cast<RadosOperation*>(of)->is_answered(); };
  refused_ = librados().aio_create_completion2(this, arrived, &completion_);
  if (refused_ == 0) refused_ = submit(completion_);
  if (refused_ != 0) is_answered();
}

void RadosOperation::cancel() {
  if (completion_ != nullptr) librados().aio_cancel(pool_->io(), completion_);
}

void RadosOperation::complete(Counters& counters) {
  int result = refused_;
  if (result == 0) {
    // The callback may run before librados marks the completion as complete; after this wait, the read data is in
    // place.
    librados().aio_wait_for_complete(completion_);
    result = take(librados().aio_get_return_value(completion_));
  }
  if (direction_ == Direction::kRead) {
    counters.read_requests += 1;
    counters.read_bytes += moved_;
  } else {
    file_.note_write();
    counters.write_requests += 1;
    counters.written_bytes += moved_;
  }
  if (result < 0) fail(result);
  flight_.met_holes_ = flight_.met_holes_ || has_holes_;
}

std::string RadosOperation::text() const {
  return (direction_ == Direction::kRead ? "read " : "write ") + file_.path() + " at " + std::to_string(offset_) +
         ": object " + name_ + " of pool " + pool_->name() + " on " + pool_->osd_of(name_);
}

void RadosOperation::fail(int result) const {
  throw Error(ErrorKind::kStore,
              text() + ": wanted " + std::to_string(bytes_) + " bytes, " +
                  (direction_ == Direction::kRead ? "got " : "wrote ") + std::to_string(moved_) + ": " +
                  system_message(-result) + std::string(rados_advice(result)),
              -result);
}

namespace {

class ListRead final : public RadosOperation {
 public:
  ListRead(const RadosFile& file, int64_t object, std::vector<ObjectRange> ranges, Flight& flight, ObjectState* state)
      : RadosOperation(file, Direction::kRead, object, flight),
        state_(state),
        ranges_(std::move(ranges)),
        got_(ranges_.size()),
        results_(ranges_.size()),
        op_(librados().create_read_op()) {
    offset_ = ranges_.front().offset;
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const ObjectRange& range = ranges_[i];
      bytes_ += range.bytes;
      std::byte* memory = range.pieces.front().data;
      if (range.pieces.size() > 1) {
        copies_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(range.bytes)));
        memory = copies_.back().get();
      }
      memory_.push_back(memory);
      librados().read_op_read(op_, static_cast<uint64_t>(range.object_offset), static_cast<size_t>(range.bytes),
                              reinterpret_cast<char*>(memory), &got_[i], &results_[i]);
    }
  }
  ~ListRead() override { librados().release_read_op(op_); }

 private:
  int submit(rados_completion_t completion) override {
    return librados().aio_read_op_operate(op_, pool_->io(), completion, name_.c_str(), 0);
  }

  int take(int result) override {
    const bool is_absent = result == -ENOENT;
    if (result < 0 && !is_absent) return result;
    if (state_ != nullptr) *state_ = {.is_there = !is_absent, .version = is_absent ? 0 : version()};
    for (size_t i = 0; i < ranges_.size(); ++i) {
      if (!is_absent && results_[i] < 0) return results_[i];
      const auto bytes = static_cast<size_t>(ranges_[i].bytes);
      const size_t got = is_absent ? 0 : std::min(got_[i], bytes);
      std::memset(memory_[i] + got, 0, bytes - got);  // a hole
      has_holes_ = has_holes_ || got < bytes;
      if (ranges_[i].pieces.size() > 1) scatter(ranges_[i], memory_[i]);
      moved_ += ranges_[i].bytes;
    }
    return 0;
  }

  static void scatter(const ObjectRange& range, const std::byte* from) {
    for (const Transfer& piece : range.pieces) {
      std::memcpy(piece.data, from + piece.offset, static_cast<size_t>(piece.bytes));
    }
  }

  ObjectState* const state_;
  const std::vector<ObjectRange> ranges_;
  std::vector<size_t> got_;
  std::vector<int> results_;
  std::vector<std::byte*> memory_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  rados_read_op_t op_;
};

class ListWrite final : public RadosOperation {
 public:
  ListWrite(const RadosFile& file, int64_t object, const std::vector<ObjectRange>& ranges, Flight& flight,
            ObjectState* state)
      : RadosOperation(file, Direction::kWrite, object, flight), state_(state), op_(librados().create_write_op()) {
    offset_ = ranges.front().offset;
    if (state_ != nullptr) expect_unchanged();
    std::vector<char> copy;
    for (const ObjectRange& range : ranges) {
      bytes_ += range.bytes;
      const char* memory = reinterpret_cast<const char*>(range.pieces.front().data);
      if (range.pieces.size() > 1) {
        copy.resize(static_cast<size_t>(range.bytes));
        for (const Transfer& piece : range.pieces) {
          std::memcpy(&copy[static_cast<size_t>(piece.offset)], piece.data, static_cast<size_t>(piece.bytes));
        }
        memory = copy.data();
      }
      // librados has a copy when this returns.
      librados().write_op_write(op_, memory, static_cast<size_t>(range.bytes),
                                static_cast<uint64_t>(range.object_offset));
    }
  }
  ~ListWrite() override { librados().release_write_op(op_); }

 private:
  int submit(rados_completion_t completion) override {
    return librados().aio_write_op_operate(op_, pool_->io(), completion, name_.c_str(), nullptr, 0);
  }
  int take(int result) override {
    if (state_ != nullptr) {
      state_->is_written = result >= 0;
      if (is_change(result)) return 0;
    }
    if (result >= 0) moved_ = bytes_;
    return std::min(result, 0);
  }

  void expect_unchanged() {
    if (state_->is_there) {
      librados().write_op_assert_version(op_, state_->version);
    } else {
      librados().write_op_create(op_, LIBRADOS_CREATE_EXCLUSIVE, nullptr);
    }
  }

  // True if the object has changed since it was read.
  static bool is_change(int result) {
    return result == -ERANGE || result == -EOVERFLOW || result == -EEXIST || result == -ENOENT;
  }

  ObjectState* const state_;
  rados_write_op_t op_;
};

}  // namespace

std::unique_ptr<RadosOperation> make_list_operation(const RadosFile& file, Direction direction, int64_t object,
                                                    std::vector<ObjectRange> ranges, Flight& flight,
                                                    ObjectState* state) {
  const int64_t most = direction == Direction::kRead ? kPoolReadRangesMax : kPoolWriteRangesMax;
  if (ranges.empty() || std::ssize(ranges) > most) {
    throw Error(ErrorKind::kInternal, "an operation of " + std::to_string(ranges.size()) + " ranges on " + file.path());
  }
  if (direction == Direction::kRead) return std::make_unique<ListRead>(file, object, std::move(ranges), flight, state);
  return std::make_unique<ListWrite>(file, object, ranges, flight, state);
}

void Flight::finish() {
  operations_.finish();
  // A missing object may be a hole, or it was removed with the file, or by a truncation.
  if (!met_holes_) return;
  const int64_t size = file_.size();
  if (size >= end_) return;
  throw Error(ErrorKind::kStore, "read " + file_.path() + " up to " + std::to_string(end_) + ": end of file (file is " +
                                     std::to_string(size) + " bytes; it was truncated while it was read)");
}

}  // namespace swath
