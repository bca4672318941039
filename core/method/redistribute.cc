// Memory to memory, from one decomposition to another (two-phase-1993, section 4.1: "redistributed at run-time").
//
// The common elements of each pair of ranks are products of index sets (intersection.h), which both ranks compute. Each
// round moves the same part of every pair's elements, so that all ranks are busy in all rounds:
//
//   pack what the others get into the own stage ─▶ all meet ─▶ unpack out of the stages of the others
//
// There are two stages, used in turn, so one barrier a round is enough: a rank that packs round t + 2 has met the
// others in round t + 1, when all had unpacked round t. A rank's elements for itself go from memory to memory (decision
// 0012).

#include <algorithm>
#include <cstring>

#include "base/bulk_data.h"
#include "base/interrupt.h"
#include "base/math.h"
#include "base/stopwatch.h"
#include "comm/reduction.h"
#include "layout/copy_kernels.h"
#include "method/run.h"
#include "space/intersection.h"

namespace swath {
namespace {

constexpr int64_t kLine = 64;
// The size of a stage: it needs fewer barriers than windows of a file, and still fits in the second-level cache.
constexpr int64_t kWindowsOfStage = 2;
// Rows up to this size are not cut at the end of a round: a cut row is three copies where it was one.
constexpr int64_t kGrainBytes = int64_t{16} << 10;
// The bytes that all flows move in one step, so that shared cache lines of user memory are fetched once.
constexpr int64_t kStepBytes = int64_t{128} << 10;
constexpr int64_t kStepOfFlowBytes = int64_t{16} << 10;

int64_t whole_lines(int64_t bytes) { return ceil_div(bytes, kLine) * kLine; }

// Common elements of two ranks that are one product of loops (slowest first) in the memory of both.
struct SharedBox {
  struct Loop {
    int64_t count;
    int64_t from_stride;
    int64_t to_stride;
  };
  int64_t from_origin;  // bytes from the addresses of the two parts
  int64_t to_origin;
  std::vector<Loop> loops;
};

// Calls visit(box) for the common elements of two parts: every combination of one piece for each dimension.
template <typename Visit>
void for_each_shared_box(const Part& from, const Part& to, const Visit& visit) {
  if (!from.holds || !to.holds) return;
  const size_t dimensions = from.indices.size();
  std::vector<std::vector<SharedPiece>> pieces;
  for (size_t d = 0; d < dimensions; ++d) {
    pieces.push_back(intersection(from.indices[d], to.indices[d]));
    if (pieces[d].empty()) return;
  }
  std::vector<size_t> chosen(dimensions, 0);
  while (true) {
    SharedBox box{from.memory_origin, to.memory_origin, {}};
    for (size_t d = 0; d < dimensions; ++d) {
      const SharedPiece& piece = pieces[d][chosen[d]];
      const int64_t from_stride = from.memory_strides[d];
      const int64_t to_stride = to.memory_strides[d];
      box.from_origin += piece.from * from_stride;
      box.to_origin += piece.to * to_stride;
      for (const SharedLoop& loop : piece.loops) {
        box.loops.push_back({loop.count, loop.from_step * from_stride, loop.to_step * to_stride});
      }
    }
    visit(box);
    size_t d = dimensions;
    while (d > 0 && ++chosen[d - 1] == pieces[d - 1].size()) chosen[--d] = 0;
    if (d == 0) return;
  }
}

// The elements of one box, copied between user memory and a stage, where they are packed, or between user memories.
struct Stretch {
  std::vector<CopyLevel> levels;
  const std::byte* source;  // null: the elements come from a stage
  std::byte* target;        // null: the elements go to a stage
  int64_t count;
  int64_t grain;  // elements of the fastest levels that are moved together

