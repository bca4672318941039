// A hard disk, a RAID or an SSD as arithmetic: which request is done when. No clock and no file: time is passed in, so
// that the same requests at the same times always take the same time.
//
// A request goes this way:
//
//   host      request_seconds pass before the disks get it: system calls, interrupts, a network. This is what one
//             synchronous stream loses between its requests, and what several streams hide from each other.
//   streams   a read that goes on where a tracked stream ended reads a whole segment; what follows of the segment is
//             then in the controller's memory when it is asked for. With more streams than segments the one that was
//             used least recently is forgotten, always just before it goes on.
//   disks     the range is divided over the disks by stripe units. Each disk serves first come first served. Going on
//             where its head stands costs the transfer alone; elsewhere the head is moved (shortest + b *
//             sqrt(distance)) and half a turn is waited for; over a short gap it reads on where that is cheaper.
//   link      what the disks gave passes through one controller, bus or network.
//
// Left out: zones (the rate is the same everywhere), the angle of the platter, reordering of the queue, write-back
// caches but for one thing: a RAID writes each stripe's parity once, as a controller that collects stripes does.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/direction.h"

namespace swath {

struct DiskParameters {
  std::string name;
  std::string description;
  int disks = 1;
  int64_t capacity_bytes = 0;          // of one disk
  double media_bytes_per_second = 0;   // of one disk
  double seek_shortest_seconds = 0;    // to the next track
  double seek_longest_seconds = 0;     // across the whole disk
  double rotation_seconds = 0;         // wait after each seek: half a turn
  int64_t near_bytes = 0;              // the maximum gap that may be read over
  int64_t stripe_bytes = 0;            // unit on one disk; 0: one disk
  bool parity = false;                 // RAID-5, left-symmetric
  int segments = 0;                    // sequential streams that the controller tracks
  int64_t segment_bytes = 0;           // the size of a read ahead
  double request_seconds = 0;          // delay before the disks get a request
  double link_bytes_per_second = 0;    // of all disks together; 0: unlimited
  int64_t request_bytes = 256 << 10;   // request size of the operating system
  int64_t allocation_bytes = 1 << 20;  // allocation unit of the file system
};

// Addresses of a disk or an array, as the operating system sees it.
struct DiskRange {
  int64_t position;
  int64_t bytes;

  friend bool operator==(const DiskRange&, const DiskRange&) = default;
};

struct DiskRequest {
  int64_t stream = 0;  // for the trace only: disks do not know files
  Direction direction = Direction::kRead;
  std::vector<DiskRange> ranges;
};

struct DiskStatistics {
  int64_t requests = 0;
  int64_t read_bytes = 0;     // asked for
  int64_t written_bytes = 0;  // asked for
  int64_t seeks = 0;          // of all heads
  int64_t skips = 0;          // gaps that were read over
  int64_t prefetched_bytes = 0;
  int64_t prefetch_hits = 0;  // requests served wholly from the controller's memory
  double busy_seconds = 0;    // of all disks, seeks included
  double seek_seconds = 0;    // rotation included
};

// A move of a head, and its purpose.
struct HeadPosition {
  double seconds;  // when it began to move there
  int disk;
  int64_t position;  // on that disk
  int64_t bytes;
  int64_t stream;
  Direction direction;
  bool seeked;
};

// A server whose requests may arrive out of order: each takes the first gap in time that it fits into.
class Timeline {
 public:
  // Reserves `duration` seconds at `earliest` or later, and returns their end.
  double reserve(double earliest, double duration);
  // Forgets gaps before `time`; no later reservation may begin earlier.
  void forget_before(double time);
  void clear() { busy_.clear(); }

 private:
  std::map<double, double> busy_;  // begin -> end, disjoint
};

// A part of a request on one disk.
struct DiskPart {
  int disk;
  int64_t position;
  int64_t bytes;

  friend bool operator==(const DiskPart&, const DiskPart&) = default;
};

// The parts of a range, in its order; adjacent parts on one disk are joined. Their total length is that of the range.
std::vector<DiskPart> parts_of(const DiskParameters& parameters, const DiskRange& range);
// The parity that is written with a range: as long as its part of each stripe, divided by the disks that hold data.
std::vector<DiskPart> parity_of(const DiskParameters& parameters, const DiskRange& range);

class DiskModel {
 public:
  // Throws kArgument for an invalid parameter.
  explicit DiskModel(DiskParameters parameters);

  const DiskParameters& parameters() const { return parameters_; }
  int64_t capacity_bytes() const;  // for data

  // The completion time of a request that arrives at `arrival`. Requests are served in the order of the calls; an
  // arrival earlier than the last one starts a new timeline, with all disks idle.
  double serve(const DiskRequest& request, double arrival);

  // Replaces the disks by idle ones; statistics and trace continue.
  void replace(DiskParameters parameters);

  const DiskStatistics& statistics() const { return statistics_; }
  void record(bool on) { recording_ = on; }
  const std::vector<HeadPosition>& trace() const { return trace_; }

 private:
  struct Disk {
    int64_t head = 0;
    double busy_until = 0;
  };
  // The bytes that the controller has read of one sequential stream: [begin, end). Those from `reading_from` on arrive
  // between `read_begin` and `read_end`, the others arrived earlier.
  struct Stream {
    int64_t begin;
    int64_t end;
    int64_t reading_from;
    double read_begin;
    double read_end;
  };

  void start_again();
  double read(const DiskRequest& request, const DiskRange& range, double ready);
  double go_on(const DiskRequest& request, Stream& stream, const DiskRange& range, double ready);
  void track(const DiskRange& range, double done);
  double access(const DiskRequest& request, const std::vector<DiskPart>& parts, double ready);
  double access(const DiskRequest& request, const DiskPart& part, double ready);

  DiskParameters parameters_;
  std::vector<Disk> disks_;
  std::list<Stream> streams_;  // the least recently used last
  Timeline link_;
  double last_arrival_ = 0;
  DiskStatistics statistics_;
  bool recording_ = false;
  std::vector<HeadPosition> trace_;
};

}  // namespace swath
