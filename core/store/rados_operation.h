// One RADOS operation on its way: ranges of one object, all of them read or written together.
#pragma once

#ifdef SWATH_HAVE_RADOS

#include <rados/librados.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/direction.h"
#include "store/batch.h"
#include "store/rados_file.h"

namespace swath {

// A range of an object, and its memory: in one piece, or in several that are copied.
struct ObjectRange {
  int64_t object_offset;
  int64_t offset;  // in the file
  int64_t bytes;
  std::vector<Transfer> pieces;  // their offsets count from the begin of the range
};

// Whoever waits for operations: woken when one of them ends.
struct Arrival {
  std::mutex mutex;
  std::condition_variable changed;
};

class RadosOperation {
 public:
  virtual ~RadosOperation();
  RadosOperation(const RadosOperation&) = delete;
  RadosOperation& operator=(const RadosOperation&) = delete;

  // Begins it; it must not be let go of before it is done.
  void begin();
  bool is_done() const;
  void cancel();
  // After it is done. Throws Error{kStore}; else its bytes are where they belong. Whether some of them are holes.
  bool settle(Counters& counters);

  int64_t object() const { return object_; }
  std::string text() const;  // for messages: "write PATH at OFFSET: object NAME on osd.2"

 protected:
  RadosOperation(const RadosFile& file, Direction direction, int64_t object, Arrival& arrival);

  virtual int submit(rados_completion_t completion) = 0;
  // What came of it; sets moved_. Returns 0 or a negative errno value.
  virtual int take(int result) = 0;

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
  [[noreturn]] void fail(int result) const;

  Arrival& arrival_;
  rados_completion_t completion_ = nullptr;
  int refused_ = 0;
  bool done_ = false;  // under arrival_.mutex
};

// Compound operations of so many ranges. A read is answered range by range; a write is quadratic in its ranges.
//
// The number of operations in one request is a 16-bit number: of 65,540 reads RADOS carries out 4, and says success.
inline constexpr int64_t kReadRangesMax = 1000;
inline constexpr int64_t kWriteRangesMax = 100;
static_assert(kReadRangesMax < 16'384 && kWriteRangesMax < 16'384);

std::unique_ptr<RadosOperation> make_list_operation(const RadosFile& file, Direction direction, int64_t object,
                                                    std::vector<ObjectRange> ranges, Arrival& arrival);

// The operations of one transfer: at most so many under way for the objects at one place of a stripe, which lie on one
// server unless another one has two of them.
class Flight {
 public:
  Flight(const RadosFile& file, int64_t in_flight_max, Counters& counters);
  // Waits for what is under way, whose memory is the caller's.
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  Arrival& arrival() { return arrival_; }
  void begin(std::unique_ptr<RadosOperation> operation);
  // Until all is done. Throws the first error; of a file that was removed meanwhile, too.
  void finish();

 private:
  using Lane = std::deque<std::unique_ptr<RadosOperation>>;
  void wait_for_first(Lane& lane);

  const RadosFile& file_;
  const size_t in_flight_max_;
  Counters& counters_;
  Arrival arrival_;
  std::vector<Lane> lanes_;
  bool met_holes_ = false;
};

}  // namespace swath

#endif