  int64_t cut_before(int64_t element) const { return element >= count ? count : element / grain * grain; }
};

Stretch make_stretch(const SharedBox& box, const std::byte* source, std::byte* target, int64_t element_bytes,
                     int64_t grain_bytes) {
  Stretch stretch{{}, source, target, 1, 1};
  if (source != nullptr) stretch.source += box.from_origin;
  if (target != nullptr) stretch.target += box.to_origin;
  for (size_t i = box.loops.size(); i-- > 0;) {
    const auto& loop = box.loops[i];
    const int64_t packed_stride = stretch.count * element_bytes;
    stretch.levels.push_back({loop.count, source != nullptr ? loop.from_stride : packed_stride,
                              target != nullptr ? loop.to_stride : packed_stride});
    stretch.count *= loop.count;
    if (stretch.count * element_bytes <= grain_bytes) stretch.grain = stretch.count;
  }
  std::reverse(stretch.levels.begin(), stretch.levels.end());
  return stretch;
}

// How the elements of a stretch are copied.
struct ElementCopy {
  const std::vector<CopyLevel>& levels;
  int64_t element_bytes;
  Target use;
};

// The addresses of the first combination of levels.
struct CopyAddresses {
  std::byte* target;
  const std::byte* source;
};

// Copies the elements [first, last) of all combinations of the levels from `level` on, `count` of them.
void copy_elements(const ElementCopy& copy, size_t level, int64_t count, int64_t first, int64_t last,
                   CopyAddresses places) {
  if (first >= last) return;
  const auto& levels = copy.levels;
  const auto [target, source] = places;
  if (last - first == count) {
    const auto from = levels.begin() + static_cast<std::ptrdiff_t>(level);
    copy_levels(target, source, copy.element_bytes, {from, levels.end()}, copy.use);
    return;
  }
  const CopyLevel& slowest = levels[level];
  const int64_t inner = count / slowest.count;
  const auto at = [&](int64_t index, int64_t inner_first, int64_t inner_last) {
    copy_elements(copy, level + 1, inner, inner_first, inner_last,
                  {places.target + index * slowest.target_stride, places.source + index * slowest.source_stride});
  };
  const int64_t begin = ceil_div(first, inner);
  const int64_t end = last / inner;
  if (begin > end) return at(end, first - end * inner, last - end * inner);
  if (begin * inner > first) at(begin - 1, inner - (begin * inner - first), inner);
  if (begin < end) {
    std::vector<CopyLevel> whole(levels.begin() + static_cast<std::ptrdiff_t>(level), levels.end());
    whole[0].count = end - begin;
    copy_levels(target + begin * slowest.target_stride, source + begin * slowest.source_stride, copy.element_bytes,
                std::move(whole), copy.use);
  }
  at(end, 0, last - end * inner);
}

// The elements that one rank sends to another, seen from one of them; both have the same boxes in the same order.
struct Flow {
  int peer;
  std::vector<Stretch> stretches;
  int64_t elements = 0;
  int64_t place = 0;  // of its section in a stage, or in the buffer of received messages

  // Part `part` of `parts` is the elements [first_of(part), first_of(part + 1)), about as many in each.
  int64_t first_of(int64_t part, int64_t parts) const {
    const int64_t even = elements / parts * part + elements % parts * part / parts;
    int64_t before = 0;
    for (const Stretch& stretch : stretches) {
      if (even < before + stretch.count) return before + stretch.cut_before(even - before);
      before += stretch.count;
    }
    return elements;
  }
  int64_t most_of_a_part(int64_t parts) const {
    int64_t grain = 0;
    for (const Stretch& stretch : stretches) grain = std::max(grain, stretch.grain);
    return ceil_div(elements, parts) + grain;
  }

  // Calls visitor(stretch, first, last, elements of [begin, end) before them) for the elements of [begin, end).
  template <typename Visitor>
  void visit(int64_t begin, int64_t end, const Visitor& visitor) const {
    int64_t before = 0;
    for (const Stretch& stretch : stretches) {
      if (before >= end) return;
      const int64_t first = std::max(begin - before, int64_t{0});
      const int64_t last = std::min(end - before, stretch.count);
      if (first < last) visitor(stretch, first, last, before + first - begin);
      before += stretch.count;
    }
  }
};

class Redistribution {
 public:
  // Collective.
  Redistribution(int64_t element_bytes, const SharedOut& source, const SharedOut& target, Comm& comm,
                 const Tuning& tuning, Progress& progress)
      : element_bytes_(element_bytes),
        round_bytes_(kWindowsOfStage * tuning.window_bytes),
        grain_bytes_(std::min(kGrainBytes, round_bytes_ / comm.size())),
        comm_(comm),
        progress_(progress) {
    find_flows(source.decomposition, target.decomposition, source.memory, target.memory);
    make_buffers();
  }

  Counters run() {
    for (int64_t round = 0; round < rounds_; ++round) {
      pack(round);
      meet(round);
      unpack(round);
    }
    finish_streaming();
    return counters_;
  }

