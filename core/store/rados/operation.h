// One RADOS operation in flight: it reads or writes ranges of one object together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/direction.h"
#include "store/batch.h"
#include "store/in_flight.h"
#include "store/rados/file.h"
#include "store/rados/library.h"

namespace swath {

// A range of an object, and its memory: one piece, or several that are copied.
struct ObjectRange {
  int64_t object_offset;
  int64_t offset;  // in the file
  int64_t bytes;
  std::vector<Transfer> pieces;  // their offsets are relative to the start of the range
};

// The state of an object when it was read, for a write that must fail if the object has changed since.
struct ObjectState {
  bool is_there = false;
  uint64_t version = 0;
  bool is_written = false;
};

// The operations of one transfer.
class Flight {
 public:
  // `of_server_max`: operations in flight at each OSD.
  Flight(const RadosFile& file, int64_t of_server_max, Counters& counters)
      : file_(file), operations_(of_server_max, file.turns(), counters) {}

  void begin(std::unique_ptr<ServedOperation> operation) { operations_.begin(std::move(operation)); }
  // Notes the highest offset that is read.
  void reads_up_to(int64_t end) { end_ = std::max(end_, end); }
  // Waits until all are done. Throws the first error; also if the file was removed or has become shorter meanwhile.
  void finish();

 private:
  friend class RadosOperation;
  const RadosFile& file_;
  bool met_holes_ = false;
  int64_t end_ = 0;
  InFlight operations_;
};

class RadosOperation : public ServedOperation {
 public:
  ~RadosOperation() override;

  void cancel() override;
  void complete(Counters& counters) override;

  // The OSD of its object; while it is unknown, the object's place in a stripe, since such objects are mostly on one
  // OSD.
  int64_t server() const override;
  std::string target() const override { return pool_->target_of(name_); }
  Direction direction() const override { return direction_; }
  int64_t bytes() const override { return bytes_; }
  std::string text() const override;  // "write PATH at OFFSET: object NAME on osd.2"

 protected:
  RadosOperation(const RadosFile& file, Direction direction, int64_t object, Flight& flight);

  virtual int submit(rados_completion_t completion) = 0;
  // Handles the result and sets moved_. Returns 0 or a negative errno value.
  virtual int take(int result) = 0;

  // The object's version, after a read.
  uint64_t version() const { return librados().aio_get_version(completion_); }

  const RadosFile& file_;
  const std::shared_ptr<RadosPool> pool_;
  const Direction direction_;
  const int64_t object_;
  const std::string name_;
  int64_t offset_ = 0;  // file offset of its first byte
  int64_t bytes_ = 0;
  int64_t moved_ = 0;
  bool has_holes_ = false;

 private:
  void submit() override;
  [[noreturn]] void fail(int result) const;

  Flight& flight_;
  rados_completion_t completion_ = nullptr;
  int refused_ = 0;
};

// A compound operation of at most kPoolReadRangesMax or kPoolWriteRangesMax ranges. With a state, a read stores it, and
// a write fails if the object has changed since.
std::unique_ptr<RadosOperation> make_list_operation(const RadosFile& file, Direction direction, int64_t object,
                                                    std::vector<ObjectRange> ranges, Flight& flight,
                                                    ObjectState* state = nullptr);

}  // namespace swath
