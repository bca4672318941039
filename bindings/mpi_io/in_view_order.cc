#include "mpi_io/in_view_order.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/stopwatch.h"
#include "store/batch.h"

namespace swath::mpi_io {
namespace {

constexpr size_t kPiecesAtOnce = 1024;

}  // namespace

int64_t move_in_view_order(File& file, const InFile& in_file, const InMemory& in_memory, Counters& counters) {
  const Stopwatch watch;
  if (in_file.bytes == 0) return 0;
  const bool reads = in_file.direction == Direction::kRead;
  std::optional<File::WriteTurn> turn;  // its lock may overlap that of another write by the same view
  if (!reads) turn.emplace(file);
  const auto engine = file.engine().lease();
  const int64_t size = reads ? engine->size() : INT64_MAX;
  std::unique_ptr<RangeLock> lock;
  if (!reads) lock = engine->lock_shared(in_file.nest.low(), in_file.nest.high());
  std::vector<Transfer> pieces;
  const auto flush = [&] {
    engine->transfer(in_file.direction, pieces, counters);
    pieces.clear();
  };
  int64_t done = 0;
  bool is_at_end = false;
  while (done < in_file.bytes && !is_at_end) {
    const Nest::Run run = in_file.nest.run_at(in_file.first + done, in_file.first + in_file.bytes);
    const Nest::Run memory = in_memory.nest.run_at(done, in_file.bytes);
    const int64_t bytes = std::min({run.bytes, memory.bytes, std::max<int64_t>(size - run.offset, 0)});
    is_at_end = bytes < std::min(run.bytes, memory.bytes);
    if (bytes > 0) pieces.push_back({run.offset, in_memory.address + memory.offset, bytes});
    if (pieces.size() == kPiecesAtOnce) flush();
    done += bytes;
  }
  if (!pieces.empty()) flush();
  counters.total_seconds += watch.seconds();
  return done;
}

}  // namespace swath::mpi_io
