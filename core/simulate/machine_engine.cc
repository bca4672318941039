#include "simulate/machine_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace swath::simulate {
namespace {

constexpr int64_t kRequestBytesMax = int64_t{1} << 30;

// Extents cut into pieces of at most `piece_bytes`, as an operating system sends them; 0: whole.
std::vector<Extent> in_pieces(std::vector<Extent> extents, int64_t piece_bytes) {
  const auto is_short = [&](const Extent& extent) { return extent.bytes <= piece_bytes; };
  if (piece_bytes == 0 || std::ranges::all_of(extents, is_short)) return extents;
  std::vector<Extent> pieces;
  for (const Extent& extent : extents) {
    for (int64_t done = 0; done < extent.bytes; done += piece_bytes) {
      pieces.push_back({extent.offset + done, std::min(piece_bytes, extent.bytes - done)});
    }
  }
  return pieces;
}

class SimulatedLock final : public RangeLock {
 public:
  SimulatedLock(std::shared_ptr<SimulatedFile> file, int64_t begin, int64_t end)
      : file_(std::move(file)), begin_(begin), end_(end) {}
  ~SimulatedLock() override { file_->unlock(begin_, end_); }
  SimulatedLock(const SimulatedLock&) = delete;
  SimulatedLock& operator=(const SimulatedLock&) = delete;

 private:
  const std::shared_ptr<SimulatedFile> file_;
  const int64_t begin_;
  const int64_t end_;
};

// The file's bytes in the page cache of a node. Without data they are a placeholder.
class SimulatedView final : public CachedView {
 public:
  SimulatedView(World& world, std::shared_ptr<SimulatedFile> file, int rank)
      : world_(world), file_(std::move(file)), rank_(rank) {}

 private:
  const std::byte* at(int64_t offset, int64_t bytes) override {
    if (bytes == 0 || offset + bytes > file_->size() || file_->pages().part({offset, bytes}) < 1) return nullptr;
    world_.fibers().spend(world_.machine().software.call_overhead);
    if (file_->record != nullptr) {
      (*file_->record)[static_cast<size_t>(rank_)].push_back({Direction::kRead, offset, bytes});
    }
    world_.set_mapped(rank_, bytes);
    return world_.options().data ? file_->data().data() + offset : world_.placeholder(bytes);
  }
  bool release(int64_t, int64_t) override {
    world_.set_mapped(rank_, 0);
    return true;
  }

  World& world_;
  const std::shared_ptr<SimulatedFile> file_;
  const int rank_;
};

}  // namespace

SimulatedFile::SimulatedFile(World& world, std::string path, int64_t bytes)
    : world_(world),
      path_(std::move(path)),
      number_(world.storage().add_file()),
      size_(bytes),
      pages_(world.machine().page_cache.has_files),
      locks_(world),
      writer_(world) {
  world.storage().check_size(path_, bytes);
  if (world.options().data) data_.resize(static_cast<size_t>(bytes));
}

void SimulatedFile::resize(int64_t bytes) {
  if (bytes < 0) fail_argument("resize " + path_ + " to " + std::to_string(bytes) + " bytes: expected a size >= 0");
  world_.storage().check_size(path_, bytes);
  size_ = bytes;
  if (world_.options().data) data_.resize(static_cast<size_t>(bytes));
}

void RangeLocks::lock(int64_t begin, int64_t end) {
  const auto is_locked = [&] {
    return std::any_of(locked_.begin(), locked_.end(), [&](const Range& held) { return held.overlaps(begin, end); });
  };
  while (is_locked()) {
    waiting_.push_back({world_.fibers().running(), {begin, end}});
    world_.fibers().block("a lock of the file");
  }
  locked_.push_back({begin, end});
}

void RangeLocks::unlock(int64_t begin, int64_t end) {
  const auto held = std::find_if(locked_.begin(), locked_.end(),
                                 [&](const Range& range) { return range.begin == begin && range.end == end; });
  locked_.erase(held);
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    const auto next = std::next(waiting);
    if (waiting->range.overlaps(begin, end)) {
      world_.fibers().wake(waiting->rank, world_.fibers().now());
      waiting_.erase(waiting);
    }
    waiting = next;
  }
}

Capabilities MachineEngine::capabilities_of(const Machine& machine) {
  Capabilities able;
  if (!machine.servers.list) able.read_ranges_max = able.write_ranges_max = 1;
  able.structured_requests = machine.servers.datatype;
  able.lock_for_holes = machine.servers.locks;
  able.reads_ahead = false;
  able.durable_when_answered = true;
  if (machine.page_cache.exists()) {  // as those of a local file
    able.reports_cached = able.reads_ahead = true;
    able.shows_cache = machine.page_cache.map_bandwidth > 0;
    return able;
  }
  able.stripes = StripeMap{.stripe_bytes = machine.stripe.unit, .servers = machine.stripe.count};
  return able;
}

