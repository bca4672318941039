// One RADOS operation on its way: ranges of one object, all of them read or written together.
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

// A range of an object, and its memory: in one piece, or in several that are copied.
struct ObjectRange {
  int64_t object_offset;
  int64_t offset;  // in the file
  int64_t bytes;
  std::vector<Transfer> pieces;  // their offsets count from the begin of the range
};

// An object as it was read, for a write that takes place only if nobody has written it since.
struct ObjectState {
  bool is_there = false;
  uint64_t version = 0;
  bool is_written = false;
};

// The operations of one transfer.
class Flight {
 public:
  // So many under way at each OSD.
  Flight(const RadosFile& file, int64_t of_server_max, Counters& counters)
      : file_(file), operations_(of_server_max, file.turns(), counters) {}

  void begin(std::unique_ptr<ServedOperation> operation) { operations_.begin(std::move(operation)); }
  // What is read ends there, or before.
  void reads_up_to(int64_t end) { end_ = std::max(end_, end); }
  // Until all is done. Throws the first error; of a file that was removed, or has become shorter, meanwhile, too.
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

  // The OSD of its object; while that is not known its place in a stripe, for objects at one place are mostly on one.
  int64_t server() const override;
  std::string target() const override { return pool_->target_of(name_); }
  Direction direction() const override { return direction_; }
  int64_t bytes() const override { return bytes_; }
  std::string text() const override;  // "write PATH at OFFSET: object NAME on osd.2"

 protected:
  RadosOperation(const RadosFile& file, Direction direction, int64_t object, Flight& flight);

  virtual int submit(rados_completion_t completion) = 0;
  // What came of it; sets moved_. Returns 0 or a negative errno value.
  virtual int take(int result) = 0;

  // Of the object, after a read.
  uint64_t version() const { return librados().aio_get_version(completion_); }

  const RadosFile& file_;
  const std::shared_ptr<RadosPool> pool_;
  const Direction direction_;
  const int64_t object_;
  const std::string name_;
  int64_t offset_ = 0;  // of its first byte in the file
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

// A compound operation of so many ranges, at most kPoolReadRangesMax or kPoolWriteRangesMax. With a state a read tells
// it, and a write does nothing unless the object still is as the state says.
std::unique_ptr<RadosOperation> make_list_operation(const RadosFile& file, Direction direction, int64_t object,
                                                    std::vector<ObjectRange> ranges, Flight& flight,
                                                    ObjectState* state = nullptr);

}  // namespace swath
