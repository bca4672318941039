// What was asked: which elements, of which rank, in which direction. Everything that planning may look at, and nothing
// that differs between ranks: the same request gives the same plan everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "layout/layout.h"
#include "plan/profile.h"
#include "space/distribution.h"

namespace swath {

// [begin, end) of the array.
struct Box {
  Shape begin;
  Shape end;
};

// Whose elements are whose.
class Sharing {
 public:
  // The selected array dealt out over `ranks` ranks. Throws Error{kArgument} where the grid has more places.
  static Sharing distributed(Distribution distribution, Selection selection, int ranks);
  // Explicit boxes of every rank (adaptive meshes). Throws Error{kArgument} for a box outside `shape`.
  static Sharing boxes(std::vector<std::vector<Box>> boxes_of_rank, const Shape& shape);
  // One rank alone that wants a whole selection, or one rank's share of a distribution over others.
  static Sharing alone(Selection selection);
  static Sharing share_of(Distribution distribution, Selection selection, int rank);

  int ranks() const { return ranks_; }
  // What `rank` holds; a distribution gives one part, boxes one part each.
  std::vector<Part> parts(int rank, int64_t element_bytes) const;
  // Ranks whose shares differ only by where they lie (Distribution::kinds). With boxes each rank is a kind of its own.
  std::vector<RankKind> kinds(int parts_min = 1) const;
  // What all hold together.
  std::vector<Part> together(int64_t element_bytes) const;
  // The rank that holds most (of equals the lowest): the first place of a grid, whose blocks are never the ragged ones.
  int busiest_rank() const;
  // Throws Error{kArgument} where two boxes share an element: written twice, it would have an unknown value.
  void check_written_once() const;
  // Elements of one kept dimension: where a part's memory is not packed, the caller places it with this selection.
  const Selection& selection() const { return selection_; }
  bool is_boxes() const { return is_boxes_; }
  const std::vector<std::vector<Box>>& boxes_of_rank() const { return boxes_; }

  std::string to_string() const;

 private:
  int ranks_ = 1;
  std::vector<Distribution> distribution_;  // none or one
  Selection selection_;
  int only_rank_ = -1;  // share_of
  bool is_boxes_ = false;
  std::vector<std::vector<Box>> boxes_;
};

enum class Method { kAuto, kDirect, kSieve, kList, kTwoPhase };
std::string to_string(Method method);
// Throws Error{kArgument} naming the methods there are.
Method parse_method(const std::string& name);

// How methods are to be carried out. Sizes in bytes.
struct Tuning {
  int64_t sieve_bytes = int64_t{4} << 20;        // window of independent sieving
  int64_t bounce_bytes = int64_t{512} << 10;     // direct, where memory is not contiguous: stays in a core's cache
  int64_t request_bytes_max = int64_t{1} << 30;  // longer runs are cut: the kernel stops at 2 GiB - 4096
  int64_t list_pieces = 1024;                    // memory pieces of one list batch (IOV_MAX)
  int64_t window_bytes = int64_t{512} << 10;     // one aggregator's window of one round (docs/performance.md)
  int64_t domain_bytes_min = int64_t{64} << 10;  // no more aggregators than leave each this much
  int64_t runs_bytes_min = int64_t{64} << 10;    // windows whose runs are longer are written run by run, not sieved
  int64_t staged_run_bytes = 64;                 // mean runs shorter than this are staged: a cache line
  int64_t look_bytes_min = 256 << 10;            // windows in the page cache so long are looked at, not copied
  int aggregators = 0;                           // 0: as many as ranks
};

// What of the tuning was asked for; the rest is chosen by price.
struct AskedTuning {
  bool sieve_bytes = false;
  bool window_bytes = false;
  bool aggregators = false;
  bool runs_bytes_min = false;
};

struct Request {
  Direction direction = Direction::kRead;
  std::shared_ptr<const Layout> layout;
  Sharing sharing;
  Method method = Method::kAuto;
  Tuning tuning;
  AskedTuning asked_tuning;
  bool messages = false;  // not every rank shares memory with every other: two-phase packs what it sends

  // What only a look at the ranks, the file and the store can tell, agreed on by all ranks; prices are made from it.
  std::shared_ptr<const Profile> profile;  // null: stated defaults
  double cached = 1;                       // part of what is asked for that is in the page cache
  int64_t memory_block_bytes = 0;          // smallest piece of any rank's memory that is contiguous; 0: packed
  int64_t memory_span_bytes = 0;           // from the first byte of any rank's memory to its last; 0: packed
  int ranks_of_node = 0;                   // of the fullest node; 0: not known, taken to be one a core
  bool synced = false;                     // a write will be: the device begins while it goes on (Engine)
  bool shows_cache = false;                // the engine lets the page cache be looked at (Engine::cached_view)
};

}  // namespace swath