void MachineEngine::move(Direction direction, const Transfer& piece) {
  if (direction == Direction::kWrite && piece.offset + piece.bytes > file_->size()) {
    file_->resize(piece.offset + piece.bytes);
  }
  if (!world_.options().data) return;
  std::byte* const stored = file_->data().data() + piece.offset;
  if (direction == Direction::kWrite) {
    std::memcpy(stored, piece.data, static_cast<size_t>(piece.bytes));
  } else {
    std::memcpy(piece.data, stored, static_cast<size_t>(piece.bytes));
  }
}

std::vector<Extent> MachineEngine::cut(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  const bool reading = direction == Direction::kRead;
  std::vector<Extent> extents;
  FileRequest request;
  for (RequestCutter cutter(batch, kRequestBytesMax); !cutter.exhausted();) {
    cutter.next(request);
    if (reading && request.offset + request.bytes > file_->size()) {
      throw Error(ErrorKind::kStore, "read " + path() + ": [" + std::to_string(request.offset) + ", " +
                                         std::to_string(request.offset + request.bytes) +
                                         ") ends beyond the file, which has " + std::to_string(file_->size()) +
                                         " bytes");
    }
    (reading ? counters.read_requests : counters.write_requests) += 1;
    (reading ? counters.read_bytes : counters.written_bytes) += request.bytes;
    if (file_->record != nullptr) {
      (*file_->record)[static_cast<size_t>(rank_)].push_back({direction, request.offset, request.bytes});
    }
    extents.push_back({request.offset, request.bytes});
  }
  for (const Transfer& piece : batch) move(direction, piece);
  return extents;
}

void MachineEngine::send(const Storage::Call& call, std::vector<Extent> extents) {
  world_.let_earlier_run();
  if (world_.machine().page_cache.exists()) {
    use_page_cache(call.direction, extents);
    sent_ = std::make_shared<Sent>(Sent{world_, rank_, call, {}, /*is_answered=*/true});
    sent_->answered_at = world_.fibers().now();
    return;
  }
  sent_ = std::make_shared<Sent>(
      Sent{world_, rank_, call, in_pieces(std::move(extents), world_.machine().software.request_bytes)});
  send_next(sent_, 0, world_.fibers().now());
}

void MachineEngine::use_page_cache(Direction direction, std::span<const Extent> extents) {
  const Machine::PageCache& cache = world_.machine().page_cache;
  const bool reading = direction == Direction::kRead;
  Fibers& fibers = world_.fibers();
  fibers.spend(world_.machine().software.call_overhead);
  if (!reading) {
    world_.let_earlier_run();
    file_->begin_write();
  }
  double seconds = 0;
  for (const Extent& extent : extents) {
    const int64_t end = extent.offset + extent.bytes;
    const bool is_elsewhere = extent.offset / CachedPages::kPageBytes != last_end_ / CachedPages::kPageBytes;
    seconds += (reading ? cache.read_call : cache.write_call) +
               (is_elsewhere ? (reading ? cache.read_jump : cache.write_jump) : 0) +
               static_cast<double>(extent.bytes) / (reading ? cache.read_bandwidth : cache.write_bandwidth);
    std::vector<Extent> missing =
        reading ? file_->pages().read(extent, last_end_, file_->size()) : file_->pages().write(extent, file_->size());
    last_end_ = end;
    if (missing.empty()) continue;
    fibers.spend(std::exchange(seconds, 0) * world_.storage().noise());
    use_disk(Direction::kRead, std::move(missing));
  }
  fibers.spend(seconds * world_.storage().noise());
  if (!reading) {
    world_.let_earlier_run();
    file_->end_write();
  }
}

void MachineEngine::use_disk(Direction direction, std::vector<Extent> pages) {
  world_.let_earlier_run();
  sent_ = std::make_shared<Sent>(Sent{world_, rank_, call_of(direction), std::move(pages)});
  world_.storage().serve(sent_->call, sent_->extents, world_.fibers().now(), [sent = sent_](double done) {
    sent->world.fibers().at(done, [sent](double now) {
      sent->is_answered = true;
      sent->answered_at = now;
      if (sent->is_waited_for) sent->world.fibers().wake(sent->rank, now);
    });
  });
  wait_for_answers();
}

std::optional<double> MachineEngine::cached_part(int64_t offset, int64_t bytes) const {
  if (!world_.machine().page_cache.exists()) return std::nullopt;
  return file_->pages().part({offset, bytes});
}

std::unique_ptr<CachedView> MachineEngine::cached_view() {
  if (!capabilities().shows_cache) return nullptr;
  return std::make_unique<SimulatedView>(world_, file_, rank_);
}

void MachineEngine::send_next(const std::shared_ptr<Sent>& sent, size_t next, double time) {
  World& world = sent->world;
  const bool at_once = world.machine().servers.list || sent->call.described;
  if (next == sent->extents.size() || (at_once && next > 0)) {
    sent->is_answered = true;
    sent->answered_at = time;
    if (sent->is_waited_for) world.fibers().wake(sent->rank, time);
    return;
  }
  const std::span<const Extent> all(sent->extents);
  const double begin = time + world.machine().software.call_overhead * world.storage().noise();
  world.storage().serve(sent->call, at_once ? all : all.subspan(next, 1), begin, [sent, next](double done) {
    sent->world.fibers().at(done, [sent, next](double now) { send_next(sent, next + 1, now); });
  });
}