 private:
  void find_flows(const Decomposition& from, const Decomposition& to, const LocalMemory& source,
                  const LocalMemory& target) {
    own_.peer = comm_.rank();
    add_stretches(source, target, own_);
    // Each rank starts with a different peer, so that not all read the same stage at the same time.
    for (int i = 1; i < comm_.size(); ++i) {
      const int peer = (comm_.rank() + i) % comm_.size();
      Flow given{.peer = peer, .stretches = {}};
      add_stretches(source, {to.parts(peer, element_bytes_), {}}, given);
      if (given.elements > 0) sends_.push_back(std::move(given));
      Flow got{.peer = peer, .stretches = {}};
      add_stretches({from.parts(peer, element_bytes_), {}}, target, got);
      if (got.elements > 0) receives_.push_back(std::move(got));
    }
    int64_t target_bytes = 0;
    for (const Part& part : target.parts) target_bytes += part.count() * element_bytes_;
    use_ = target_of(target_bytes);
    progress_.bytes_done = 0;
    progress_.bytes_total = bytes_of(sends_) + own_.elements * element_bytes_ + bytes_of(receives_);
  }

  // The memory of another rank has no addresses here: the stage's addresses replace them.
  void add_stretches(const LocalMemory& from, const LocalMemory& to, Flow& flow) const {
    for (size_t i = 0; i < from.parts.size(); ++i) {
      for (size_t j = 0; j < to.parts.size(); ++j) {
        const std::byte* source = from.addresses.empty() ? nullptr : from.addresses[i];
        std::byte* target = to.addresses.empty() ? nullptr : to.addresses[j];
        for_each_shared_box(from.parts[i], to.parts[j], [&](const SharedBox& box) {
          flow.stretches.push_back(make_stretch(box, source, target, element_bytes_, grain_bytes_));
          flow.elements += flow.stretches.back().count;
        });
      }
    }
  }

  int64_t bytes_of(const std::vector<Flow>& flows) const {
    int64_t elements = 0;
    for (const Flow& flow : flows) elements += flow.elements;
    return elements * element_bytes_;
  }

  // Collective: all ranks need the same number of rounds, and equal parts of shared memory.
  void make_buffers() {
    struct Need {
      int64_t bytes = 0;
      int64_t sections = 0;
      void combine(const Need& other) {
        bytes = std::max(bytes, other.bytes);
        sections = std::max(sections, other.sections);
      }
    };
    const Need most =
        allreduce_record(comm_, Need{std::max(bytes_of(sends_), bytes_of(receives_)), std::ssize(sends_)});
    rounds_ = std::max<int64_t>(1, ceil_div(most.bytes, round_bytes_));
    if (most.bytes == 0) return;
    const int64_t step_bytes = std::max(kStepBytes, most.sections * kStepOfFlowBytes);
    steps_ = std::max<int64_t>(1, most.bytes / rounds_ / step_bytes);
    const int64_t rest_bytes = element_bytes_ + std::max(grain_bytes_, element_bytes_) + kLine;  // of a section
    stage_bytes_ = whole_lines(most.bytes / rounds_ + most.sections * rest_bytes);
    table_bytes_ = whole_lines(comm_.size() * kPlaceBytes);
    shared_ = comm_.shared_windows(table_bytes_ + 2 * stage_bytes_);
    messages_ = shared_.empty() || comm_.node_count() > 1;
    if (shared_.empty()) private_stage_ = BulkBuffer(stage_bytes_);
    place_sections(sends_, [](const Flow&) { return true; });
    received_ = BulkBuffer(place_sections(receives_, [&](const Flow& flow) { return !shares_with(flow.peer); }));
    if (!shared_.empty()) publish_places();
    const int64_t shared_bytes = shared_.empty() ? 0 : table_bytes_ + 2 * stage_bytes_;
    counters_.buffer_bytes = shared_bytes + private_stage_.bytes() + received_.bytes();
  }

  // Returns the bytes of all sections.
  template <typename Condition>
  int64_t place_sections(std::vector<Flow>& flows, const Condition& has_section) const {
    int64_t place = 0;
    for (Flow& flow : flows) {
      if (!has_section(flow)) continue;
      flow.place = place;
      place += whole_lines(flow.most_of_a_part(rounds_) * element_bytes_);
    }
    return place;
  }

  // The window of a rank starts with a table: the places in its stages of the elements for each other rank.
  void publish_places() {
    for (const Flow& flow : sends_) {
      std::memcpy(window_of(comm_.rank()) + flow.peer * kPlaceBytes, &flow.place, kPlaceBytes);
    }
  }

  int64_t published_place(int rank) const {
    int64_t place = 0;
    std::memcpy(&place, window_of(rank) + comm_.rank() * kPlaceBytes, kPlaceBytes);
    return place;
  }

  std::byte* window_of(int rank) const { return shared_[static_cast<size_t>(rank)].data(); }

  bool shares_with(int rank) const { return !shared_.empty() && comm_.node_of(rank) == comm_.node_of(comm_.rank()); }

