// The measured costs of a store and a machine, from which costs of operations are computed. `swath calibrate` measures
// them; a default profile exists.
//
// The page cache and the device behind it are two media with separate numbers: the kernel tells at the start of an
// operation which of them serves it (Request::cached).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/direction.h"

namespace swath {

// A function given at a few points: linear between them, constant beyond them.
//
// Uses only + - * /, which give the same bits on every processor: ranks that computed different costs would choose
// different methods, and deadlock.
class Curve {
 public:
  struct Point {
    double x;
    double y;
  };

  Curve() = default;
  // Throws Error{kArgument} unless x ascends and all numbers are positive and finite.
  explicit Curve(std::vector<Point> points);

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  double at(double x) const;  // requires !empty()
  // Beyond the last point proportional to x: seconds of a request larger than any measured one.
  double at_or_in_proportion(double x) const;
  // x times the function, interpolated linearly: seconds of one block, if the points are seconds a byte.
  //
  // Example: 8 bytes at 0.15 ns a byte and 64 at 0.1: 1.2 ns and 6.4 ns a block, so 36 bytes take 3.8 ns.
  double times_x_at(double x) const;

 private:
  std::vector<Point> points_;
};

// A source or target of bytes. Times are in seconds, sizes in bytes.
struct Medium {
  Curve read;                    // seconds of one request by its bytes, where each follows the one before; one stream
  Curve write;                   // the same
  double read_jump = 0;          // seconds more of a request that does not start where the last one ended
  double write_jump = 0;         //
  double read_jump_batched = 0;  // the same of one among many that the engine has in flight together
  // The same of a request that starts so many bytes behind the end of the last one: a head reads over a short gap. From
  // the last point on, and without points, it is a jump.
  Curve read_gap;
  Curve write_gap;
  Curve read_slowdown;   // by ranks that transfer at once: how many times longer each takes, at 512 KiB a request
  Curve write_slowdown;  //

  bool known() const { return !read.empty(); }
  bool prices_gaps(Direction direction) const {
    return !(direction == Direction::kRead ? read_gap : write_gap).empty();
  }
  double jump_seconds(Direction direction) const { return direction == Direction::kRead ? read_jump : write_jump; }
  // Seconds more of a request that starts `gap_bytes` behind the end of the last one.
  double gap_seconds(Direction direction, double gap_bytes) const;
};

// The span of an operation in the file or in memory. A correction of one scale does not apply to another: data in a
// core's cache has other costs than data that fills the memory.
enum class Scale { kSmall, kMedium, kLarge };
std::string to_string(Scale scale);
// `span_bytes`: from the first byte of the rank with the most bytes to its last, in the file or in memory, whichever is
// larger.
Scale scale_of(double span_bytes);

// Learned ratios of measured to predicted seconds. They are bounded, so that one disturbed hour does not distort the
// choice permanently.
//
// There are two factors: one for a direction, medium and scale, common to all methods, which adapts fast; and one for
// each method there, which adapts slowly. A busy machine makes every method slower: if only the method in use had a
// factor, the next would look cheaper, be tried, and turn out as slow.
class Corrections {
 public:
  static constexpr double kMost = 4;
  static constexpr size_t kCommon = size_t{2} * 2 * 3;  // directions, media, scales
  static constexpr size_t kMethods = 5 * kCommon;       // places: of each method (correction_place()) ...
  static constexpr size_t kCount = kMethods + kCommon;  // ... and after them what is common

  // Of a method's place: both factors.
  double factor(size_t place) const { return factors_[place] * factors_[common_place(place)]; }
  // `ratio`: measured divided by uncorrected seconds; limited to half and twice the previous value.
  void observe(size_t place, double ratio);

  static size_t common_place(size_t place) { return kMethods + place % kCommon; }
  // One factor alone, to be kept and set again.
  double part(size_t place) const { return factors_[place]; }
  int64_t observations(size_t place) const { return observations_[place]; }
  void set(size_t place, double factor, int64_t observations);

 private:
  std::array<double, kCount> factors_ = filled_with_one();
  std::array<int64_t, kCount> observations_{};

  static std::array<double, kCount> filled_with_one() {
    std::array<double, kCount> ones{};
    ones.fill(1);
    return ones;
  }
};

// An object store; each object is on one server. Costs are of all servers together when busy, except `alone`.
struct ObjectStore {
  // Of one direction.
  struct Costs {
    double alone = 0;      // seconds of one operation that is waited for: the round trip, and the server's work
    double operation = 0;  // of one among many in flight
    double byte = 0;       // and each of its bytes
    double range = 0;      // each further range of a list
    double region = 0;     // each region that a description has
    double described = 0;  // each byte that a description moves, copied once more on both sides than `byte`
    double window = 0;     // each byte of the windows that a server reads for a description, and writes back
  };
  Costs read;
  Costs write;
  double network = 0;  // the round trip in `alone`; the rest is the server's work

  const Costs& of(Direction direction) const { return direction == Direction::kRead ? read : write; }
};

// Seconds a byte of a decoded chunk, by one core.
struct CodecCost {
  double decode = 0;
  double encode = 0;
};

struct Profile {
  std::string source = "stated defaults";  // or of which store and when it was measured; shown in every plan
  double cores = 2;                        // that the ranks of a node share

  Medium cache;
  Curve look;  // seconds to read one window of mapped cache pages, every line of it, without a copy, by its bytes
  double look_page_seconds = 0;  // the cost of a page in this, even if few of its lines are read
  Medium device;  // not known(): the calibration did not reach it; plans then use the page cache's costs, and say so