void MachineEngine::wait_for_answers() {
  if (!sent_->is_answered) {
    sent_->is_waited_for = true;
    world_.fibers().block("a transfer");
  }
  world_.fibers().sleep_until(sent_->answered_at);
}

void MachineEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  const World::InPhase in_phase(world_, Phase::kTransfer);
  send(call_of(direction), cut(direction, batch, counters));
  wait_for_answers();
}

void MachineEngine::transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) {
  if (!structured.as_described || !world_.machine().servers.datatype) {
    return Engine::transfer_structured(direction, structured, counters);
  }
  const World::InPhase in_phase(world_, Phase::kTransfer);
  StructuredTransfer all = structured;
  all.pieces_max = INT64_MAX;
  std::vector<Transfer> pieces;
  all.access.visit(all.begin, all.end, [&](const Slice& slice) { flatten(all, slice, pieces, [] {}); });
  std::vector<Extent> extents;
  int64_t bytes = 0;
  for (const Transfer& piece : pieces) {
    extents.push_back({piece.offset, piece.bytes});
    bytes += piece.bytes;
    move(direction, piece);
  }
  if (pieces.empty()) return;
  if (file_->record != nullptr) {
    (*file_->record)[static_cast<size_t>(rank_)].push_back({direction, pieces.front().offset, bytes});
  }
  const bool reading = direction == Direction::kRead;
  (reading ? counters.read_requests : counters.write_requests) += 1;
  (reading ? counters.read_bytes : counters.written_bytes) += bytes;
  Storage::Call call = call_of(direction);
  call.described = true;
  send(call, std::move(extents));
  wait_for_answers();
  if (structured.bytes_done != nullptr) *structured.bytes_done += bytes;
}

void MachineEngine::update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
                           Counters& counters) {
  const World::InPhase in_phase(world_, Phase::kTransfer);
  const auto held = has_holes ? lock(image.offset, image.offset + image.bytes) : nullptr;
  counters.locks += held != nullptr;
  if (has_holes) {
    const int64_t stored = std::clamp<int64_t>(size() - image.offset, 0, image.bytes);
    if (world_.options().data) std::fill(image.data + stored, image.data + image.bytes, std::byte{0});
    const Transfer to_end{image.offset, image.data, stored};
    if (stored > 0) transfer(Direction::kRead, {&to_end, 1}, counters);
  }
  fill_in(image.data);
  transfer(Direction::kWrite, {&image, 1}, counters);
}

void MachineEngine::start(Direction direction, std::span<const Transfer> batch) {
  if (is_started_) throw Error(ErrorKind::kInternal, path() + ": a transfer has been started already");
  started_counters_ = {};
  send(call_of(direction), cut(direction, batch, started_counters_));
  is_started_ = true;
}

void MachineEngine::wait(Counters& counters) {
  if (!std::exchange(is_started_, false)) return;
  const World::InPhase in_phase(world_, Phase::kTransfer);
  counters += std::exchange(started_counters_, {});
  wait_for_answers();
}

// Where the node or the servers have page caches, it waits until their dirty blocks are on the disks.
void MachineEngine::sync() {
  if (world_.machine().page_cache.exists()) {
    const World::InPhase in_phase(world_, Phase::kTransfer);
    std::vector<Extent> pages = file_->pages().clean();
    if (!pages.empty()) use_disk(Direction::kWrite, std::move(pages));
    return;
  }
  if (!world_.storage().has_caches()) return;
  const World::InPhase in_phase(world_, Phase::kTransfer);
  world_.let_earlier_run();
  sent_ = std::make_shared<Sent>(Sent{world_, rank_, {}, {}});
  world_.storage().sync(world_.node_of(rank_), world_.fibers().now(), [sent = sent_](double done) {
    sent->is_answered = true;
    sent->answered_at = done;
    if (sent->is_waited_for) sent->world.fibers().wake(sent->rank, done);
  });
  wait_for_answers();
}

std::unique_ptr<RangeLock> MachineEngine::lock(int64_t begin, int64_t end) {
  if (begin < 0 || begin >= end) {
    fail_argument("lock " + path() + " [" + std::to_string(begin) + ", " + std::to_string(end) +
                  "): expected 0 <= begin < end");
  }
  if (!world_.machine().servers.locks) return nullptr;
  world_.let_earlier_run();
  world_.fibers().spend(2 * world_.machine().network.latency + world_.machine().servers.request_overhead);
  world_.let_earlier_run();
  file_->lock(begin, end);
  return std::make_unique<SimulatedLock>(file_, begin, end);
}

}  // namespace swath::simulate