  // The stage that other ranks of the node see. Without shared memory there is one stage, since messages are sent when
  // exchange() returns.
  std::byte* stage_of(int rank, int64_t round) {
    if (shared_.empty()) return private_stage_.data();
    return window_of(rank) + table_bytes_ + round % 2 * stage_bytes_;
  }

  void pack(int64_t round) {
    for (int64_t step = round * steps_; step < (round + 1) * steps_; ++step) {
      check_interrupt();
      move(own_, step, own_.first_of(step, rounds_ * steps_), nullptr, nullptr, use_);
      for (const Flow& flow : sends_) {
        std::byte* section = stage_of(comm_.rank(), round) + flow.place;
        move(flow, step, first_of_round(flow, round), nullptr, section, Target::kCached);
      }
    }
  }

  void unpack(int64_t round) {
    for (int64_t step = round * steps_; step < (round + 1) * steps_; ++step) {
      for (const Flow& flow : receives_) {
        const std::byte* section = shares_with(flow.peer) ? stage_of(flow.peer, round) + published_place(flow.peer)
                                                          : received_.data() + flow.place;
        move(flow, step, first_of_round(flow, round), section, nullptr, use_);
      }
    }
  }

  int64_t first_of_round(const Flow& flow, int64_t round) const {
    return flow.first_of(round * steps_, rounds_ * steps_);
  }

  // Moves one step of a flow; element `origin` of the flow is the first one of the section.
  void move(const Flow& flow, int64_t step, int64_t origin, const std::byte* from_section, std::byte* to_section,
            Target use) {
    const int64_t begin = flow.first_of(step, rounds_ * steps_);
    const int64_t end = flow.first_of(step + 1, rounds_ * steps_);
    const int64_t bytes = (end - begin) * element_bytes_;
    if (bytes > 0 && begin_bulk_copy(bytes)) {
      flow.visit(begin, end, [&](const Stretch& stretch, int64_t first, int64_t last, int64_t before) {
        // Where element 0 of the stretch would be.
        const int64_t packed = (begin - origin + before - first) * element_bytes_;
        const std::byte* source = stretch.source != nullptr ? stretch.source : from_section + packed;
        std::byte* target = stretch.target != nullptr ? stretch.target : to_section + packed;
        copy_elements({stretch.levels, element_bytes_, use}, 0, stretch.count, first, last, {target, source});
      });
    }
    progress_.bytes_done += bytes;
    if (flow.peer != comm_.rank()) counters_.exchanged_bytes += bytes;
  }

  void meet(int64_t round) {
    if (!messages_) {
      if (stage_bytes_ > 0) comm_.barrier();
      return;
    }
    const auto section = [&](const Flow& flow, std::byte* place) {
      const int64_t elements = first_of_round(flow, round + 1) - first_of_round(flow, round);
      return std::span(place + flow.place, static_cast<size_t>(elements * element_bytes_));
    };
    std::vector<SendMessage> sends;
    std::vector<ReceiveMessage> receives;
    for (const Flow& flow : sends_) {
      const auto data = section(flow, stage_of(comm_.rank(), round));
      if (!data.empty() && !shares_with(flow.peer)) sends.push_back({flow.peer, data});
    }
    for (const Flow& flow : receives_) {
      if (shares_with(flow.peer)) continue;
      const auto data = section(flow, received_.data());
      if (!data.empty()) receives.push_back({flow.peer, data});
    }
    comm_.exchange(sends, receives);
    if (!shared_.empty()) comm_.node_barrier();
  }

  static constexpr int64_t kPlaceBytes = sizeof(int64_t);

  const int64_t element_bytes_;
  const int64_t round_bytes_;
  const int64_t grain_bytes_;
  Comm& comm_;
  Counters counters_;
  Progress& progress_;
  Target use_ = Target::kCached;
  Flow own_{};
  std::vector<Flow> sends_;
  std::vector<Flow> receives_;
  int64_t rounds_ = 1;
  int64_t steps_ = 1;  // of a round
  int64_t stage_bytes_ = 0;
  int64_t table_bytes_ = 0;
  bool messages_ = false;  // some rank of the communicator may need one
  std::vector<std::span<std::byte>> shared_;
  BulkBuffer private_stage_;
  BulkBuffer received_;
};

}  // namespace

Counters redistribute(int64_t element_bytes, const SharedOut& source, const SharedOut& target, Comm& comm,
                      const Tuning& tuning, Progress& progress) {
  const Stopwatch watch;
  Counters counters = Redistribution(element_bytes, source, target, comm, tuning, progress).run();
  counters.exchange_seconds = watch.seconds();
  counters.total_seconds = counters.exchange_seconds;
  return counters;
}

}  // namespace swath