  double operation_seconds = 0;       // of an operation that moves nothing, one rank: checks and planning
  double late_operation_seconds = 0;  // the same after a sync: caches are cold
  double lock_seconds = 0;            // taking and releasing the lock of one window
  double sync_seconds = 0;            // fsync with one dirty page
  double sync_byte_seconds = 0;       // and of every further dirty byte
  double read_piece_seconds = 0;      // one more piece of memory in list I/O
  double write_piece_seconds = 0;     //
  double visit_seconds = 0;           // finding one rank's part of one window
  Curve gather;           // seconds a byte by bytes of a contiguous block: from a window in this core's cache to memory
  Curve scatter;          // the same from memory into a window
  Curve exchange_gather;  // the same from another rank's window
  Curve exchange_scatter;  //
  // The additional cost of large memory, by the bytes of it that an operation uses: small while they fit in the
  // processor's caches.
  Curve memory_byte_store;          // seconds a byte of a read straight into memory, more than into a window in cache
  Curve memory_byte_load;           // the same of a write straight from memory
  Curve memory_line_store;          // seconds of a cache line of which a copy to memory uses a part only
  Curve memory_line_load;           // the same of a copy from memory
  Curve copy_slowdown;              // by ranks that copy at once: how many times longer each takes
  Curve barrier;                    // seconds of one barrier by the ranks of a node
  Curve round;                      // seconds that one adds where they have something to do until all have arrived
  double message_seconds = 0;       // between nodes: one message
  double message_byte_seconds = 0;  // and each byte of it

  ObjectStore objects;  // of a store of objects, else stated

  // Of coded chunks; stated, not measured.
  double chunk_open_seconds = 0;    // finding and opening the file of a chunk
  double chunk_create_seconds = 0;  // writing it aside, and giving it its name
  CodecCost zstd;
  CodecCost blosc;
  CodecCost lz4;
  CodecCost deflate;  // gzip, zlib
  CodecCost shuffle;
  CodecCost checksum;  // crc32c, fletcher32

  // The cost of a codec by its name; a codec without an entry has the cost of zstd.
  const CodecCost& codec(const std::string& name) const;
  // The cost of several codecs, one after another.
  CodecCost coding(const std::vector<std::string>& codecs) const;

  Corrections corrections;
};

// Measured on the machine of docs/performance.md, rounded: right within a small factor on a current node.
const Profile& default_profile();

// Calls visit(name, member) for every number and curve: the only list of their names in JSON.
template <typename AnyProfile, typename Visit>
void for_each_member(AnyProfile& profile, const Visit& visit) {
  visit("source", profile.source);
  visit("cores", profile.cores);
  const auto medium = [&](const std::string& name, auto& of) {
    visit(name + ".read", of.read);
    visit(name + ".write", of.write);
    visit(name + ".read_jump", of.read_jump);
    visit(name + ".write_jump", of.write_jump);
    visit(name + ".read_jump_batched", of.read_jump_batched);
    visit(name + ".read_gap", of.read_gap);
    visit(name + ".write_gap", of.write_gap);
    visit(name + ".read_slowdown", of.read_slowdown);
    visit(name + ".write_slowdown", of.write_slowdown);
  };
  medium("cache", profile.cache);
  visit("look", profile.look);
  visit("look_page_seconds", profile.look_page_seconds);
  medium("device", profile.device);
  visit("operation_seconds", profile.operation_seconds);
  visit("late_operation_seconds", profile.late_operation_seconds);
  visit("lock_seconds", profile.lock_seconds);
  visit("sync_seconds", profile.sync_seconds);
  visit("sync_byte_seconds", profile.sync_byte_seconds);
  visit("read_piece_seconds", profile.read_piece_seconds);
  visit("write_piece_seconds", profile.write_piece_seconds);
  visit("visit_seconds", profile.visit_seconds);
  visit("gather", profile.gather);
  visit("scatter", profile.scatter);
  visit("exchange_gather", profile.exchange_gather);
  visit("exchange_scatter", profile.exchange_scatter);
  visit("memory_byte_store", profile.memory_byte_store);
  visit("memory_byte_load", profile.memory_byte_load);
  visit("memory_line_store", profile.memory_line_store);
  visit("memory_line_load", profile.memory_line_load);
  visit("copy_slowdown", profile.copy_slowdown);
  visit("barrier", profile.barrier);
  visit("round", profile.round);
  visit("message_seconds", profile.message_seconds);
  visit("message_byte_seconds", profile.message_byte_seconds);
  const auto objects = [&](const std::string& name, auto& of) {
    visit(name + ".alone", of.alone);
    visit(name + ".operation", of.operation);
    visit(name + ".byte", of.byte);
    visit(name + ".range", of.range);
    visit(name + ".region", of.region);
    visit(name + ".described", of.described);
    visit(name + ".window", of.window);
  };
  objects("objects.read", profile.objects.read);
  objects("objects.write", profile.objects.write);
  visit("objects.network", profile.objects.network);
  visit("chunk_open_seconds", profile.chunk_open_seconds);
  visit("chunk_create_seconds", profile.chunk_create_seconds);
  const auto codec = [&](const std::string& name, auto& of) {
    visit(name + ".decode", of.decode);
    visit(name + ".encode", of.encode);
  };
  codec("zstd", profile.zstd);
  codec("blosc", profile.blosc);
  codec("lz4", profile.lz4);
  codec("deflate", profile.deflate);
  codec("shuffle", profile.shuffle);
  codec("checksum", profile.checksum);
}

}  // namespace swath
