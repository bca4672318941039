#include "layout/view_regions.h"

#include <algorithm>
#include <utility>

namespace swath {

ViewRegions::ViewRegions(View file, Nest memory, int64_t memory_first)
    : file_(std::move(file)), memory_(std::move(memory)), memory_first_(memory_first) {}

int64_t ViewRegions::longest_run() const { return std::min(file_.nest.longest_run(), count()); }

Run ViewRegions::run_at(int64_t position, int64_t last) const {
  const Nest::Run run = file_.nest.run_at(file_.first + position, file_.first + last);
  return {run.offset, run.bytes, position};
}

int64_t ViewRegions::memory_end(int64_t position, int64_t last) const {
  return position + memory_.run_at(memory_first_ + position, memory_first_ + last).bytes;
}

int64_t ViewRegions::memory_block_bytes() const {
  return count() == 0 ? 0 : std::max<int64_t>(count() / memory_pieces(0, count()), 1);
}

bool ViewRegions::is_shifted(const ViewRegions& other) const {
  return file_.first == other.file_.first && file_.last == other.file_.last && memory_first_ == other.memory_first_ &&
         file_.nest.is_shifted(other.file_.nest) && memory_.is_shifted(other.memory_);
}

ViewRegions ViewRegions::packed(int64_t origin) const { return {file_, Nest::block(count()).shifted(origin), 0}; }

ViewRegions ViewRegions::packed_in_file() const { return {View::all(Nest::block(count())), memory_, memory_first_}; }

}  // namespace swath
