#include <algorithm>
#include <vector>

#include "method/run.h"

namespace swath {
namespace {

// Batches of bounded size, each piece contiguous in file and memory. A run of the file stays within one batch where it
// fits, so that scattered memory costs no further request.
class Batch {
 public:
  Batch(const Job& job) : job_(job), pieces_max_(static_cast<size_t>(job.plan.request.tuning.list_pieces)) {
    pieces_.reserve(pieces_max_);
  }

  void make_room(int64_t pieces) {
    if (!pieces_.empty() && pieces_.size() + static_cast<size_t>(pieces) > pieces_max_) flush();
  }

  void add(const Transfer& piece) {
    pieces_.push_back(piece);
    if (pieces_.size() == pieces_max_) flush();
  }

  void flush() {
    if (pieces_.empty()) return;
    job_.engine.transfer(job_.plan.request.direction, pieces_, job_.counters);
    for (const auto& piece : pieces_) job_.progress.bytes_done += piece.bytes;
    pieces_.clear();
  }

 private:
  const Job& job_;
  size_t pieces_max_;
  std::vector<Transfer> pieces_;
};

}  // namespace

void run_list(const Job& job) {
  Batch batch(job);
  job.mine.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    std::byte* memory = job.memory.addresses[slice.part];
    const int64_t dense = regions.dense_positions();
    for (int64_t position = slice.first; position < slice.last;) {
      const Run run = regions.run_at(position, slice.last);
      const int64_t end = position + run.bytes / regions.element_bytes();
      batch.make_room((end - 1) / dense - position / dense + 1);
      while (position < end) {
        const int64_t piece_end = std::min(end, (position / dense + 1) * dense);
        batch.add({run.offset + (position - run.position) * regions.element_bytes(),
                   memory + regions.memory_of(position), (piece_end - position) * regions.element_bytes()});
        position = piece_end;
      }
    }
  });
  batch.flush();
  job.counters.buffer_bytes = job.plan.request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
}

}  // namespace swath
